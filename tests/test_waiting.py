"""Replay that keeps causes: against queueing networks that have exact solutions, against recordings, against its own
rules.
"""

import gzip
from collections.abc import Sequence
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.explorations import commits_of_pgbench
from tests.made_up_devices import token_bucket
from tests.recordings import closed_recording, rows_of, write_recording
from tiersim.cli.page import build_page
from tiersim.cli.replay import _show_requests
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.operating_system import available_bytes
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.scenarios import causes
from tiersim.scenarios.calibration.self_replay import compare
from tiersim.scenarios.causes import CauseRules, Waiting, infer_streams, scale_load, streams_of
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.owners import SESSION, WRITER, find_owners
from tiersim.scenarios.replay import replay, workers_that_fit
from tiersim.scenarios.survey import EXTENT_BYTES, Checkpoint, RecordedCommands, load_recorded, survey
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.result import Result
from tiersim.simulator.streams import NO_STREAMS, to_run
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.schema import CHECKPOINT_WRITE, DATA_READ, FLAG_FUA, FLAG_SYNC, LOG_WRITE

SERVICE_NS = 1_000_000
SLOW_READS = """
kind = "token-bucket"
name = "reads limited"
capacity = "2 TiB"
latency = "0.3 ms"
refill_interval = "10 ms"
carry_over = "0 s"
read_iops = 400
[sources]
capacity = "assumed: 1 TiB .. 4 TiB"
latency = "assumed: 0.1 ms .. 1 ms"
refill_interval = "assumed: 1 ms .. 100 ms"
carry_over = "assumed: 0 s .. 1 s"
read_iops = "document: the limit that was set"
"""


def throughput_of_mva(clients: int, stations: int, think_ns: float) -> float:
    """Exact mean value analysis of balanced stations and a delay (Reiser & Lavenberg 1980), requests per ns.

    A request goes to one of *stations*, each as often; each serves one at a time.
    """
    queue = 0.0  # at each station
    rate = 0.0
    for present in range(1, clients + 1):
        response = SERVICE_NS * (1 + queue)
        rate = present / (think_ns + response)
        queue = rate / stations * response
    return rate


