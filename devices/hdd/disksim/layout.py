"""DiskSim's ``dm_layout_g1``: which sectors of a zone hold data, with spares, slips and unused space left out.

Sparing schemes as the reference manual numbers them (CMU-PDL-08-101, layout model G1). Remapped defects are read where
they would be without the defect: a handful of sectors, of which the files tell where but a model of averages cannot
profit.
"""

from collections.abc import Iterable, Iterator

from tiersim.devices.hdd.disksim.parameters import ParameterBlock, is_number
from tiersim.devices.hdd.hdd_measured import MeasuredZone
from tiersim.errors import ScenarioError
from tiersim.toml_files import validate

(
    _NONE,
    _TRACKS,
    _PER_CYLINDER,
    _PER_TRACK,
    _PER_CYLINDER_SLIP_TO_END,
    _PER_CYLINDER_AT_FRONT,
    _PER_CYLINDER_AT_FRONT_SLIP_TO_END,
    _AT_END,
    _PER_RANGE,
    _PER_ZONE,
    _PER_ZONE_SLIP_TO_END,
) = range(11)
_SLIP_TO_END = (_PER_CYLINDER_SLIP_TO_END, _PER_CYLINDER_AT_FRONT_SLIP_TO_END, _AT_END, _PER_ZONE_SLIP_TO_END)
#: Tracks of a zone, and sectors of a track: more than ten times those of any drive that DiskSim's parameters were
#: extracted for.
MOST_TRACKS, _MOST_PER_TRACK = 1 << 21, 1 << 14
_AT_FRONT = (_PER_CYLINDER_AT_FRONT, _PER_CYLINDER_AT_FRONT_SLIP_TO_END)


def zones_of(layout: ParameterBlock, surfaces: int) -> list[MeasuredZone]:
    """The zones of a drive; raises ScenarioError when the layout is of another kind or holds nothing."""
    if layout.type != "dm_layout_g1":
        raise ScenarioError(f"{layout.path}:{layout.line}: layout {layout.type!r} is not read; dm_layout_g1 is")
    scheme = layout.whole("Sparing scheme used", 0)
    if not 0 <= scheme <= _PER_ZONE_SLIP_TO_END:
        raise ScenarioError(f"{layout.path}:{layout.line}: sparing scheme {scheme} is not one of DiskSim's; correct it")
    zones = layout.get("Zones")
    if not isinstance(zones, list) or not zones or not all(isinstance(zone, ParameterBlock) for zone in zones):
        raise ScenarioError(f"{layout.path}:{layout.line}: it has no list of zones; give the whole file")
    range_cylinders = max(layout.whole("Rangesize for sparing", 1), 1)
    in_turns = layout.get("Skew units") == "revolutions"
    return [_zone(zone, surfaces, scheme, range_cylinders, in_turns) for zone in zones]


def _zone(zone: ParameterBlock, surfaces: int, scheme: int, range_cylinders: int, in_turns: bool) -> MeasuredZone:
    first, last = zone.whole("First cylinder number"), zone.whole("Last cylinder number")
    per_track = zone.whole("Blocks per track")
    unit = per_track if in_turns else 1
    if not 0 <= first <= last or (last - first + 1) * surfaces > MOST_TRACKS or per_track > _MOST_PER_TRACK:
        raise ScenarioError(
            f"{zone.path}:{zone.line}: no drive has cylinders {first} to {last} of {surfaces} tracks of {per_track}"
            " sectors; correct the file"
        )
    sectors = (last - first + 1) * surfaces * max(per_track, 0)
    runs = list(_runs(zone, sectors, per_track, surfaces, scheme, range_cylinders)) if sectors else []
    if not runs:
        raise ScenarioError(
            f"{zone.path}:{zone.line}: the zone of cylinders {first} to {last} holds no sector; correct the file"
        )
    values = {
        "first_cylinder": first,
        "sectors_per_track": per_track,
        "first_sector_at": zone.number("Offset of first block", 0),
        "track_skew": zone.number("Skew for track switch", 0) * unit,
        "cylinder_skew": zone.number("Skew for cylinder switch", 0) * unit,
        "runs": runs,
    }
    return validate(MeasuredZone, values, "", f"{zone.path}:{zone.line}")


def _runs(
    zone: ParameterBlock, sectors: int, per_track: int, surfaces: int, scheme: int, range_cylinders: int
) -> Iterator[tuple[int, int]]:
    """(first, count) of each run of sectors that hold data, in order."""
    spares = zone.whole("Number of spares", 0)
    slips = zone.get("slips", [])
    if not isinstance(slips, list) or not all(isinstance(slip, int) and is_number(slip) for slip in slips):
        raise ScenarioError(f"{zone.path}:{zone.line}: 'slips' is not a list of whole numbers; correct the file")
    slips = sorted(slips)
    unused = int(zone.number("Empty space at zone front", 0))
    per_cylinder = per_track * surfaces
    if scheme == _TRACKS:  # whole tracks are slipped
        good = _without(0, sectors, [(slip * per_track, per_track) for slip in slips])
        held = sectors - unused - spares * per_track
    elif scheme in (_NONE, _AT_END, _PER_ZONE, _PER_ZONE_SLIP_TO_END):
        good = _without(0, sectors, [] if scheme == _NONE else [(slip, 1) for slip in slips])
        held = sectors - unused - (spares if scheme in (_PER_ZONE, _PER_ZONE_SLIP_TO_END) else 0)
        held -= len(slips) if scheme in _SLIP_TO_END else 0
    else:
        group = per_track if scheme == _PER_TRACK else per_cylinder
        group *= range_cylinders if scheme == _PER_RANGE else 1
        good = _grouped(sectors, group, spares, slips, scheme)
        held = sectors - unused - spares * (sectors // group)
        held -= len(slips) if scheme in _SLIP_TO_END else 0
    yield from _window(good, unused, held)


def _grouped(sectors: int, group: int, spares: int, slips: list[int], scheme: int) -> Iterator[tuple[int, int]]:
    """Runs where each track, cylinder or range of cylinders has spares of its own, which its slips use up."""
    for begin in range(0, sectors, group):
        end = min(begin + group, sectors)
        own = [(slip, 1) for slip in slips if begin <= slip < end]
        wanted = group - spares - (len(own) if scheme in _SLIP_TO_END else 0)
        start = begin + spares if scheme in _AT_FRONT else begin
        yield from _window(_without(start, end, own), 0, wanted)


def _without(begin: int, end: int, holes: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """(first, count) of what is left of a range without (first, count) *holes* in order."""
    for first, count in holes:
        if first > begin:
            yield begin, min(first, end) - begin
        begin = max(begin, first + count)
    if begin < end:
        yield begin, end - begin


def _window(runs: Iterable[tuple[int, int]], skipped: int, wanted: int) -> Iterator[tuple[int, int]]:
    """The *wanted* sectors behind the first *skipped* ones."""
    for first, count in runs:
        passed = min(skipped, count)
        skipped -= passed
        taken = min(count - passed, wanted)
        wanted -= taken
        if taken > 0:
            yield first + passed, taken
