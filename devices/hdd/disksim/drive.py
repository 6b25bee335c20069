"""A drive of tiersim from DiskSim's parameters. Each parameter means what DiskSim defines. A *departure* is an
exception: drives were measured to do otherwise.

What each parameter means: DiskSim 4.0 reference manual, CMU-PDL-08-101, B.4, and ``src/modules/disk.modspec``. With all
of them at their word a drive that is given one command at a time answers as DiskSim does (``tests/test_disksim.py``).

DiskSim's validation traces hold the response times of the real drives. A departure is kept if it reduces the error of
drives and increases it for no family of them (``tiersim validate departures`` leaves each out in turn), and
when its reason is how drives work:

* A switch of heads takes at least as long as the shortest seek, for both end with settling; and at most as long as the
  track skew hides, with the settling of a write: the maker chose the skew for that.
* A drive that reads ahead until the segment is full does so after a read from the buffer, too: there is room again.

The others were tried, and are not kept (``docs/disks.md``).
"""

from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Literal

from tiersim.devices.hdd.disk_drive import ReadAhead
from tiersim.devices.hdd.disksim.layout import MOST_TRACKS, zones_of
from tiersim.devices.hdd.disksim.parameters import ParameterBlock, read_blocks
from tiersim.devices.hdd.disksim.seeks import seek_curve, writes_later_ms
from tiersim.devices.hdd.hdd_geometry import SECTOR_BYTES
from tiersim.devices.hdd.hdd_measured import MeasuredDrive
from tiersim.errors import ScenarioError
from tiersim.toml_files import validate
from tiersim.units import NS_PER_MS

#: DiskSim's "Buffer continuous read".
_READ_AHEAD: tuple[ReadAhead, ...] = ("none", "track", "cylinder", "segment", "next-track")
#: DiskSim's "Scheduling policy": those by address or cylinder are sstf here, and all others sptf (disksim_ioqueue.h).
_SCHEDULERS = {1: "fcfs", **dict.fromkeys((2, 3, 4, 5, 6, 7, 17, 18, 19), "sstf")}


#: All departures that were tried; those in use are in KEPT.
Departure = Literal[
    "switch settles",
    "ahead goes on",
    "switch is skew",
    "overhead at rest",
    "even hits",
]
KEPT: frozenset[Departure] = frozenset({"switch settles", "ahead goes on"})

#: How the time of an access is found: the time of every part, where DiskSim can take a mean or a constant, too.
_ACCESS = "trackSwitchPlusRotation"
#: Parameters that are simulated with these values only; what another value would do is left out.
_SIMULATED: dict[str, tuple[float, ...]] = {
    "Allow almost read hits": (0,),
    "Allow sneaky partial read hits": (0,),
    "Allow sneaky intermediate read hits": (0,),
    "Allow read hits on write data": (1,),
    "Preseeking level": (0,),
    "Never disconnect": (0,),
    "Low (write) water mark": (0,),
    "Minimum read-ahead (blks)": (0,),
    "Buffer continuous read": tuple(range(len(_READ_AHEAD))),
    "Read any free blocks": (0,),
    "Immediate buffer read": (0,),
    "Immediate buffer write": (0,),
    "Combine seq writes": (1,),
    "Stop prefetch in sector": (1,),
    "Disconnect write if seek": (0,),
    "Write hit stop prefetch": (1,),
    "Read directly to buffer": (1,),
    "Immed transfer partial hit": (1,),
}
_SIMULATED_MECHANICS: dict[str, tuple[float, ...]] = {"Percent error in rpms": (0,)}
_SIMULATED_LAYOUT: dict[str, tuple[float, ...]] = {"LBN-to-PBN mapping scheme": (0, 1, 2)}
_SIMULATED_QUEUE: dict[str, tuple[float, ...]] = {
    "Scheduling policy": (1, 4, 7, 8),
    **dict.fromkeys(
        (
            "Write initiation delay",
            "Read initiation delay",
            "Sequential stream scheme",
            "Overlapping request scheme",
            "Scheduling timeout scheme",
            "Scheduling priority scheme",
        ),
        (0,),
    ),
}
#: Times of seek files have so many digits.
_SAME_MS = 0.001
#: Parameters that change no response time of a drive that has its bus to itself; those of a seek curve of another type,
#: and of a cache that is off; and defects, for what is remapped is read where it would be.
_WITHOUT_EFFECT = {
    *("Print stats", "Avg sectors per cylinder", "Calc sector by sector", "Read-ahead over requested", "Block count"),
    *("Hold bus entire read xfer", "Hold bus entire write xfer", "Full seek curve", "Single cylinder seek time"),
    *("Average seek time", "Full strobe seek time", "Constant seek time", "HPL seek equation values"),
    *("First ten seek times", "Maximum number of write segments", "Number of buffer segments", "Fast write level"),
    "defects",
}


