"""Workloads that are described: what their files say, what runs, what results say of it, and what is refused."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.made_up_devices import token_bucket
from tiersim.cli import verdicts
from tiersim.cli.main import app
from tiersim.cli.page.series import over_time
from tiersim.cli.workloads import show_workload
from tiersim.errors import ScenarioError
from tiersim.scenarios import library
from tiersim.scenarios.caveats import in_doubt
from tiersim.scenarios.library import find_workload, is_workload, load_scenario
from tiersim.scenarios.statements import warm_pools
from tiersim.scenarios.workloads import assembly as workload_assembly
from tiersim.scenarios.workloads import program
from tiersim.scenarios.workloads import replay as workloads
from tiersim.scenarios.workloads.assembly import assemble
from tiersim.scenarios.workloads.demands import PREFETCHED_ROWS
from tiersim.scenarios.workloads.model import RelationModel, read_workload
from tiersim.scenarios.workloads.replay import load_workload, run_workload, run_workload_all
from tiersim.simulator.database.buffer_pool.warm import Warmed, warm
from tiersim.simulator.result import load_result
from tiersim.simulator.summary_model import Summary

MS = 1_000_000
HEAD = """
[workload]
engine = "{engine}"
buffer_pool = "{pool}"
cores = 8
cache = "{cache}"
{more}

[relations.accounts]
rows = 6000
rows_per_page = 60
"""
#: Lookups in a table that no pool holds.
LOOKUPS = """
[relations.large]
rows = {rows}
rows_per_page = 60
[statements.work]
does = [{{ lookup = "large" }}]
[streams.users]
statements = ["work"]
{users}
"""
#: CPU costs nothing, so that what remains is devices.
SCENARIO = """
[host]
contention = 0.0
costs = {{ lookup = "0 ns", page = "0 ns", scan_page = "0 ns", scan_row = "0 ns", read = "0 ns", async_read = "0 ns", read_page = "0 ns", scan_read = "0 ns", evict_clean = "0 ns", evict_dirty = "0 ns", change = "0 ns", log_io = "0 ns" }}

[volumes.data]
device = "data.toml"

[volumes.other]
device = "other.toml"

[placement]
default = "data"
{placement}
"""  # noqa: E501


def run(
    folder: Path,
    text: str,
    *,
    pool: str = "8 MiB",
    cache: str = "cold",
    engine: str = "sqlserver",
    more: str = "",
    placement: str = "",
    other_ms: int = 2,
    capacity: str = "100 GB",
    settings: tuple[str, ...] = (),
) -> Mapping[str, Any]:
    """Run a workload on a volume that takes 3 ms and another of *other_ms*, whose scenario is ``two.toml``."""
    (folder / "data.toml").write_text(token_bucket(latency="3 ms"))
    (folder / "other.toml").write_text(token_bucket(latency=f"{other_ms} ms", capacity=capacity))
    (folder / "two.toml").write_text(SCENARIO.format(placement=placement))
    (folder / "load.toml").write_text(HEAD.format(pool=pool, cache=cache, engine=engine, more=more) + text)
    result = run_workload(load_workload(folder / "load.toml"), load_scenario(str(folder / "two.toml"), settings))
    Summary.model_validate(result.summary)
    return result.summary


def took_ms(summary: Mapping[str, Any], statement: str) -> float:
    return float(summary["queries"][statement]["took_ns"]) / MS


def test_a_backup_and_its_restore_pass_their_window(tmp_path: Path) -> None:
    """40 buffers full, 4 at a time, 3 ms to read and 2 ms to write each: ten rounds of 5 ms. That of the other relation
    holds 100 pages.
    """
    text = """
[relations.large]
pages = 4992
[statements.save]
does = [{ backup = "file", buffers = 4 }]
[statements.save_to_nul]
does = [{ backup = "nul", buffers = 4 }]
[statements.load]
does = [{ restore = "file", buffers = 4, transfer = "1 MiB" }]
[streams.dba]
statements = ["save", "save_to_nul", "load"]
count = 1
"""
    summary = run(tmp_path, text, placement='backup = "other"')
    assert took_ms(summary, "save") == pytest.approx(50, rel=0.01)
    assert took_ms(summary, "save_to_nul") == pytest.approx(30, rel=0.01)
    assert took_ms(summary, "load") == pytest.approx(50, rel=0.01)
    save = summary["queries"]["save"]
    assert save["bulk_bytes_per_call"] == 5092 * 8192
    assert save["bulk_mb_per_s"] == pytest.approx(5092 * 8192 / 50e-3 / 1e6, rel=0.01)
    assert save["breakdown_ns"]["copy"] == pytest.approx(50 * MS, rel=0.01)
    assert summary["latency_ns"]["backup"]["count"] == 3


def test_streams_of_a_phase_begin_when_the_one_before_is_over(tmp_path: Path) -> None:
    text = """
