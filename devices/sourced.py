"""Device descriptions in which every number says where it comes from."""

import re
from typing import ClassVar

from pydantic import Field, model_validator

from tiersim.toml_files import Bytes, StrictModel
from tiersim.units import format_bytes, format_ns, parse_bytes, parse_bytes_per_s, parse_ns, parse_signed_ns

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

    _plain: ClassVar = frozenset({"kind", "name", "sources", "notes"})

    name: str = Field(description="Name in results.")
    notes: str = Field(default="", description="Text for people.")
    sources: dict[str, str] = Field(repr=False, description="Where each number comes from.")
    # what a buyer asks; nothing of it is simulated
    released: int | None = Field(default=None, ge=1950, le=2100, description="Year. Not simulated.")
    interface: str | None = Field(
        default=None,
        description=(
            'Link and protocol, such as "NVMe PCIe 4.0 x4", "SAS 12 Gb/s", "SATA 6 Gb/s" or "FC 8 Gb/s '
            'x8". On SATA a flush waits alone.'
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
        return []

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
