"""The bench of a real MariaDB: what is measured, in which order, what figures come of it, and pairs of cells."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.errors import BenchError
from benchmarks.real_mysql.accounts import Transactions
from benchmarks.real_mysql.figures import Looked, figures_of
from benchmarks.real_mysql.pairs import (
    Pair,
    Predicted,
    cells_of,
    device_of,
    every,
    kind_of,
    pairs_of,
    predict,
    table,
)
from benchmarks.real_mysql.plan import blocks, read_plan
from tiersim.traces.samples import mariadb

BENCH = Path(__file__).parents[1] / "benchmarks" / "real_mysql"
PRINTED = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

[ 1s ] thds: 8 tps: 60.00 qps: 60.00 (r/w/o: 60.00/0.00/0.00) lat (ms,99%): 5.00 err/s: 0.00 reconn/s: 0.00
[ 2s ] thds: 8 tps: 40.00 qps: 40.00 (r/w/o: 40.00/0.00/0.00) lat (ms,99%): 5.00 err/s: 0.00 reconn/s: 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.500 |****************************************  90
       2.000 |****                                      6
      10.000 |                                         4

SQL statistics:
    transactions:                        100    (50.00 per sec.)

General statistics:
    total time:                          2.0000s

Latency (ms):
         sum:                                   150.00
"""


def test_cells_say_what_is_measured() -> None:
    (block,) = blocks(read_plan(BENCH / "cells.toml"))
    names = {cell.name for cell in block}
    assert len(names) == len(block) == 16
    assert {"select_zipf_bp1024_r2000", "update_zipf_bp128_rw300", "mixed_bp256_free"} < names
    by_name = {cell.name: cell for cell in block}
    assert by_name["update_zipf_bp512_free_redo96"].redo_mib == 96
    assert by_name["update_zipf_bp512_free"].redo_mib == 512
    assert by_name["update_zipf_bp512_free_binlog"].binary_log
    assert not by_name["update_zipf_bp512_free"].binary_log
    assert by_name["update_zipf_bp512_rw300"].run_s == 90
    assert [cell.name for cell in block] != sorted(names)


def test_each_repeat_is_a_block_in_an_order_of_its_own() -> None:
    plan = read_plan(BENCH / "cells.toml")
    first, second = blocks(plan.model_copy(update={"repeats": 2}))
    assert {cell.name.removesuffix("-1") for cell in first} == {cell.name.removesuffix("-2") for cell in second}
    assert [cell.name[:-2] for cell in first] != [cell.name[:-2] for cell in second]


def test_what_sysbench_prints_becomes_figures() -> None:
    done = Transactions.of(PRINTED)
    assert (done.count, done.seconds, done.mean_ms) == (100, 2.0, 1.5)
    assert done.by_second == (60.0, 40.0)
    assert (done.quantile_ms(0.5), done.quantile_ms(0.95), done.quantile_ms(0.99)) == (0.5, 2.0, 10.0)


def test_a_run_that_came_to_no_end_is_refused() -> None:
    with pytest.raises(BenchError, match="came to no end"):
        Transactions.of(PRINTED.partition("General")[0])