[statements.short]
does = [{ compute = "1 ms" }]
[statements.long]
does = [{ compute = "4 ms" }]
[streams.power]
statements = ["short", "long"]
count = 2
[streams.throughput]
statements = ["short", "long"]
order = "shuffled"
clients = 5
count = 1
phase = 2
"""
    streams = run(tmp_path, text)["streams"]
    assert streams["power"]["elapsed_ns"] == pytest.approx(10 * MS, abs=100)
    assert streams["power"]["geometric_mean_ns"] == pytest.approx(2 * MS, rel=1e-4)
    assert streams["throughput"]["start_ns"] == streams["power"]["end_ns"]
    assert streams["throughput"]["elapsed_ns"] == pytest.approx(5 * MS, abs=100)
    assert streams["throughput"]["transactions"] == 10


THINKERS = """
[relations.lines]
pages = 4000
[statements.look]
does = [{ lookup = "accounts", rows = 3 }]
[statements.order]
does = [{ change = "accounts", log = "300 B" }, { scan = "lines", part = 0.01, degree = 3 }, { commit = "200 B" }]
[streams.thinking]
statements = ["look", "order"]
transaction = true
clients = 4
think = "300 ms"
[streams.drawn]
mix = { look = 80, order = 20 }
clients = 2
think = "200 ms"
[streams.busy]
statements = ["order"]
clients = 2
[streams.counted]
statements = ["look", "order", "look"]
clients = 3
count = 50
think = "700 ms"
"""


def test_what_is_run_does_not_depend_on_passes_that_nobody_comes_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients who think have the passes that they may come to; rows are drawn, and the pool is warmed, as if they had
    all that are planned.
    """
    laid: list[int] = []
    found = []

    def count(*arguments: Any) -> Any:
        assembled, rows = assemble(*arguments)
        laid.append(len(assembled.program.statements.classes))
        return assembled, rows

    monkeypatch.setattr(workloads, "assemble", count)
    for begun in (program._begun, lambda stream, passes, until_ns: passes):
        monkeypatch.setattr(program, "_begun", begun)
        found.append(run(tmp_path, THINKERS, pool="512 KiB", cache="warm", more='duration = "2 s"'))
    assert found[0] == found[1]
    assert found[0]["streams"]["thinking"]["transactions"] > 20
    left_out = [4 * 2 * (256 - 8), 3 * 3 * (50 - 4)]
    assert laid[len(laid) // 2] - laid[0] == sum(left_out)  # of the first tries


def test_no_client_runs_out_of_the_passes_that_it_may_come_to(tmp_path: Path) -> None:
    """Statements take next to no time, so passes begin just behind their thinking times: at 0, 250, 500 and 750 ms, and
    none at 1 s.
    """
    text = """
[statements.work]
does = [{ compute = "0 ms" }]
[streams.users]
statements = ["work"]
clients = 3
think = "250 ms"
"""
    assert run(tmp_path, text, more='duration = "1 s"')["streams"]["users"]["transactions"] == 12


def test_clients_go_round_until_the_duration_is_over(tmp_path: Path) -> None:
    """Four clients with 1 ms of CPU and 9 ms of thinking: 100 a second each; there are far more passes than they begin
    with.
    """
    text = """
[statements.work]
does = [{ compute = "1 ms" }]
[streams.users]
statements = ["work"]
clients = 4
think = "9 ms"
"""
    summary = run(tmp_path, text, more='duration = "4 s"')
    assert summary["throughput_per_s"]["transactions"]["value"] == pytest.approx(400, rel=0.01)
    assert summary["replay"]["transactions_done"] == pytest.approx(1600, rel=0.01)
    assert summary["verdict"]["load"] == "steady"


def test_what_is_sure_to_be_too_little_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One client, 20 us a pass, needs 100,000 passes for 2 s. The first number shows that 2,048 fill less than half of
    them: 16,384 come next, not more, as a rate may fall. What is found is as if all numbers were tried.
    """
    text = """
[statements.work]
does = [{ compute = "20 us" }]
[streams.users]
statements = ["work"]
clients = 1
"""
    tried: list[int] = []

    def noted(described: Any, scenario: Any, passes: int, span_ns: int, pools: Any) -> Any:
        tried.append(passes)
        return assemble(described, scenario, passes, span_ns, pools)

    monkeypatch.setattr(workloads, "assemble", noted)
    found = []
    for hopeless in (workloads._HOPELESS, 0.0):
        monkeypatch.setattr(workloads, "_HOPELESS", hopeless)
        found.append(run(tmp_path, text, more='duration = "2 s"'))
    assert tried == [256, 16_384, 131_072, 256, 2048, 16_384, 131_072]
    assert found[0] == found[1]


def test_scenarios_with_other_devices_fill_their_pool_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And each is as if it was run alone."""
    text = """
[statements.work]
does = [{ lookup = "accounts" }]
[streams.users]
statements = ["work"]
clients = 4
"""
    filled = []

    def noted(*given: Any, **settings: Any) -> Warmed:
        filled.append(1)
        return warm(*given, **settings)

    monkeypatch.setattr(warm_pools, "warm", noted)
    alone = [
        run(tmp_path, text, pool="256 KiB", cache="warm", more='duration = "2 s"', placement=placement)
        for placement in ('"relation:accounts" = "data"', '"relation:accounts" = "other"')
    ]
    (tmp_path / "one.toml").write_text(SCENARIO.format(placement='"relation:accounts" = "data"'))
    scenarios = [load_scenario(str(tmp_path / f"{name}.toml")) for name in ("one", "two")]
    together = run_workload_all(load_workload(tmp_path / "load.toml"), scenarios)
    assert [one.summary["throughput_per_s"] for one in together] == [one["throughput_per_s"] for one in alone]
    assert alone[0]["throughput_per_s"] != alone[1]["throughput_per_s"]
    assert len(filled) == 3


@pytest.mark.parametrize(
    ("pool", "duration", "cache"),
    [("8 MiB", "5 s", "warm"), ("8 MiB", "500 ms", "not warmed"), ("32 MiB", "5 s", "not warmed")],
)
def test_a_pool_is_warm_if_the_run_replaces_it_and_reads_no_less_then(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pool: str,
    duration: str,
    cache: str,
) -> None:
    """Four clients read 10,000 pages, each in 3 ms, and nothing is in the pool: 1,024 frames are full soon, not within
    half a second, and 4,096 frames only at the end.
    """
    monkeypatch.setattr(workload_assembly, "_FEWEST", 0)
    monkeypatch.setattr(workload_assembly, "_MOST_TURNS", 0)
    text = LOOKUPS.format(rows=600_000, users="clients = 4")
    summary = run(tmp_path, text, pool=pool, cache="warm", engine="postgresql", more=f'duration = "{duration}"')
    assert summary["verdict"]["cache"] == cache
    show_workload([summary], everything=False)
    assert ("The buffer pool is not warm when the run begins" in capsys.readouterr().out) == (cache == "not warmed")


def test_an_evenly_drawn_row_is_missed_as_often_as_innodb_has_no_room_for_its_page(tmp_path: Path) -> None:
    """Of 100 pages 64 are in 1 MiB of pool but for the frames that are kept free; a changed page is written twice."""
    text = """
[statements.work]
does = [{ change = "accounts", lock = false, log = "100 B" }, { commit = "20 B" }]
[streams.users]
statements = ["work"]
clients = 4
"""
    variables = 'duration = "20 s"\nvariables = { innodb_lru_scan_depth = "8", sync_binlog = "0" }'
    summary = run(tmp_path, text, engine="mariadb", pool="1 MiB", cache="warm", more=variables)
    assert summary["engine"]["lru_scan_depth"] == 8
    assert summary["settings_from"]["engine.lru_scan_depth"] == "workload"
    missed = summary["queries"]["work"]["physical_reads_per_call"]
    assert 0.36 < missed < 0.36 + 8 / 100 + 0.02
    assert summary["verdict"]["cache"] == "warm"


@pytest.mark.parametrize(("rate", "verdict"), [(400.0, "steady"), (3000.0, "saturated")])
def test_arrivals_come_at_their_rate_whatever_becomes_of_them(tmp_path: Path, rate: float, verdict: str) -> None:
    """Eight cores, 4 ms each: 2,000 a second."""
    text = f"""
[statements.work]
does = [{{ compute = "4 ms" }}]
[streams.users]
statements = ["work"]
rate = {rate}
"""
    summary = run(tmp_path, text, more='duration = "3 s"')
    assert summary["streams"]["users"]["clients"] == pytest.approx(3 * rate, rel=0.1)
    assert summary["verdict"]["load"] == verdict
    assert summary["verdict"]["arrivals"] == "described"


@pytest.mark.parametrize("steps", [1, 20])
def test_what_a_full_host_sustains_does_not_hang_on_how_many_transactions_run_side_by_side(
    tmp_path: Path, steps: int
) -> None:
    """Eight cores, 4 ms each, 2,000 a second; of transactions in many steps few end before all do."""
    text = f"""
[statements.work]
does = [{{ compute = "{4 / steps} ms" }}]
[streams.users]
statements = {["work"] * steps}
transaction = true
rate = 3000.0
"""
    summary = run(tmp_path, text, more='duration = "3 s"')
    assert summary["verdict"]["load"] == "saturated"
    assert summary["load"]["sustainable_load"] == pytest.approx(2 / 3, rel=0.1)
    assert summary["throughput_per_s"]["transactions"]["value"] == pytest.approx(2000, rel=0.1)


def test_statements_of_a_pass_are_due_when_it_comes(tmp_path: Path) -> None:
    """Eight cores, 4 ms each, 2,000 a second; two in each pass, each a transaction by itself."""
    text = """
[statements.work]
does = [{ compute = "4 ms" }]
[streams.users]
statements = ["work", "work"]
rate = 1500.0
"""
    summary = run(tmp_path, text, more='duration = "3 s"')
    assert summary["verdict"]["load"] == "saturated"
    assert summary["load"]["sustainable_load"] == pytest.approx(2 / 3, rel=0.1)
    assert summary["throughput_per_s"]["transactions"]["value"] == pytest.approx(2000, rel=0.1)


def test_a_full_disk_is_to_blame_not_the_pool_where_lookups_wait_for_it(tmp_path: Path) -> None:
    text = LOOKUPS.format(rows=6_000_000, users="rate = 2000.0")
    disk = ("volumes.data.device=seagate-cheetah-15k7-300",)
    summary = run(tmp_path, text, engine="postgresql", more='duration = "3 s"', settings=disk)
    assert summary["verdict"]["load"] == "saturated"
    assert (summary["load"]["station"], summary["load"]["resource"]) == ("data", "actuator")


def table(summary: Mapping[str, Any], capsys: pytest.CaptureFixture[str], *, everything: bool) -> dict[str, str]:
    """Return the printed rows of one result, by their names."""
    show_workload([summary], everything)
    lines = capsys.readouterr().out.splitlines()
    return {row[0]: row[1] for line in lines if len(row := re.split(r"\s{2,}", line.strip())) == 2}


#: Eight cores, 4 ms each: 2,000 a second.
WORK = """
[statements.work]
does = [{{ compute = "4 ms" }}]
[streams.users]
statements = ["work"]
{users}
"""


@pytest.mark.parametrize("everything", [False, True])
def test_the_wait_for_a_core_is_in_the_mean_of_transactions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], everything: bool
) -> None:
    """32 clients on eight cores: a statement has a core for 100 us, its transaction takes four times as long."""
    text = WORK.format(users="clients = 32").replace("4 ms", "100 us")
    rows = table(run(tmp_path, text, more='duration = "1 s"'), capsys, everything=everything)
    assert rows["work, took, once on a core"] == "100 µs"
    assert rows["transaction, mean"] == "400 µs"


