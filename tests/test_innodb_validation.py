"""Experiments of InnoDB's validation: what they need, what they solve, and that cells of the real server come out as
the accuracy document has them.
"""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiersim.devices.catalogue import load_device
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash
from tiersim.operations import WRITE
from tiersim.scenarios.closed_loop import Loop, at_random, run_closed, settled_bytes_per_s
from tiersim.scenarios.validation import (
    innodb_ebs,
    innodb_gp2,
    innodb_pairs,
    innodb_samsung,
    innodb_sata,
    innodb_tpcc,
)
from tiersim.scenarios.validation.innodb_bench import (
    REDO_BYTES,
    TPCC_PAGES,
    Tool,
    around,
    hammerdb,
    nurand,
    scaled,
    sysbench_tpcc,
    tpcc,
)
from tiersim.traces.readers.mysql.settings import PAGE_CLEANER_SECOND


@pytest.mark.parametrize("module", [innodb_ebs, innodb_gp2, innodb_pairs, innodb_samsung, innodb_sata, innodb_tpcc])
def test_figures_that_are_not_part_of_the_project_are_asked_for(module: object, tmp_path: Path) -> None:
    assert isinstance(module, type(innodb_ebs))
    for folder in (None, tmp_path):
        found = module.experiment(folder)
        assert found.missing is not None
        assert not found.claims


@pytest.mark.parametrize(("missed", "changed"), [(11.4, 7.3), (20.0, 2.0), (30.0, 12.5)])
def test_requests_and_bytes_of_a_transaction_tell_pages_missed_and_changed(missed: float, changed: float) -> None:
    """A changed page is written twice, with 15 others of the doublewrite file in a request."""
    found = innodb_ebs._demand(missed + changed * 17 / 16, missed + 2 * changed)
    assert found == pytest.approx((missed, changed))


def test_a_cell_is_walked_through_by_what_was_done_before() -> None:
    """Twice the rate warms up in half the time; rates between two points lie on the line through them."""
    done, rates = innodb_ebs._curve([10.0] * 5 + [20.0] * 5)
    assert rates == [10.0, 20.0]
    assert done == [600 * 3.0, 600 * 5 + 1200 * 3.0]


def test_gp2_stops_where_the_line_of_its_requests_meets_that_of_its_bytes() -> None:
    rates = {("gp2", size): min(size / 10, 260.0) for size in (1500, 2000, 2500, 3000, 3300)}
    assert innodb_ebs._knee({**rates, ("io1", 9000): 900.0}) == pytest.approx(2600)


