"""The log of pgbench's transactions by plain drawing, and what follows of it for checkpoints."""

import random

import pytest

from tiersim.scenarios.validation import log_volume
from tiersim.scenarios.validation.log_volume import (
    HEAP_IMAGE_BYTES,
    INDEX_IMAGE_BYTES,
    log_bytes,
    log_bytes_of_run,
    transactions_until,
)
from tiersim.scenarios.validation.pgbench import heap_pages, leaf_pages


def drawn_bytes(intervals: list[int], seed: int) -> list[int]:
    """Images of scale 1, change by change: of a heap page, and of a leaf when its row moves for the first time."""
    draw = random.Random(seed)
    moved: set[int] = set()
    logged = []
    for changes in intervals:
        heap: set[int] = set()
        index: set[int] = set()
        for _ in range(changes):
            page = draw.randrange(heap_pages(1))
            heap.add(page)
            if page not in moved:
                index.add(draw.randrange(leaf_pages(1)))
            moved.add(page)
        logged.append(HEAP_IMAGE_BYTES * len(heap) + INDEX_IMAGE_BYTES * len(index))
    return logged


def test_images_are_those_of_drawn_changes() -> None:
    intervals = [800, 800, 4000]
    found = drawn_bytes(intervals, 5)
    for place, changes in enumerate(intervals):
        assert log_bytes(1, sum(intervals[:place]), changes, 0) == pytest.approx(found[place], rel=0.06)


def test_records_come_with_each_transaction() -> None:
    assert log_bytes(1, 0, 1000, 300) - log_bytes(1, 0, 1000, 0) == pytest.approx(300_000)


def test_the_log_that_a_distance_takes_is_that_distance() -> None:
    for before in (0, 5_000_000):
        transactions = transactions_until(5000, before, 36e9, 263)
        assert log_bytes(5000, before, transactions, 263) == pytest.approx(36e9, rel=1e-5)


def test_faster_runs_log_less_a_transaction() -> None:
    slow, fast = (log_bytes_of_run("i5", 1000, tps, 263) for tps in (3_500, 7_700))
    assert fast < 0.7 * slow


def test_published_volumes_are_met_but_where_they_were_fitted() -> None:
    claims = log_volume.experiment().claims
    assert [claim.fitted for claim in claims].count(True) == 5
    assert all(claim.met for claim in claims)