@pytest.mark.parametrize("everything", [False, True])
def test_clients_without_a_clock_have_no_pace_to_keep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], everything: bool
) -> None:
    summary = run(tmp_path, WORK.format(users="clients = 32"), more='duration = "3 s"')
    rows = table(summary, capsys, everything=everything)
    assert "carries the load" not in rows
    assert rows["transactions/s, expected"]
    assert verdicts.carries(summary) == "no pace to keep"
    assert not in_doubt(summary)


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize(
    ("rate", "carries"),
    [(400, "yes"), (1900, "yes, in doubt"), (2100, "no, saturated, in doubt"), (4000, "no, saturated")],
)
def test_a_described_rate_has_the_errors_of_a_load_by_the_clock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rate: int, carries: str, everything: bool
) -> None:
    """Its transactions/s are no prediction, how far latencies are off is unknown, and a part that is nearly full may
    be full.
    """
    summary = run(tmp_path, WORK.format(users=f"rate = {rate}"), more='duration = "10 s"')
    rows = table(summary, capsys, everything=everything)
    assert rows["carries the load"] == carries
    assert "transactions/s, expected" not in rows
    assert (summary["verdict"]["error"], summary["replay"]["keeps"]) == ("arrivals", "rate")
    assert summary["model_error"] == {"basis": "unknown", "figures": {}}