def load_drive(path: Path, departures: AbstractSet[Departure] = KEPT) -> MeasuredDrive:
    """The drive that a ``.parv`` or ``.diskspecs`` file describes; raises ScenarioError naming file and line."""
    return validate(MeasuredDrive, drive_values(path, departures), "", str(path))


def drive_values(path: Path, departures: AbstractSet[Departure] = KEPT) -> dict[str, Any]:
    """Return the same as a device file of ours would say it, units and sources and all. Raises ScenarioError when
    *path* describes no disk, or several.
    """
    blocks = read_blocks(path)
    drives = [block for block in blocks if block.type == "disksim_disk" or "Fast write level" in block.values]
    if not drives:
        raise ScenarioError(f"{path}: it describes no disk (no disksim_disk block); give a .parv or .diskspecs file")
    names = sorted({drive.name for drive in drives})
    if len(names) > 1:
        raise ScenarioError(f"{path}: it describes {', '.join(names)}; give the .diskspecs file of one of them")
    buses = [block for block in blocks if block.type == "disksim_bus"]
    return _values(drives[0], buses, path, departures)


def _values(
    specs: ParameterBlock, buses: list[ParameterBlock], path: Path, departures: AbstractSet[Departure]
) -> dict[str, Any]:
    model = specs.block("Model")
    mechanics = model.block("Mechanical Model")
    surfaces = model.whole("Number of data surfaces")
    rpm = mechanics.number("Rotation speed (in rpms)")
    if rpm <= 0 or surfaces <= 0:
        raise ScenarioError(
            f"{model.path}:{model.line}: a drive turns and has a surface; it says {rpm} rpm, {surfaces}"
        )
    layout = model.block("Layout Model")
    zones = zones_of(layout, surfaces)
    skew_ms = min(zone.track_skew / zone.sectors_per_track for zone in zones) * 60_000 / rpm
    mapping = layout.whole("LBN-to-PBN mapping scheme", 0)
    cylinders = model.whole("Number of cylinders")
    if not 0 < cylinders <= MOST_TRACKS:
        raise ScenarioError(f"{model.path}:{model.line}: no drive has {cylinders:,} cylinders; correct the file")
    points = seek_curve(mechanics, cylinders)
    settle_ms = mechanics.number("Add. write settling delay", 0) + writes_later_ms(mechanics)[0]
    switch_ms = mechanics.number("Head switch time", 0)
    if "switch is skew" in departures:
        switch_ms = max(switch_ms, skew_ms)
    elif "switch settles" in departures:
        switch_ms = max(switch_ms, min(points[0][1], skew_ms - max(settle_ms, 0)))
    misses = [*_overheads(specs, "Read miss"), *_overheads(specs, "Write miss")]
    if "overhead at rest" in departures:  # as after a command of the other kind
        misses = [misses[1] or misses[0]] * 2 + [misses[2] or misses[3]] * 2
    values: dict[str, Any] = {
        "rpm": rpm,
        "surfaces": surfaces,
        "cylinders": max(cylinders, points[-1][0] + 1),
        "zones": [zone.model_dump() for zone in zones],
        "seek_curve": [(distance, _time(milliseconds)) for distance, milliseconds in points],
        "serpentine": ("no", "by zone", "by cylinder")[mapping] if 0 <= mapping <= 2 else "no",
        "write_settle": _time(settle_ms),
        "track_switch": _time(max(switch_ms, 0)),
        "command_overhead": _time(misses[0]),
        "write_overhead": _time(misses[2]),
        "miss_overheads": [_time(milliseconds) for milliseconds in misses],
        "flush": "1 ns",
        "queue_depth": max(specs.whole("Max queue length", 1), 1),
        "age_limit": "500 ms",
        "scheduler": _scheduler(specs),
        **_buffer(specs, departures),
        **_bus(specs, buses),
    }
    source = f"measured: DiskSim parameters of {specs.name} ({path.name})"
    kept = {key: value for key, value in values.items() if value is not None}
    sources = dict.fromkeys(kept, source) | {
        "flush": "assumed: 1 ns .. 1 ms",
        "age_limit": "assumed: 200 ms .. 5000 ms",
    }
    if "switch settles" in departures:
        sources["track_switch"] = (
            f"derived: head switch, shortest seek and skew in the DiskSim parameters of {specs.name}"
        )
    if "ahead goes on" in departures:
        sources["read_ahead_after_hit"] = f"derived: how far the DiskSim parameters of {specs.name} read ahead"
    notes = _not_simulated(specs, model, mechanics, layout)
    return {"kind": "measured-hdd", "name": specs.name, "notes": notes, **kept, "sources": sources}