@pytest.mark.parametrize(("clients", "think_ns"), [(1, 0), (4, 0), (16, 0), (8, 2e6), (32, 5e6)])
def test_closed_streams_on_balanced_stations_are_exact_mva(clients: int, think_ns: float) -> None:
    stations, per_stream = 8, 480_000 // clients
    columns = closed_recording(clients, per_stream, 50_000, think_ns or 0)
    generator = np.random.default_rng(3)
    rows = rows_of(**columns, file=generator.integers(0, stations, clients * per_stream))
    trace = RecordedCommands(
        rows.time_ns, rows.time_ns, rows.latency_ns, rows.op, rows.file, rows.stream, rows.purpose, rows.flags,
        rows.offset_bytes, rows.length_bytes,
    )  # fmt: skip
    owners = find_owners(trace, [f"client {number}" for number in range(clients)], None)
    streams = to_run(infer_streams(trace, owners, CauseRules(window_ns=1 << 60)))
    builder = PlantBuilder(5)
    for number in range(stations):
        add_server(builder, f"disk{number}", 1, SERVICE_NS, "exponential")
    metrics = new_metrics(len(CATEGORIES), stations, RESOURCES, 2, 1 << 50)
    _, outcome = engine.run_streams(builder.build(), streams, metrics)
    # while all clients are busy: the first one to be through ends that
    last = streams.done_ns[streams.streams["end"].astype(np.int64) - 1].min()
    counted = np.count_nonzero((streams.done_ns > last // 20) & (streams.done_ns <= last))
    assert outcome.left == clients * per_stream
    assert counted / (last - last // 20) == pytest.approx(throughput_of_mva(clients, stations, think_ns), rel=0.01)


def scenario(text: str, folder: Path) -> NamedScenario:
    (folder / "reads.toml").write_text(SLOW_READS)
    path = folder / "own.toml"
    path.write_text(text)
    return load_scenario(str(path))


def run(path: Path, on: str, **replay_keys: Any) -> Result:
    """Replay on a ready scenario or device with some keys of [replay] set."""
    base = load_scenario(on)
    model = base.model.model_copy(update={"replay": base.model.replay.model_copy(update=replay_keys)})
    devices = {name: volume.device for name, volume in base.volumes.items()}
    return replay(survey(Bundle(path)), NamedScenario(base.name, model, devices), keep_requests=True)


def columns_of(result: Result) -> dict[str, Any]:
    assert result.requests is not None
    return {name: result.requests[name].to_numpy() for name in result.requests.column_names}


def test_a_slow_device_keeps_order_and_think_times(tmp_path: Path) -> None:
    """Recorded at 80 µs a read, replayed on disks: every stream in its order, every think time as it was."""
    columns = closed_recording(6, 400, 80_000, 900_000.0)
    generator = np.random.default_rng(2)
    path = write_recording(
        tmp_path,
        rows_of(**columns, offset_bytes=generator.integers(0, 10**6, 2400) * 8192),
        streams=[f"backend {n}" for n in range(6)],
    )
    result = run(path, "15k-raid10-bare")
    found, rows = columns_of(result), Bundle(path).requests()
    np.testing.assert_array_equal(found["recorded_ns"], rows.time_ns)
    assert result.summary["latency_ns"]["unknown"]["mean"]["value"] > 2e6
    for stream in range(6):
        own = np.flatnonzero(rows.stream == stream)
        start, done = found["start_ns"][own], found["done_ns"][own]
        assert (np.diff(start) > 0).all()
        recorded_think = rows.time_ns[own][1:] - (rows.time_ns[own] + rows.latency_ns[own])[:-1]
        np.testing.assert_array_equal(start[1:] - done[:-1], recorded_think)
    assert result.summary["verdict"]["load"] == "behind"
    assert result.summary["verdict"]["arrivals"] == "recorded"
    assert result.summary["lag_ns"]["at_end"] == found["start_ns"].max() - rows.time_ns.max()


def test_a_pause_ends_a_visit_and_lets_a_late_stream_catch_up(tmp_path: Path) -> None:
    """Two visits of a stream, 10 s apart: the second begins when it was recorded, if the first is over by then."""
    visit = np.arange(200) * 100_000
    rows = rows_of(
        np.concatenate([visit, 10**10 + visit]), 50_000, stream=0, offset_bytes=np.arange(400) * 10**7 // 512 * 512
    )
    path = write_recording(tmp_path, rows, streams=["backend 1"])
    found = columns_of(run(path, "15k-raid10-bare"))
    assert found["start_ns"][199] > 2 * 10**8  # later than recorded by far
    assert found["start_ns"][200] == 10**10
    closed = columns_of(run(path, "15k-raid10-bare", mode="closed"))
    assert closed["start_ns"][200] - closed["done_ns"][199] == 10**10 - (visit[-1] + 50_000)


def test_on_the_recorded_latencies_every_request_starts_when_it_did(tmp_path: Path) -> None:
    """Sessions of one thread with a constant latency, and a writer that keeps their pace: the recording itself comes
    out.
    """
    sessions = closed_recording(5, 300, 81_920, 700_000.0)
    writes = np.sort(np.random.default_rng(4).integers(0, 2 * 10**8, 500))
    rows = rows_of(
        np.concatenate([sessions["time_ns"], writes]), 81_920, np.concatenate([sessions["stream"], np.full(500, 5)]),
        op=np.repeat([READ, WRITE], [1500, 500]), flags=np.repeat([FLAG_SYNC, 0], [1500, 500]),
    )  # fmt: skip
    path = write_recording(tmp_path, rows, streams=[*(f"backend {n}" for n in range(5)), "writer"])
    result = run(path, "recorded")
    found = columns_of(result)
    off = np.abs(found["start_ns"] - found["recorded_ns"])
    assert np.quantile(off, 0.999) < 0.01 * 81_920 * 300  # a histogram's bin is 0.8 % wide, and think times add up
    assert result.summary["replay"]["writers"] == 1
    assert result.summary["verdict"]["load"] == "steady"
    assert abs(result.summary["throughput_shortfall_pct"]) < 1


def test_writers_keep_the_pace_of_the_sessions_or_the_clock(tmp_path: Path) -> None:
    sessions = closed_recording(2, 1000, 80_000, 20_000)
    times = np.arange(1, 101) * 10**6
    rows = rows_of(
        np.concatenate([sessions["time_ns"], times]), np.repeat([80_000, 60_000_000], [2000, 100]),
        np.concatenate([sessions["stream"], np.full(100, 2)]),
        op=np.repeat([READ, WRITE], [2000, 100]), flags=np.repeat([FLAG_SYNC, 0], [2000, 100]),
        offset_bytes=np.random.default_rng(1).integers(0, 10**6, 2100) * 8192,
    )  # fmt: skip
    path = write_recording(tmp_path, rows, streams=["backend 1", "backend 2", "checkpointer"])
    write = Bundle(path).requests().op == WRITE
    paced, timed = run(path, "15k-raid10-bare"), run(path, "15k-raid10", writers="clock")
    assert paced.summary["replay"]["waits_for_foreground"] == 100
    np.testing.assert_array_equal(columns_of(timed)["start_ns"][write][:50], times[:50])
    starts, foreground = columns_of(paced)["start_ns"], np.sort(columns_of(paced)["start_ns"][~write])
    middle = np.flatnonzero(write)[50]
    started = np.count_nonzero(foreground <= starts[middle])
    recorded = np.count_nonzero(~write & (columns_of(paced)["recorded_ns"] <= times[50]))
    assert started == pytest.approx(recorded, abs=5)
    assert starts[middle] > 10 * times[50]


@pytest.mark.parametrize("commits", ["own", "shared"])
def test_a_session_may_wait_for_the_flush_of_another(tmp_path: Path, commits: str) -> None:
    """One session flushes a log again and again; the other reads 10 µs after every flush. On a slower device it does so
    again if commits are shared, else as long after its own read as recorded.
    """
    count, cycle, took = 50, 10**6, 400_000
    begins = np.arange(1, count + 1) * cycle
    reads = begins + took + 10_000
    rows = rows_of(
        np.concatenate([begins, reads]), np.repeat([took, 50_000], count), np.repeat([0, 1], count),
        op=np.repeat([FLUSH, READ], count), purpose=np.repeat([LOG_WRITE, DATA_READ], count),
        length_bytes=np.repeat([0, 4096], count), flags=FLAG_SYNC,
    )  # fmt: skip
    path = write_recording(tmp_path, rows, streams=["backend 1", "backend 2"])
    device = SLOW_READS.replace("read_iops = 400", 'read_iops = 100000\nflush = "2 ms"')
    (tmp_path / "flushes.toml").write_text(device + 'flush = "assumed: 1 ms .. 3 ms"\n')
    slow = tmp_path / "slow.toml"
    slow.write_text('[volumes.data]\ndevice = "flushes.toml"\n')
    is_flush = Bundle(path).requests().op == FLUSH
    found = columns_of(run(path, str(slow), commits=commits))
    after = found["start_ns"][~is_flush] - found["done_ns"][is_flush]
    assert (np.diff(found["done_ns"][is_flush]) > 1.5 * cycle).all()
    assert (after[2:] == 10_000).all() == (commits == "shared")


def test_a_checkpointer_may_keep_the_clock_while_other_writers_keep_pace(tmp_path: Path) -> None:
    sessions = closed_recording(2, 1000, 80_000, 20_000)
    times = np.arange(1, 101) * 10**6
    rows = rows_of(
        np.concatenate([sessions["time_ns"], times, times]), np.repeat([80_000, 60_000_000], [2000, 200]),
        np.concatenate([sessions["stream"], np.repeat([2, 3], 100)]),
        op=np.repeat([READ, WRITE], [2000, 200]), flags=np.repeat([FLAG_SYNC, 0], [2000, 200]),
        offset_bytes=np.random.default_rng(1).integers(0, 10**6, 2200) * 8192,
    )  # fmt: skip
    names = ["backend 1", "backend 2", "checkpointer", "background writer"]
    path = write_recording(tmp_path, rows, streams=names)
    stream = Bundle(path).requests().stream
    result = run(path, "15k-raid10", writers="timed")
    starts_ns = columns_of(result)["start_ns"]
    np.testing.assert_array_equal(starts_ns[stream == 2][:50], times[:50])
    assert starts_ns[stream == 3][50] > 10 * times[50]
    assert result.summary["replay"]["waits_for_foreground"] == 100


def test_a_writer_has_as_many_writes_outstanding_as_when_it_was_recorded(tmp_path: Path) -> None:
    """One write each 100 µs, of 250 µs: three at a time, on slower disks, too."""
    sessions = closed_recording(1, 100, 80_000, 20_000)
    rows = rows_of(
        np.concatenate([sessions["time_ns"], np.arange(300) * 100_000]),
        np.repeat([80_000, 250_000], [100, 300]),
        np.repeat([0, 1], [100, 300]),
        op=np.repeat([READ, WRITE], [100, 300]),
        flags=np.repeat([FLAG_SYNC, 0], [100, 300]),
        offset_bytes=np.random.default_rng(1).integers(0, 10**6, 400) * 8192,
    )
    path = write_recording(tmp_path, rows, streams=["backend 1", "checkpointer"])
    result = run(path, "15k-raid10-bare", writers="clock")
    assert result.summary["replay"]["writers"] == 1
    own = Bundle(path).requests().op == WRITE
    start, done = (columns_of(result)[name][own] for name in ("start_ns", "done_ns"))
    assert max(np.count_nonzero((start <= t) & (done > t)) for t in start) == 3


def test_more_load_is_more_sessions_and_not_faster_ones(tmp_path: Path) -> None:
    columns = closed_recording(8, 200, 80_000, 1_000_000.0)
    offsets = np.random.default_rng(6).integers(0, 10**6, 1600) * 8192
    path = write_recording(
        tmp_path, rows_of(**columns, offset_bytes=offsets), streams=[f"backend {n}" for n in range(8)]
    )
    for load, sessions in ((0.5, 4), (1.0, 8), (2.0, 16), (2.5, 20)):
        summary = run(path, "pcie-flash", load=load).summary
        assert summary["replay"]["sessions"] == sessions
        assert summary["commands"] == sessions * 200
        assert summary["replay"]["load_reached"] == pytest.approx(load)
    twice = columns_of(run(path, "pcie-flash", load=2.0))
    assert columns_of(run(path, "pcie-flash", load=2.0))["done_ns"].tolist() == twice["done_ns"].tolist()
    assert columns_of(run(path, "pcie-flash", load=2.0, seed=9))["done_ns"].tolist() != twice["done_ns"].tolist()


def test_the_recorded_column_is_of_the_recording_whatever_load_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = closed_recording(4, 200, 80_000, 1_000_000.0)
    offsets = np.random.default_rng(6).integers(0, 10**6, 800) * 8192
    path = write_recording(tmp_path, rows_of(**columns, offset_bytes=offsets), streams=list("abcd"))
    for load in (0.5, 1.0, 2.0):
        summary = run(path, "pcie-flash", load=load).summary
        _show_requests([summary], everything=True)
        out = capsys.readouterr().out
        assert (f"run at {load:g} × the recorded load" in out) == (load != 1.0)
        cells = [line.split("  ") for line in out.splitlines()]
        rows = {row[0].strip(): [cell.strip() for cell in row[1:] if cell.strip()] for row in cells}
        rate = 800 / (summary["trace"]["span_ns"] / 1e9)
        assert float(rows["requests/s"][0].replace(",", "")) == pytest.approx(rate, rel=0.01)
        mean, p99, most = (rows[key][0] for key in rows if key.startswith(("unknown, mean", "unknown, p99")))
        assert (mean, most) == ("80 µs", "too few")  # the largest of 800 is no p99.9
        assert p99.endswith("µs")


def test_what_was_measured_is_of_the_commands_that_a_run_counts(tmp_path: Path) -> None:
    """Four requests go to the device as one command: a latency is from the first of them on, in both."""
    begin_ns = np.repeat(np.arange(500) * 2_000_000, 4)
    late_ns = np.tile(np.arange(4) * 10_000, 500)
    rows = rows_of(
        begin_ns + late_ns, 500_000 - late_ns, stream=0, offset_bytes=np.arange(2000) * 8192, purpose=DATA_READ
    )
    path = write_recording(tmp_path, replaced(rows, command=np.repeat(np.arange(500), 4)), streams=["postgres"])
    (tmp_path / "bucket.toml").write_text(token_bucket(latency="470 us"))
    (tmp_path / "own.toml").write_text('description = "own"\n[volumes.data]\ndevice = "bucket.toml"\n')
    summary = run(path, str(tmp_path / "own.toml")).summary
    simulated, measured = summary["latency_ns"]["data read"], summary["measured_latency_ns"]["data read"]
    assert simulated["count"] == measured["count"] == 500
    assert measured["mean"] == 500_000
    assert simulated["mean"]["value"] == pytest.approx(500_000, rel=0.01)
    assert compare(summary)["verdict"] == "calibrated"


@pytest.mark.parametrize(
    ("device", "flags", "error"),
    [
        ("samsung-990-pro-2000", FLAG_FUA, "volatile buffer"),
        ("samsung-990-pro-2000", FLAG_SYNC, None),
        ("samsung-pm9a3-7680", FLAG_FUA, None),  # it has power-loss protection
    ],
)
def test_writes_that_must_be_stable_have_no_known_error_where_a_volatile_buffer_answers_them(
    tmp_path: Path, device: str, flags: int, error: str | None
) -> None:
    """SQL Server on Linux writes its log so: a drive without power-loss protection programs each, which takes 1 ms."""
    rows = rows_of(
        np.arange(400) * 5_000_000, 1_000_000, stream=0, op=WRITE, offset_bytes=np.arange(400) * 4096,
        length_bytes=4096, purpose=LOG_WRITE, flags=flags,
    )  # fmt: skip
    summary = run(write_recording(tmp_path, rows, streams=["sqlservr"]), device).summary
    assert summary["verdict"].get("error") == error
    assert (summary["model_error"]["basis"] == "unknown") == (error is not None)
    said = [
        one for one in summary["caveats"] if "400 recorded writes to volume data had to be on stable storage" in one
    ]
    assert len(said) == (error is not None)


def test_more_load_by_the_clock_is_judged_as_an_open_replay(tmp_path: Path) -> None:
    times = np.sort(np.random.default_rng(3).integers(0, 20 * 10**9, 40_000))
    path = write_recording(tmp_path, rows_of(times, 100_000, offset_bytes=np.arange(40_000) * 8192))
    once = run(path, "aws-gp3", mode="open").summary
    assert once["verdict"]["load"] == "steady"
    twice = run(path, "aws-gp3", mode="open", load=2.0).summary  # 4,000 a second on a volume that serves 3,000
    assert twice["verdict"]["load"] == "saturated"
    assert twice["load"]["sustainable_load"] == pytest.approx(0.75, rel=0.05)
    assert twice["lag_ns"] is None


def test_a_faster_run_has_a_higher_throughput(tmp_path: Path) -> None:
    columns = closed_recording(4, 2000, 2_000_000, 20_000)
    offsets = np.random.default_rng(6).integers(0, 10**6, 8000) * 8192
    path = write_recording(
        tmp_path, rows_of(**columns, offset_bytes=offsets), streams=[f"backend {n}" for n in range(4)]
    )
    summary = run(path, "pcie-flash").summary
    assert summary["throughput_shortfall_pct"] < -500
    recorded = 8000 / (summary["trace"]["span_ns"] / 1e9)
    rate = summary["throughput_per_s"]["requests"]["value"]
    assert rate == pytest.approx(recorded * (1 - summary["throughput_shortfall_pct"] / 100), rel=0.01)
    assert summary["verdict"]["load"] == "steady"


def test_clients_that_are_given_ask_one_thing_at_a_time(tmp_path: Path) -> None:
    """A recording without latencies: nobody knows who waited for what, until somebody says how
    many clients there are.
    """
    path = write_recording(tmp_path, rows_of(np.arange(3000) * 10**6, -1, offset_bytes=np.arange(3000) * 81920))
    with pytest.raises(ScenarioError, match="latencies of 0 % of its requests; write clients"):
        run(path, "aws-gp3", mode="closed")
    by_the_clock = run(path, "aws-gp3").summary
    assert by_the_clock["lag_ns"] is None
    assert by_the_clock["replay"]["played"] == "open"
    assert "0 % of the requests" in by_the_clock["replay"]["why"]
    found = columns_of(run(path, "aws-gp3", mode="closed", clients=3, think=5_000_000))
    edges = np.sort(np.concatenate([found["start_ns"], found["done_ns"] + 5_000_000]))
    assert edges.size == 6000
    busy = [np.count_nonzero((found["start_ns"] <= t) & (found["done_ns"] > t)) for t in found["start_ns"][::100]]
    assert max(busy) <= 3
    # each client needs 0.8 ms and thinks for 5 ms
    assert 3000 / found["done_ns"].max() == pytest.approx(3 / 5.8e6, rel=0.02)


def test_bursts_beyond_the_clients_wait_for_them(tmp_path: Path) -> None:
    """Ten requests at a time, recorded as outstanding together: three clients ask for them three at a time."""
    times = np.repeat(np.arange(100) * 10**8, 10)
    path = write_recording(tmp_path, rows_of(times, 50_000_000, offset_bytes=np.arange(1000) * 81920))
    assert run(path, "aws-gp3").summary["replay"]["inferred_sessions"] == 10
    found = columns_of(run(path, "aws-gp3", mode="closed", clients=3))
    busy = [np.count_nonzero((found["start_ns"] <= t) & (found["done_ns"] > t)) for t in found["start_ns"]]
    assert max(busy) == 3


def test_roles_of_streams(tmp_path: Path) -> None:
    """A backend waits, a checkpointer does not, nor does the kernel."""
    times = np.arange(400) * 10**6
    stream = np.arange(400) % 4
    op = np.where(stream == 0, READ, WRITE)
    flags = np.where(stream == 2, 0, FLAG_SYNC)
    path = write_recording(
        tmp_path,
        rows_of(times, 10**5, stream, op, flags=flags),
        streams=["backend", "kworker/0", "checkpointer", "jbd2/x"],
    )
    bundle = Bundle(path)
    owners = find_owners(load_recorded(bundle), bundle.stream_names, None)
    assert owners.role.tolist() == [SESSION, WRITER, WRITER, 2]
    assert owners.inferred_sessions == 0


def test_the_wait_for_the_log_is_write_flush_and_the_host_between(tmp_path: Path) -> None:
    times = np.concatenate([np.arange(100) * 10**7, np.arange(100) * 10**7 + 150_000])
    rows = rows_of(
        times, np.repeat([100_000, 70_000], 100), 0, np.repeat([WRITE, FLUSH], 100), purpose=LOG_WRITE,
        length_bytes=np.repeat([8192, 0], 100), flags=FLAG_SYNC,
    )  # fmt: skip
    path = write_recording(tmp_path, rows, streams=["backend"])
    summary = run(path, "recorded").summary
    # write 100 µs, 50 µs until the flush is asked for, flush 70 µs, 50 µs until the server goes on
    assert summary["measured_latency_ns"]["log sync"]["mean"] == 270_000
    assert summary["measured_latency_ns"]["log sync on device"]["mean"] == 170_000
    assert summary["latency_ns"]["log sync"]["mean"]["value"] == pytest.approx(270_000, rel=0.01)
    assert summary["latency_ns"]["log sync on device"]["mean"]["value"] == pytest.approx(170_000, rel=0.01)


# ---- against recordings


def import_shared(folder: Path, sources: Sequence[Path]) -> Path:
    paths = []
    for source in sources:
        if source.suffixes[-2:] == [".bin", ".gz"]:
            plain = folder / source.stem
            plain.write_bytes(gzip.decompress(source.read_bytes()))
            paths.append(plain)
        else:
            paths.append(source)
    import_trace(paths, folder / "recorded.trace")
    return folder / "recorded.trace"


@pytest.mark.shared
@pytest.mark.parametrize(("load", "fast_tps", "limited_tps"), [("sel", 4718.73, 221.14), ("tpcb", 681.61, 219.06)])
def test_a_limit_on_reads_costs_what_it_cost(
    shared: Path, tmp_path: Path, load: str, fast_tps: float, limited_tps: float
) -> None:
    """pgbench on a fast device and with 400 reads a second: the shortfall in transactions, from the fast recording
    alone.
    """
    source = shared / f"postgres/ab/{load}_fast_1/tracefs_stream.bin.gz"
    path = import_shared(tmp_path, [source])
    limited = scenario('[volumes.data]\ndevice = "reads.toml"\n', tmp_path)
    summary = replay(survey(Bundle(path)), limited).summary
    assert summary["verdict"]["load"] == "behind"
    assert summary["load"]["resource"] == "read IOPS limit"
    measured_pct = 100 * (1 - limited_tps / fast_tps)
    assert summary["throughput_shortfall_pct"] == pytest.approx(measured_pct, rel=0.15)


@pytest.mark.shared
def test_the_wait_for_the_log_is_what_postgresql_measured(shared: Path, tmp_path: Path) -> None:
    """pg_stat_wal: 6,213.85 ms for 2,786 syncs, 2.23 ms each; the write and the flush take 1.5 ms on the device."""
    folder = shared / "blktrace/pgbench_70tps"
    path = import_shared(tmp_path, [folder / "loop0.blktrace.0", folder / "loop2.blktrace.0"])
    summary = replay(survey(Bundle(path)), load_scenario("recorded")).summary
    for found in (
        summary["measured_latency_ns"],
        {k: {"mean": v["mean"]["value"]} for k, v in summary["latency_ns"].items()},
    ):
        assert found["log sync"]["mean"] == pytest.approx(2.2304e6, rel=0.10)
        assert found["log sync on device"]["mean"] == pytest.approx(1.5e6, rel=0.05)
    assert summary["checkpoints"][0]["start_ns"] == pytest.approx(15e9, abs=1e9)  # CHECKPOINT at 15 s
    assert len(summary["checkpoints"]) == 1
    assert summary["verdict"]["load"] == "steady"


def test_what_does_not_fit_into_memory_is_refused_before_it_begins() -> None:
    assert workers_that_fit(1_000_000, 2, 10 * 2**30) == 2
    assert workers_that_fit(30_000_000, 4, 10 * 2**30) == 1
    with pytest.raises(ScenarioError, match=r"about 19 GB of memory .* 10 GiB are free; --set replay\.mode=open"):
        workers_that_fit(100_000_000, 1, 10 * 2**30)
    assert available_bytes() > 2**28


@pytest.mark.shared
def test_a_sql_server_host_goes_from_its_recording_to_a_page(shared: Path, tmp_path: Path) -> None:
    """42,976 requests of an hour, of which the recording tells no latency and no process."""
    path = import_shared(tmp_path, [shared / "other/blkreplay/windows-mssql.load.gz"])
    found = survey(Bundle(path))
    results = [replay(found, load_scenario(name)) for name in ("15k-raid10-bare", "pcie-flash")]
    for result in results:
        summary = result.summary
        assert summary["trace"]["requests"] == summary["conservation"]["requests_out"] == 42_976
        assert summary["latency_ns"]["data read"]["count"] == 2_528
        assert summary["latency_ns"]["data write"]["count"] == 40_448
        assert summary["verdict"]["load"] == "steady"
        assert summary["replay"]["played"] == "open"
    assert "pcie-flash" in build_page(results, "SQL Server host")


@pytest.mark.long
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("load", [0.5, 1.0, 1.5, 2.25])
def test_streams_of_copies_are_those_of_all_copies_in_order_of_time(
    load: float, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies are made a block at a time, by as many threads as there are; all at once, sorted, they are the same
    commands.
    """
    monkeypatch.setattr(causes, "_BLOCK", 1000)
    monkeypatch.setattr(causes, "_FEWEST_AT_A_TIME", 1)
    monkeypatch.setattr(causes, "processors", lambda: threads)
    bundle = Bundle(commits_of_pgbench(tmp_path))
    found, trace = survey(bundle), load_recorded(bundle)
    owners = find_owners(trace, found.stream_names, None)
    crowd = scale_load(trace, owners, load, found.span_ns, found.files, 7)
    whole, of_whole = crowd.joined()
    assert (np.diff(whole.time_ns) >= 0).all()
    assert len(whole) == pytest.approx(load * len(trace), rel=0.2)
    rules = CauseRules(window_ns=10_000_000)
    made, latency_ns = streams_of(crowd, rules)
    monkeypatch.setattr(causes, "processors", lambda: 1)
    again, same_latency_ns = streams_of(scale_load(whole, of_whole, 1.0, found.span_ns, found.files, 7), rules)
    for name, column in made._asdict().items():
        assert np.array_equal(column, getattr(again, name)), name
    assert np.array_equal(latency_ns, same_latency_ns)
    assert made.sync.any()


@pytest.mark.parametrize("step", [1, 3])
def test_a_copy_asks_for_the_same_places_so_many_extents_further(step: int) -> None:
    """Whether a file was touched at all of its extents, or at every third; also by requests between and behind them."""
    luck = np.random.default_rng(3)
    touched = np.arange(5, 5 + 40 * step, step)
    extents = causes.Extents(touched, np.array([0, 40]), np.array([7]), np.array([200 * EXTENT_BYTES]))
    offset = luck.integers(0, 130, 500) * EXTENT_BYTES + luck.integers(0, 100, 500) * 512
    zeros, ones = np.zeros(500, np.int64), np.ones(500, np.uint8)
    file = zeros.astype(np.int32)
    recorded = RecordedCommands(zeros, zeros, zeros, 0 * ones, file, file, 0 * ones, ones, offset, zeros + 512)
    moved = replaced(recorded, time_ns=zeros.copy(), intended_ns=zeros.copy(), offset_bytes=zeros.copy())
    causes.move_elsewhere(recorded.columns, 3, 1000, extents, moved.columns)
    number, within = np.divmod(offset, EXTENT_BYTES)
    wanted = touched[(np.searchsorted(touched, number) + 7) % 40] * EXTENT_BYTES + within
    assert moved.offset_bytes.tolist() == wanted.tolist()


def test_by_the_clock_nothing_waits(tmp_path: Path) -> None:
    bundle = Bundle(commits_of_pgbench(tmp_path))
    found, trace = survey(bundle), load_recorded(bundle)
    owners = find_owners(trace, found.stream_names, None)
    made, latency_ns = streams_of(scale_load(trace, owners, 1.5, found.span_ns, found.files, 7), causes.BY_THE_CLOCK)
    assert made.commands
    assert not latency_ns.size
    for column in (made.waits_for, made.think_ns, made.ended_before, made.pace, made.sync):
        assert len(column) == made.commands
        assert not column.any()


def test_a_checkpoint_of_a_run_spans_the_writes_of_the_recorded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stream issued them, in whatever order, and however many commands are looked at together."""
    generator = np.random.default_rng(5)
    recorded_ns = generator.integers(0, 100, 1000)
    columns = {
        "category": generator.choice(np.array([CHECKPOINT_WRITE, DATA_READ], np.uint8), 1000),
        "recorded_ns": recorded_ns,
        "started_ns": recorded_ns + generator.integers(0, 300, 1000),
        "done_ns": recorded_ns + generator.integers(300, 900, 1000),
    }
    recorded = tuple(Checkpoint(start, end, 50) for start, end in ((3, 20), (40, 40), (60, 99), (150, 160)))
    nothing = np.zeros(0, np.uint8)
    waiting = Waiting(NO_STREAMS, nothing, None, np.empty(0, np.str_), {}, {}, {})
    wanted = []
    for one in recorded:
        rows = [
            row
            for row in range(1000)
            if columns["category"][row] == CHECKPOINT_WRITE and one.start_ns <= recorded_ns[row] <= one.end_ns
        ]
        if rows:
            started, done = columns["started_ns"][rows], columns["done_ns"][rows]
            wanted.append(Checkpoint(min(started), max(done), len(rows)))
    assert len(wanted) == 3
    for block in (7, 1000):
        monkeypatch.setattr(causes, "_BLOCK", block)
        assert waiting.checkpoints(NO_STREAMS._replace(**columns), recorded) == wanted
