"""Replacement policies: the same misses as others count, as plain specifications say, and as must be."""

import csv
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.runs import needs_jit
from tests.twins.innodb import Midpoint
from tiersim.errors import ScenarioError
from tiersim.simulator.policies import POLICIES, misses, numbered

pytestmark = pytest.mark.kernels

SHARED = Path(__file__).parents[2] / "shared" / "data"

#: Names in the published counts.
PUBLISHED = {
    "fifo": "fifo",
    "lru": "lru",
    "sieve": "sieve",
    "arc": "arc",
    "2q": "2q",
    "s3-fifo": "s3fifo",
    "clock": "clock",
    "clock-3bit": "clock",
}

drawn = st.tuples(st.lists(st.integers(0, 12), max_size=80), st.integers(1, 8))


def run(policy: str, references: list[int], capacity: int, *parameters: int) -> int:
    pages, distinct = numbered(np.array(references, np.int64))
    return misses(policy, pages, distinct, capacity, *parameters)


def lru(references: list[int], capacity: int) -> int:
    cached: OrderedDict[int, None] = OrderedDict()
    missed = 0
    for page in references:
        missed += page not in cached
        cached[page] = None
        cached.move_to_end(page)
        if len(cached) > capacity:
            cached.popitem(last=False)
    return missed


def fifo(references: list[int], capacity: int) -> int:
    cached: list[int] = []
    missed = 0
    for page in references:
        if page not in cached:
            missed += 1
            cached = [*cached[-capacity + 1 :], page] if capacity > 1 else [page]
    return missed


def sweep(references: list[int], capacity: int) -> int:
    """PostgreSQL's, by a list whose first element is under the hand."""
    cached: list[list[int]] = []
    missed = 0
    for page in references:
        found = next((entry for entry in cached if entry[0] == page), None)
        if found:
            found[1] = min(found[1] + 1, 5)
            continue
        missed += 1
        if len(cached) == capacity:
            while cached[0][1]:
                cached[0][1] -= 1
                cached.append(cached.pop(0))
            cached.pop(0)
        cached.append([page, 1])
    return missed


def arc(references: list[int], capacity: int) -> int:
    """The paper's figure 4, word by word; its ratios are not rounded."""
    lists: list[list[int]] = [[] for _ in range(4)]
    once, again, once_gone, again_gone = lists  # t1, t2, b1, b2: the latest last
    target, missed = 0.0, 0

    def replace(page: int) -> None:
        of_once = bool(once) and (len(once) > target or (page in again_gone and len(once) == target))
        kept, gone = (once, once_gone) if of_once else (again, again_gone)
        gone.append(kept.pop(0))

    for page in references:
        found = next((one for one in (once, again) if page in one), None)
        if found is not None:
            found.remove(page)
            again.append(page)
            continue
        missed += 1
        full = len(once) + len(again) >= capacity
        if page in once_gone:
            target = min(target + max(len(again_gone) / len(once_gone), 1), capacity)
        elif page in again_gone:
            target = max(target - max(len(once_gone) / len(again_gone), 1), 0)
        elif len(once) + len(once_gone) == capacity:
            (once_gone if len(once) < capacity else once).pop(0)
            full = len(once) + len(again) >= capacity
        elif len(once) + len(again) + len(once_gone) + len(again_gone) == 2 * capacity:
            again_gone.pop(0)
        if full:
            replace(page)
        for ghosts in (once_gone, again_gone):
            if page in ghosts:
                ghosts.remove(page)
                again.append(page)
                break
        else:
            once.append(page)
    return missed


def lru2(references: list[int], capacity: int, correlated: int, retained: int) -> int:
    """The paper's procedure, word by word."""
    history: dict[int, list[int]] = {}
    last: dict[int, int] = {}
    cached: set[int] = set()
    missed = 0
    for now, page in enumerate(references, 1):
        if page in cached:
            if now - last[page] > correlated:
                period = last[page] - history[page][0]
                history[page] = [now, history[page][0] + period]
            last[page] = now
            continue
        missed += 1
        if len(cached) == capacity:
            ready = [q for q in cached if now - last[q] > correlated] or list(cached)
            cached.remove(min(ready, key=lambda q: (history[q][1], history[q][0])))
        if page not in history or now - last[page] > retained:
            history[page] = [0, 0]
        history[page] = [now, history[page][0]]
        last[page] = now
        cached.add(page)
    return missed


def midpoint(references: list[int], pool: Midpoint) -> int:
    """InnoDB's list, whose time is counted in references."""
    for now, page in enumerate(references):
        pool.refer(page, now)
    return pool.missed