def _buffer(specs: ParameterBlock, departures: AbstractSet[Departure]) -> dict[str, Any]:
    """The keys of the buffer; with caching off it is what data pass through, and nothing more."""
    caching = specs.whole("Enable caching in buffer", 1) != 0
    kind = specs.whole("Buffer continuous read", 0) if caching else 0
    ahead = _READ_AHEAD[kind] if 0 <= kind < len(_READ_AHEAD) else "segment"
    most = specs.whole("Maximum read-ahead (blks)", 0)
    segments = max(specs.whole("Number of buffer segments", 1), 1) if caching else 1
    written = max(specs.whole("Maximum number of write segments", 1), 1)
    apart = specs.whole("Use separate write segment", 0) != 0 and segments > 1
    hits = [*_overheads(specs, "Read hit"), *_overheads(specs, "Write hit")]
    if "even hits" in departures:  # an overhead of less than half the other is replaced by it
        hits = [max(pair) if 2 * own < max(pair) else own for pair in (hits[:2], hits[2:]) for own in pair]
    return {
        "buffer_segments": segments - apart,
        "buffer_segment": _size(max(specs.whole("Segment size (in blks)"), 1)),
        "hit_overheads": [_time(milliseconds) for milliseconds in hits],
        "read_ahead": ahead,
        "read_ahead_limit": _size(most) if most > 0 else None,
        "read_ahead_after_hit": (
            specs.whole("Read-ahead on idle hit", 0) == 1 or (ahead == "segment" and "ahead goes on" in departures)
        ),
        "read_awaits_ahead": False,
        "water_mark": specs.number("High (read) water mark", 0),
        "water_mark_of_segment": specs.whole("Set watermark by reqsize", 1) == 0,
        "read_hits_wait": specs.whole("Allow sneaky full read hits", 0) == 0,
        "writes_wait": specs.whole("Allow write prebuffering", 0) == 0,
        "write_move_least": _time(specs.number("Minimum seek delay", 0)),
        "write_segment_apart": apart,
        "write_into": "longest unused",
        "write_segments": written if caching and specs.whole("Fast write level", 0) else None,
    }