@pytest.mark.parametrize("rate", [400, 3000])
def test_transactions_by_the_clock_arrive_when_they_are_due(tmp_path: Path, rate: int) -> None:
    """What 8 cores do not get through in time is a backlog on the page."""
    came = run(tmp_path, WORK.format(users=f"rate = {rate}"), more='duration = "3 s"')["streams"]["users"]["clients"]
    result = run_workload(load_workload(tmp_path / "load.toml"), load_scenario(str(tmp_path / "two.toml")))
    time = over_time(result, 1, with_percentiles=False, as_backlog=True)
    arrived, ended = (sum(time["by_class"]["transaction"][key]) for key in ("arrivals", "completions"))
    assert arrived == came
    assert ended > 0.95 * came if rate < 2000 else ended < 0.7 * came  # of what runs side by side little ends
    assert time["outstanding"][-1] == pytest.approx(arrived - ended, rel=0.01)


def test_throughput_of_arrivals_is_looked_at_for_stalls(tmp_path: Path) -> None:
    summary = run(tmp_path, WORK.format(users="rate = 400"), more='duration = "10 s"')
    assert summary["stalls"] is not None
    assert summary["stalls"]["count"] == 0


def test_a_mix_is_drawn_by_its_shares(tmp_path: Path) -> None:
    text = """
[statements.read]
does = [{ compute = "10 us" }]
[statements.write]
does = [{ compute = "10 us" }]
[streams.users]
mix = { read = 3, write = 1 }
clients = 2
count = 2000
"""
    queries = run(tmp_path, text)["queries"]
    assert queries["read"]["count"] == pytest.approx(3000, rel=0.05)
    assert queries["read"]["count"] + queries["write"]["count"] == 4000


