"""What twins of stations share: each stands in for its station in the reference engine, and all requests must end as
with the kernels of both engines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import CALL, NEVER, NONE, RESOURCES, Plant
from tiersim.operations import DISCARD, FLUSH, READ, WRITE
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import Metrics, new_metrics
from tiersim.simulator.reference.engine import Part, ReferenceEngine
from tiersim.units import NS_PER_S

__all__ = [
    "CALL",
    "DISCARD",
    "FLUSH",
    "NEVER",
    "NONE",
    "READ",
    "WRITE",
    "Asked",
    "Part",
    "Recorded",
    "Twin",
    "agree",
    "draw_commands",
]


@dataclass(frozen=True)
class Asked:
    """A request, as far as a device may know it."""

    op: int
    offset: int
    length: int
    number: int
    parent: int

    @property
    def end(self) -> int:
        """First byte behind it."""
        return self.offset + self.length


class Twin:
    """A station in plain Python. Unless it says otherwise, a request takes 1 ns and is done."""

    engine: ReferenceEngine

    def bind(self, engine: ReferenceEngine) -> "Twin":
        """Stand in for a station of *engine*."""
        self.engine = engine
        return self

    def asked(self, slot: int) -> Asked:
        """Return what a request asks for."""
        row = self.engine.plant.requests[slot]
        fields = ("op", "offset_bytes", "length_bytes", "number", "parent")
        return Asked(*(int(row[name]) for name in fields))

    def outstanding(self, station: int) -> int:
        """Return how many requests are at another station."""
        return int(self.engine.plant.stations[station]["outstanding"])

    def accept(self, now: int, slot: int) -> int:
        """Take a request."""
        return now + 1

    def choose(self, now: int) -> tuple[int, int, int]:
        """Start one request."""
        return NONE, NEVER, NEVER

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        """End the service of a request."""
        return ()

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        """Go on with a request whose children are done."""
        return ()


class Recorded(Twin):
    """A device that serves all at once, each in the same time and that of its bytes, and notes what it was asked for:
    when, what, where.
    """

    def __init__(self, service_ns: int, bytes_per_s: int | None = None) -> None:
        self.service_ns, self.bytes_per_s = service_ns, bytes_per_s
        self.seen: list[tuple[int, int, int, int]] = []

    def accept(self, now: int, slot: int) -> int:
        asked = self.asked(slot)
        self.seen.append((now, asked.op, asked.offset, asked.length))
        transfer_ns = 0 if self.bytes_per_s is None else asked.length * NS_PER_S // self.bytes_per_s
        return now + self.service_ns + transfer_ns


Built = tuple[int, Mapping[int, Twin]]


def agree(build: Callable[[PlantBuilder], Built], fed: Commands, seed: int = 1) -> Plant:
    """Run *fed* in the compiled engine, in the reference engine, and there with twins; all ends must be equal.

    *build* fills a plant and returns the station that takes the commands, and the twins by station. Returns the plant
    of the compiled run.
    """
    builder = PlantBuilder(seed)
    station, _ = build(builder)
    fed = _at(fed, station)
    plant, outcome = engine.run(builder.build(64), [fed], _metrics(builder, fed), keep_done=True)
    assert outcome.done_ns is not None
    found = (outcome.done_ns - fed.time_ns).tolist()
    for with_twins in (True, False):
        builder = PlantBuilder(seed)
        _, twins = build(builder)
        devices = {place: twin.bind for place, twin in twins.items()} if with_twins else {}
        expected = ReferenceEngine(builder.build(64), [fed], _metrics(builder, fed), devices).run()
        assert expected.done_ns is not None
        assert (expected.done_ns - fed.time_ns).tolist() == found
    return plant


def _at(fed: Commands, station: int) -> Commands:
    columns = {name: getattr(fed, name) for name in Commands.__dataclass_fields__}
    return Commands(**columns | {"station": np.full(len(fed), station, np.int32)})


def _metrics(builder: PlantBuilder, fed: Commands) -> Metrics:
    return new_metrics(1, len(builder.stations), RESOURCES, 3, int(fed.time_ns[-1]) // 2 + 1)


def draw_commands(
    seed: int,
    count: int,
    span: int,
    sizes: Sequence[int] = (512, 4096, 8192),
    ops: Sequence[int] = (READ, WRITE),
    apart_ns: int = 100_000,
    align: int = 512,
    follow: float = 0.3,
) -> Commands:
    """Commands with bursts and ties, of which a share continues the one before it."""
    luck = np.random.default_rng(seed)
    gaps = luck.integers(1, 2 * apart_ns, count) * (luck.random(count) < 0.6)
    times = np.cumsum(gaps)
    op = luck.choice(ops, count).astype(np.uint8)
    length = luck.choice(sizes, count).astype(np.int64)
    length[op == FLUSH] = 0
    offset = luck.integers(0, (span - max(sizes)) // align, count) * align
    for row in np.flatnonzero(luck.random(count) < follow):
        if row and op[row] != FLUSH and (end := int(offset[row - 1] + length[row - 1])) + length[row] <= span:
            offset[row] = end
    offset[op == FLUSH] = 0
    zeros: Any = np.zeros(count, np.uint8)
    return Commands(times, times, np.zeros(count, np.int32), op, offset, length, zeros)