def _bus(specs: ParameterBlock, buses: list[ParameterBlock]) -> dict[str, Any]:
    """The keys of what passes between drive and host: rates, and overheads beside those of commands."""

    def rate(way: str) -> str | None:
        slowest = max((bus.number(f"{way} block transfer time", 0) for bus in buses), default=0)
        sector_ms = max(slowest, specs.number("Bulk sector transfer time", 0))
        return f"{round(SECTOR_BYTES / sector_ms * 1000)} B/s" if sector_ms > 0 else None

    def times(*keys: str) -> list[str]:
        return [_time(_scaled(specs, key)) for key in keys]

    extra = "Extradisc command", "Extradisc seek", "Extradisc disconnect", "Extradisc inter-disconnect", "Extradisc 2nd"
    ends = " overhead", " delta", " overhead", " delay", " disconnect overhead"
    return {
        "interface_rate": rate("Read"),
        "write_interface_rate": rate("Write"),
        "completion_overhead": times("Read completion overhead")[0],
        "write_completion_overhead": times("Write completion overhead")[0],
        "data_overhead": times("Data preparation overhead")[0],
        "disconnect_overheads": times(
            "Read disconnect afterread", "Read disconnect afterwrite", "Write disconnect overhead"
        ),
        "reconnect_overheads": times("First reselect overhead", "Other reselect overhead"),
        "extra_write_disconnect": (
            times(*map("".join, zip(extra, ends, strict=True))) if specs.whole("Extra write disconnect", 0) else None
        ),
    }


def _overheads(specs: ParameterBlock, kind: str) -> list[float]:
    """Overheads of a *kind* of command after a read and after a write, in ms."""
    each = specs.number("Per-request overhead time", 0)
    return [each + _scaled(specs, f"{kind} over. after {before}") for before in ("read", "write")]


def _scaled(specs: ParameterBlock, key: str) -> float:
    return specs.number(key, 0) * specs.number("Time scale for overheads", 1)


def _not_simulated(
    specs: ParameterBlock, model: ParameterBlock, mechanics: ParameterBlock, layout: ParameterBlock
) -> str:
    """Name the parameters whose values change nothing here, and those that nobody looked up."""
    queue = specs.get("Scheduler")
    known = [(specs, _SIMULATED), (mechanics, _SIMULATED_MECHANICS), (layout, _SIMULATED_LAYOUT)]
    if isinstance(queue, ParameterBlock):
        known.append((queue, _SIMULATED_QUEUE))
    found = [
        f"{key} = {block.values[key]:g}"
        for block, simulated in known
        for key, values in simulated.items()
        if key in block.values and block.number(key) not in values
    ]
    access = mechanics.get("Access time type", _ACCESS)
    if access != _ACCESS:
        found.append(f"Access time type = {str(access)[:60]}")
    apart_ms = writes_later_ms(mechanics)[1]
    if apart_ms > _SAME_MS:
        found.append(f"seeks of writes (up to {apart_ms:.3f} ms from reads' and a constant)")
    blocks = specs, model, mechanics, layout, *layout.get("Zones")
    keys = [key for block in blocks for key in block.values if key not in block.asked | _WITHOUT_EFFECT]
    found += [f"{key[:60]} (not known)" for key in dict.fromkeys(keys) if not key.startswith("Extradisc ")]
    return f"DiskSim's parameters that are not simulated: {', '.join(found)}" if found else ""


def _scheduler(specs: ParameterBlock) -> str:
    policy = specs.get("Scheduler")
    number = policy.whole("Scheduling policy", 1) if isinstance(policy, ParameterBlock) else 1
    return _SCHEDULERS.get(number, "sptf")


def _time(milliseconds: float) -> str:
    return f"{round(milliseconds * NS_PER_MS)} ns"


def _size(sectors: int) -> str:
    return f"{sectors * SECTOR_BYTES} B"
