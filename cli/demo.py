"""``tiersim demo``: a recorded PostgreSQL trace on three storage tiers, from the recording to the page."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.replay import run_all, show
from tiersim.cli.report import write_page
from tiersim.cli.warmup import compile_if_cold
from tiersim.files import check_target, make_folder

_SCENARIOS = ("15k-raid10", "sas-ssd-raid10", "pcie-flash")


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for trace, results and page.")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace a demo that is already there.")] = False,
) -> None:
    """Replay a recorded pgbench block trace on a 15K RAID 10, a SAS SSD RAID 10 and a PCIe flash card.

    Example: tiersim demo -o demo
    """
    from tiersim.scenarios.loading import load_scenario
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace
    from tiersim.traces.samples import pgbench

    trace, page = output / "pgbench.trace", output / "report.html"
    targets = [output / f"{name}.result" for name in _SCENARIOS]
    for target in (trace, page, *targets):
        check_target(target, force=force)
    compile_if_cold()
    make_folder(output)

    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        raw = Path(folder) / "pgbench.blktrace"
        raw.write_bytes(pgbench())
        with terminal.progress_bar("importing") as progress:
            import_trace([raw], trace, force=force, progress=progress)
    scenarios = [load_scenario(name) for name in _SCENARIOS]
    results = run_all(Bundle(trace), scenarios, targets, requests=False, force=force)
    write_page(targets, page, "pgbench on three storage tiers", force=force)
    show(results)
    terminal.notice(f"open {page} in a browser")
