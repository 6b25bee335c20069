"""Each station of devices against its twin in plain Python, in both engines: every request ends at the same ns."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.plants import bucket, hdd
from tests.test_hdd_twin import slow_drive
from tests.twins.array import Array
from tests.twins.files import Files
from tests.twins.gate import Gate
from tests.twins.hdd import Disk
from tests.twins.neighbour import Neighbour
from tests.twins.parity import Parity, Rows
from tests.twins.port import Port
from tests.twins.rebuild import Rebuild
from tests.twins.route import Route
from tests.twins.server import Server
from tests.twins.stand_in import DISCARD, FLUSH, NONE, READ, WRITE, Built, Twin, agree, draw_commands
from tests.twins.stripes import RowLocks, Stripes
from tests.twins.token_bucket import Bucket
from tests.twins.upkeep import Upkeep
from tests.twins.write_cache import Behind, WriteCache
from tiersim.devices.array.storage_pool import Neighbour as Load
from tiersim.devices.array.storage_pool import add_neighbour
from tiersim.devices.array.volume import Layout, StripeLock, Volume, add_array
from tiersim.devices.array.volume import Rebuild as Rebuilding
from tiersim.devices.cloud.token_bucket import add_bucket
from tiersim.devices.controller.raid_controller import Controller, add_front
from tiersim.devices.hdd.disk_drive import add_drive
from tiersim.devices.host.file_system import add_files
from tiersim.devices.host.gate import add_gate, add_port
from tiersim.devices.host.upkeep import Upkeep as Keeping
from tiersim.devices.host.upkeep import add_upkeep
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import Plant
from tiersim.random_numbers import ROTATION_PHASE, random_below

pytestmark = pytest.mark.kernels

ALL = (READ, WRITE, READ, WRITE, FLUSH, DISCARD)
SEEDS = st.integers(0, 2**32 - 1)


def pick(*values: Any) -> Any:
    return st.sampled_from(values)


@settings(max_examples=examples(20), deadline=None)
@given(seed=SEEDS, servers=pick(1, 2, 5), rate=pick(None, 50_000_000, 333_333_333), law=pick("fixed", "exponential"))
def test_server(seed: int, servers: int, rate: int | None, law: Any) -> None:
    def build(builder: PlantBuilder) -> Built:
        station = add_server(builder, "server", servers, 30_000, law, rate)
        return station, {station: Server(servers, 30_000, law, builder.seed, station, rate)}

    agree(build, draw_commands(seed, 150, 1 << 20, ops=ALL))


@settings(max_examples=examples(40), deadline=None)
@given(seed=SEEDS, depth=st.integers(1, 4), merge=pick(0, 16384, 65536), apart_ns=pick(5_000, 20_000, 80_000))
def test_gate(seed: int, depth: int, merge: int, apart_ns: int) -> None:
    def build(builder: PlantBuilder) -> Built:
        below = add_server(builder, "below", 2, 70_000, "fixed", 50_000_000)
        gate = add_gate(builder, "gate", depth, below, merge)
        return gate, {gate: Gate(depth, below, merge)}

    agree(build, draw_commands(seed, 150, 1 << 16, ops=ALL, apart_ns=apart_ns, follow=0.6))


@settings(max_examples=examples(20), deadline=None)
@given(seed=SEEDS, part=pick(0, 4096, 1024), base=pick(0, 512, 1 << 20), depth=st.integers(1, 4))
def test_port(seed: int, part: int, base: int, depth: int) -> None:
    def build(builder: PlantBuilder) -> Built:
        below = add_server(builder, "below", 2, 7_000, "fixed", 50_000_000)
        gate = add_gate(builder, "shared", depth)
        port = add_port(builder, "port", gate, below, part)
        # what a request finds where it lies shows by mirrors that read the nearest
        drive = hdd(buffer_segments=None, buffer_segment=None)
        disk = add_drive(builder, drive, "disk")
        piece = add_port(builder, "slice", disk, base_bytes=base)
        both = add_array(builder, [port, piece], "jbod", 1 << 21, 1, "both")
        return both, {
            port: Port(gate, part),
            gate: Gate(depth, beyond={port: below}),
            piece: Port(disk, base_bytes=base),
            both: Array([port, piece], 1, 1 << 21, 1),
        }

    agree(build, draw_commands(seed, 60, 1 << 22, (512, 8192, 300 * 1024), ALL, 1_000_000, follow=0.6))


@settings(max_examples=examples(30), deadline=None)
@given(seed=SEEDS, overhead=pick(0, 5_000, 100_000), journal=pick("none", "ordered"))
def test_files(seed: int, overhead: int, journal: Any) -> None:
    def build(builder: PlantBuilder) -> Built:
        below = add_server(builder, "below", 2, 70_000)
        files = add_files(builder, "volume", below, overhead, journal)
        joins = files - 1
        twin = Files(below, joins, overhead, journal == "ordered")
        return files, {files: twin, joins: Gate(1, below, joins_flushes=True)}

    agree(build, draw_commands(seed, 150, 1 << 20, ops=(READ, WRITE, FLUSH, FLUSH, DISCARD), apart_ns=40_000))


@st.composite
def buckets(draw: st.DrawFn) -> Any:
    limits: dict[str, Any] = {"iops": None, "rate": None, "accounting_unit": None}
    limits |= {"latency": draw(pick(1, 1000, 200_000)), "refill_interval": draw(pick(1, 10, 100)) * 1_000_000}
    limits |= {"carry_over": draw(pick(0, 30, 1000)) * 1_000_000, "flush": draw(pick(None, 1234))}
    limits |= {"flushes_counted": draw(st.booleans()), "accounting_unit": draw(pick(None, 4096, 16384))}
    limits |= {"merged_from": draw(pick(None, 8192)), "takes_turns": draw(st.booleans())}
    if draw(st.booleans()):
        limits |= {"read_iops": draw(pick(70, 333, None)), "write_iops": draw(pick(90, 1000))}
        limits |= {"rate": draw(pick(None, 3_000_001))}
    else:
        limits |= {"iops": draw(pick(77, 750)), "rate": draw(pick(None, 3_000_001, 20_000_000))}
        if draw(st.booleans()):
            limits |= {"burst_iops": 3 * limits["iops"], "burst_credits": draw(pick(5, 40))}
        if limits["rate"] and draw(st.booleans()):
            limits |= {"burst_rate": 3 * limits["rate"], "burst_bytes": draw(pick(50_000, 400_000))}
    return bucket(**limits)


@settings(max_examples=examples(90), deadline=None)
@given(
    seed=SEEDS,
    volume=buckets(),
    credits=pick(0.0, 0.31, 1.0),
    over=st.booleans(),
    apart_ns=pick(100_000, 1_000_000, 10_000_000),
)
def test_token_bucket(seed: int, volume: Any, credits: float, over: bool, apart_ns: int) -> None:
    def build(builder: PlantBuilder) -> Built:
        below = add_server(builder, "below", 2, 70_000) if over else NONE
        station = add_bucket(builder, volume, "volume", below, credits)
        return station, {station: Bucket(volume, below, credits)}

    agree(build, draw_commands(seed, 150, 1 << 22, (512, 8192, 65536, 1 << 20), ALL, apart_ns, follow=0.5))


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    make=pick(hdd, slow_drive),
    depth=pick(1, 3, 16),
    age_ns=pick(0, 20_000_000, 500_000_000),
    scheduler=pick(None, "sptf", "sstf", "fcfs"),
    settle=pick(-400_000, 0, 300_000),
    write_overhead=pick(None, 1_000_000),
    scatter=pick(None, 1_000, 200_000),
    near=st.booleans(),
)
@example(  # moves scatter, and the order of commands is another for it
    seed=0,
    make=hdd,
    depth=3,
    age_ns=20_000_000,
    scheduler=None,
    settle=0,
    write_overhead=None,
    scatter=200_000,
    near=False,
)
def test_hdd(
    seed: int,
    make: Any,
    depth: int,
    age_ns: int,
    scheduler: Any,
    settle: int,
    write_overhead: int | None,
    scatter: int | None,
    near: bool,
) -> None:
    own = {"queue_depth": depth, "age_limit": age_ns, "scheduler": scheduler, "write_settle": settle}
    own |= {"write_overhead": write_overhead, "seek_scatter": scatter}
    drive = make(**own, buffer_segments=None, buffer_segment=None)
    held = drive.geometry().capacity_bytes

    def build(builder: PlantBuilder) -> Built:
        station = add_drive(builder, drive, "drive")
        phase_ps = random_below(drive.revolution_ps, builder.seed, ROTATION_PHASE, station, 0)
        return station, {station: Disk(drive, phase_ps, builder.seed)}

    span = min(1 << 24, held) if near else held
    agree(build, draw_commands(seed, 80, span, (512, 8192, 300 * 1024), ALL, 5_000_000))


_MIRRORS: list[tuple[Layout, int, int]] = [
    ("raid0", 1, 3),
    ("raid10", 2, 4),
    ("raid1", 3, 3),
    ("jbod", 1, 3),
    ("raid10", 2, 6),
]


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    shape=pick(*_MIRRORS),
    unit=pick(512, 4096, 65536),
    balance=pick("fewest", "nearest"),
    lost=st.booleans(),
    apart_ns=pick(100_000, 700_000, 2_000_000),
)
def test_array(seed: int, shape: tuple[Layout, int, int], unit: int, balance: Any, lost: bool, apart_ns: int) -> None:
    layout, copies, count = shape
    unit = {"jbod": 1 << 19, "raid1": 1 << 30}.get(layout, unit)

    def build(builder: PlantBuilder) -> Built:
        members = [add_server(builder, f"d{m}", 1, 70_000, "fixed", 10_000_000 * (1 + m)) for m in range(count)]
        if lost and copies > 1:
            members[1] = NONE
        array = add_array(builder, members, layout, unit, 1000, "array", read_balance=balance)
        return array, {array: Array(members, copies, unit, 1000, balance == "nearest")}

    agree(build, draw_commands(seed, 150, 1 << 20, (512, 8192, 40_960), ALL, apart_ns))


_PARITIES: list[tuple[Layout, int, int]] = [
    ("raid5", 3, 1),
    ("raid5", 5, 1),
    ("raid6", 4, 2),
    # by so many columns both ways of a write read about as much
    ("raid6", 6, 2),
    ("raid6", 7, 2),
    ("raid5", 8, 1),
]


@settings(max_examples=examples(75), deadline=None)
@given(
    seed=SEEDS,
    shape=pick(*_PARITIES),
    unit=pick(512, 4096, 65536),
    lost=pick([], [], [], [0], [2, 1]),
    locks=pick("parity", "rows"),
)
def test_parity_and_stripes(
    seed: int, shape: tuple[Layout, int, int], unit: int, lost: list[int], locks: StripeLock
) -> None:
    layout, count, parities = shape

    def build(builder: PlantBuilder) -> Built:
        members = [add_server(builder, f"d{m}", 1, 70_000 + m, "fixed", 10_000_000 * (1 + m)) for m in range(count)]
        for member in lost[:parities]:
            members[member] = NONE
        top = add_array(builder, members, layout, unit, 1000, "array", stripe_lock=locks)
        array = top if locks == "parity" else top - 1
        rows = Rows(members, parities, unit)
        twins: dict[int, Twin] = {array: Parity(rows, array - 1, 1000), array - 1: Stripes(rows)}
        return top, twins if locks == "parity" else {**twins, top: RowLocks(rows, array)}

    sizes = (512, 8192, 5 * unit // 4, 2 * unit, 13 * unit // 4)
    ops = (READ, WRITE, WRITE, WRITE, FLUSH, DISCARD)
    agree(build, draw_commands(seed, 100, 1 << 20, sizes, ops, 300_000, align=min(unit // 4, 4096)))


#: Layout, drives, stripe unit; and columns, parities, copies.
_CACHED: list[tuple[Layout, int, int, tuple[int, int, int]]] = [
    ("single", 1, 65536, (1, 0, 1)),
    ("raid1", 2, 65536, (1, 0, 2)),
    ("raid10", 4, 8192, (2, 0, 2)),
    ("raid5", 4, 8192, (3, 1, 1)),
    ("raid6", 6, 16384, (4, 2, 1)),
    ("jbod", 3, 65536, (1, 0, 1)),
]


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=SEEDS,
    shapes=st.lists(pick(*_CACHED), min_size=1, max_size=2),
    lines=pick(4, 40, 300),
    marks=pick((0.8, 0.2), (0.5, 0.5), (0.9, 0.0)),
    interval_ns=pick(0, 1_000_000, 50_000_000, 4_000_000_000),
    depth=st.integers(1, 3),
    apart_ns=pick(100_000, 1_000_000),
    align=pick(512, 8192),
)
@example(
    seed=16, shapes=[_CACHED[3]] * 2, lines=40, marks=(0.5, 0.5), interval_ns=10**6, depth=2, apart_ns=10**5, align=8192
)  # whole rows with more behind them, and the second volume has the oldest line
@example(
    seed=0, shapes=[_CACHED[3], _CACHED[0]], lines=40, marks=(0.9, 0.0), interval_ns=4 * 10**9, depth=2,
    apart_ns=10**6, align=8192,
)  # fmt: skip
# the marks are far apart
def test_write_cache(
    seed: int,
    shapes: Any,
    lines: int,
    marks: tuple[float, float],
    interval_ns: int,
    depth: int,
    apart_ns: int,
    align: int,
) -> None:
    """Volumes behind one cache, each a part of what takes the commands."""

    def build(builder: PlantBuilder) -> Built:
        high, low = marks
        controller = Controller("c", lines * 4096, high, low, interval_ns, depth)
        below = [add_server(builder, f"below {place}", 2, 300_000, "fixed", 50_000_000) for place in range(len(shapes))]
        volumes = [
            Volume(f"v{place}", hdd(), count, layout, unit) for place, (layout, count, unit, _) in enumerate(shapes)
        ]
        entries = list(add_front(builder, controller, volumes, below).values())
        entry = add_array(builder, entries, "jbod", 1 << 18, 1, "host") if len(entries) > 1 else entries[0]
        behind = {}
        for route, station, (layout, count, unit, (columns, parities, copies)) in zip(
            entries, below, shapes, strict=True
        ):
            unit = 1 << 20 if layout in ("single", "raid1", "jbod") else unit
            behind[route] = Behind(station, depth * count, unit, columns, parities, copies)
        cache = next(place for place, station in enumerate(builder.stations) if station.name == "c.cache")
        return entry, {cache: WriteCache(cache, lines, marks, interval_ns, behind)}

    sizes = (512, 1536, 4096, 8192, 12_288, 24_576, 98_304)
    ops = (READ, WRITE, WRITE, WRITE, FLUSH, DISCARD)
    agree(build, draw_commands(seed, 150, len(shapes) << 18, sizes, ops, apart_ns, align, 0.5))


@settings(max_examples=examples(20), deadline=None)
@given(seed=SEEDS, reads=pick(0.0, 30.0, 90.0), writes=pick(20.0, 60.0), size=pick(512, 8192))
def test_neighbour(seed: int, reads: float, writes: float, size: int) -> None:
    load = Load(reads, writes, size)

    def build(builder: PlantBuilder) -> Built:
        # a disk, which knows where it is and what is written
        below = add_drive(builder, hdd(buffer_segments=None, buffer_segment=None), "disk")
        station = add_neighbour(builder, "others", load, 1 << 30, 1 << 28, below)
        twin = Neighbour(station, builder.seed, load, 1 << 30, 1 << 28, below)
        return add_port(builder, "host", station), {station: twin}

    agree(build, draw_commands(seed, 100, 1 << 20, ops=ALL, apart_ns=20_000_000))


@settings(max_examples=examples(20), deadline=None)
@given(
    seed=SEEDS,
    keeping=st.builds(
        Keeping,
        reads=pick(0.0, 0.13, 0.6, 7.5),
        writes=pick(0.0, 0.1, 1.4),
        run_pages=pick(1, 5, 60),
        depth=pick(1, 4),
        page_ns=pick(0, 300_000, 30_000_000),
        begun=pick(0.0, 0.5, 0.9),
    ),
    size=pick(8192, 16384),
    cpu_ns=pick(0, 512, 65536),
)
# runs never overlap
@example(seed=0, keeping=Keeping(reads=7.5, writes=0.0, run_pages=5, depth=1), size=8192, cpu_ns=512)
@example(
    seed=0, keeping=Keeping(reads=7.5, writes=1.4, run_pages=60, depth=4, page_ns=30_000_000), size=8192, cpu_ns=512
)
def test_upkeep(seed: int, keeping: Keeping, size: int, cpu_ns: int) -> None:
    def build(builder: PlantBuilder) -> Built:
        below = add_drive(builder, hdd(buffer_segments=None, buffer_segment=None), "disk")
        works = add_drive(builder, hdd(buffer_segments=None, buffer_segment=None), "in place of processors")
        station = add_upkeep(builder, "vacuum", keeping, size, 1 << 28, below)

        def charge(plant: Plant) -> None:
            plant.upkeeps["processors"], plant.upkeeps["cpu_ns"] = works, cpu_ns

        builder.write_first(charge)
        twin = Upkeep(station, builder.seed, keeping, size, 1 << 28, below, works, cpu_ns)
        return add_port(builder, "host", station), {station: twin}

    agree(build, draw_commands(seed, 100, 1 << 20, ops=ALL, apart_ns=20_000_000))


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=SEEDS,
    shape=pick(("raid1", 2), ("raid1", 3), ("raid10", 4)),
    replaced=st.sets(st.integers(0, 3), min_size=1, max_size=2),
    rate=pick(10_000_000, 70_000_000, 1_000_000_000),
    start=pick(0, 3 << 19),
    apart_ns=pick(500_000, 3_000_000),
)
# two mirrors that are as busy
@example(seed=1, shape=("raid1", 3), replaced={1}, rate=70_000_000, start=0, apart_ns=3_000_000)
def test_rebuild(seed: int, shape: Any, replaced: set[int], rate: int, start: int, apart_ns: int) -> None:
    layout, count = shape
    copies, unit = (2, 65536) if layout == "raid10" else (count, 5 << 20)
    # a mirror of each pair stays
    lost = sorted({place % count for place in replaced} - {0, 2} or {1})
    rebuilding = Rebuilding(tuple(lost), rate, start, 5 << 20)

    def build(builder: PlantBuilder) -> Built:
        members = [add_server(builder, f"d{m}", 1, 70_000, "fixed", 70_000_000 + 10_000_000 * m) for m in range(count)]
        array = add_array(builder, members, layout, unit, 1000, "array", rebuilding)
        filled = {members[place]: start for place in lost}
        columns = [members[first : first + copies] for first in range(0, count, copies)]
        rebuild = Rebuild(array - 1, columns, filled, 5 << 20, rate)
        twin = Array(members, copies, unit, 1000)
        twin.filled, twin.begins = filled, rebuild.first_steps()
        return array, {array: twin, array - 1: rebuild}

    agree(build, draw_commands(seed, 100, 4 << 20, (512, 8192, 40_960), ALL, apart_ns))


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    shape=pick(*_PARITIES),
    unit=pick(4096, 65536, 3 << 19),
    replaced=st.sets(st.integers(0, 3), min_size=1, max_size=2),
    rate=pick(10_000_000, 70_000_000, 1_000_000_000),
    start=pick(0, 3 << 19),
    apart_ns=pick(500_000, 3_000_000),
)
def test_rebuild_with_parity(
    seed: int, shape: tuple[Layout, int, int], unit: int, replaced: set[int], rate: int, start: int, apart_ns: int
) -> None:
    layout, count, parities = shape
    lost = sorted({place % count for place in replaced})[:parities]
    rebuilding = Rebuilding(tuple(lost), rate, start, 5 << 20)

    def build(builder: PlantBuilder) -> Built:
        members = [add_server(builder, f"d{m}", 1, 70_000, "fixed", 70_000_000 + 10_000_000 * m) for m in range(count)]
        array = add_array(builder, members, layout, unit, 1000, "array", rebuilding)
        named = {station.name: place for place, station in enumerate(builder.stations)}
        filled = {members[place]: start // unit * unit for place in lost}
        rows = Rows(members, parities, unit, filled)
        rebuild = Rebuild(named["array.rebuild"], [members], filled, 5 << 20, rate, unit)
        twin = Parity(rows, named["array.stripes"], 1000)
        twin.begins = rebuild.first_steps()
        return array, {array: twin, named["array.stripes"]: Stripes(rows), named["array.rebuild"]: rebuild}

    sizes = (512, 8192, 5 * unit // 4 // 512 * 512, 2 * unit)
    span = max((count - parities) * (4 << 20), 4 * unit)
    agree(build, draw_commands(seed, 100, span, sizes, (READ, WRITE, WRITE, FLUSH), apart_ns, align=512))


@settings(max_examples=examples(20), deadline=None)
@given(
    seed=SEEDS,
    iops=pick(None, 3000),
    processor=pick(None, 30_000_000),
    host_link=pick(None, 20_000_000),
    overhead=pick(1, 100_000),
)
@example(seed=0, iops=None, processor=None, host_link=20_000_000, overhead=1)
def test_route(seed: int, iops: int | None, processor: int | None, host_link: int | None, overhead: int) -> None:
    def build(builder: PlantBuilder) -> Built:
        controller = Controller("c", iops=iops, bytes_per_s=processor, host_link_bytes_per_s=host_link)
        below = add_server(builder, "below", 8, 20_000)
        volume = Volume("v", hdd(), 1, "single", 65536, overhead)
        (entry,) = add_front(builder, controller, [volume], [below]).values()
        named = {station.name: place for place, station in enumerate(builder.stations)}

        def stops(*names: str) -> list[int]:
            return [named[name] for name in names if name in named]

        reads = [below, *stops("c.processor", "c.host link.reads")]
        writes = [*stops("c.host link.writes", "c.processor"), below]
        return entry, {entry: Route(overhead, named.get("c.commands", NONE), reads, writes, [below])}

    agree(build, draw_commands(seed, 100, 1 << 20, ops=ALL))