def two_queue(references: list[int], capacity: int) -> int:
    """Three lists, the youngest page first: new ones, those that came back, those that left."""
    new: list[int] = []
    main: list[int] = []
    left: list[int] = []
    missed = 0
    for page in references:
        if page in main:
            main.insert(0, main.pop(main.index(page)))
            continue
        if page in new:
            continue
        missed += 1
        known = page in left
        if known:
            left.remove(page)
        if len(new) + len(main) >= capacity:
            if len(new) > capacity // 4 or not main:
                left.insert(0, new.pop())
                del left[capacity // 2 :]
            else:
                main.pop()
        (main if known else new).insert(0, page)
    return missed


SPECIFIED: dict[str, Callable[[list[int], int], int]] = {"lru": lru, "fifo": fifo, "postgresql": sweep, "2q": two_queue}


@pytest.mark.parametrize("policy", SPECIFIED)
@settings(deadline=None)  # the first call compiles
@given(drawn)
def test_misses_are_those_of_a_plain_specification(policy: str, case: tuple[list[int], int]) -> None:
    assert run(policy, *case) == SPECIFIED[policy](*case)


@pytest.mark.parametrize("policy", [*SPECIFIED, "midpoint"])
@pytest.mark.parametrize("capacity", [20, 60, 100])
def test_of_a_larger_cache_too(policy: str, capacity: int) -> None:
    references = (np.random.default_rng(1).zipf(1.3, 4000) % 300).tolist()
    specified = (
        midpoint(references, Midpoint(capacity)) if policy == "midpoint" else SPECIFIED[policy](references, capacity)
    )
    assert run(policy, references, capacity) == specified


@pytest.mark.parametrize("used", [3, 10])
def test_a_page_outlasts_the_hand_as_often_as_its_uses_count(used: int) -> None:
    """The sweep counts five uses at most: a sixth makes no page stay longer."""
    for others in range(1, 20):
        references = [0] * used + list(range(1, others + 1)) + [0]
        assert run("postgresql", references, 2) == sweep(references, 2)


@settings(deadline=None)  # the first call compiles
@given(drawn, st.integers(0, 6), st.one_of(st.integers(0, 30), st.just(1 << 62)))
def test_lru2_is_the_paper_s(case: tuple[list[int], int], correlated: int, retained: int) -> None:
    assert run("lru-2", *case, correlated, retained) == lru2(*case, correlated, retained)


@settings(deadline=None)  # the first call compiles
@example(([5, 7, 6, 6, 1, 5, 6, 4], 3))  # a page that was seen once comes back, and the target moves by a ratio
@given(drawn)
def test_arc_is_the_paper_s(case: tuple[list[int], int]) -> None:
    assert run("arc", *case) == arc(*case)


@settings(deadline=None)  # the first call compiles
@given(
    st.tuples(st.lists(st.integers(0, 40), max_size=300), st.integers(1, 40)),
    st.integers(10, 80),
    st.integers(0, 30),
    st.integers(0, 2),
    st.integers(12, 30),
)
def test_midpoint_is_one_list_with_a_mark(
    case: tuple[list[int], int], percent: int, old_references: int, tolerance: int, least: int
) -> None:
    references, capacity = case
    specified = midpoint(references, Midpoint(capacity, percent, old_references, tolerance, least))
    assert run("midpoint", *case, percent, old_references, tolerance, least) == specified


@pytest.mark.parametrize("capacity", [511, 512, 700])
def test_midpoint_with_the_constants_of_the_sources(capacity: int) -> None:
    references = (np.random.default_rng(1).zipf(1.2, 20_000) % 1500).tolist()
    assert run("midpoint", references, capacity) == midpoint(references, Midpoint(capacity))


@pytest.mark.parametrize("policy", POLICIES)
@settings(deadline=None)  # the first call compiles
@given(drawn)
def test_what_must_be_of_any_policy(policy: str, case: tuple[list[int], int]) -> None:
    references, capacity = case
    missed = run(policy, references, capacity)
    assert len(set(references)) <= missed <= len(references)
    assert run(policy, references, 13) == len(set(references))  # everything fits


@settings(deadline=None)  # the first call compiles
@given(drawn)
def test_more_cache_never_misses_more_under_lru(case: tuple[list[int], int]) -> None:
    assert run("lru", case[0], case[1] + 1) <= run("lru", *case)


def test_what_cannot_be_asked_is_a_sentence() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'lru'"):
        run("lur", [1], 1)
    with pytest.raises(ScenarioError, match="holds nothing"):
        run("lru", [1], 0)


@cache
def references(trace: str) -> tuple[NDArray[np.int32], int]:
    if trace == "cpio":
        record = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
        raw = np.fromfile(SHARED / "traces/cloudphysics/cloudPhysicsIO.oracleGeneral.bin", record)
        return numbered(raw["object"])
    text = pa.input_stream(str(SHARED / "traces/arc/OLTP.lis.zst"), compression="zstd").read()
    lines = np.array(text.split(), np.int64).reshape(-1, 4)
    return numbered(np.concatenate([np.arange(start, start + count) for start, count in lines[:, :2]]))


def counted(name: str) -> list[dict[str, str]]:
    with (Path(SHARED) / "cache" / name).open() as file:
        return list(csv.DictReader(file))


@needs_jit
@pytest.mark.shared
@pytest.mark.skipif(
    not (SHARED / "cache").is_dir(), reason="the counts of other simulators are not beside the checkout"
)
@pytest.mark.parametrize("policy", PUBLISHED)
@pytest.mark.parametrize("trace", ["cpio", "oltp"])
def test_misses_are_those_that_libcachesim_counts(policy: str, trace: str) -> None:
    bits = "n-bit-counter=3" if policy == "clock-3bit" else ""
    rows = [
        row
        for row in counted("libcachesim_misses.csv")
        if (row["trace"], row["algo"]) == (trace, PUBLISHED[policy])
        and row["params"].startswith(bits)
        and bool(row["params"]) == bool(bits)
    ]
    assert len(rows) >= 6
    for row in rows:
        size = int(row["cache_size_objs"])
        assert misses(policy, *references(trace), size) == int(row["n_miss"]), size


@needs_jit
@pytest.mark.shared
@pytest.mark.skipif(
    not (SHARED / "cache").is_dir(), reason="the counts of other simulators are not beside the checkout"
)
@pytest.mark.parametrize("trace", ["cpio", "oltp"])
def test_the_sweep_misses_as_listed(trace: str) -> None:
    rows = [row for row in counted("min_and_pg_clock_sweep_misses.csv") if row["trace"] == trace]
    assert len(rows) >= 6
    for row in rows:
        assert misses("postgresql", *references(trace), int(row["size"])) == int(row["PGclock_u5_init1_miss"])
