"""A recording whose hardware nobody described, but of whose host it was counted which processes used the processors."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.runs import needs_jit
from tiersim.scenarios.calibration.cpu_and_waits import LOG_NS, READ_NS
from tiersim.scenarios.calibration.processor import ProcessorCosts, recorded_flushes, written_by_sessions
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.calibration import costs_of_recording, host_time_of
from tiersim.scenarios.statements.loads import load_of
from tiersim.scenarios.statements.replay import replay_statements, replay_statements_all
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.scenarios.validation.matrix_cells import COUNTERS, Cell, capped_device, cells_of
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import matrix

pytestmark = needs_jit


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cell]:
    folder = tmp_path_factory.mktemp("cells")
    matrix(folder)
    return {cell.name: cell for cell in cells_of(folder)}


def recorded(cell: Cell, folder: Path, *, without: str = "nothing") -> StatementLoad:
    """Import the counters of a cell; files whose names begin with *without* are left out."""
    files = [file for file in (cell.folder / COUNTERS).iterdir() if not file.name.startswith(without)]
    import_trace(files, folder / "recorded.trace")
    return load_of(folder / "recorded.trace", 1)


@pytest.fixture(scope="module")
def saturated(cells: dict[str, Cell], tmp_path_factory: pytest.TempPathFactory) -> StatementLoad:
    """Lookups behind a cap of 250 reads a second: 1.5 % of the transactions that the device carries without."""
    return recorded(cells["reads-128-r250"], tmp_path_factory.mktemp("recorded"))


def on(scenario: str, *keys: str) -> NamedScenario:
    return load_scenario(scenario, ["host.cores=2", *keys])


@pytest.mark.long
def test_cpu_is_what_the_recorded_processors_did_though_nobody_described_their_storage(
    saturated: StatementLoad, cells: dict[str, Cell]
) -> None:
    """No wait for the recorded cap has become CPU: 60 times as many transactions end on a fast device."""
    result = replay_statements(saturated, on("pcie-flash"))
    measured = cells["reads-128-free"].figures["tps"]
    assert result.summary["throughput_per_s"]["transactions"]["value"] == pytest.approx(measured, rel=0.2)
    assert result.summary["verdict"]["error"] == "counted"
    assert result.summary["model_error"]["basis"] == "counted"
    assert any(
        said.startswith("CPU of queries, reads and clients is what they used") for said in result.summary["inferred"]
    )
    assert result.summary["settings_from"]["host.costs"].startswith("CPU time that recorded.trace recorded: ")


def test_processors_that_nobody_counted_leave_costs_assumed(
    saturated: StatementLoad, cells: dict[str, Cell], tmp_path: Path
) -> None:
    assert costs_of_recording(saturated, on("pcie-flash")) is not None
    assert costs_of_recording(saturated, on("pcie-flash", "host.clients=here")) is not None
    uncounted = recorded(cells["reads-128-r250"], tmp_path, without="processes")
    assert costs_of_recording(uncounted, on("pcie-flash")) is None


@pytest.mark.parametrize("slower", ["reads-384-r2000", "updates-384-d1500"])
def test_processors_that_were_not_the_limit_and_not_counted_by_process_leave_costs_assumed(
    slower: str, cells: dict[str, Cell], tmp_path: Path
) -> None:
    """They were busy for 65 and 89 % of the time: what of that is the load's is not known, nor what was a wait."""
    assert costs_of_recording(recorded(cells[slower], tmp_path, without="processes"), on("pcie-flash")) is None


def test_work_beside_a_load_that_waits_for_its_storage_is_none_of_the_load(
    cells: dict[str, Cell], tmp_path: Path
) -> None:
    """Something else kept all processors busy, while all but a tenth of a session waited for reads."""
    counters = tmp_path / "counters"
    with_other_work(cells["reads-128-r250"], counters)
    for file in counters.glob("processes.*"):
        file.unlink()
    import_trace([counters], tmp_path / "recorded.trace")
    load = load_of(tmp_path / "recorded.trace", 1)
    time = host_time_of(load)
    assert time is not None
    assert time.share > 0.99
    assert costs_of_recording(load, on("pcie-flash")) is None


def with_other_work(cell: Cell, counters: Path) -> None:
    """Copy the counters of a cell, as if another process had taken all time in which a processor was idle."""
    shutil.copytree(cell.folder / COUNTERS, counters)
    before, after = (counters / f"diskstats.{when}.txt" for when in ("before", "after"))
    lines = after.read_text().splitlines()
    for place, (line, had) in enumerate(zip(lines[:3], before.read_text().splitlines(), strict=False)):
        name, user, nice, system, idle, waited, *rest = line.split()
        idle_before, waited_before = had.split()[4:6]
        taken = int(idle) + int(waited) - int(idle_before) - int(waited_before)
        lines[place] = " ".join([name, str(int(user) + taken), nice, system, idle_before, waited_before, *rest])
    after.write_text("\n".join(lines))


