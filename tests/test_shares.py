"""Shares and minimums of clients of one server or cap: exact rates, and a twin in plain Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from tests.plants import bucket
from tests.runs import commands, needs_jit, run
from tests.twins.array import Array
from tests.twins.port import Port
from tests.twins.shares import Shares
from tests.twins.stand_in import DISCARD, FLUSH, READ, WRITE, Built, agree, draw_commands
from tiersim.devices.array.shares import Share, SharedQueue, add_shares, let_through
from tiersim.devices.array.volume import add_array
from tiersim.devices.cloud.token_bucket import add_bucket
from tiersim.devices.host.gate import add_port
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server

pytestmark = pytest.mark.kernels

MS = 1_000_000


def served(
    clients: Sequence[Share],
    times: Sequence[Any],
    *,
    depth: int = 1,
    cap: int | None = None,
    lengths: Sequence[int] | None = None,
    unit: int = 0,
) -> tuple[list[NDArray[np.int64]], list[tuple[int, int]]]:
    """Let requests of each client come at *times* to a server that takes 1 ms for each, or to a volume with a *cap*.
    Return when each client's were done, in order; and how many went, and by its minimum.
    """
    builder = PlantBuilder(1)
    if cap is None:
        below = add_server(builder, "server", 1, MS - 1)  # passing on takes a nanosecond
    else:
        below = add_bucket(builder, bucket(iops=cap, rate=None, latency=1, refill_interval=MS, carry_over=0), "cap")
    station = add_shares(builder, "shares", SharedQueue(depth, unit_bytes=unit), clients)
    ports = [add_port(builder, f"port {n}", station, beyond=below, client=n) for n in range(len(clients))]
    at = [np.asarray(own, np.int64) for own in times]
    owner = np.repeat(np.arange(len(at)), [len(own) for own in at])
    order = np.argsort(np.concatenate(at), kind="stable")
    owner = owner[order]
    sizes = np.full(len(owner), 8192) if lengths is None else np.array(lengths)[owner]
    fed = commands(np.concatenate(at)[order], np.array(ports, np.int32)[owner], length_bytes=sizes)
    found = run(builder, fed)
    done = found.latency_ns + fed.time_ns
    return [np.sort(done[owner == n]) for n in range(len(at))], [
        let_through(found.plant, station, n) for n in range(len(at))
    ]


def until(done: Sequence[NDArray[np.int64]], end_ns: int) -> list[int]:
    return [int(np.searchsorted(own, end_ns, side="right")) for own in done]


@pytest.mark.parametrize("depth", [1, 4, 32])
def test_who_wants_all_gets_its_share(depth: int) -> None:
    """Two clients that always want more, shares 1:3; at any time, to what is under way."""
    clients = [Share(1), Share(3)]
    done, _ = served(clients, [np.zeros(1000), np.zeros(3000)], depth=depth)
    for end in (100, 1000, 3500):
        counts = until(done, end * MS + MS // 2)
        assert sum(counts) == end
        assert counts[0] == pytest.approx(end / 4, abs=1 + depth)
    assert done[0][-1] == pytest.approx(done[1][-1], abs=(1 + depth) * 4 * MS)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4))
@settings(deadline=None, max_examples=examples(20))
def test_rates_are_as_the_shares_whatever_they_are(weights: list[int]) -> None:
    """In every period of the sum of the weights."""
    periods = 20
    done, _ = served([Share(one) for one in weights], [np.zeros(periods * one) for one in weights])
    for period in range(1, periods + 1):
        assert until(done, period * sum(weights) * MS + MS // 2) == [period * one for one in weights]


@needs_jit
def test_a_cap_that_is_shared_is_divided_by_the_shares() -> None:
    done, _ = served([Share(1), Share(3)], [np.zeros(20_000), np.zeros(20_000)], depth=32, cap=1000)
    counts = until(done, 10_000 * MS)
    assert sum(counts) == pytest.approx(10_000, abs=2)
    assert counts[0] == pytest.approx(2500, abs=32)


def test_what_one_does_not_use_goes_to_the_others_by_their_shares() -> None:
    """One of three asks for 100/s and has a right to 500: the others divide 900 as 1:2."""
    clients = [Share(3), Share(1), Share(2)]
    done, _ = served(clients, [np.arange(500) * 10 * MS, np.zeros(3000), np.zeros(3000)])
    counts = until(done, 5000 * MS)
    assert counts == [pytest.approx(500, abs=1), pytest.approx(1500, abs=2), pytest.approx(3000, abs=2)]
    assert (done[0] - np.arange(500) * 10 * MS).max() <= 2 * MS  # it waits for one service, and its own


def test_who_was_away_has_no_credit() -> None:
    """It comes after 2 s to a server that another has had for itself: from then on both have halves."""
    done, _ = served([Share(1), Share(1)], [np.zeros(4000), np.full(1000, 2000 * MS)])
    assert until(done, 3000 * MS + MS // 2) == [2500, 500]


@needs_jit
def test_a_minimum_is_kept_against_any_share() -> None:
    """It asks for 200/s, is promised 100/s and has a share of next to nothing; then it asks for less."""
    clients = [Share(1, 100), Share(10_000)]
    (own, other), (through, _) = served(clients, [np.arange(2000) * 5 * MS, np.zeros(30_000)])
    assert until([own, other], 10_000 * MS) == [pytest.approx(1001, abs=1), pytest.approx(8999, abs=1)]
    assert through[0] == 2000
    (own, other), (through, _) = served(clients, [np.arange(500) * 20 * MS, np.zeros(30_000)])
    assert (own - np.arange(500) * 20 * MS).max() <= 2 * MS
    assert through == (500, 500)


def test_a_share_of_more_than_the_minimum_is_what_counts() -> None:
    """Half of 1000/s is more than 100/s: what goes for the minimum counts in the share."""
    (own, other), (through, none) = served([Share(1, 100), Share(1)], [np.zeros(5000), np.zeros(5000)])
    assert until([own, other], 5000 * MS) == [pytest.approx(2500, abs=2), pytest.approx(2500, abs=2)]
    assert through[1] == pytest.approx(1000, abs=2)
    assert none == (5000, 0)


def test_a_minimum_used_alone_leaves_no_debt() -> None:
    """One asks for its minimum for 2 s while nobody else is there; then both want all and have halves."""
    times = [np.concatenate([np.arange(200) * 10 * MS, np.full(2000, 2000 * MS)]), np.full(2000, 2000 * MS)]
    done, _ = served([Share(1, 100), Share(1)], times)
    counts = until(done, 3000 * MS + MS // 2)
    assert counts == [pytest.approx(200 + 500, abs=2), pytest.approx(500, abs=2)]


def test_long_requests_count_by_their_units() -> None:
    """Equal shares; one's requests are four units long: it gets a fourth of the other's requests."""
    done, _ = served([Share(1), Share(1)], [np.zeros(500), np.zeros(2000)], lengths=[65536, 8192], unit=16384)
    assert until(done, 1000 * MS + MS // 2) == [pytest.approx(200, abs=1), pytest.approx(800, abs=1)]


@pytest.mark.long
@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    depth=st.integers(1, 4),
    clients=st.lists(
        st.tuples(st.sampled_from([1, 2, 5]), st.sampled_from([None, 50, 700, 30_000])), min_size=1, max_size=3
    ),
    unit=st.sampled_from([0, 4096, 65536]),
    apart_ns=st.sampled_from([1, 20_000, 80_000]),
)
def test_each_request_goes_as_in_a_twin(
    seed: int, depth: int, clients: list[tuple[int, int | None]], unit: int, apart_ns: int
) -> None:
    """Clients are stretches of an address space; both engines, and tags that requests get when they come."""

    def build(builder: PlantBuilder) -> Built:
        below = [add_server(builder, f"below {n}", 1, 70_000, "fixed", 50_000_000) for n in range(len(clients))]
        shares = add_shares(builder, "shares", SharedQueue(depth, unit_bytes=unit), [Share(*one) for one in clients])
        ports = [add_port(builder, f"p{n}", shares, beyond=one, client=n) for n, one in enumerate(below)]
        size = (1 << 20) // len(clients) // 512 * 512
        whole = add_array(builder, ports, "jbod", size, 1, "whole") if len(ports) > 1 else ports[0]
        twins: dict[int, Any] = {
            shares: Shares(depth, clients, {port: (n, below[n]) for n, port in enumerate(ports)}, unit)
        }
        twins |= {port: Port(shares) for port in ports}
        if len(ports) > 1:
            twins[whole] = Array(ports, 1, size, 1)
        return whole, twins

    ops = (READ, WRITE, READ, WRITE, FLUSH, DISCARD)
    agree(build, draw_commands(seed, 100, 1 << 20, (512, 8192, 40_960), ops, apart_ns=apart_ns, follow=0.3))
