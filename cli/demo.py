"""``tiersim demo``: a recorded PostgreSQL trace on three storage tiers, from the recording to the page."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.replay import run_all, show
from tiersim.cli.report import write_page
from tiersim.cli.warmup import announce_if_cold
from tiersim.files import refuse_existing

_SCENARIOS = ("15k-raid10", "sas-ssd-raid10", "pcie-flash")


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for trace, results and page.")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace a demo that is already there.")] = False,
) -> None:
    """Replay a recorded pgbench block trace on a 15K RAID 10, a SAS SSD RAID 10 and a PCIe flash card."""
    from tiersim.scenarios.model import load_scenario
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace
    from tiersim.traces.samples import pgbench

    trace, page = output / "pgbench.trace", output / "report.html"
    targets = [output / f"{name}.result" for name in _SCENARIOS]
    for target in (trace, page, *targets):
        refuse_existing(target, force=force)
    announce_if_cold()
    output.mkdir(parents=True, exist_ok=True)

    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        raw = Path(folder) / "pgbench.blktrace"
        raw.write_bytes(pgbench())
        import_trace([raw], trace, format=None, force=force)
    scenarios = [load_scenario(name) for name in _SCENARIOS]
    show(run_all(Bundle(trace), scenarios, targets, requests=False, force=force))
    write_page(targets, page, "pgbench on three storage tiers", force=force)
    terminal.notice(f"open {page} in a browser")