@pytest.mark.parametrize(("name", "keys", "mask"), [("stock", 100_000, 8191), ("customer", 3000, 1023)])
def test_nurand_spreads_over_pages_as_keys_that_are_drawn_by_it(name: str, keys: int, mask: int) -> None:
    """Levels against draws as TPC-C specifies them: (random(0, A) | random(x, y)) modulo the range.

    An OR beyond the range comes round, which moves 1.4 % of the customers and is left out.
    """
    times, pages = (10 if keys == 3000 else 1), TPCC_PAGES[name]
    luck, draws = np.random.default_rng(1), 2_000_000
    key = (luck.integers(0, mask + 1, draws) | luck.integers(0, keys, draws)) % keys + keys * luck.integers(
        times, size=draws
    )
    drawn = np.sort(np.bincount(key * pages // (keys * times), minlength=pages))[::-1] / draws
    hot, shares = nurand(name)
    assert sum(hot) == pytest.approx(1, abs=1e-4)
    assert sum(shares) == pytest.approx(1, abs=1e-4)
    ends = np.rint(np.cumsum(hot) * pages).astype(int)
    np.testing.assert_allclose(np.cumsum(drawn)[ends - 1], np.cumsum(shares), atol=0.015)


def test_hammerdb_reads_all_customers_of_a_name_that_often_is_a_frequent_one() -> None:
    luck, districts, calls, names = np.random.default_rng(1), 50, 4_000, 1000

    def drawn(count: int) -> Any:
        return (luck.integers(256, size=count) | luck.integers(names, size=count)) % names

    rows = often = 0
    for _ in range(districts):
        loaded, asked = np.bincount(drawn(2 * names), minlength=names), drawn(calls)
        rows += int((1 + loaded)[asked].sum())
        often += int(loaded[asked].sum())
    tool = hammerdb()
    assert tool.named + 1 == round(rows / districts / calls)
    by_name = 7 * rows / districts / calls  # of 23 transactions, which draw 24 customers evenly
    (hot,), (share,) = tool.hot["customer"]
    assert hot == pytest.approx(2 / 3, abs=1e-6)
    assert share == pytest.approx((24 * 2 / 3 + by_name * often / rows) / (24 + by_name), abs=0.005)


def test_the_850_pro_writes_as_many_pages_a_second_at_random_as_reviews_measured(tmp_path: Path) -> None:
    path = tmp_path / "drive.toml"
    path.write_text(innodb_samsung._DRIVES["sam850pro"].replace("FLUSH", "1300"), encoding="utf-8")
    drive = load_device(str(path))
    assert isinstance(drive, Flash)
    builder = PlantBuilder(1)
    offsets = at_random(60_000, 0, 4096, 100 << 30, seed=1)
    loop = Loop(offsets, WRITE, drive.add_to(builder, "drive"), 4096, 32)
    assert 8_000 <= settled_bytes_per_s(run_closed(builder, [loop])) / 4096 <= 10_000


def test_a_transaction_logs_what_was_counted_and_enters_what_it_changes_into_indexes() -> None:
    load = tomllib.loads(
        tpcc(10, 1000, 8, Tool(("customer_name", "order_customer"), 2, {"stock": ([0.1, 0.4], [0.5, 0.25])}))
    )
    mix, logged = load["streams"]["users"]["mix"], 0.0
    for name, share in mix.items():
        for step in load["statements"][name]["does"]:
            each = step.get("log", step.get("commit", "0 B"))
            logged += share * step.get("rows", 1) * int(each.removesuffix(" B"))
    assert logged / sum(mix.values()) == pytest.approx(REDO_BYTES, rel=0.01)
    changed = [step["change"] for step in load["statements"]["order_0"]["does"] if "change" in step]
    assert changed == ["stock", "order_customer", "ends", "old"]
    assert load["relations"]["order_customer"]["rows"] == 530
    assert "line_item" not in load["relations"]


def test_sysbench_finds_one_customer_of_a_name_and_no_index_waits_for_what_is_entered() -> None:
    load = tomllib.loads(tpcc(10, 1000, 8, sysbench_tpcc()))
    steps = [
        (step.get("lookup", step.get("change")), step.get("rows", 1))
        for step in load["statements"]["payment_by_name"]["does"][1:-1]
    ]
    assert steps == [("customer_name", 1), ("customer", 1), ("ends", 1)]
    assert set(load["relations"]) == {*TPCC_PAGES, "customer_name"}
    assert not any("hot" in relation for relation in load["relations"].values())


@pytest.mark.parametrize(("smaller", "pages"), [(1, 0.0238), (4, 0.0976)])
def test_orders_and_deliveries_come_to_as_many_pages_as_their_rows_fill(smaller: int, pages: float) -> None:
    """Of 16 KiB 0.028 a transaction, in halves by who places and who delivers them: as many as MySQL's counters say
    were created.
    """
    load = tomllib.loads(tpcc(10, 1000, 8, hammerdb(), smaller))
    mix, further = load["streams"]["users"]["mix"], {"order": 0.0, "delivery": 0.0}
    for name, share in mix.items():
        for step in load["statements"][name]["does"]:
            if step.get("change") == "old":
                assert step["rows"] in (1, 2, 3, 7, 8, 9, 10)
                further[name.partition("_")[0]] += share * step["rows"] * (step["changed"] == 0)
    assert sum(mix.values()) == pytest.approx(23)
    for found in further.values():
        assert found / 23 == pytest.approx(pages, rel=0.01)


def test_small_pages_hold_fewer_rows_than_their_part_of_a_large_one() -> None:
    """Of stock 46.0 and 10.8, of customers 26.1 and 6.0."""
    load = tomllib.loads(tpcc(1, 1000, 8, hammerdb(), 4))
    assert load["relations"]["stock"]["rows"] == pytest.approx(4 * 2174 * 46.0 / 4 / 10.8, rel=0.01)
    assert load["relations"]["customer"]["rows"] == pytest.approx(4 * 1200 * 26.1 / 4 / 6.0, rel=0.01)
    assert load["relations"]["customer_name"]["rows"] == pytest.approx(4 * 106 * 1.027, abs=1)


def test_a_scaled_server_has_as_much_shorter_seconds_and_as_much_less_in_them() -> None:
    assert tomllib.loads(scaled(50, 10_000, 20_000)) == {
        "innodb_io_capacity": "200",
        "innodb_io_capacity_max": "400",
        "innodb_old_blocks_time": "20",
        PAGE_CLEANER_SECOND: "20000",
    }


def test_a_guess_knows_what_the_cap_lets_a_recorded_transaction_do() -> None:
    source = {
        "tps": 1000.0, "misses_per_tx": 0.5, "pages_flushed_per_tx": 0.2, "log_writes_per_tx": 0.4,
        "log_fsyncs_per_tx": 0.4,
    }  # fmt: skip
    assert innodb_pairs._as_the_cap_lets(source, {"read_iops": 100, "write_iops": 0}) == 200
    assert innodb_pairs._as_the_cap_lets(source, {"read_iops": 100, "write_iops": 100}) == 100
    assert innodb_pairs._as_the_cap_lets(source, {"read_iops": 0, "write_iops": 0}) == 1000


@pytest.mark.parametrize("number", [1.0, 2.25, 9.999])
def test_whole_numbers_around_one_have_it_as_their_mean(number: float) -> None:
    found = around(number)
    assert sum(share for _, share in found) == pytest.approx(1)
    assert sum(whole * share for whole, share in found) == pytest.approx(number)


def test_more_clients_and_a_larger_pool_do_more_on_a_drive_that_is_not_busy() -> None:
    """A twelfth of the rows is in 2 GB, half in 12 GB."""

    def rate(pool: int, clients: int) -> float:
        return innodb_sata._rate(("read_only", "mysql", "8.4.8", pool, clients), 1500.0)

    alone = rate(2, 1)
    assert rate(2, 4) == pytest.approx(4 * alone, rel=0.1)
    assert rate(12, 1) > 1.4 * alone
    assert rate(2, 64) * 18 == pytest.approx(30_200, rel=0.05)  # the link is the limit: 18 pages a transaction


def test_medians_of_a_drive_are_those_of_its_single_cells() -> None:
    cells = [("read_only", "mysql", version, 2, clients) for version in ("8.0.45", "8.4.8") for clients in (1, 4, 32)]
    predicted = dict(zip(cells, (110.0, 80.0, 100.0, 140.0, 150.0, 160.0), strict=True))
    everything, first, second, *single = innodb_sata._claims(dict.fromkeys(cells, 100.0), predicted)
    assert [one.predicted for one in (everything, first, second)] == pytest.approx([30, 10, 50])
    assert [one.predicted for one in single] == [*predicted.values()]
    assert single[0].what == "read-only, mysql 8.0.45, 2 GB, 1 clients: transactions"
