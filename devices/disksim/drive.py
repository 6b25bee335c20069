"""A drive of ours from DiskSim's parameters, and where they are not taken at their word.

Four of DiskSim's published validation traces hold the response times of the real drives. They say where its parameters, or
the model that they were extracted for, are wrong; each rule here follows from how drives work and holds on all four
(``docs/devices.md`` has the figures):

* Skew is what a maker needs to switch to the next track, so a head switch takes as long as the skew between tracks. The
  extracted times are a tenth to two thirds of that.
* A write cannot settle before it begins: a negative settling time is none.
* The overheads of a command after one of its own kind were taken from commands sent back to back. A drive that has been idle
  takes as long as after the other kind.
* A command that the buffer serves moves nothing, so one overhead of less than half the other is a failure of extraction.
* After a read from the buffer the read-ahead goes on.
"""

from pathlib import Path
from typing import Any

from tiersim.devices.disksim.layout import MOST_TRACKS, zones_of
from tiersim.devices.disksim.parameters import Block, read_blocks
from tiersim.devices.disksim.seeks import seek_curve
from tiersim.devices.hdd import ReadAhead
from tiersim.devices.hdd_kernels import SECTOR_BYTES
from tiersim.devices.hdd_measured import MeasuredDrive
from tiersim.errors import ScenarioError
from tiersim.toml_files import validate
from tiersim.units import NS_PER_MS

#: DiskSim's "Buffer continuous read".
_READ_AHEAD: tuple[ReadAhead, ...] = ("none", "track", "cylinder", "segment", "next-track")
_SCHEDULERS = {1: "fcfs", 2: "sstf", 3: "sstf", 4: "sstf"}  # those by address; the others go by time


def load_drive(path: Path) -> MeasuredDrive:
    """The drive that a ``.parv`` or ``.diskspecs`` file describes; raises ScenarioError naming file and line."""
    return validate(MeasuredDrive, drive_values(path), "", str(path))


def drive_values(path: Path) -> dict[str, Any]:
    """The same as a device file of ours would say it, units and sources and all."""
    blocks = read_blocks(path)
    drives = [block for block in blocks if block.type == "disksim_disk" or "Fast write level" in block.values]
    if not drives:
        raise ScenarioError(f"{path}: it describes no disk (no disksim_disk block); give a .parv or .diskspecs file")
    names = sorted({drive.name for drive in drives})
    if len(names) > 1:
        raise ScenarioError(f"{path}: it describes {', '.join(names)}; give the .diskspecs file of one of them")
    buses = [block for block in blocks if block.type == "disksim_bus"]
    return _values(drives[0], _bus_ms(buses), path)


def _values(specs: Block, bus_ms: float, path: Path) -> dict[str, Any]:
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
        raise ScenarioError(f"{model.path}:{model.line}: no drive has {cylinders:,} cylinders")
    points = seek_curve(mechanics, cylinders)
    values: dict[str, Any] = {
        "rpm": rpm,
        "surfaces": surfaces,
        "cylinders": max(cylinders, points[-1][0] + 1),
        "zones": [zone.model_dump() for zone in zones],
        "seek_curve": [(distance, _time(milliseconds)) for distance, milliseconds in points],
        "serpentine": ("no", "by zone", "by cylinder")[mapping] if 0 <= mapping <= 2 else "no",
        "write_settle": _time(max(mechanics.number("Add. write settling delay", 0), 0)),
        "track_switch": _time(max(mechanics.number("Head switch time", 0), skew_ms)),
        "command_overhead": _time(_at_rest(specs, "Read", "write", "read")),
        "write_overhead": _time(_at_rest(specs, "Write", "read", "write")),
        "completion_overhead": _time(specs.number("Read completion overhead", 0)),
        "flush": "1 ns",
        "queue_depth": max(specs.whole("Max queue length", 1), 1),
        "age_limit": "500 ms",
        "scheduler": _scheduler(specs),
        **_buffer(specs, max(bus_ms, specs.number("Bulk sector transfer time", 0))),
    }
    source = f"measured: DiskSim parameters of {specs.name} ({path.name})"
    sources = {key: source for key, value in values.items() if value is not None} | {
        "flush": "assumed: 1 ns .. 1 ms",
        "age_limit": "assumed: 200 ms .. 5000 ms",
        "track_switch": f"derived: the skew between tracks in the DiskSim parameters of {specs.name}",
        "write_settle": f"derived: DiskSim parameters of {specs.name}, no less than 0",
        "command_overhead": f"derived: DiskSim parameters of {specs.name}, of a drive at rest",
        "write_overhead": f"derived: DiskSim parameters of {specs.name}, of a drive at rest",
        "hit_overheads": f"derived: DiskSim parameters of {specs.name}, failures of extraction left out",
        "read_ahead_after_hit": f"derived: how far the DiskSim parameters of {specs.name} read ahead",
    }
    kept = {key: value for key, value in values.items() if value is not None}
    return {"kind": "measured-hdd", "name": specs.name, **kept, "sources": sources}


def _buffer(specs: Block, sector_ms: float) -> dict[str, Any]:
    """The keys of the buffer; with caching off it is what data pass through, and nothing more."""
    caching = specs.whole("Enable caching in buffer", 1) != 0
    ahead = specs.whole("Buffer continuous read", 0) if caching else 0
    most = specs.whole("Maximum read-ahead (blks)", 0)
    return {
        "buffer_segments": max(specs.whole("Number of buffer segments", 1), 1) if caching else 1,
        "buffer_segment": _size(max(specs.whole("Segment size (in blks)"), 1)),
        "interface_rate": f"{round(SECTOR_BYTES / sector_ms * 1000)} B/s" if sector_ms > 0 else None,
        "hit_overheads": [*_hits(specs, "Read"), *_hits(specs, "Write")],
        "read_ahead": _READ_AHEAD[ahead] if 0 <= ahead < len(_READ_AHEAD) else "segment",
        "read_ahead_limit": _size(most) if most > 0 else None,
        "read_ahead_after_hit": _READ_AHEAD[min(max(ahead, 0), 4)] == "segment"
        or specs.whole("Read-ahead on idle hit", 0) == 1,
        "write_segments": max(specs.whole("Maximum number of write segments", 1), 1)
        if caching and specs.whole("Fast write level", 0)
        else None,
    }


def _at_rest(specs: Block, kind: str, other: str, same: str) -> float:
    """Overhead of a *kind* of command that needs the arm, after one of the other kind, in ms; 0 there: it was not extracted."""
    return specs.number(f"{kind} miss over. after {other}", 0) or specs.number(f"{kind} miss over. after {same}", 0)


def _hits(specs: Block, kind: str) -> list[str]:
    """Overheads of a *kind* of command that the buffer serves: after a read, after a write."""
    found = [specs.number(f"{kind} hit over. after {before}", 0) for before in ("read", "write")]
    return [_time(max(found) if 2 * own < max(found) else own) for own in found]


def _scheduler(specs: Block) -> str:
    policy = specs.values.get("Scheduler")
    number = policy.whole("Scheduling policy", 1) if isinstance(policy, Block) else 1
    return _SCHEDULERS.get(number, "sptf")


def _bus_ms(buses: list[Block]) -> float:
    """Time of a sector on the slowest bus on its way, in ms."""
    return max((bus.number("Read block transfer time", 0) for bus in buses), default=0)


def _time(milliseconds: float) -> str:
    return f"{round(milliseconds * NS_PER_MS)} ns"


def _size(sectors: int) -> str:
    return f"{sectors * SECTOR_BYTES} B"
