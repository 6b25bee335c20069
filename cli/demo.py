"""``tiersim demo``: recorded PostgreSQL traces on three storage tiers, from the recording to the page."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.replay import run_all, show
from tiersim.cli.report import write_page
from tiersim.cli.warmup import compile_if_cold
from tiersim.files import check_target, make_folder

if TYPE_CHECKING:
    from tiersim.simulator.result import Result

_SCENARIOS = ("15k-raid10", "sas-ssd-raid10", "pcie-flash")
#: Sizes of the buffer pool that queries are shown for, and the end of the names of results of the recorded one.
_POOLS = ("64MiB", "128MiB", "256MiB", "512MiB")
_RECORDED = "-256MiB"


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for traces, results and pages.")] = Path(
        "demo"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace a demo that is already there.")] = False,
) -> None:
    """Replay two recordings of PostgreSQL on a 15K RAID 10, a SAS SSD RAID 10 and a PCIe flash card.

    The first is a block trace of pgbench: what each request would take (report.html). The other are a server's counters: what its
    queries would take, over the size of the buffer pool (queries.html).

    Example: tiersim demo -o demo
    """
    blocks, queries = output / "report.html", output / "queries.html"
    traces = output / "pgbench.trace", output / "reads.trace"
    of_blocks = [output / f"{name}.result" for name in _SCENARIOS]
    of_queries = [output / f"{name}-{pool}.result" for name in _SCENARIOS for pool in _POOLS]
    for target in (*traces, blocks, queries, *of_blocks, *of_queries):
        check_target(target, force=force)
    compile_if_cold()
    make_folder(output)
    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        results = _blocks(Path(folder), traces[0], of_blocks, force=force)
        write_page(of_blocks, blocks, "pgbench on three storage tiers", force=force)
        queried = _queries(Path(folder), traces[1], of_queries, force=force)
        write_page(
            of_queries, queries, "Point reads on three storage tiers, by the size of the buffer pool", force=force
        )
    show(results)
    show([result for result in queried if result.summary["name"].endswith(_RECORDED)])
    terminal.notice(f"open {blocks} and {queries} in a browser")


def _blocks(folder: Path, trace: Path, targets: list[Path], *, force: bool) -> "list[Result]":
    from tiersim.scenarios.loading import load_scenario
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace
    from tiersim.traces.samples import pgbench

    raw = folder / "pgbench.blktrace"
    raw.write_bytes(pgbench())
    with terminal.progress_bar("importing") as progress:
        import_trace([raw], trace, force=force, progress=progress)
    scenarios = [load_scenario(name) for name in _SCENARIOS]
    return run_all(Bundle(trace), scenarios, targets, requests=False, force=force)


def _queries(folder: Path, trace: Path, targets: list[Path], *, force: bool) -> "list[Result]":
    """Run the counters' statements on every tier with every size of the pool, cost as on a model of the recorded hardware."""
    from tiersim.scenarios.loading import load_scenario
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace
    from tiersim.traces.samples import reads

    recorded = reads(folder)
    import_trace([recorded / "counters"], trace, force=force)
    scenarios = []
    for name in _SCENARIOS:
        for pool in _POOLS:
            scenario = load_scenario(name, [f"engine.buffer_pool={pool}", "host.cores=2", "host.clients=here"])
            scenario.name = f"{name}-{pool}"
            scenarios.append(scenario)
    baseline = load_scenario(str(recorded / "host" / "recorded.toml"))
    return run_all(Bundle(trace), scenarios, targets, requests=False, force=force, baseline=baseline)