def test_a_pass_is_a_transaction_where_that_is_said(tmp_path: Path) -> None:
    text = """
[statements.change]
does = [{ change = "accounts", log = "100 B" }]
[statements.end]
does = [{ commit = "200 B" }]
[streams.batch]
statements = ["change", "change", "end"]
transaction = true
count = 10
"""
    summary = run(tmp_path, text, placement='log = "other"')
    assert summary["streams"]["batch"]["transactions"] == 10
    assert summary["latency_ns"]["transaction"]["count"] == 10
    assert summary["log"]["commits"] == 10
    assert summary["verdict"]["locks"] == "modelled"
    reads = text.replace('does = [{ change = "accounts", log = "100 B" }]', 'does = [{ lookup = "accounts" }]')
    assert run(tmp_path, reads, placement='log = "other"')["verdict"]["locks"] == "none"


@pytest.mark.parametrize(
    ("rows", "via", "together"), [(25, "language", False), (26, "language", True), (26, "rpc", False)]
)
def test_rows_are_prefetched_from_26_on_and_never_for_rpc(tmp_path: Path, rows: int, via: str, together: bool) -> None:
    """Founding document 002, exactly: rows one by one take a read each, rows together one at all."""
    text = f"""
[relations.large]
rows = 100_000_000
pages = 1_000_000
[statements.find]
via = "{via}"
does = [{{ lookup = "large", rows = {rows} }}]
[streams.reader]
statements = ["find"]
count = 1
"""
    assert PREFETCHED_ROWS == 26
    ramped = run(tmp_path, text, pool="1 MiB", settings=("replay.cache_state=cold",))
    assert took_ms(ramped, "find") == pytest.approx(3 if together else 3 * rows, rel=0.01)


def test_a_scan_at_read_committed_into_an_empty_pool_is_held_to_what_was_measured(tmp_path: Path) -> None:
    """20,000 pages at 367 MB/s take 0.446 s on disks that could do four times as much."""
    text = """
[relations.large]
pages = 20_000
[statements.nolock]
does = [{ scan = "large" }]
[statements.committed]
does = [{ scan = "large", isolation = "read committed" }]
[streams.reader]
statements = ["STATEMENT"]
count = 1
"""
    for statement, rate in (("nolock", 4 * (512 << 10) / 3e-3), ("committed", 367e6)):
        summary = run(tmp_path, text.replace("STATEMENT", statement), pool="1 GiB")
        assert summary["queries"][statement]["bulk_mb_per_s"] == pytest.approx(rate / 1e6, rel=0.03)


def test_a_scan_of_some_degree_has_as_many_helpers(tmp_path: Path) -> None:
    text = """
[relations.large]
pages = 4096
[statements.scan]
does = [{ scan = "large", degree = 4, cpu_per_page = "20 us" }]
[streams.reader]
statements = ["scan"]
count = 2
"""
    summary = run(tmp_path, text, pool="64 MiB", cache="warm")
    assert took_ms(summary, "scan") == pytest.approx(4096 * 0.020 / 4, rel=0.05)
    assert summary["queries"]["scan"]["physical_reads_per_call"] == 0


def test_spills_and_new_pages_go_where_they_are_placed(tmp_path: Path) -> None:
    """4 MiB in blocks of 256 KiB, 8 at a time, there and back; 128 pages in 4 writes of 256 KiB, two at a time."""
    text = """
[relations.new]
pages = 128
[statements.build]
does = [{ spill = "4 MiB" }, { write = "new", buffers = 2 }]
[streams.dba]
statements = ["build"]
count = 1
"""
    both = run(tmp_path, text, placement='tempdb = "other"\n"relation:new" = "other"')
    assert both["queries"]["build"]["breakdown_ns"]["temp"] == pytest.approx(4 * 2 * MS, rel=0.01)
    assert both["queries"]["build"]["breakdown_ns"]["copy"] == pytest.approx(2 * 2 * MS, rel=0.01)
    assert both["stations"]["data"]["requests"] == 0


def test_relations_of_a_file_are_placed_together(tmp_path: Path) -> None:
    text = """
[relations.one]
pages = 64
file = "history"
[statements.scan]
does = [{ scan = "one" }]
[streams.reader]
statements = ["scan"]
count = 1
"""
    assert took_ms(run(tmp_path, text, placement='"file:history" = "other"'), "scan") == pytest.approx(2, rel=0.01)
    assert took_ms(run(tmp_path, text), "scan") == pytest.approx(3, rel=0.01)


