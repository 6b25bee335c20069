"""``tiersim demo``: recorded PostgreSQL traces on three storage systems, from the recording to the page."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.options import Force
from tiersim.cli.page import write_page
from tiersim.cli.replay import run_all, show
from tiersim.cli.terminal import compile_if_cold
from tiersim.files import check_target, make_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tiersim.scenarios.hardware import NamedScenario
    from tiersim.simulator.result import Result

_SCENARIOS = ("15k-raid10", "sas-ssd-raid10", "pcie-flash")
#: Sizes of the buffer pool that reads are shown for.
_POOLS = ("64MiB", "128MiB", "256MiB", "512MiB")
#: The hosts of the recorded servers, with the load generator on them.
_HOST = ("host.cores=2", "host.clients=here")


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for traces, results and pages.")] = Path(
        "demo"
    ),
    everything: Annotated[bool, typer.Option("--all", help="Print every row and every note.")] = False,
    force: Force = False,
) -> None:
    """Replay three recordings of PostgreSQL on a 15K RAID 10, a SAS SSD RAID 10 and a PCIe flash card.

    Writes three pages. report.html: the latency of each block request, from a block trace of pgbench. queries.html: the
    latency of queries and commits, from the counters of a server whose data device was limited to 1,500 reads/s and
    1,500 writes/s. pools.html: point reads with several sizes of the buffer pool, from the counters of another server.

    Example: tiersim demo -o demo
    """
    import tempfile

    pages = blocks, queries, pools = [output / f"{name}.html" for name in ("report", "queries", "pools")]
    traces = [output / f"{name}.trace" for name in ("pgbench", "updates", "reads")]
    of_blocks = [output / f"{name}.result" for name in _SCENARIOS]
    of_updates = [output / f"{name}-updates.result" for name in _SCENARIOS]
    of_reads = [output / f"{name}-{pool}.result" for name in _SCENARIOS for pool in _POOLS]
    for target in (*traces, *pages, *of_blocks, *of_updates, *of_reads):
        check_target(target, force=force)
    compile_if_cold()
    make_folder(output)
    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        updated, _, replayed = _side_by_side(
            partial(_updates, Path(folder), traces[1], of_updates, queries, force=force),
            partial(_reads, Path(folder), traces[2], of_reads, pools, force=force),
            partial(_blocks, Path(folder), traces[0], of_blocks, blocks, force=force),
        )
    show(replayed, everything=everything)
    show(updated, everything=everything)
    made = f"{blocks} (block trace), {queries} (updates) and {pools} (reads, four sizes of the pool)"
    terminal.notice(f"open {made} in a browser")


def _blocks(
    folder: Path, trace: Path, targets: list[Path], page: Path, progress: terminal.Progress, *, force: bool
) -> "list[Result]":
    """Replay the block requests on every tier."""
    from tiersim.scenarios.library import load_scenario
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace
    from tiersim.traces.samples import pgbench

    raw = folder / "pgbench.blktrace"
    raw.write_bytes(pgbench())
    import_trace([raw], trace, force=force)
    scenarios = [load_scenario(name) for name in _SCENARIOS]
    results = run_all(Bundle(trace), scenarios, targets, requests=False, force=force, progress=progress)
    write_page(targets, page, "pgbench on three storage systems", force=force)
    return results


def _side_by_side(*parts: "Callable[[terminal.Progress], list[Result]]") -> "list[list[Result]]":
    """Run all at once: what comes before and after their simulations leaves a processor idle."""
    from tiersim.parallel import Note, side_by_side

    totals: dict[int, int] = {}

    def run(place: int, note: Note) -> "list[Result]":
        def progress(done: int, total: int) -> None:
            totals[place] = total
            note(done)

        return parts[place](progress)

    with terminal.progress_bar("replaying") as bar:
        return side_by_side(
            [partial(run, place) for place in range(len(parts))],
            lambda done: bar(done, sum(totals.values())) if bar else None,
            workers=len(parts),
        )


def _updates(
    folder: Path, trace: Path, targets: list[Path], page: Path, progress: terminal.Progress, *, force: bool
) -> "list[Result]":
    """Run the counted updates on every tier, as long after a checkpoint as they were recorded, and 8 s before they are
    counted: after that the write cache of the disks' controller is as full as later.
    """
    from tiersim.scenarios.library import load_scenario
    from tiersim.traces.samples import capped_updates

    scenarios = [load_scenario(name, [*_HOST, "replay.since_checkpoint=5s", "replay.warmup=8s"]) for name in _SCENARIOS]
    results = _counted(capped_updates(folder), trace, scenarios, targets, progress, force=force)
    write_page(targets, page, "Updates of a PostgreSQL server on three storage systems", force=force)
    return results


def _reads(
    folder: Path, trace: Path, targets: list[Path], page: Path, progress: terminal.Progress, *, force: bool
) -> "list[Result]":
    """Run the counted reads on every tier with every size of the pool."""
    from tiersim.scenarios.library import load_scenario
    from tiersim.traces.samples import reads

    scenarios = []
    for name in _SCENARIOS:
        for pool in _POOLS:
            scenario = load_scenario(name, [*_HOST, f"engine.buffer_pool={pool}"])
            scenario.name = f"{name}-{pool}"
            scenarios.append(scenario)
    results = _counted(reads(folder), trace, scenarios, targets, progress, force=force)
    write_page(targets, page, "Point reads on three storage systems, by the size of the buffer pool", force=force)
    return results


def _counted(
    recorded: Path,
    trace: Path,
    scenarios: "list[NamedScenario]",
    targets: list[Path],
    progress: terminal.Progress,
    *,
    force: bool,
) -> "list[Result]":
    """Run the statements of counters, cost as on a model of the recorded hardware."""
    from tiersim.scenarios.library import load_scenario
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace

    import_trace([recorded / "counters"], trace, force=force)
    baseline = load_scenario(str(recorded / "host" / "recorded.toml"))
    return run_all(
        Bundle(trace),
        scenarios,
        targets,
        requests=False,
        force=force,
        baseline=baseline,
        ranges=False,  # of so many scenarios they take minutes
        progress=progress,
    )
