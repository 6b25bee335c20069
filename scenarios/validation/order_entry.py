"""Founding document 003: order entry on PostgreSQL 9.4, on 16 disks and on 4 SSDs, for 8 and for 48 users.

A part of the server runs: the large tables, the caches, what is used of each disk, and time and log between checkpoints
are so much smaller; what is missed, how far seeks go, and which part of the pages changes between checkpoints stay what
they are. Users, small tables, drives and processors are all there.

Two numbers are fitted, one to 8 users of each array: the rows that a look at the stock goes through, which stand for
all reads that nobody told, and the CPU of a row. 48 users are predicted: what 8 were measured to do, times what is
simulated of 48 over 8, which repeats the fit by proportion. How far the ends of what is assumed move that is simulated
on a smaller part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.ssd.flash import Flash
from tiersim.scenarios import library
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.validation import ranges
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.founding import DISKS, RATIOS, SSDS
from tiersim.scenarios.validation.ranges import Assumed
from tiersim.scenarios.validation.workloads import smaller
from tiersim.scenarios.workloads.assembly import Described
from tiersim.scenarios.workloads.replay import load_workload, run_workload
from tiersim.units import NS_PER_S, NS_PER_US

#: Relations with fewer pages stay as they are: what users meet on, and what is in memory anyway.
_LARGE_PAGES = 100_000


@dataclass(frozen=True)
class ArrayRun:
    """How an array is run: the part of the server, until the first checkpoint is over, then for how long, and more
    transactions a second than come out.
    """

    scenario: str
    factor: int
    warmup_s: int
    span_s: int
    most_per_s: int


ON_DISKS = ArrayRun("order-entry-hdd", 20, 20, 120, 400)
ON_SSDS = ArrayRun("order-entry-ssd", 20, 16, 12, 6000)
#: Parts that are small enough to be run for each end of what is assumed: only how far it moves the figures is taken of
#: them.
_SMALL = {
    ON_DISKS: replace(ON_DISKS, factor=100, warmup_s=4, span_s=40),
    ON_SSDS: replace(ON_SSDS, factor=150, warmup_s=2, span_s=2),
}
#: What is left of 128 GB beside the pool and the processes; the document's effective_cache_size is 72 GB.
_OS_CACHE = Assumed("os_cache", "72 GiB", "85 GiB", "92 GiB")
#: As in the catalogue's files of the drives; contention is one of 2008, and processors of 2014 scale better.
_OF_DISKS = (_OS_CACHE, Assumed("command_overhead", 50 * NS_PER_US, 100 * NS_PER_US, 200 * NS_PER_US))
_OF_SSDS = (
    Assumed("contention", 0.0, 0.047, 0.047),
    Assumed("program", 900 * NS_PER_US, 2000 * NS_PER_US, 2600 * NS_PER_US),
)
_OF_DEVICE = ("command_overhead", "program")
_SETTINGS = {"os_cache": "engine.os_cache", "contention": "host.contention"}


@dataclass(frozen=True)
class LoadOutcome:
    """What came out of a run; of the 99.9th percentile the ends of its interval."""

    orders_per_min: float
    mean_ms: float
    p999_ms: tuple[float, float]


def described(part: ArrayRun, users: int) -> Described:
    """Return the workload as a part of it, run by so many users."""
    found = load_workload(library.workload_path_of("order-entry"))
    model = found.model
    page_bytes = model.workload.page
    relations = {
        name: smaller(one, part.factor) if one.heap_pages(page_bytes) > _LARGE_PAGES else one
        for name, one in model.relations.items()
    }
    count = 3 * part.most_per_s * (part.span_s + part.warmup_s) // (2 * users)  # of each: some do more than others
    streams = {"users": model.streams["users"].model_copy(update={"clients": users, "count": count})}
    workload = model.workload.model_copy(update={"duration": part.span_s * NS_PER_S})
    changed = {"workload": workload, "relations": relations, "streams": streams}
    return replace(found, model=model.model_copy(update=changed))


def server(part: ArrayRun, values: Mapping[str, Any], settings: Sequence[str] = ()) -> NamedScenario:
    """Return an array's scenario of the library as a part of it; *values* of what is assumed, *settings* of anything
    else.
    """
    own = [f"{key}={values[name]}" for name, key in _SETTINGS.items() if name in values]
    whole = load_scenario(part.scenario, [*own, *settings])
    engine = whole.model.engine
    assert engine is not None
    sizes = ("buffer_pool", "os_cache", "checkpoint_timeout", "checkpoint_segments")
    changed = {name: max(getattr(engine, name) // part.factor, 1) for name in sizes}
    replayed = whole.model.replay.model_copy(update={"warmup": part.warmup_s * NS_PER_S})
    model = whole.model.model_copy(update={"engine": engine.model_copy(update=changed), "replay": replayed})
    device = whole.volumes["data"].device
    assert isinstance(device, Hdd | Flash)
    update = {name: values[name] for name in _OF_DEVICE if name in values}
    if isinstance(device, Hdd):
        update |= {"capacity": device.capacity // part.factor, "cylinders": device.cylinders // part.factor}
    return NamedScenario(part.scenario, model, {"data": device.model_copy(update=update)})


def run(
    part: ArrayRun, users: int, values: Mapping[str, Any] | None = None, settings: Sequence[str] = ()
) -> LoadOutcome:
    """Run so many users on an array; *values* of what is assumed, by name, *settings* of its scenario.

    Users do not think, so their rate follows from the mean of what they do (Little's law), and that from each
    statement's own: a run that happens to have drawn more of the long ones is not slower for it.
    """
    work = described(part, users)
    summary = run_workload(work, server(part, values or {}, settings)).summary
    mix = work.model.streams["users"].mix or {}
    mean_ns = sum(share * _mean_ns(summary["queries"][name]) for name, share in mix.items()) / sum(mix.values())
    p999 = summary["latency_ns"]["transaction"]["p999"]
    most_ns = p999["high"] or summary["latency_ns"]["transaction"]["max"]
    orders_per_ns = mix["new_order"] / sum(mix.values()) * users / mean_ns
    return LoadOutcome(60 * NS_PER_S * orders_per_ns, mean_ns / 1e6, ((p999["low"] or mean_ns) / 1e6, most_ns / 1e6))


def _mean_ns(query: Mapping[str, Any]) -> float:
    """Return the mean of a statement, that of few by its interval, in whose middle it is."""
    mean = query["mean"]
    return float(mean["value"] or (mean["low"] + mean["high"]) / 2)


@dataclass(frozen=True)
class _Array:
    """What an array does with 8 and with 48 users, and the range of the latter over what is assumed."""

    few: LoadOutcome
    many: LoadOutcome
    predicted: ranges.Range


def _array(part: ArrayRun, assumed: tuple[Assumed, ...], measured: Mapping[int, int]) -> _Array:
    def more(of: ArrayRun, values: Mapping[str, Any]) -> float:
        return run(of, 48, values).orders_per_min / run(of, 8, values).orders_per_min

    moved = ranges.over(assumed, lambda values: {"more": more(_SMALL[part], values)})["more"]
    few, many = run(part, 8), run(part, 48)
    predicted = measured[8] * many.orders_per_min / few.orders_per_min
    low, high = (predicted * end / moved.predicted for end in (moved.low, moved.high))
    return _Array(few, many, ranges.Range(predicted, low, high))


def experiment() -> Experiment:
    """Orders a minute, and how much faster responses are on SSDs."""
    disks, ssds = _array(ON_DISKS, _OF_DISKS, DISKS), _array(ON_SSDS, _OF_SSDS, SSDS)
    claims = []
    for id, name, array, measured, tolerance in (("G14", "disks", disks, DISKS, 15), ("G15", "SSDs", ssds, SSDS, 25)):
        few, many = array.few.orders_per_min, array.predicted
        claims += [
            Claim(
                f"8 users on {name}", "orders/min", measured[8], few, tolerance, fitted=True, id=id, figure="throughput"
            ),
            Claim(
                f"48 users on {name}",
                "orders/min",
                measured[48],
                many.predicted,
                tolerance,
                id=id,
                low=many.low,
                high=many.high,
                note=_NOTES[id],
                figure="throughput",
            ),
        ]
    for users, of_ssds, of_disks, tail in ((8, ssds.few, disks.few, 70), (48, ssds.many, disks.many, 52)):
        shorter = RATIOS[users][1]
        claims += [
            Claim(
                f"{users} users: simulated responses shorter by",
                "%",
                shorter,
                100 * (1 - of_ssds.mean_ms / of_disks.mean_ms),
                0,
                id="G16",
                within=(shorter - 1, shorter + 1),
            ),
            _tail(users, tail, of_disks, of_ssds),
        ]
    return Experiment(
        "order-entry",
        "Order entry on PostgreSQL 9.4, 16 disks against 4 SSDs, by users",
        "founding document 003: orders a minute of 8 and 48 users, tables 2 and 3; its figures are lost",
        "rows that a look at the stock goes through, to 8 users on disks; CPU of a row, to 8 users on SSDs",
        tuple(claims),
        fits=2,
        assumed=(*map(str, _OF_DISKS), *map(str, _OF_SSDS), "disks' type", "sizes of rows", "log of a row"),
    )


_NOTES = {
    "G14": (
        "suspected where it is above: the drives gain more by choosing among waiting requests than these did, whose"
        " rate grew with users as that of a network of first-come queues (founding-arithmetic); md, the block layer and"
        " XFS, which order requests for them, are not modelled"
    ),
    "G15": (
        "suspected where it is above: PostgreSQL 9.4's locks within memory (buffer mapping, log insertion), which 48"
        " backends meet on and the model lacks"
    ),
}


def _tail(users: int, published: float, disks: LoadOutcome, ssds: LoadOutcome) -> Claim:
    """By how much the 99.9th percentile is shorter, over the intervals of both."""
    low, high = (100 * (1 - ssds.p999_ms[1 - end] / disks.p999_ms[end]) for end in (0, 1))
    return Claim(
        f"{users} users: 99.9th percentile shorter by",
        "%",
        published,
        (low + high) / 2,
        15,
        underdetermined=True,
        id="G17",
        low=low,
        high=high,
        note=(
            "not promised: checkpoints, writes in no order, and what md and XFS make of them are all of it; of the"
            " document's figures only ratios are left"
        ),
    )