def test_relations_of_tempdb_lie_there_and_are_in_no_backup(tmp_path: Path) -> None:
    text = """
[relations.work]
pages = 64
temp = true
[statements.scan]
does = [{ scan = "work" }]
[statements.save]
does = [{ backup = "nul" }]
[streams.dba]
statements = ["scan", "save"]
count = 1
"""
    summary = run(tmp_path, text, placement='temp = "other"')
    assert took_ms(summary, "scan") == pytest.approx(2, rel=0.01)
    assert summary["queries"]["save"]["bulk_bytes_per_call"] == 100 * 8192


def test_scenarios_have_the_last_word(tmp_path: Path) -> None:
    text = """
[statements.read]
does = [{ lookup = "accounts" }, { compute = "1 ms" }]
[streams.users]
statements = ["read"]
count = 20
"""
    summary = run(tmp_path, text, settings=("engine.buffer_pool=4MiB", "host.cores=2", "host.core_speed=2.0"))
    assert summary["engine"]["buffer_pool_bytes"] == 4 << 20
    assert summary["host"]["cores"] == 2
    assert summary["queries"]["read"]["breakdown_ns"]["cpu"] == pytest.approx(0.5 * MS, rel=0.01)
    assert summary["settings_from"]["engine.kind"] == "workload"
    assert summary["settings_from"]["engine.buffer_pool"] == "scenario"


def test_the_same_file_gives_the_same_result(tmp_path: Path) -> None:
    text = """
[statements.read]
does = [{ lookup = "accounts" }]
[statements.scan]
does = [{ scan = "accounts" }]
[streams.users]
mix = { read = 5, scan = 1 }
clients = 3
count = 40
"""
    assert json.dumps(run(tmp_path, text), default=str) == json.dumps(run(tmp_path, text), default=str)


GOOD = """[workload]
engine = "sqlserver"
buffer_pool = "8 MiB"
[relations.accounts]
rows = 6000
rows_per_page = 60
[statements.read]
does = [{ lookup = "accounts" }]
[streams.users]
statements = ["read"]
count = 2
"""


