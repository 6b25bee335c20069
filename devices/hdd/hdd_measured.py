"""A disk drive that somebody has measured: its zones, its bad sectors, its seek curve."""

from itertools import pairwise
from typing import Literal

from pydantic import Field, model_validator

from tiersim.devices.hdd.disk_drive import Drive
from tiersim.devices.hdd.hdd_geometry import Geometry, Zone
from tiersim.devices.hdd.seek_curves import measured_curve_ns
from tiersim.toml_files import Nanoseconds, SignedNanoseconds, StrictModel


class MeasuredZone(StrictModel):
    """Neighbouring cylinders with the same number of sectors per track; skews and the offset are in sectors."""

    first_cylinder: int = Field(ge=0, description="First cylinder of the zone.")
    sectors_per_track: int = Field(gt=0, lt=100_000, description="Sectors a track.")
    first_sector_at: float = Field(default=0.0, description="Angle of the zone's first sector, in sectors.")
    track_skew: float = Field(description="Skew from one track to the next, in sectors.")
    cylinder_skew: float = Field(description="Skew from one cylinder to the next, in sectors.")
    runs: list[tuple[int, int]] = Field(
        min_length=1, description="Runs of good sectors: the first, counted from the zone's first track, and how many."
    )


class MeasuredDrive(Drive):
    """A disk drive from a table of its zones and a measured seek curve."""

    kind: Literal["measured-hdd"]
    write_settle: SignedNanoseconds = Field(
        description=(
            "Added to the seek of a write. May be negative where it was extracted with an overhead that"
            " is too long: only their sum was measured."
        )
    )
    seek_curve: list[tuple[int, Nanoseconds]] = Field(
        min_length=1, description="Pairs of distance in cylinders and time."
    )
    serpentine: Literal["no", "by zone", "by cylinder"] = Field(
        description="Which cylinders are written from the last surface to the first."
    )
    zones: list[MeasuredZone] = Field(
        min_length=1, description="Zones with first cylinder, sectors a track, skews, runs of good sectors."
    )

    @model_validator(mode="after")
    def _plausible(self) -> "MeasuredDrive":
        distances = [0, *(distance for distance, _ in self.seek_curve)]
        if any(after <= before for before, after in pairwise(distances)):
            raise ValueError("seek_curve: distances must rise, from 1 cylinder or more")
        for number, zone in enumerate(self.zones):
            reached = 0
            for first, count in zone.runs:
                if first < reached or count <= 0:
                    raise ValueError(f"zones: the runs of zone {number} overlap or are empty at sector {first}")
                reached = first + count
        return self

    @property
    def caveats(self) -> list[str]:
        """Name properties of the drive that are not simulated."""
        return [f"{self.name}: {self.notes}"] if self.notes else []

    @property
    def capacity(self) -> int:
        """What it holds, in bytes."""
        return self.geometry().capacity_bytes

    def geometry(self) -> Geometry:
        """As measured."""
        zones = [self._zone(zone) for zone in self.zones]
        curve = measured_curve_ns(self.cylinders, self.seek_curve)
        return Geometry(
            self.revolution_ps, self.surfaces, zones, curve, self.serpentine != "no", self.serpentine == "by zone"
        )

    def _zone(self, zone: MeasuredZone) -> Zone:
        def angle_ps(sectors: float) -> int:
            return round(sectors / zone.sectors_per_track * self.revolution_ps) % self.revolution_ps

        return Zone(
            zone.first_cylinder,
            zone.sectors_per_track,
            angle_ps(zone.first_sector_at),
            angle_ps(zone.track_skew),
            angle_ps(zone.cylinder_skew),
            zone.runs,
        )
