"""A load that changes while it is recorded is said; one that only varies by chance is not."""

from decimal import Decimal

import pytest

from tiersim.traces.differences import Drift
from tiersim.traces.statistics import Snapshot

S = 1_000_000_000


def drift(*counted: tuple[int, int], entity: str = "shop") -> Drift:
    """Snapshots, 30 s apart, of transactions and pages missed until then."""
    found = Drift()
    for place, (transactions, missed) in enumerate(counted):
        values = {"commits": Decimal(transactions), "pages_read": Decimal(missed)}
        found.add(Snapshot(30 * S * place, {("database", entity): values}))
    return found


@pytest.mark.parametrize("entity", ["shop", "*"])
def test_a_pool_that_still_filled_is_said(entity: str) -> None:
    (said,) = drift((100, 0), (30_100, 30_000), (60_100, 50_000), (90_100, 60_000), entity=entity).said
    assert "1 pages missed per transaction in its first third, 0.333 in its last" in said
    assert "transactions a second" not in said


def test_a_load_that_rises_is_said() -> None:
    (said,) = drift((1, 0), (3_001, 600), (7_001, 1_400), (13_001, 2_600)).said
    assert "100 transactions/s in its first third, 200 in its last" in said
    assert "missed" not in said


@pytest.mark.parametrize(
    "counted",
    [
        [(1, 0), (3_001, 600), (6_051, 1_230), (9_001, 1_790)],  # the same load; its counts vary by chance
        [(1, 0), (11, 2), (15, 8), (25, 10)],  # too few to tell a change from chance
        [(1, 0), (3_001, 3_000), (9_001, 3_300)],  # no snapshot between the first third and the last
        [(9_000, 0), (3_001, 600), (7_001, 1_400), (13_001, 2_600)],  # the counters were reset
        [],
    ],
)
def test_what_is_no_change_is_not_said(counted: list[tuple[int, int]]) -> None:
    assert drift(*counted).said == ()


def test_a_load_of_mysql_is_counted_by_its_statements() -> None:
    found = Drift()
    for place, statements in enumerate((1, 3_001, 7_001, 13_001)):
        found.add(Snapshot(30 * S * place, {("database", "*"): {"statements": Decimal(statements)}}))
    (said,) = found.said
    assert "100 statements/s in its first third, 200 in its last" in said