@pytest.mark.parametrize(
    ("was", "wrong", "said"),
    [
        ("buffer_pool", "buffer_pol", "3: workload.buffer_pol: unknown key 'buffer_pol'; did you mean 'buffer_pool'?"),
        ('"8 MiB"', "8", "3: workload.buffer_pool: 8 is a size without a unit; write for example '16 GiB'"),
        ('"sqlserver"', '"oracle"', "workload.engine: 'oracle': input should be 'postgresql', 'sqlserver', 'mysql'"),
        ("[relations.accounts]", 'variables = { sync_binlog = "1" }\n[relations.accounts]', "variables: are of mysql"),
        (
            '"sqlserver"',
            '"mysql"\nvariables = { sync_binlogs = "1" }',
            "'sync_binlogs' decides nothing; did you mean 'sync_binlog'?",
        ),
        ("rows_per_page", "rows_a_page", "unknown key 'rows_a_page'; did you mean 'rows_per_page'?"),
        ("rows_per_page = 60", "", "how large the relation is has to be said once"),
        ("rows_per_page = 60", 'pages = 1\nsize = "1 MiB"', "how large the relation is has to be said once"),
        ("rows = 6000\n", "", "rows: is needed with rows_per_page"),
        ("rows = 6000\nrows_per_page = 60", "pages = 6", "relations.accounts.rows: rows of it are looked up"),
        ("lookup =", "lokup =", "step 1: 'lokup' is not compute, scan, lookup"),
        ("lookup =", "lokup =", "did you mean 'lookup'?"),
        ("{ lookup", "{ row = 2, lookup", "unknown key 'row'; did you mean 'rows'?"),
        ('= "accounts" }', '= "account" }', "'account' is not one of the relations; did you mean 'accounts'?"),
        ("{ lookup = \"accounts\" }", "{}", "says nothing to do; write one of compute, scan, lookup"),
        ('["read"]', '["reed"]', "'reed' is not one of the statements; did you mean 'read'?"),
        ('statements = ["read"]', "", "statements: a stream has either a list or a mix with shares"),
        ('statements = ["read"]', "mix = { read = 0 }", "mix: shares are numbers above 0"),
        ("count = 2", "", "streams.users.count: nothing ends the stream"),
        ("count = 2", "count = 2\nrate = 3.0", "rate: new clients arrive at a fixed rate until the duration is over"),
        ("count = 2", "rate = 3.0", "streams.users.count: nothing ends the stream"),
        ("[streams.users]", "[stream.users]", "unknown key 'stream'; did you mean 'streams'?"),
        ("rows = 6000", "rows = 6000\nhot = 0.2", "hot: goes with hot_share"),
        ("rows = 6000", "rows = 6000\nhot = [0.2, 0.9]\nhot_share = [0.5, 0.3]", "hot: is 1.1 in all"),
        ("[statements.read]", "[statements.read", "is not valid TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, was: str, wrong: str, said: str) -> None:
    file = tmp_path / "load.toml"
    file.write_text(GOOD)
    read_workload(file)
    assert was in GOOD
    file.write_text(GOOD.replace(was, wrong))
    with pytest.raises(ScenarioError) as error:
        read_workload(file)
    assert said in str(error.value)
    assert re.match(rf"{re.escape(str(file))}:\d+: ", str(error.value))


@pytest.mark.parametrize(
    ("settings", "placement", "said"),
    [
        (("replay.mode=open",), "", "replay.mode: is only for recordings"),
        (("replay.load=2.0",), "", "replay.load: is only for recordings"),
        (("replay.duration=1 s",), "", "replay.duration: is only for recordings"),
        (("replay.cache_state=recorded",), "", 'replay.cache_state: "recorded", but nothing was'),
        (("engine.kind=postgresql",), "", "engine.kind: 'postgresql', but"),
        ((), '"relation:acounts" = "other"', "has no such relation; did you mean 'accounts'?"),
        ((), '"file:history" = "other"', "has no such file"),
        ((), 'backup = "other"', "volume 'other' holds 1 MiB, what"),
    ],
)
def test_a_scenario_that_does_not_fit_is_refused(
    tmp_path: Path, settings: tuple[str, ...], placement: str, said: str
) -> None:
    text = """
[statements.save]
does = [{ backup = "file" }]
[relations.large]
pages = 1000
[streams.dba]
statements = ["save"]
count = 1
"""
    with pytest.raises(ScenarioError) as error:
        run(tmp_path, text, settings=settings, placement=placement, capacity="1 MiB")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_too_much_for_a_statement_is_refused(tmp_path: Path) -> None:
    text = """
[statements.much]
does = [{ change = "accounts", rows = 64 }, { change = "accounts", rows = 64 }, { change = "accounts", rows = 64 }]
[streams.dba]
statements = ["much"]
count = 1
"""
    with pytest.raises(ScenarioError, match=r"load\.toml: statements\.much: 384 rows and other steps are more than"):
        run(tmp_path, text)


def test_workloads_are_told_from_scenarios_and_recordings(tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(GOOD)
    (tmp_path / "host.toml").write_text('[volumes.data]\ndevice = "intel-p3700-800"\n')
    assert is_workload(tmp_path / "load.toml")
    assert not is_workload(tmp_path / "host.toml")
    assert not is_workload(tmp_path / "absent.toml")
    assert find_workload(Path("tpch-100")) == library.workload_path_of("tpch-100")
    assert find_workload(Path("tpch-1000")) is None


@pytest.mark.parametrize("name", library.workload_names())
def test_workloads_of_the_library_say_how_they_are_run(name: str) -> None:
    file = library.workload_path_of(name)
    assert read_workload(file).workload.description
    scenarios = re.findall(r"--on ([\w-]+)", file.read_text())
    assert scenarios
    for scenario in scenarios:
        load_scenario(scenario)


def test_replay_takes_a_workload_where_a_trace_stands(tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(GOOD)
    arguments = ["replay", str(tmp_path / "load.toml"), "--on", "pcie-flash", "-o", str(tmp_path)]
    shown = CliRunner().invoke(app, [*arguments, "--json"])
    assert shown.exit_code == 0, shown.output
    (summary,) = json.loads(shown.stdout)["scenarios"]
    assert summary["streams"]["users"]["transactions"] == 2
    assert summary["trace"]["source_format"] == "workload"
    kept = load_result(tmp_path / "pcie-flash.result")
    assert kept.summary["queries"]["read"]["count"] == 2
    table = CliRunner().invoke(app, [*arguments, "--force"])
    assert table.exit_code == 0
    assert "stream users" in table.stdout
    refused = CliRunner().invoke(app, [*arguments, "--force", "--requests"])
    assert refused.exit_code != 0


_MOVES = """
    [relations.stock]
    rows = 100
    rows_per_page = 1

    [statements.move]
    does = [{ change = "stock", lock = false, log = "100 B" }, { commit = "100 B" }]

    [streams.clients]
    statements = ["move"]
    count = 3
"""


@pytest.mark.parametrize(
    ("engine", "version", "expected"),
    [("mysql", "8.0", "ext4's with ticks of 4 ms"), ("mysql", "8.4", "ext4's;"), ("mariadb", "12.2", None)],
)
def test_a_result_says_whose_journal_its_commits_wait_for(
    tmp_path: Path, engine: str, version: str, expected: str | None
) -> None:
    """MySQL 8.0 calls fsync, 8.4 fdatasync and syncs its binary log, which grows; MariaDB has none by default."""
    told = run(tmp_path, _MOVES, engine=engine, pool="4 MiB", more=f'version = "{version}"')["caveats"]
    found = [one for one in told if "journal" in one]
    assert len(found) == (expected is not None)
    assert all(str(expected) in one for one in found)


def test_the_engine_of_a_workload_decides_whose_innodb_it_is(tmp_path: Path) -> None:
    """Its version says nothing of that: 12.2 may be anybody's. MariaDB has one pool and half as much for its frames."""
    depths = {
        engine: run(tmp_path, _MOVES, engine=engine, pool="4 MiB", more='version = "12.2"')["engine"]["lru_scan_depth"]
        for engine in ("mariadb", "mysql")
    }
    assert depths == {"mariadb": 1536, "mysql": 1024}


def test_levels_of_hot_rows_are_whole_rows_and_lose_no_access() -> None:
    table = RelationModel(rows=100, rows_per_page=1, hot=[0.001, 0.2, 0.001, 0.1], hot_share=[0.3, 0.2, 0.1, 0.2])
    assert [rows for rows, _ in table.levels(100)] == [1, 19, 10]
    assert [share for _, share in table.levels(100)] == pytest.approx([0.3, 0.3, 0.2])
    last = RelationModel(rows=100, rows_per_page=1, hot=[0.2, 0.001], hot_share=[0.5, 0.4])
    assert last.levels(100) == ((20, 0.9),)
    rounded = RelationModel(rows=10**6, rows_per_page=1, hot=[0.5, 0.50005], hot_share=[0.9, 0.10005])
    assert sum(rows for rows, _ in rounded.levels(10**6)) == 10**6
    assert sum(share for _, share in rounded.levels(10**6)) <= 1
    one = RelationModel.model_validate({"rows": 10, "rows_per_page": 1, "hot": 0.2, "hot_share": 0.9})
    assert one.levels(10) == ((2, 0.9),)


def test_stations_are_counted_behind_the_warm_up(tmp_path: Path) -> None:
    """A burst in the warm-up queues for eight cores; behind it one client has one of them for itself."""
    text = """
[statements.think]
does = [{ compute = "1 ms" }]
[streams.early]
statements = ["think"]
clients = 32
count = 1000
[streams.late]
statements = ["think"]
clients = 1
"""
    whole, behind = (
        run(tmp_path, text, more='duration = "10 s"', settings=settings)["stations"]["processors"]
        for settings in ((), ("replay.warmup=5 s",))
    )
    assert whole["queue_mean"] > 10
    assert behind["utilisation"]["cores"] == pytest.approx(1 / 8, rel=1e-3)
    assert behind["queue_mean"] == pytest.approx(1, rel=1e-3)
    assert behind["requests"] == pytest.approx(20_000, rel=0.01)  # two slices a transaction


def test_what_the_os_cache_missed_in_the_warm_up_is_in_no_hit_ratio(tmp_path: Path) -> None:
    """It is empty when the run begins, and has all pages behind the warm-up."""
    text = LOOKUPS.format(rows=60 * 1500, users="rate = 1000")
    settings = ("engine.os_cache=100 MiB", "replay.warmup=20 s")
    more = 'duration = "5 s"'
    summary = run(tmp_path, text, engine="postgresql", pool="4 MiB", more=more, settings=settings)
    assert 0.2 < summary["hit_ratio"]["pool"] < 0.5
    assert summary["hit_ratio"]["os_cache"] == 1


def test_pages_that_the_warm_up_asked_for_are_in_no_hit_ratio(tmp_path: Path) -> None:
    """Of two scans that miss all pages the first begins in the warm-up and ends behind it."""
    text = """
[relations.large]
pages = 4992
[statements.scan]
does = [{ scan = "large" }]
[streams.users]
statements = ["scan"]
count = 2
"""
    summary = run(tmp_path, text, settings=("replay.warmup=10 ms",))
    assert summary["queries"]["scan"]["count"] == 1
    assert summary["queries"]["scan"]["physical_reads_per_call"] == pytest.approx(4992, rel=0.01)
    assert summary["hit_ratio"]["pool"] == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize("lock", ["true", "false"])
@pytest.mark.parametrize("cache", ["warm", "cold"])
def test_rows_of_the_latest_changes_are_those(tmp_path: Path, lock: str, cache: str) -> None:
    """Eight of the last three changes miss nothing that the changes have not read; by the law each misses as often."""
    missed = []
    for lookups in ("", '{ lookup = "accounts", rows = 8, changed = 3 },', '{ lookup = "accounts", rows = 8 },'):
        text = f"""
[statements.work]
does = [{{ change = "accounts", lock = {lock}, log = "100 B" }}, {lookups} {{ commit = "20 B" }}]
[streams.users]
statements = ["work"]
clients = 1
"""
        more = 'duration = "20 s"\nvariables = { innodb_lru_scan_depth = "8", sync_binlog = "0" }'
        summary = run(tmp_path, text, engine="mariadb", pool="1 MiB", cache=cache, more=more)
        missed.append(summary["queries"]["work"]["physical_reads_per_call"])
    alone, latest, others = missed
    assert alone == pytest.approx(0.4, abs=0.05)
    assert latest == pytest.approx(alone, abs=0.05)
    assert others == pytest.approx(9 * alone, rel=0.1)
