"""Where sectors lie on a disk drive, and when they pass a head: zones; cylinder, head and angle of a sector."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel
from tiersim.units import PS_PER_NS

SECTOR_BYTES = 512
#: Times below this can be counted in ps.
_COUNTABLE_NS = (1 << 62) // PS_PER_NS
#: The zone of a sector is looked up by its leading bits, at least 2^HINT_BITS entries over the capacity.
HINT_BITS = 10


@dataclass(frozen=True)
class Zone:
    """Neighbouring cylinders with the same number of sectors per track; ``runs``: where its sectors lie, bad and
    spare ones left out.
    """

    first_cylinder: int
    sectors_per_track: int
    first_angle_ps: int
    track_skew_ps: int  # from one surface's first sector to the next one's
    cylinder_skew_ps: int  # from the last surface of a cylinder to the first of the next
    runs: Sequence[tuple[int, int]]  # (first sector, counted from the zone's first track; how many)


@dataclass(frozen=True)
class Geometry:
    """The platters of a drive, and how its arm moves."""

    revolution_ps: int
    surfaces: int
    zones: Sequence[Zone]
    seek_ns: NDArray[np.int64]  # by distance in cylinders; 0 at 0
    serpentine: bool = False  # odd cylinders are written from the last surface to the first
    serpentine_by_zone: bool = False  # odd within the zone, not on the drive

    @property
    def sectors(self) -> int:
        """How many it holds."""
        return sum(count for zone in self.zones for _, count in zone.runs)

    @property
    def capacity_bytes(self) -> int:
        """What it holds."""
        return self.sectors * SECTOR_BYTES

    def zone_rows(self) -> list[dict[str, int]]:
        """Rows of ZONE, by first sector: one for each run."""
        rows = []
        sector = 0
        for zone in self.zones:
            for physical, count in zone.runs:
                rows.append(
                    {
                        "first_sector": sector,
                        "end_sector": sector + count,
                        "first_physical": physical,
                        "first_cylinder": zone.first_cylinder,
                        "flip": 0 if self.serpentine_by_zone else zone.first_cylinder & 1,
                        "sectors_per_track": zone.sectors_per_track,
                        "sector_ps": self.revolution_ps // zone.sectors_per_track,
                        "first_angle_ps": zone.first_angle_ps,
                        "track_skew_ps": zone.track_skew_ps,
                        "cylinder_skew_ps": (self.surfaces - 1) * zone.track_skew_ps + zone.cylinder_skew_ps,
                    }
                )
                sector += count
        return rows


class Place(NamedTuple):
    """Where a sector lies."""

    zone: int  # index into ZONE
    cylinder: int
    track: int  # cylinder x surfaces + head
    within: int  # number of the sector on its track
    angle_ps: int


def hint_table(starts: Sequence[int], sectors: int) -> tuple[NDArray[np.int64], int]:
    """Index of the last start at or before each multiple of 2^shift: (table, shift)."""
    bits = max(HINT_BITS, len(starts).bit_length())
    shift = max(0, sectors.bit_length() - bits)
    entries = np.arange((sectors >> shift) + 1) << shift
    return np.searchsorted(np.asarray(starts), entries, "right") - 1, shift


@kernel
def angle_at(now_ns: int, revolution_ps: int, phase_ps: int) -> int:
    """Angle under the head at a time, in ps of rotation."""
    if now_ns >= _COUNTABLE_NS:
        now_ns %= revolution_ps  # so many ns are a thousand turns, which leave the angle as it is
    return (now_ns * PS_PER_NS + phase_ps) % revolution_ps


@kernel(hot=True)
def locate(p: Plant, drive: int, sector: int) -> Place:
    """Where a sector lies."""
    d = p.drives[drive]
    zone = d["first_zone"] + p.pool[d["zone_hint"] + (sector >> d["hint_shift"])]
    last = d["first_zone"] + d["zones"] - 1
    while zone < last and p.zones[zone]["end_sector"] <= sector:
        zone += 1
    z = p.zones[zone]
    per_track = z["sectors_per_track"]
    physical = z["first_physical"] + sector - z["first_sector"]
    tracks = physical // per_track
    place = physical - tracks * per_track
    cylinder = tracks // d["surfaces"]
    head = tracks - cylinder * d["surfaces"]
    skew = head * z["track_skew_ps"] + cylinder * z["cylinder_skew_ps"]
    angle = (z["first_angle_ps"] + skew + place * z["sector_ps"]) % d["revolution_ps"]
    if d["serpentine"] == 1 and (cylinder + z["flip"]) & 1 == 1:
        head = d["surfaces"] - 1 - head
    cylinder += z["first_cylinder"]
    return Place(zone, cylinder, cylinder * d["surfaces"] + head, place, angle)


@kernel(hot=True)
def transfer(p: Plant, drive: int, sector: int, sectors: int, at: Place) -> tuple[int, int]:
    """Time of a transfer that begins at a sector, which lies *at* a place, and the track that it ends on: (ps, track).

    Over the end of a track, or a bad sector, it goes on where the next sector comes under a head: skew is chosen so
    that this hides the switch to the next track.
    """
    z = p.zones[at.zone]
    passed = 0
    taken = min(sectors, z["sectors_per_track"] - at.within, max(z["end_sector"] - sector, 1))
    while taken < sectors:
        passed += taken * z["sector_ps"]
        sectors -= taken
        sector += taken
        reached = at.angle_ps + taken * z["sector_ps"]
        at = locate(p, drive, sector)
        passed += (at.angle_ps - reached) % p.drives[drive]["revolution_ps"]
        z = p.zones[at.zone]
        taken = min(sectors, z["sectors_per_track"] - at.within, max(z["end_sector"] - sector, 1))
    return passed + taken * z["sector_ps"], at.track


@kernel(hot=True)
def passage(
    p: Plant, drive: int, sector: int, sectors: int, at: Place, mark: int, interface_ps: int
) -> tuple[int, int, int]:
    """When data can pass the interface, in ps from the start of a transfer that begins at a sector, which lies *at* a
    place.

    Of a read: when *mark* sectors are in, and when the last is through if none leaves before it was read. Of a write:
    how long before the start data must have begun to come for each sector to be there when the head is.
    """
    z = p.zones[at.zone]
    if sectors > min(z["sectors_per_track"] - at.within, z["end_sector"] - sector):
        return _passage_over_tracks(p, drive, sector, sectors, at, mark, interface_ps)
    sector_ps = z["sector_ps"]
    read_ps = sectors * sector_ps
    bus_ps = sectors * interface_ps
    return mark * sector_ps, max(sector_ps + bus_ps, read_ps + interface_ps), max(bus_ps - read_ps + sector_ps, 0)


@kernel
def _passage_over_tracks(
    p: Plant, drive: int, sector: int, sectors: int, at: Place, mark: int, interface_ps: int
) -> tuple[int, int, int]:
    """:func:`passage` of a transfer in several pieces."""
    passed = 0
    done = 0
    marked = 0
    through = 0
    lead = 0
    while done < sectors:
        z = p.zones[at.zone]
        sector_ps = z["sector_ps"]
        taken = min(sectors - done, z["sectors_per_track"] - at.within, max(z["end_sector"] - sector, 1))
        through = max(through, passed + sector_ps + (sectors - done) * interface_ps)
        if done < mark <= done + taken:
            marked = passed + (mark - done) * sector_ps
        passed += taken * sector_ps
        done += taken
        lead = max(lead, done * interface_ps - passed + sector_ps)
        if done < sectors:
            sector += taken
            reached = at.angle_ps + taken * sector_ps
            at = locate(p, drive, sector)
            passed += (at.angle_ps - reached) % p.drives[drive]["revolution_ps"]
    return marked, max(through, passed + interface_ps), lead


@kernel
def place_request(p: Plant, drive: int, slot: int, sector: int, sectors: int) -> None:
    """Note in the LINK of *slot* where a request lies, and how long its transfer takes."""
    at = locate(p, drive, sector)
    link = p.links[slot]
    link["zone"] = at.zone
    link["cylinder"] = at.cylinder
    link["track"] = at.track
    link["within"] = at.within
    link["angle_ps"] = at.angle_ps
    link["transfer_ps"], link["end_track"] = transfer(p, drive, sector, sectors, at)


@kernel
def place_of_request(p: Plant, slot: int) -> Place:
    """Return what was noted in the LINK of *slot* of where its request lies."""
    link = p.links[slot]
    zone, within = int(np.int64(link["zone"])), int(np.int64(link["within"]))
    return Place(zone, link["cylinder"], link["track"], within, link["angle_ps"])
