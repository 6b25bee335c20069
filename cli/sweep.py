"""``tiersim sweep``: one trace on a grid of scenarios."""

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.import_trace import open_trace, workload_of
from tiersim.cli.options import Force, Json, RecordedOn
from tiersim.cli.replay import recorded_hardware
from tiersim.cli.tenants import sweep_tenants
from tiersim.cli.terminal import compile_if_cold
from tiersim.errors import ScenarioError
from tiersim.operating_system import processors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tiersim.scenarios.hardware import NamedScenario
    from tiersim.scenarios.sweeps.folder import SweepFolder
    from tiersim.scenarios.sweeps.runner import Overview, Workers
    from tiersim.scenarios.sweeps.sources import SweepSource


def sweep(
    trace: Annotated[
        Path,
        typer.Argument(
            help=(
                "A trace (NAME.trace, from import or record), a recorded file that tiersim can import, or a"
                " .toml file: a workload, or several traces on shared hardware (docs/tenants.md)."
            )
        ),
    ],
    on: Annotated[
        str,
        typer.Option(
            "--on",
            help="The scenario to vary: a .toml file, one that comes with tiersim, or a device of the catalogue.",
        ),
    ],
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help=(
                "A key of the scenario (or of a file of tenants: tenants.NAME.limit.iops) and its values: a list"
                " a,b,c, or a range A..B (A, 2A, 4A … up to B), A..B+STEP, A..B*FACTOR. Repeat it for more keys."
            ),
        ),
    ],
    replications: Annotated[
        int,
        typer.Option("--replications", min=1, max=1000, help="Run each point N times with other random numbers."),
    ] = 1,
    recorded_on: RecordedOn = None,
    screen: Annotated[
        float | None,
        typer.Option(
            "--screen",
            min=0,
            max=1,
            help=(
                "Skip buffer-pool sizes that hardly help. 0.01: skip a size whose misses are within 1 % of those of the"
                " last smaller size that is simulated."
            ),
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="How many points run in parallel. Default: the number of processors."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Run on a Dask cluster, such as tcp://host:8786. Its workers must see the trace under the same path.",
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Also keep the complete result of every point.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the sweep; SCENARIO.sweep by default.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every table and every note, and more points.")
    ] = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Try settings of hardware, host or database: replay a recording once for each combination of values.

    Each combination is a point, a row of the table. Every finished point is stored: to continue an interrupted sweep,
    run the same command again.

    Example: tiersim sweep prod.trace --on pcie-flash --set volumes.data.device=intel-p3700-800,aws-gp3 --set
    replay.load=0.5..4
    """
    from tiersim.cli.sweep_table import show_sweep
    from tiersim.scenarios.library import is_tenants
    from tiersim.scenarios.sweeps.axes import parse_axes
    from tiersim.scenarios.sweeps.folder import check_folder, open_folder
    from tiersim.scenarios.sweeps.grid import Grid
    from tiersim.scenarios.sweeps.runner import look_over, plan_of, run_sweep
    from tiersim.scenarios.sweeps.screening import same_loads, stand_ins

    if is_tenants(trace):
        given = {"--replications": replications > 1, "--recorded-on": recorded_on, "--screen": screen is not None,
                 "--cluster": cluster, "--keep": keep, "--output": output, "--force": force}  # fmt: skip
        for option, is_given in given.items():
            if is_given:
                raise ScenarioError(f"{option}: {trace} has several tenants, whose table is not stored; leave it out")
        sweep_tenants(trace, on, parse_axes(settings), workers or processors(), json=json)
        return
    if cluster is not None and workers is not None:
        raise ScenarioError("--workers: a cluster has its own; leave it out")
    grid = Grid.of(on, parse_axes(settings), replications)
    baseline = recorded_hardware(recorded_on, (f"{key}={value}" for key, value in grid.fixed.items()))
    overview = look_over(grid, baseline)
    target = output or Path(f"{overview.first.name}.sweep")
    check_folder(target, force=force)
    with _source(trace, overview.first, baseline, cluster=cluster) as (path, source):
        plan = plan_of(grid, overview, source, keep=keep, screen=screen, recorded_on=baseline)
        hands = _hands(overview, source, path, baseline, wanted=workers, cluster=cluster, keep=keep)
        screened = same_loads(grid, source) if screen is None else stand_ins(grid, source, screen)
        with open_folder(target, plan, force=force) as folder:
            began = time.time()
            try:
                with terminal.progress_bar("running points") as progress:
                    ran = run_sweep(grid, folder, hands, screened, progress)
            except KeyboardInterrupt:
                terminal.notice(f"{target}: holds the points that are done; the same command goes on from there")
                raise
            facts = {"began_unix_s": began, "seconds": time.time() - began, "points_run": ran, "on": str(hands)}
            folder.finish(len(grid), grid.axes, facts)
            if json:
                terminal.print_json({**plan, "rows": list(folder.rows(len(grid)))})
            else:
                show_sweep(plan, folder.rows(len(grid)), target, everything=everything)
            _fail_if_all_failed(folder, len(grid))


def _fail_if_all_failed(folder: "SweepFolder", points: int) -> None:
    """Raise ScenarioError when every point failed: something is wrong with all of them."""
    errors = {row["error"] for row in folder.rows(points) if row["status"] == "failed"}
    if all(row["status"] == "failed" for row in folder.rows(points)):
        raise ScenarioError(f"{folder.path}: none of its {points:,} points could be simulated: {min(errors)}")


@contextmanager
def _source(
    trace: Path, scenario: "NamedScenario", baseline: "NamedScenario | None", *, cluster: str | None
) -> "Iterator[tuple[Path, SweepSource]]":
    """Yield where what is to be run lies, and itself, read."""
    from tiersim.scenarios.sweeps.sources import open_source

    workload = workload_of(trace, "--recorded-on" if baseline is not None else None)
    if workload is not None:
        compile_if_cold()
        yield trace, open_source(trace, scenario, None, None)
        return
    with open_trace(trace) as bundle:
        if cluster is not None and bundle.path != trace:
            raise ScenarioError(
                f"{trace}: is not a bundle, and the workers of a cluster need one that they see; run tiersim import"
                " first"
            )
        if scenario.model.engine is not None or not bundle.rows:
            compile_if_cold()
        with terminal.progress_bar("reading the trace") as progress:
            source = open_source(bundle.path, scenario, baseline, progress)
        yield bundle.path, source


def _hands(
    overview: "Overview",
    source: "SweepSource",
    path: Path,
    baseline: "NamedScenario | None",
    *,
    wanted: int | None,
    cluster: str | None,
    keep: bool,
) -> "Workers":
    """Return who runs the points."""
    from tiersim.scenarios.sweeps.runner import Threads

    if cluster is None:
        count = source.workers(overview.replays, wanted or processors())
        return Threads(source, count, keep=keep)
    from tiersim.scenarios.sweeps.cluster import Cluster

    return Cluster(cluster, path, overview.first, source.trace["hash"], baseline, keep=keep)