def test_work_of_other_processes_is_neither_the_limit_nor_what_a_transaction_costs(
    cells: dict[str, Cell], tmp_path: Path
) -> None:
    """A saturated recording on a host that something else kept busy tells the same CPU as on an idle one."""
    with_other_work(cells["reads-128-r2000"], tmp_path / "counters")
    import_trace([tmp_path / "counters"], tmp_path / "busy.trace")
    busy, idle = load_of(tmp_path / "busy.trace", 1), recorded(cells["reads-128-r2000"], tmp_path)
    time = host_time_of(busy)
    assert time is not None
    assert time.share > 0.99
    assert time.own_share < 0.2
    beside, alone = (costs_of_recording(load, on("pcie-flash")) for load in (busy, idle))
    assert beside is not None
    assert alone is not None
    assert beside.client_ns == pytest.approx(alone.client_ns, rel=0.02)
    result = replay_statements(busy, on("pcie-flash"))
    assert any(said.startswith("other work kept 1.7 of the 2 recorded") for said in result.summary["caveats"])


def test_disks_and_flash_are_asked_by_the_same_cpu(cells: dict[str, Cell], tmp_path: Path) -> None:
    load = recorded(cells["updates-128-free"], tmp_path)
    results = replay_statements_all(Bundle(load.path), [on(name) for name in ("15k-raid10-bare", "pcie-flash")])
    assert [one.summary["verdict"]["error"] for one in results] == ["counted", "counted"]


def test_busy_processors_tell_what_a_transaction_costs_though_nobody_counted_whose_they_were(
    cells: dict[str, Cell], tmp_path: Path
) -> None:
    """All that they did was for the load, as nearly as matters: a smaller pool is predicted."""
    source, target = cells["tpcb-384-free"], cells["tpcb-32-free"]
    uncounted = recorded(source, tmp_path, without="processes")
    found = costs_of_recording(uncounted, on("pcie-flash"))
    assert found is not None
    assert found.costs.read_ns == READ_NS
    result = replay_statements(uncounted, on("pcie-flash", "engine.buffer_pool=32 MiB"))
    assert result.summary["throughput_per_s"]["transactions"]["value"] == pytest.approx(target.figures["tps"], rel=0.15)
    assert result.summary["verdict"]["error"] == "counted"
    assert any("which was busy for 94% of the time" in said for said in result.summary["inferred"])


def test_clients_here_and_elsewhere_do_not_share_their_costs(saturated: StatementLoad) -> None:
    """One recording on the same hardware, twice in one run."""
    asked = [on("pcie-flash"), on("pcie-flash", "host.clients=elsewhere")]
    here, elsewhere = replay_statements_all(Bundle(saturated.path), asked, ranges=False)
    said = [next(one for one in run.summary["inferred"] if "used on the recorded" in one) for run in (here, elsewhere)]
    assert said[0].startswith("CPU of queries, reads and clients is")
    assert said[1].startswith("CPU of sessions and reads is")


