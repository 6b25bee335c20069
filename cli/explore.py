"""``tiersim explore``: a recording on hardware that is changed in the browser."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.import_trace import open_trace
from tiersim.cli.terminal import compile_if_cold
from tiersim.errors import OutputError, ScenarioError, reason
from tiersim.files import make_folder
from tiersim.operating_system import give_memory_back


def explore(
    trace: Annotated[Path, typer.Argument(help="A trace bundle, or any file that can be imported.")],
    on: Annotated[
        list[str],
        typer.Option(
            "--on",
            help=(
                "Hardware to begin with: a .toml file, a scenario that comes with tiersim, or a device of the"
                " catalogue. Repeat it to pin up to three more for comparison."
            ),
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for saved scenarios and pages. Nothing else is written.")
    ] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on the loopback interface; 0: any free one.")] = 0,
    idle: Annotated[float, typer.Option(min=0.01, help="End after so many minutes without a change.")] = 60.0,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Change hardware in a browser, and see at once what a recorded load would do on it.

    Each change is simulated on a sample of the recording first, then on the whole. The server listens on this machine
    only, and lets in the first browser that opens the printed address. The figures of the whole are those of tiersim
    replay with the saved scenario.

    Example: tiersim explore prod.trace --on pcie-flash
    """
    from tiersim.cli.exploring.server import ExplorationServer
    from tiersim.cli.exploring.view import ExplorationView
    from tiersim.scenarios.exploring.draft import draft_of
    from tiersim.scenarios.exploring.explorer import MOST_PINS, Explorer, open_recording
    from tiersim.traces.parquet import keep_freed

    if len(on) > MOST_PINS + 1:
        raise ScenarioError(f"--on: {len(on)} scenarios are more than can be compared; give {MOST_PINS + 1} at most")
    give_memory_back()
    keep_freed()
    drafts = [draft_of(name) for name in on]
    make_folder(output)
    with open_trace(trace) as bundle:
        compile_if_cold()
        with terminal.progress_bar("reading the recording") as progress:
            if progress is None:
                terminal.notice("reading the recording; the address to open follows")
            recording = open_recording(bundle, drafts[0], progress)
        explorer = Explorer(recording, drafts)
        try:
            try:
                server = ExplorationServer(ExplorationView(explorer, output), port, idle * 60)
            except OSError as error:
                raise OutputError(f"--port {port}: cannot be used ({reason(error)}); choose another, or 0") from None
            terminal.notice(f"open {server.address} (once; Ctrl-C ends it)")
            if show:
                webbrowser.open(server.address)
            server.run()
            terminal.notice(server.why_ended)
        finally:
            explorer.end()
