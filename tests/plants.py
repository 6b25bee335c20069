"""Plants and loads drawn at random, small enough for the SimPy engine and nasty enough to find what differs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from hypothesis import strategies as st

from tiersim.devices import catalogue
from tiersim.devices.array.storage_pool import Neighbour, add_neighbour
from tiersim.devices.array.volume import (
    ReadBalance,
    Rebuild,
    StripeLock,
    Volume,
    VolumeHost,
    add_array,
    add_drive_queues,
    add_host,
    add_queue,
)
from tiersim.devices.catalogue import load_device
from tiersim.devices.cloud.cloud_volume import CloudVolume
from tiersim.devices.cloud.token_bucket import TokenBucket, add_bucket
from tiersim.devices.controller.raid_controller import Controller, add_controller
from tiersim.devices.hdd.disk_drive import Hdd, add_drive
from tiersim.devices.host.gate import add_gate, add_port
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.ssd.flash import Flash, add_flash
from tiersim.devices.station import Device
from tiersim.devices.station_records import NONE, RESOURCES
from tiersim.devices.tiering.flash_cache import Caching, add_flash_cache
from tiersim.devices.tiering.tiers import Migration, add_tiers
from tiersim.operations import FLUSH
from tiersim.simulator.commands import Commands
from tiersim.simulator.metrics import Metrics, new_metrics

SPAN_BYTES = 64 << 20
#: A device of the catalogue for each kind of device that files describe: a new kind is drawn as soon as it has one.
CATALOGUE = sorted(
    {
        device.kind: name
        for name in catalogue.names()
        if not isinstance(device := load_device(name), CloudVolume)  # these have to be ordered; limits are drawn anyway
    }.values()
)
#: Each rule that a drive's scheduler may have; None is one.
SCHEDULERS = tuple(
    rule for one in get_args(Hdd.model_fields["scheduler"].annotation) for rule in get_args(one) or [None]
)
CATEGORIES = 3


def hdd(**changes: Any) -> Hdd:
    device = load_device("seagate-cheetah-15k7-300")
    assert isinstance(device, Hdd)
    return device.model_copy(update=changes)


def buffered_hdd(numbers: dict[str, int]) -> Hdd:
    """A drive with a drawn buffer, small enough for segments to be overwritten."""
    ahead = ("none", "track", "next-track", "cylinder", "segment")[numbers["pages"] % 5]
    return hdd(
        queue_depth=numbers["depth"],
        age_limit=numbers["age_ms"] * 1_000_000,
        write_overhead=300_000,
        seek_scatter=60_000 if numbers["pages"] % 2 else None,
        buffer_segments=numbers["dies"],
        buffer_segment=numbers["pages"] * 16384,
        interface_rate=numbers["depth"] * 10_000_000,
        completion_overhead=50_000,
        hit_overheads=(20_000, 30_000, 40_000, 50_000),
        miss_overheads=(210_000, 220_000, 230_000, 240_000) if numbers["depth"] % 2 else None,
        data_overhead=15_000,
        disconnect_overheads=(60_000, 70_000, 80_000),
        reconnect_overheads=(90_000, 100_000),
        extra_write_disconnect=(110_000, 120_000, 130_000, 140_000, 150_000) if numbers["pages"] % 3 == 0 else None,
        write_interface_rate=numbers["depth"] * 7_000_000,
        write_completion_overhead=25_000,
        water_mark=numbers["pages"] % 4 / 4,
        water_mark_of_segment=numbers["dies"] % 2 == 1,
        write_move_least=300_000,
        write_segment_apart=numbers["pages"] % 2 == 1,
        write_into="longest unused" if numbers["dies"] % 3 == 0 else "last used",
        read_hits_wait=numbers["dies"] % 2 == 0,
        writes_wait=numbers["pages"] % 2 == 0,
        read_ahead=ahead,
        read_ahead_limit=65536 if numbers["pages"] > 16 else None,
        read_ahead_adaptive=numbers["protected"] == 1,
        read_ahead_after_hit=numbers["age_ms"] % 2 == 1,
        write_segments=None if numbers["age_ms"] < 10 else numbers["dies"],
    )


#: A drive with the numbers of a SAS drive of 2013, in bytes, bytes/s and ns.
FLASH: dict[str, Any] = {
    "capacity": 400 * 10**9,
    "cell": "mlc",
    "channels": 8,
    "dies": 32,
    "page": 16384,
    "unit": 4096,
    "spread": 1,
    "read": (75_000,),
    "program": 1_300_000,
    "program_size": 16384,
    "erase": 3_000_000,
    "block": 256 * 16384,
    "over_provisioning": 0.28,
    "suspend": 300_000,
    "channel_rate": 200_000_000,
    "link_rate": 400_000_000,
    "controller_iops": 50_000,
    "read_latency": 20_000,
    "write_latency": 40_000,
    "buffer": 32 << 20,
    "power_loss_protection": True,
    "flush": 30_000,
    "queue_depth": 128,
}
#: The unit that a device file writes behind each of these numbers.
_UNITS = {
    "B": (
        *("capacity", "page", "unit", "program_size", "block", "buffer", "host_memory_per_gib", "read_ahead"),
        *("slc_static", "slc_dynamic", "slc_program_size", "slc_used"),
    ),
    "B/s": ("channel_rate", "link_rate", "buffer_rate"),
    "ns": (
        *("program", "erase", "suspend", "read_latency", "write_latency", "flush", "flush_interval", "host_cpu"),
        *("slc_program", "slc_idle"),
    ),
}


def flash_file(**changes: Any) -> dict[str, Any]:
    """What the device file of that drive holds, with some numbers changed; None leaves a key out."""
    values = {key: value for key, value in (FLASH | changes).items() if value is not None}
    sources = dict.fromkeys(values, "assumed: for .. tests")
    values["read"] = [f"{time} ns" for time in values["read"]]
    for unit, keys in _UNITS.items():
        values |= {key: f"{values[key]} {unit}" for key in keys if key in values}
    return {"kind": "flash", "name": "test", "sources": sources, **values}


def flash(**changes: Any) -> Flash:
    return Flash.model_validate(flash_file(**changes))


def bucket(**changes: Any) -> TokenBucket:
    offer = load_device("aws-gp3")
    assert isinstance(offer, CloudVolume)
    return offer.order(None).model_copy(update=changes)


@dataclass(frozen=True)
class Case:
    """How to build a plant, again and again alike, and what to feed it."""

    build: Callable[[PlantBuilder], int]
    commands: Commands
    seed: int
    slots: int

    def fresh(self) -> tuple[PlantBuilder, int]:
        builder = PlantBuilder(self.seed)
        return builder, self.build(builder)

    def metrics(self, builder: PlantBuilder) -> Metrics:
        span = int(self.commands.time_ns[-1]) + 1 if len(self.commands) else 1
        return new_metrics(CATEGORIES, len(builder.stations), RESOURCES, 5, -(-span // 4))


def add_leaf(builder: PlantBuilder, kind: str, numbers: dict[str, int], drawn: Flash, name: str) -> int:
    """Put one drawn device into the plant."""
    if kind == "hdd":
        own = {"queue_depth": numbers["depth"], "age_limit": numbers["age_ms"] * 1_000_000}
        drive = hdd(
            **own, scheduler=SCHEDULERS[numbers["pages"] % len(SCHEDULERS)], buffer_segments=None, buffer_segment=None
        )
        return add_drive(builder, drive, name)
    if kind == "buffered hdd":
        return add_drive(builder, buffered_hdd(numbers), name)
    if kind == "flash":
        return add_flash(builder, drawn, name)
    if kind == "catalogue":
        return load_device(CATALOGUE[numbers["pages"] % len(CATALOGUE)]).add_to(builder, name)
    if kind == "server":
        law: Literal["fixed", "exponential"] = "exponential" if numbers["protected"] else "fixed"
        return add_server(builder, name, numbers["dies"], numbers["depth"] * 10_000, law, 100_000_000)
    limits: dict[str, Any] = {"iops": None, "rate": None, "accounting_unit": None}
    if numbers["protected"]:
        limits |= {"read_iops": 20 * numbers["depth"], "write_iops": 300, "rate": 20_000_000}
    else:
        limits |= {"iops": 50 * numbers["depth"], "accounting_unit": 16384, "merged_from": 8192}
        if numbers["dies"] > 1:  # bursts on credits, for requests and for bytes
            limits |= {"burst_iops": 400 * numbers["depth"], "burst_credits": 10 * numbers["pages"]}
            limits |= {"rate": 3_000_000, "burst_rate": 40_000_000, "burst_bytes": numbers["pages"] << 16}
    waits = {"refill_interval": numbers["dies"] * 10_000_000, "carry_over": numbers["age_ms"] * 1_000_000}
    below = NONE
    if kind == "bucket over hdd":
        below = add_leaf(builder, "hdd", numbers, drawn, f"{name}.below")
    volume = bucket(**limits, **waits, latency=numbers["depth"] * 1000, flush=numbers["age_ms"] * 10_000 or None)
    return add_bucket(builder, volume, name, below, credits=numbers["pages"] / 32)


def add_over(
    builder: PlantBuilder,
    below: int,
    over: Caching | Migration | None,
    kind: str,
    numbers: dict[str, int],
    drawn: Flash,
) -> int:
    """Put a cache on a drawn device over station *below*, or let extents move between both."""
    if over is None:
        return below
    fast = add_leaf(builder, kind, numbers, drawn, "fast")
    if isinstance(over, Caching):
        return add_flash_cache(builder, "cache", over, fast, numbers["pages"] * over.block_bytes, below, SPAN_BYTES)
    fast_bytes = numbers["pages"] << 20
    return add_tiers(builder, "tiers", over, fast, fast_bytes, below, SPAN_BYTES - fast_bytes + 3 * over.extent_bytes)


KINDS = ("hdd", "buffered hdd", "flash", "server", "bucket", "bucket over hdd", "catalogue")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a plant (a device, an array, an array of arrays, volumes of a controller; with a cache, tiers, a host, an
    instance, a neighbour, or without) and up to 200 commands with many ties.
    """
    kind = draw(st.sampled_from(KINDS))
    layouts = ["single", "jbod", "raid0", "raid1", "raid10", "raid5", "raid6", "raid0 of raid10", "raid0 of raid5"]
    layout = draw(st.sampled_from(layouts))
    columns = draw(st.integers(1, 4))
    stripe = draw(st.sampled_from([4096, 16384, 65536]))
    overhead = draw(st.sampled_from([1, 1000, 100_000]))
    numbers = {
        "depth": draw(st.integers(1, 40)),
        "age_ms": draw(st.integers(0, 40)),
        "pages": draw(st.integers(1, 32)),
        "dies": draw(st.integers(1, 4)),
        "protected": draw(st.integers(0, 1)),
    }

    drive = draw(flashes())

    def build(builder: PlantBuilder) -> int:
        devices = hardware(builder)
        if neighbour:
            others = Neighbour(numbers["depth"], numbers["dies"], 8192)
            devices = add_neighbour(builder, "others", others, 2 * SPAN_BYTES, SPAN_BYTES, devices)
            devices = add_port(builder, "slice", devices, base_bytes=SPAN_BYTES)
        queues = [add_gate(builder, f"queue {depth}", depth) for depth in shared]
        if instance:
            limits = bucket(iops=600, burst_iops=5000, burst_credits=40, rate=30_000_000, latency=1)
            queues.append(add_bucket(builder, limits, "instance", credits=0.5, shared=True))
        return add_host(
            builder,
            "data",
            host,
            add_queue(builder, "data", host, add_over(builder, devices, over, fast_kind, numbers, drive)),
            queues,
        )

    def hardware(builder: PlantBuilder) -> int:
        if controller is not None:
            entries = list(add_controller(builder, controller, volumes).values())
            return add_array(builder, entries, "raid0", stripe, overhead, "host") if len(entries) > 1 else entries[0]

        def array(layout: Any, members: list[int], name: str) -> int:
            lost = [index % len(members) for index in failed[: {"raid5": 1, "raid6": 2, "raid10": 1}.get(layout, 0)]]
            rebuild = None
            if lost and rate:
                rebuild = Rebuild(tuple(lost), rate, filled, SPAN_BYTES)
            elif lost:
                members = [NONE if index in lost else member for index, member in enumerate(members)]
            return add_array(builder, members, layout, stripe, overhead, name, rebuild, balance)

        def leaves(count: int, name: str) -> list[int]:
            found = [add_leaf(builder, kind, numbers, drive, f"{name}{index}") for index in range(count)]
            return add_drive_queues(builder, host, found)

        if layout == "single":
            return add_leaf(builder, kind, numbers, drive, "data")
        if layout == "raid0":
            return array("raid0", leaves(columns, "d"), "data")
        if layout == "jbod":
            return add_array(builder, leaves(columns, "d"), "jbod", SPAN_BYTES // 4, overhead, "data")
        if layout == "raid1":
            return array("raid1", leaves(columns + 1, "d"), "data")
        if layout == "raid10":
            return array("raid10", leaves(2 * columns, "d"), "data")
        if layout in ("raid5", "raid6"):
            return array(layout, leaves(columns + (2 if layout == "raid5" else 3), "d"), "data")
        inner, width = ("raid10", 2) if layout == "raid0 of raid10" else ("raid5", 3)
        arrays = [array(inner, leaves(width, f"m{index}."), f"m{index}") for index in range(columns)]
        return array("raid0", arrays, "data")

    failed = draw(st.just([]) | st.lists(st.integers(0, 6), max_size=2))
    balance: ReadBalance = draw(st.sampled_from(get_args(ReadBalance)))
    rate = draw(st.sampled_from([0, 3_000_000, 200_000_000]))
    filled = draw(st.sampled_from([0, SPAN_BYTES // 8]))
    over = draw(st.none() | st.none() | cachings() | migrations())
    fast_kind = draw(st.sampled_from(KINDS))
    host = draw(hosts())
    controller = draw(st.none() | st.none() | controllers())
    volumes = [draw(controlled(f"v{index}", stripe)) for index in range(draw(st.integers(1, 3)))]
    shared = draw(st.lists(st.integers(1, 12), max_size=2))
    neighbour, instance = draw(st.booleans()), draw(st.booleans())
    commands = draw(loads(stripe))
    return Case(build, commands, draw(st.integers(0, 2**40)), draw(st.sampled_from([64, 256])))


def slc_caches(draw: st.DrawFn, unit: int, program: int) -> dict[str, Any]:
    """Draw a cache of cells that take one bit, of a few programs of so many bytes."""
    size = unit * draw(st.sampled_from([1, program // unit]))
    static = size * draw(st.sampled_from([0, 1, 20])) + unit * draw(st.sampled_from([0, 1]))
    return {
        "slc_static": static,
        "slc_dynamic": size * draw(st.sampled_from([0, 5])),
        "slc_program": draw(st.sampled_from([60_000, 100_000])),
        "slc_program_size": size,
        "slc_full": draw(st.sampled_from(["direct", "fold"])),
        "slc_idle": draw(st.sampled_from([0, 1_000_000])),
        "slc_used": draw(st.sampled_from([None, static])),
    }


@st.composite
def flashes(draw: st.DrawFn) -> Flash:
    """Draw a flash drive, small enough for collection and a full buffer."""
    unit, planes = draw(st.sampled_from([512, 4096, 8192])), draw(st.sampled_from([1, 2, 4]))
    static = draw(st.booleans())
    held = static and draw(st.booleans())
    program = unit * (1 if static else draw(st.integers(1, 8)))
    dies = draw(st.sampled_from([1, 2, 4, 8, 24]))
    threads = draw(st.none() | st.integers(1, 3))
    mapping = "analytic" if held else draw(st.sampled_from(["analytic", "mapped"]))
    client: dict[str, Any] = {} if held else {"read_ahead": draw(st.sampled_from([None, unit, 16 * unit]))}
    if not static and mapping == "analytic" and draw(st.booleans()):
        client |= slc_caches(draw, unit, program)
    return flash(
        **client,
        capacity=3 * SPAN_BYTES,  # a neighbour has the third of them
        channels=draw(st.sampled_from([count for count in (1, 2, 8) if dies % count == 0])),
        dies=dies,
        unit=unit,
        planes=planes,
        page=unit * planes * draw(st.integers(1, 8 // planes)),
        spread=draw(st.sampled_from([count for count in (1, 2, 3, 8) if dies % count == 0])),
        read=draw(st.sampled_from([(50_000,), (10_000, 90_000), (40_000, 60_000, 80_000)])),
        cell="slc",
        program=draw(st.sampled_from([100_000, 1_300_000])),
        program_size=program,
        block=program * draw(st.sampled_from([2, 8, 64])),
        over_provisioning=draw(st.sampled_from([0.07, 0.28, 1.0])),
        suspend=None if held else draw(st.sampled_from([None, 0, 300_000])),
        allocation="static" if static else "dynamic",
        commands="held" if held else "planned",
        collection=draw(st.sampled_from(["greedy", "lru"])),
        mapping=mapping,
        state=draw(st.sampled_from(["steady", "fresh"])),
        buffer=program * draw(st.integers(0, 16)),
        buffer_rate=draw(st.sampled_from([None, 50_000_000])),
        power_loss_protection=held or draw(st.booleans()),
        flush_interval=draw(st.sampled_from([None, 2_000_000])),
        queue_depth=draw(st.integers(1, 40)),
        interface=None if held else draw(st.sampled_from([None, "SATA 6 Gb/s"])),
        host_cpu=None if threads is None else 10_000,
        host_threads=threads,
    )


@st.composite
def cachings(draw: st.DrawFn) -> Caching:
    """Draw how a volume caches another: few blocks of it, or many."""
    return Caching(
        mode=draw(st.sampled_from(["read", "write-back"])),
        block_bytes=draw(st.sampled_from([512, 4096, 16384, 1 << 20])),
        sequential_cutoff_bytes=draw(st.sampled_from([0, 32768, 4 << 20])),
    )


@st.composite
def controllers(draw: st.DrawFn) -> Controller:
    """Draw a controller; in most cases with a cache that is soon full."""
    high, low = draw(st.sampled_from([(0.8, 0.2), (0.5, 0.5), (0.1, 0.0)]))
    rates = st.none() | st.sampled_from([20_000_000, 1_000_000_000])
    return Controller(
        "perc",
        cache_bytes=draw(st.none() | st.sampled_from([8192, 1 << 18, 1 << 18, 1 << 21, 1 << 26])),
        high_water=high,
        low_water=low,
        flush_interval_ns=draw(st.sampled_from([0, 1_000_000, 50_000_000, 4_000_000_000])),
        destage_depth=draw(st.integers(1, 4)),
        iops=draw(st.none() | st.sampled_from([300, 100_000])),
        bytes_per_s=draw(rates),
        host_link_bytes_per_s=draw(rates),
        drive_link_bytes_per_s=draw(rates),
        stripe_lock=draw(st.sampled_from(get_args(StripeLock))),
        known_defect=draw(st.sampled_from([None, "perc6-raid0-write-back"])),
    )


@st.composite
def migrations(draw: st.DrawFn) -> Migration:
    """Draw how extents move: often and fast enough that many do."""
    return Migration(
        extent_bytes=draw(st.sampled_from([1 << 20, 2 << 20])),
        interval_ns=draw(st.sampled_from([1_000_000, 30_000_000])),
        rate_bytes_per_s=draw(st.sampled_from([10**8, 10**10])),
    )


@st.composite
def controlled(draw: st.DrawFn, name: str, stripe: int) -> Volume:
    """Draw a volume behind a controller."""
    layout, counts = draw(
        st.sampled_from(
            [
                ("single", [1]),
                ("raid0", [1, 3]),
                ("raid10", [2, 4]),
                ("raid5", [3, 5]),
                ("raid5", [3, 5]),
                ("raid6", [4]),
            ]
        )
    )
    devices: list[Device] = [hdd(queue_depth=4), flash(buffer=65536), bucket(iops=400, rate=20_000_000)]
    device, count = draw(st.sampled_from(devices)), draw(st.sampled_from(counts))
    layouts: Any = layout
    return Volume(name, device, count, layouts, stripe, draw(st.sampled_from([1, 1000])), draw(hosts()))


@st.composite
def hosts(draw: st.DrawFn) -> VolumeHost:
    """Draw what lies between the database and the hardware; nothing in a third of the cases."""
    if draw(st.integers(0, 2)) == 0:
        return VolumeHost()
    depths = st.none() | st.integers(1, 12)
    cut = draw(st.none() | st.sampled_from([4096, 16384, 1 << 20]))
    return VolumeHost(
        queue_depth=draw(depths),
        drive_queue_depth=draw(depths),
        max_request_bytes=cut,
        merge=cut is not None and draw(st.booleans()),
        flush_overhead_ns=draw(st.none() | st.sampled_from([0, 1_000_000, 50_000_000])),
        journal=draw(st.sampled_from(["none", "none", "ordered"])),
    )


@st.composite
def loads(draw: st.DrawFn, stripe: int) -> Commands:
    count = draw(st.integers(1, 200))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    clock = draw(st.sampled_from([1, 1_000_000, 10_000_000]))  # a coarse clock makes ties
    spread = draw(st.sampled_from([1e5, 1e6, 1e7]))
    times = np.cumsum(generator.exponential(spread, count)).astype(np.int64) // clock * clock
    op = generator.choice(4, count, p=[0.55, 0.35, 0.07, 0.03]).astype(np.uint8)
    sizes = np.array([512, 8192, 8192, 8192, stripe, 3 * stripe + 512, 10 * stripe])
    length = np.where(
        generator.random(count) < 0.005, 2 << 20, generator.choice(sizes, count)
    )  # one in a while is huge
    offset = generator.integers(0, (SPAN_BYTES - length) // 512) * 512
    follows = generator.random(count) < 0.3  # where the one before ended: these can be joined
    offset = np.where(follows, np.roll(offset + length, 1) % (SPAN_BYTES - 10 * stripe) // 512 * 512, offset)
    return Commands(
        time_ns=times,
        intended_ns=times - generator.integers(0, 1000, count) * (times > 1000),
        station=np.zeros(count, np.int32),
        op=op,
        offset_bytes=np.where(op == FLUSH, 0, offset),
        length_bytes=np.where(op == FLUSH, 0, length),
        category=(op % CATEGORIES).astype(np.uint8),
    )
