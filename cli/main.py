"""The console entry point: one module a command, errors as one sentence, nothing half written on Ctrl-C."""

import signal
import sys
from typing import Annotated

import typer

from tiersim import __version__
from tiersim.cli import demo, describe, devices, import_trace, replay, report, warmup
from tiersim.cli.terminal import notice
from tiersim.errors import TiersimError
from tiersim.files import terminate_as_interrupt

app = typer.Typer(
    name="tiersim",
    help="Predict what a database would do on storage that has not been bought yet.\n\nStart with: tiersim demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("import")(import_trace.import_trace)
app.command("describe")(describe.describe)
app.command("replay")(replay.replay)
app.command("report")(report.report)
app.add_typer(devices.app, name="devices")
app.command("warmup")(warmup.warmup)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tiersim {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


def main() -> None:
    """Run the command line; exit 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with terminate_as_interrupt():
            app()
    except TiersimError as error:
        notice(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        notice("interrupted; nothing was left half written")
        sys.exit(130)