def test_devices_of_files_that_are_named_alike_have_costs_of_their_own(tmp_path: Path) -> None:
    """What a write of the log costs is found on the asked device; two folders may each have a ``log.toml``."""
    found = []
    for folder, latency_ns in (("fast", 10_000), ("slow", 90_000), ("again", 10_000)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.toml").write_text(capped_device(None, None, latency_ns, "as fio said"))
        (tmp_path / folder / "asked.toml").write_text(
            '[volumes.log]\ndevice = "log.toml"\n[placement]\ndefault = "log"\n'
        )
        found.append(load_scenario(str(tmp_path / folder / "asked.toml")).on_recorded_host(1))
    fast, slow, again = found
    assert fast.to_toml() == slow.to_toml()
    assert fast.identity == again.identity != slow.identity


def test_a_device_that_does_not_carry_the_recorded_load_takes_no_cpu_away(
    cells: dict[str, Cell], tmp_path: Path
) -> None:
    """A disk would give so few transactions that clients had to need no CPU at all; the counted one stays."""
    load = recorded(cells["reads-32-free"], tmp_path)
    fast, slow = (costs_of_recording(load, on(name)) for name in ("pcie-flash", "15k-raid10-bare"))
    assert fast is not None
    assert slow is not None
    assert slow.client_ns > fast.client_ns / 2 > 5_000


def test_a_slower_log_tells_nothing_of_its_cpu(cells: dict[str, Cell], tmp_path: Path) -> None:
    """Disks write the log more slowly than was recorded; what is assumed of a write is then no part of the clients."""
    load = recorded(cells["updates-32-free"], tmp_path)
    fast, slow = (costs_of_recording(load, on(name)) for name in ("pcie-flash", "15k-raid10-bare"))
    assert fast is not None
    assert slow is not None
    assert slow.costs.log_io_ns == LOG_NS
    assert slow.client_ns > 0


def without_clients(cell: Cell, folder: Path) -> StatementLoad:
    """Import the counters of a cell as its server alone tells them: no load generator printed anything or was seen."""
    shutil.copytree(cell.folder / COUNTERS, folder / "counters", ignore=shutil.ignore_patterns("pgbench.txt"))
    processes = folder / "counters/processes.after.csv"
    kept = [line for line in processes.read_text().splitlines(keepends=True) if not line.startswith("load generator")]
    processes.write_text("".join(kept))
    import_trace([folder / "counters"], folder / "server.trace")
    return load_of(folder / "server.trace", 1)


def server_ns(load: StatementLoad, costs: ProcessorCosts) -> float:
    """Return the CPU that *costs* charge a transaction, in ns."""
    calls = np.bincount(load.query, minlength=len(load.queries))
    executed_ns = sum(costs.statement_ns[query] * count for query, count in zip(load.queries, calls, strict=True))
    log_ns = 2 * recorded_flushes(load.counters.found) * costs.costs.log_io_ns
    read_ns = float(load.physical_reads.sum()) * costs.costs.read_ns
    written_ns = written_by_sessions(load.counters.found) * costs.costs.evict_dirty_ns
    return float(executed_ns + len(load) * costs.client_ns + log_ns + read_ns + written_ns) / load.transactions


@pytest.mark.parametrize("name", ["reads-128-free", "updates-32-free", "tpcb-384-free"])
def test_of_clients_elsewhere_no_cpu_is_charged_but_what_sessions_used(
    name: str, cells: dict[str, Cell], tmp_path: Path
) -> None:
    """All of it, though executions are a quarter of it to two thirds: the rest receives, plans, commits and answers."""
    load = without_clients(cells[name], tmp_path)
    time = host_time_of(load)
    assert time is not None
    server = time.of_server()
    assert server is not None
    assert time.backends is not None
    costs = costs_of_recording(load, on("pcie-flash"))
    assert costs is not None
    each_ns = load.span_ns / load.transactions
    used_ns, kernel_ns = time.backends.all * each_ns, server.of_kernel * each_ns
    assert used_ns <= server_ns(load, costs) <= 1.02 * (used_ns + kernel_ns)
    with_clients = recorded(cells[name], tmp_path)
    elsewhere = costs_of_recording(with_clients, on("pcie-flash", "host.clients=elsewhere"))
    assert elsewhere is not None
    assert server_ns(with_clients, elsewhere) == pytest.approx(server_ns(load, costs), rel=0.05)


@pytest.mark.parametrize(("slow", "fast"), [("reads-32-r700", "reads-32-free"), ("tpcb-128-d300", "tpcb-128-free")])
def test_cpu_of_sessions_behind_slow_storage_is_that_on_fast_storage(
    slow: str, fast: str, cells: dict[str, Cell], tmp_path: Path
) -> None:
    found = []
    for name in (slow, fast):
        load = without_clients(cells[name], tmp_path / name)
        costs = costs_of_recording(load, on("pcie-flash"))
        assert costs is not None
        found.append(server_ns(load, costs))
    assert found[0] == pytest.approx(found[1], rel=0.15)


def test_transactions_by_the_clock_keep_processors_as_busy_as_their_sessions_did(
    cells: dict[str, Cell], tmp_path: Path
) -> None:
    """Nobody knows the clients: as many transactions come as were recorded, and each takes its recorded CPU."""
    load = without_clients(cells["reads-128-free"], tmp_path)
    result = replay_statements(load, on("pcie-flash")).summary
    time = host_time_of(load)
    assert time is not None
    server = time.of_server()
    assert server is not None
    assert result["verdict"]["error"] == "arrivals"
    assert result["stations"]["processors"]["utilisation"]["cores"] == pytest.approx(server.share, rel=0.1)


def test_think_times_that_a_scenario_asks_for_stay_as_they_are(cells: dict[str, Cell], tmp_path: Path) -> None:
    """Little's law: 8 clients on fast storage are each idle for as long as was asked."""
    asked_ns = 300_000
    for load in (without_clients(cells["reads-128-r700"], tmp_path), recorded(cells["reads-128-r700"], tmp_path)):
        keys = ("replay.mode=closed", "replay.clients=8", f"replay.think={asked_ns} ns")
        result = replay_statements(load, on("pcie-flash", *keys)).summary
        each_ns = 8e9 / result["throughput_per_s"]["transactions"]["value"]
        assert each_ns - result["latency_ns"]["transaction"]["mean"]["value"] == pytest.approx(asked_ns, rel=0.03)
