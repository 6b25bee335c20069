"""Device descriptions in which every number says where it comes from, and is one that such a device can have.

What physics and standards exclude is refused in one sentence that names key and value, by pure functions over plain
values: times in ns, sizes in bytes, rates in bytes per second. A key that is not there is not judged. Every bound lies
beyond the fastest that was ever published, so what it excludes is a slip: a unit, a decimal point, a buffer's latency
in place of a cell's ("2 µs" was printed of an ioDrive Duo's reads).
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

from pydantic import Field, model_validator

from tiersim.toml_files import Bytes, StrictModel
from tiersim.units import NS_PER_S, format_bytes, format_ns, parse_bytes, parse_bytes_per_s, parse_ns, parse_signed_ns

#: How a number can be known. ``assumed`` gives the range that it may lie in.
SOURCE = re.compile(r"(datasheet|document|measured|derived): .+|fitted: .+|assumed: \S.* \.\. .+")

#: Units of plain numbers.
_UNITS = {
    "price": "USD",
    "power_idle": "W",
    "power_active": "W",
    "price_per_gib_month": "USD",
    "price_per_iops_month": "USD",
}


def _format_rate(bytes_per_s: float) -> str:
    return f"{format_bytes(bytes_per_s)}/s"


class Sourced(StrictModel):
    """A device whose every parameter has an entry in ``sources``: a kind of knowledge and where it is from."""

    _plain: ClassVar = frozenset({"kind", "name", "sources", "notes", "not_identified"})

    name: str = Field(description="Name in results.")
    notes: str = Field(default="", description="Text for people.")
    not_identified: tuple[str, ...] = Field(
        default=(), description="Keys that `tiersim devices fit` could not tell from the measurement. Not simulated."
    )
    sources: dict[str, str] = Field(repr=False, description="Where each number comes from.")
    # what a buyer asks; nothing of it is simulated
    released: int | None = Field(default=None, ge=1950, le=2100, description="Year. Not simulated.")
    interface: str | None = Field(
        default=None,
        description=(
            'Link and protocol, such as "NVMe PCIe 4.0 x4", "SAS 12 Gb/s", "SATA 6 Gb/s" or "FC 8 Gb/s '
            'x8". On SATA a flush waits alone, and reads and writes take turns on the link.'
        ),
    )
    enclosure: str | None = Field(
        default=None, description='Form, such as "2.5 inch, U.2", "M.2 22110" or "PCIe card". Not simulated.'
    )
    price: float | None = Field(default=None, gt=0, description="USD. Needs price_date.")
    price_date: str | None = Field(default=None, description="When the price was asked for.")
    power_idle: float | None = Field(default=None, gt=0, description="W.")
    power_active: float | None = Field(default=None, gt=0, description="W.")
    endurance: Bytes | None = Field(
        default=None, gt=0, description="Bytes that may be written over the life of the drive."
    )

    def text_of(self, parameter: str) -> str:
        """Write a parameter for a person, with its unit."""
        value = getattr(self, parameter)
        if parameter == "released":
            return str(value)
        if parameter in _UNITS:
            return f"{value:,.10g} {_UNITS[parameter]}"
        if isinstance(value, list | tuple) and not all(isinstance(part, int) for part in value):
            return f"{len(value)} entries"
        if isinstance(value, tuple):
            return ", ".join(format_ns(part) for part in value)
        field = type(self).model_fields[parameter]
        annotation = repr(field.annotation) + repr(field.metadata)
        for parse, write in (
            (parse_bytes_per_s, _format_rate),
            (parse_bytes, format_bytes),
            (parse_ns, format_ns),
            (parse_signed_ns, format_ns),
        ):
            if f"function {parse.__name__} " in annotation:
                return write(value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:,.10g}" if isinstance(value, int | float) else str(value)

    @property
    def caveats(self) -> list[str]:
        """What a person must know before believing a result on this device, one sentence each."""
        guessed = [key for key in self.not_identified if self.sources.get(key, "").startswith("assumed")]
        if not guessed:
            return []
        text = (
            f"device {self.name}: its fit could not tell {', '.join(guessed)} from the measurement; they are assumed,"
            " and the expected error does not hold that"
        )
        return [text]

    @model_validator(mode="after")
    def _a_price_has_a_date(self) -> "Sourced":
        prices = [key for key, unit in _UNITS.items() if unit == "USD" and getattr(self, key, None) is not None]
        if bool(prices) != (self.price_date is not None):
            raise ValueError("price_date: a price needs the date that it is of, and the other way round")
        return self

    @model_validator(mode="after")
    def _every_number_has_a_source(self) -> "Sourced":
        parameters = type(self).model_fields.keys() - self._plain
        for key in sorted(parameters):
            if key in self.model_fields_set and key not in self.sources and getattr(self, key) is not None:
                raise ValueError(f"sources: {key!r} has no source; say where its number comes from")
        for key, source in self.sources.items():
            if key not in parameters:
                raise ValueError(f"sources: {key!r} is not a parameter of this device")
            if not SOURCE.fullmatch(source):
                raise ValueError(
                    f"sources: {source!r} must begin with 'datasheet: ', 'document: ', 'measured: ', 'derived: ',"
                    " 'fitted: ', or be 'assumed: LOW .. HIGH'"
                )
        return self


#: Shortest time to sense a page. SLC: Z-NAND, 3 µs (Samsung, ISSCC 2018, in AnandTech 13951). TLC: half of 40 µs
#: (Samsung, ISSCC 2021, in AnandTech 16491), since the lower page of a cell is sensed with fewer levels than the mean;
#: MLC is not published below TLC. QLC: half of what is left of whole reads of 100 µs (Micron 6600 ION).
SENSE_LEAST_NS = {"slc": 3_000, "mlc": 20_000, "tlc": 20_000, "qlc": 40_000}
#: Shortest program. SLC: Z-NAND, 100 µs, halved; the others used with one bit a cell, which client drives do with their
#: caches.
PROGRAM_LEAST_NS = 50_000
#: Shortest whole read of NAND, 4 KiB: Z-NAND drives have 12 to 20 µs (Samsung SZ985, Tom's Hardware 36420).
NAND_READ_LEAST_NS = 10_000
#: 3D XPoint: whole reads of 4 KiB take 8.9 µs on the slowest drive (Optane P4800X, AnandTech 11209); the cell is part
#: of that.
XPOINT_READ_MOST_NS = 8_900
#: Drive writes a day, over five years: the highest rating is 100 (Optane P5800X).
DRIVE_WRITES_MOST = 200
_DAYS = 5 * 365
#: Payload of one lane of PCI Express by generation, after 8b/10b or 128b/130b coding.
_LANE_BYTES_PER_S = {1: 250e6, 2: 500e6, 3: 984.6e6, 4: 1969.2e6, 5: 3938.5e6, 6: 7563e6}
#: Serial links, one port each: 8b/10b, but 24 Gb/s SAS with 128b/150b. Fibre Channel as its standard names the rates.
_PORT_BYTES_PER_S = {
    ("SATA", "1.5"): 150e6,
    ("SATA", "3"): 300e6,
    ("SATA", "6"): 600e6,
    ("SAS", "3"): 300e6,
    ("SAS", "6"): 600e6,
    ("SAS", "12"): 1200e6,
    ("SAS", "24"): 2400e6,
    ("FC", "4"): 400e6,
    ("FC", "8"): 800e6,
    ("FC", "16"): 1600e6,
    ("FC", "32"): 3200e6,
}
_PCIE = re.compile(r"PCIe (\d)(?:\.\d)? x(\d+)")
_PORT = re.compile(r"(SATA|SAS|FC) (\d+(?:\.\d)?) Gb/s(?: x(\d+))?")
#: Rates are printed with two or three digits.
_ROUNDING = 1.05
#: The fastest disks turned at 15,000 rpm; a track of the densest holds less than 4 MB (285 MB/s at 7,200 rpm are 2.4
#: MB).
RPM_MOST, TRACK_MOST_BYTES = 15_100, 4_000_000
#: Seeks over all cylinders took up to 60 ms in the 1980s; settling on the next one has not come below 0.1 ms.
SEEK_LEAST_NS, SEEK_MOST_NS = 100_000, 100_000_000


def interface_bytes_per_s(interface: str) -> float | None:
    """Return what a link carries, such as ``"NVMe PCIe 4.0 x4"`` or ``"SAS 12 Gb/s"``; None for what is not known."""
    if found := _PCIE.search(interface):
        lane = _LANE_BYTES_PER_S.get(int(found[1]))
        return None if lane is None else lane * int(found[2])
    if found := _PORT.search(interface):
        port = _PORT_BYTES_PER_S.get((found[1], found[2]))
        return None if port is None else port * int(found[3] or 1)
    return None


def flash_reasons(values: Mapping[str, Any]) -> list[str]:
    """Return why a flash drive cannot be as its values say, under the keys of its file; none: it may be.

    ``read`` is one time or several.
    """
    given = {key: value for key, value in values.items() if value is not None}
    reasons = [*_cell_reasons(given), *_link_reasons(given)]
    if {"endurance", "capacity"} <= given.keys():
        a_day = given["endurance"] / given["capacity"] / _DAYS
        if a_day > DRIVE_WRITES_MOST:
            reasons.append(
                f"endurance: {format_bytes(given['endurance'])} are {a_day:,.0f} drive writes a day for five years; no"
                " drive was rated above 100"
            )
    return reasons


def _cell_reasons(given: Mapping[str, Any]) -> list[str]:
    reasons = []
    cell, program = given.get("cell"), given.get("program")
    reads = given.get("read", ())
    reads = reads if isinstance(reads, list | tuple) else (reads,)
    mean_ns = sum(reads) / len(reads) if reads else None
    if cell == "3d-xpoint":
        if mean_ns is not None and mean_ns > XPOINT_READ_MOST_NS:
            reasons.append(
                f"read: {format_ns(mean_ns)} is longer than whole reads of 3D XPoint take (8.9 µs); it may be NAND"
            )
        return reasons
    least = SENSE_LEAST_NS.get(str(cell))
    if least is not None and reads and min(reads) < least:
        reasons.append(
            f"read: {format_ns(min(reads))} is below {format_ns(least)}: no flash cell is sensed so fast ({cell}); a"
            " write into a buffer may be"
        )
    if program is not None and program < PROGRAM_LEAST_NS:
        reasons.append(
            f"program: {format_ns(program)} is below {format_ns(PROGRAM_LEAST_NS)}: no flash cell is programmed so fast"
        )
    if program is not None and mean_ns is not None and program < mean_ns:
        reasons.append(f"program: {format_ns(program)} is shorter than read = {format_ns(mean_ns)}")
    if program is not None and "erase" in given and given["erase"] < program:
        reasons.append(f"erase: {format_ns(given['erase'])} is shorter than program = {format_ns(program)}")
    alone_ns = _alone_ns(given, mean_ns)
    if not reasons and alone_ns is not None and alone_ns < NAND_READ_LEAST_NS:
        reasons.append(
            f"read_latency: with it a read of 4 KiB takes {format_ns(alone_ns)}; the fastest NAND drives need more than"
            f" {format_ns(NAND_READ_LEAST_NS)}"
        )
    return reasons


def _alone_ns(given: Mapping[str, Any], mean_ns: float | None) -> float | None:
    """Time of one read of 4 KiB on an idle drive."""
    if mean_ns is None or not {"controller_iops", "read_latency", "channel_rate", "link_rate"} <= given.keys():
        return None
    carried_ns = 4096 * NS_PER_S / given["channel_rate"] + 4096 * NS_PER_S / given["link_rate"]
    command_ns = NS_PER_S / given["controller_iops"] + given["read_latency"] + given.get("host_cpu", 0)
    return float(command_ns + mean_ns + carried_ns)


def _link_reasons(given: Mapping[str, Any]) -> list[str]:
    reasons: list[str] = []
    link = given.get("link_rate")
    if link is None:
        return reasons
    most = interface_bytes_per_s(str(given.get("interface", "")))
    if most is not None and link > most * _ROUNDING:
        reasons.append(
            f"link_rate: {_rate(link)} is more than interface = {given['interface']!r} carries, {_rate(most)}"
        )
    commands = given.get("controller_iops")
    if commands is not None and commands * 4096 > link * _ROUNDING:
        reasons.append(
            f"controller_iops: {commands:,} reads of 4 KiB a second are {_rate(commands * 4096)}, more than link_rate ="
            f" {_rate(link)}"
        )
    return reasons


def hdd_reasons(values: Mapping[str, Any]) -> list[str]:
    """Return why a disk cannot be as its values say, under the keys of its file; none: it may be."""
    given = {key: value for key, value in values.items() if value is not None}
    reasons = []
    turns_per_s = given["rpm"] / 60
    if given["rpm"] > RPM_MOST:
        reasons.append(f"rpm: {given['rpm']:,.0f} is more than the 15,000 of the fastest disks")
    seeks = [(key, given[key]) for key in ("seek_single_cylinder", "seek_average", "seek_full_stroke") if key in given]
    for (short, less), (far, more) in pairwise(seeks):
        if less >= more:
            reasons.append(f"{far}: {format_ns(more)} is not longer than {short} = {format_ns(less)}")
    for key, time_ns in seeks:
        if not SEEK_LEAST_NS <= time_ns <= SEEK_MOST_NS:
            reasons.append(f"{key}: {format_ns(time_ns)} is no seek of a disk; they take 0.1 to 100 ms")
    if {"outer_rate", "inner_rate", "capacity", "cylinders", "surfaces"} <= given.keys():
        # tracks get shorter evenly from the outermost to the innermost, as the model has it
        ratio = given["inner_rate"] / given["outer_rate"]
        track = 2 * given["capacity"] / (given["cylinders"] * given["surfaces"]) / (1 + ratio)
        if track > TRACK_MOST_BYTES:
            reasons.append(
                f"cylinders: {given['cylinders']:,} leave {format_bytes(round(track))} to a track; the densest hold"
                " less than 4 MB"
            )
        if given["outer_rate"] > track * turns_per_s * _ROUNDING:
            reasons.append(
                f"outer_rate: {_rate(given['outer_rate'])} is more than the outermost track,"
                f" {format_bytes(round(track))}, gives at {given['rpm']:,.0f} rpm"
            )
    return reasons


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e6:,.0f} MB/s"