def looked(counted: int, requests: int) -> Looked:
    status = "".join(
        f"{name}\t{counted}\n"
        for name in (
            "Innodb_buffer_pool_reads",
            "Innodb_buffer_pool_read_requests",
            "Innodb_log_writes",
            "Innodb_os_log_written",
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_dblwr_pages_written",
            "Innodb_dblwr_writes",
            "Innodb_buffer_pool_pages_data",
            "Innodb_buffer_pool_pages_dirty",
            "Innodb_checkpoint_age",
            "Innodb_buffer_pool_pages_total",
            "Innodb_checkpoint_max_age",
            "Innodb_deadlocks",
            "Innodb_row_lock_waits",
        )
    )
    status += f"Innodb_data_fsyncs\t{3 * counted}\nVersion\t10.11\n"
    files = "FILE_NAME\tEVENT_NAME\tCOUNT_MISC\n" + "".join(
        f"{name}\twait/io/file/{kind}\t{counted}\n"
        for name, kind in (("ibdata1", "innodb/innodb_data_file"), ("binlog.1", "sql/binlog"))
    )
    tables = {"global_status": f"Variable_name\tValue\n{status}", "file_summary_by_instance": files}
    of_device = dict.fromkeys(("reads", "writes", "flushes"), requests)
    return Looked.of(tables, of_device, dict.fromkeys(("read", "write", "flush"), requests // 2), counted / 10)


def test_figures_are_of_a_transaction() -> None:
    (block,) = blocks(read_plan(BENCH / "cells.toml"))
    found = figures_of(block[0], Transactions.of(PRINTED), looked(1000, 0), looked(1050, 500))
    assert found["tps"] == 50
    assert found["misses_per_tx"] == 0.5
    assert found["log_fsyncs_per_tx"] == 1.0  # 150 flushes less 50 of data files
    assert found["device_per_s"] == {"reads": 250, "writes": 250, "flushes": 250}
    assert found["device_ms"] == {"read": 0.5, "write": 0.5, "flush": 0.5}
    assert found["checkpoint_age"] == [1000, 1050]
    assert found["mariadbd_cpu_s"] == 5


def cell(name: str, tps: float, iops: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "workload": "update_zipf",
        "buffer_pool_mb": 128,
        "redo_mb": 512,
        "binlog": False,
        "read_iops": iops,
        "write_iops": iops,
        "tps": tps,
        "p95_ms": 2.0,
        "misses_per_tx": 0.5,
        "log_writes_per_tx": 0.5,
        "log_fsyncs_per_tx": 0.4,
        "pages_flushed_per_tx": 0.1,
        "doublewrite_pages_per_tx": 0.1,
        "device_ms": {"read": 0.1, "write": 0.2, "flush": 0.3},
        "device_per_s": {"writes": 300.0},
    } | more


CELLS = [cell("free", 1000), cell("mild", 800, 2000), cell("slow", 200, 300), cell("other", 900, buffer_pool_mb=512)]


def test_kept_cells_are_those_of_the_plan_with_what_a_prediction_sees(tmp_path: Path) -> None:
    mariadb(tmp_path)
    cells = cells_of(tmp_path)
    (block,) = blocks(read_plan(BENCH / "cells.toml"))
    assert {one["name"] for one in cells} == {one.name for one in block}
    assert all((one["folder"] / "counters" / "sysbench.txt").exists() for one in cells)


def test_a_cap_is_mild_or_saturates() -> None:
    assert [kind_of(one, CELLS) for one in CELLS] == ["free", "mild", "saturated", "free"]


def test_times_of_the_device_are_of_runs_without_a_cap() -> None:
    slower = cell("own", 900, device_ms={"read": 0.3, "write": 0.2, "flush": 0.3})
    assert device_of(slower, [*CELLS, slower])["device_ms"]["read"] == 0.3
    of_load = device_of(CELLS[2], [*CELLS, slower])["device_ms"]
    assert of_load["read"] == of_load["write"] == pytest.approx((0.1 + 0.1 + 0.3) / 3)


def test_pages_of_a_batch_end_one_behind_the_other() -> None:
    # of 1,000 writes a second 640 are pages of 3.2 ms, the mean of 128 that end every 50 us; 360 take 0.1 ms
    mean_ms = (640 * 3.2 + 360 * 0.1) / 1000
    busy = cell(
        "busy",
        1000,
        pages_flushed_per_tx=0.64,
        device_ms={"read": 0.1, "write": mean_ms, "flush": 0.3},
        device_per_s={"writes": 1000.0},
    )
    assert device_of(busy, [busy])["writes_per_s"] == 20_000
    lookups = busy | {"pages_flushed_per_tx": 0.0}
    assert "writes_per_s" not in device_of(lookups, [lookups])


def test_pairs_say_how_far_off_they_are_beside_two_guesses() -> None:
    said = Predicted(250, 4.0, 3.0, 0.45, 0.5, 0.1)
    pairs = pairs_of(CELLS, {"free": {"slow": said}})
    (pair,) = pairs
    assert isinstance(pair, Pair)
    assert pair.kinds == "free to saturated"
    assert pair.error == pytest.approx(0.25)
    assert pair.unchanged == pytest.approx(4.0)
    assert pair.scaled == pytest.approx(300 / 1.0 / 200 - 1)  # a write of the log, a flush and a page: 1 a transaction
    assert pair.count_off("misses") == pytest.approx(-0.1)
    assert pair.count_off("redo fsyncs") == pytest.approx(0.25)
    assert "predicted 250/s, +25%" in every(pairs)[0]
    row = table(pairs, lambda one: (one.kinds,), ("blocks",))[2]
    assert row.startswith("| free to saturated | 1 | 25.0% | +25% | 100% | 400.0% | 50.0% | 50.0% | 10.0%, 100% |")


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "target", "off"),
    [
        ("bp512_free_binlog", "bp512_free", 0.2),
        ("bp128_rw300", "bp128_rw1000", 0.1),
        ("bp512_free", "bp128_rw300", 0.1),
    ],
)
def test_groups_of_commits_and_processors_tell_what_a_cap_and_a_binary_log_hide(
    tmp_path: Path, source: str, target: str, off: float
) -> None:
    """Clients were given 88 to 105 us for a change, and a flush of the log no more than its device takes."""
    mariadb(tmp_path)
    cells = cells_of(tmp_path)
    one, other = (next(cell for cell in cells if cell["name"] == f"update_zipf_{name}") for name in (source, target))
    (said,) = predict(one, [other], cells).values()
    assert said.tps == pytest.approx(other["tps"], rel=off)
    assert said.log_flushes == pytest.approx(other["log_fsyncs_per_tx"], rel=0.1)
    assert said.pages_flushed == pytest.approx(other["pages_flushed_per_tx"], rel=0.1)


def test_repeats_become_one_cell(tmp_path: Path) -> None:
    for number, tps in ((1, 100.0), (2, 300.0)):
        folder = tmp_path / f"update_zipf_bp128_free-{number}"
        folder.mkdir()
        (folder / "result.json").write_text(json.dumps(cell(folder.name, tps)))
    (found,) = cells_of(tmp_path)
    assert (found["name"], found["tps"]) == ("update_zipf_bp128_free", 200)
    assert found["folder"].name == "update_zipf_bp128_free-1"
