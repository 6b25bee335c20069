"""The matrix of cells: what is measured in which order, and how predictions of each from every other are summed up."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_postgres.coverage import coverage_table, kind_of_result
from benchmarks.real_postgres.less import lessened
from benchmarks.real_postgres.matrix import blocks, chosen
from benchmarks.real_postgres.pairs import _drawn, table
from benchmarks.real_postgres.plan import read_plan
from benchmarks.real_postgres.processes import row
from benchmarks.results import pack_cells
from tiersim.devices.catalogue import read_device
from tiersim.devices.cloud.token_bucket import TokenBucket
from tiersim.scenarios.validation.matrix_cells import Cell, cells_of, kind_of, log_device, pools_of, scaled_by_cap
from tiersim.scenarios.validation.pair_figures import Pair
from tiersim.traces.samples import RECORDINGS, matrix, unpack

PLAN = Path(__file__).parents[1] / "benchmarks" / "real_postgres" / "matrix.toml"


def cell(
    tps: float, *, pool: int = 128, iops: int | None = None, log_iops: int | None = None, **figures: float
) -> Cell:
    known = {
        "tps": tps,
        "mean_ms": 1.0,
        "p95_ms": 2.0,
        "slow": 0.0,
        "misses": 0.2,
        "written": 0.1,
        "logged": 0.0,
        "spread": 0.0,
    }
    return Cell("a cell", "reads", pool, iops, log_iops, 40_000, {}, 40.0, 0.0, known | figures, Path())


def pair(error: float, **changes: Any) -> Pair:
    same: dict[str, Any] = {
        "load": "reads",
        "kinds": "free to mild",
        "pools": "same",
        "unchanged": 0.5,
        "scaled": 0.4,
        "misses": 0.01,
        "p95": 0.1,
        "source": "a cell",
        "low": 0.9,
        "high": 1.08,
        "basis": "calibrated",
        "calibrated": True,
        "spread": 0.0,
        "source_spread": 0.0,
        "underdetermined": False,
        "mean": 0.05,
        "slow": 0.0,
    }
    return Pair(error=error, **(same | changes))


def test_each_load_has_twelve_cells_and_each_block_all_of_them_once() -> None:
    every = blocks(read_plan(PLAN))
    assert [len(block) for block in every] == [36, 36, 36]
    for block in every:
        assert Counter(one.script for one in block) == {"reads": 12, "updates": 12, "tpcb": 12}
        asked = {(one.script, one.settings["shared_buffers"], one.iops, one.log_iops) for one in block}
        assert len(asked) == 36
        assert sum(one.iops is None and one.log_iops is None for one in block) == 9
    assert len({one.name for block in every for one in block}) == 108


def test_blocks_come_in_orders_of_their_own_and_the_same_again() -> None:
    orders = [[one.name.rpartition("-")[0] for one in block] for block in blocks(read_plan(PLAN))]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert orders == [[one.name.rpartition("-")[0] for one in block] for block in blocks(read_plan(PLAN))]


def test_cells_of_one_load_may_be_measured_for_less_time() -> None:
    block = blocks(read_plan(PLAN))[0]
    assert chosen(block, None, None) == block
    short = chosen(block, ["reads"], 20.0)
    assert [cell.name for cell in short] == [cell.name for cell in block if cell.script == "reads"]
    assert {cell.run_s for cell in short} == {20.0}


def test_what_bounds_a_cell() -> None:
    free = cell(1000)
    others = [free, cell(900, iops=2000), cell(300, iops=250), cell(2000, pool=384)]
    assert [kind_of(one, others) for one in others] == ["free", "mild", "saturated", "free"]
    assert kind_of(cell(10, log_iops=5), others) == "saturated"


@pytest.mark.parametrize(
    ("source", "target", "guess"),
    [
        (cell(1000, iops=500), cell(1, iops=250), 500.0),  # half the cap
        (cell(1000), cell(1, iops=100), 500.0),  # five transactions a read
        (cell(1000), cell(1, iops=10_000), 1000.0),  # the cap does not bind
        (cell(1000, iops=500), cell(1), 1000.0),  # nobody knows how fast it is without
        (cell(1000, logged=2.0), cell(1, log_iops=400), 200.0),
    ],
)
def test_who_knows_the_caps_alone_guesses(source: Cell, target: Cell, guess: float) -> None:
    assert scaled_by_cap(source, target) == pytest.approx(guess)


@pytest.mark.parametrize(
    ("took", "latency_ns", "flush_ns"),
    [({}, 40_000, None), ({"write": 90_000, "synced": 200_000, "synced_64k": 250_000}, 90_000, 110_000)],
)
def test_a_log_is_described_by_its_own_writes_where_they_were_timed(
    took: dict[str, int], latency_ns: int, flush_ns: int | None, tmp_path: Path
) -> None:
    source, target = replace(cell(1000), log_device_ns=took), cell(100, log_iops=400)
    (tmp_path / "log.toml").write_text(log_device(target, source), encoding="utf-8")
    found = read_device(tmp_path / "log.toml")
    assert isinstance(found, TokenBucket)
    assert (found.latency, found.flush, found.write_iops) == (latency_ns, flush_ns, 400)


def test_the_table_has_a_row_for_each_block_and_one_for_all() -> None:
    lines = table([pair(0.1), pair(-0.3, low=0.6, high=0.72), pair(0.02, pools="2 to 4 x")])
    assert len(lines) == 2 + 3
    row = [part.strip() for part in lines[3].strip("|").split("|")]
    assert row[:6] == ["free to mild", "same", "2", "20.0%", "-30%", "50%"]
    assert row[-4:] == ["1", "1.20", "0", "2"]
    assert lines[-1].startswith("| all |")
    assert "10.0%" in lines[-1]


def test_how_large_a_pool_is_beside_another() -> None:
    pools = [pools_of(cell(1, pool=128), cell(1, pool=mib)) for mib in (32, 128, 384, 512, 2048)]
    assert pools == ["smaller", "same", "2 to 4 x", "2 to 4 x", "8 to 16 x"]


def test_no_prediction_is_an_empty_table() -> None:
    assert len(table([])) == 2


def test_cells_are_kept_without_places_of_the_machine(tmp_path: Path) -> None:
    matrix(tmp_path / "kept")
    found = cells_of(tmp_path / "kept")
    assert Counter(one.load for one in found) == {"reads": 12, "updates": 12, "tpcb": 12}
    assert all((one.folder / "counters" / "processes.after.csv").exists() for one in found)
    printed = [path.read_text() for path in (tmp_path / "kept").glob("*/counters/pgbench.txt")]
    assert not any("/dev/" in text or "/tmp/" in text for text in printed)
    some = found[::12]  # packing takes long
    for one in some:
        for repeat in (tmp_path / "kept").glob(f"{one.name}-*"):
            shutil.copytree(repeat, tmp_path / "some" / repeat.name)
    pack_cells(tmp_path / "some", tmp_path / RECORDINGS)
    unpack(tmp_path, tmp_path / "again")
    assert [one.figures for one in cells_of(tmp_path / "again")] == [one.figures for one in some]


def test_a_recording_with_less_in_it(tmp_path: Path) -> None:
    counters = tmp_path / "cell" / "counters"
    counters.mkdir(parents=True)
    (counters / "pg_stat_io.after.csv").write_text("object,reads,read_time\nrelation,7,3.5\n")
    (counters / "pg_settings.after.csv").write_text("name,setting\ntrack_io_timing,on\nport,5432\n")
    for name in ("diskstats.after.txt", "processes.after.csv", "pg_buffercache_usage.after.csv"):
        (counters / name).write_text("name\n")
    less = lessened(tmp_path / "cell", tmp_path / "less", ["timing", "host"]) / "counters"
    assert (less / "pg_stat_io.after.csv").read_text().splitlines() == ["object,reads,read_time", "relation,7,0"]
    assert (less / "pg_settings.after.csv").read_text().splitlines()[1:] == ["track_io_timing,off", "port,5432"]
    left = sorted(path.name for path in less.iterdir())
    assert left == ["pg_buffercache_usage.after.csv", "pg_settings.after.csv", "pg_stat_io.after.csv"]
    assert (counters / "processes.after.csv").exists()


def rows_of(lines: list[str]) -> list[list[str]]:
    return [[part.strip() for part in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(
    ("calibrated", "basis", "kind"),
    [
        (True, "calibrated", "calibrated"),
        (True, "extrapolated", "calibrated, extrapolating"),
        (False, "assumed", "uncalibrated"),
        (False, "extrapolated", "uncalibrated, transactions met"),
    ],
)
def test_what_a_result_says_of_itself(calibrated: bool, basis: str, kind: str) -> None:
    assert kind_of_result(pair(0.0, calibrated=calibrated, basis=basis)) == kind


def test_drawn_targets_are_the_same_in_every_run_and_not_the_same_of_every_source() -> None:
    cells = [replace(cell(100.0), name=f"cell {number}") for number in range(12)]
    of_each = [_drawn(source, [one for one in cells if one is not source], 2) for source in cells]
    assert of_each == [_drawn(source, [one for one in cells if one is not source], 2) for source in cells]
    assert {len(found) for found in of_each} == {2}
    assert len({one.name for found in of_each for one in found}) > 6
    assert _drawn(cells[0], cells[1:], None) == _drawn(cells[0], cells[1:], 99) == cells[1:]


def test_coverage_has_a_row_for_each_kind_of_result_with_the_cells_that_it_is_from() -> None:
    missed = pair(-0.3, low=0.6, high=0.72, calibrated=False, basis="assumed", source="another")
    calibrated, uncalibrated, everything = rows_of(coverage_table([pair(0.0), pair(0.01), missed]))
    assert calibrated[:5] == ["calibrated", "2", "1", "100%", "100% .. 100%"]
    assert uncalibrated[:5] == ["uncalibrated", "1", "1", "0%", "0% .. 0%"]
    assert everything[:5] == ["all", "3", "2", "67%", "0% .. 100%"]


def test_widths_of_pairs_are_scored_beside_one_width_that_other_loads_give() -> None:
    """Errors of 1 % of lookups make for an interval that updates lie 9 points outside of: 10 times as bad."""
    found = [pair(0.01), pair(0.1, load="updates", low=1.0, high=1.2)]
    (kind, *_) = rows_of(coverage_table(found))
    narrow, wide = log(1.01), log(1.1)
    expected = (2 * wide + 2 * narrow + 10 * (wide - narrow)) / 2
    assert kind[-1] == f"{expected:.2f}"
    assert float(kind[-3]) == pytest.approx((log(1.08 / 0.9) + log(1.2)) / 2, abs=0.005)


def test_one_load_has_no_widths_of_others() -> None:
    assert rows_of(coverage_table([pair(0.01)]))[0][-1] == ""


def test_the_cpu_of_a_transaction_is_that_of_the_processes_while_it_was_counted(tmp_path: Path) -> None:
    """A tenth of a processor at 1,000 transactions/s are 100 µs; a repeat that nobody looked at has none."""
    folder = tmp_path / "reads-128-free-1"
    (folder / "counters").mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps({"transactions_per_s": 1000.0, "windows_per_s": [900.0, 1100.0]}))
    (folder / "counters" / "processes.after.csv").write_text(
        "process,cpu_ms,observed_ms\n"
        "client backends,200,2000\nload generator,50,1000\nkernel threads,10,1000\nserver helpers,700,1000\n"
    )
    one = replace(cell(1000), name="reads-128-free", folder=folder)
    assert row(one) == "| reads-128-free | 1,000 | 0.90 to 1.10 | 0.200 | 100.0 | 50.0 | 10.0 | 160.0 |"
    (folder / "counters" / "processes.after.csv").unlink()
    assert row(one) == "| reads-128-free | 1,000 | 0.90 to 1.10 | 0.200 |  |  |  |  |"
