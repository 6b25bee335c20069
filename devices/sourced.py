"""Device descriptions in which every number says where it comes from."""

import re
from typing import ClassVar

from pydantic import Field, model_validator

from tiersim.toml_files import StrictModel

#: How a number can be known. ``assumed`` gives the range that it may lie in.
SOURCE = re.compile(r"(datasheet|document|measured|derived): .+|fitted: .+|assumed: \S.* \.\. .+")


class Sourced(StrictModel):
    """A device whose every parameter has an entry in ``sources``: a kind of knowledge and where it is from."""

    _plain: ClassVar = frozenset({"kind", "name", "sources", "notes"})

    name: str
    notes: str = ""
    sources: dict[str, str] = Field(repr=False)

    @model_validator(mode="after")
    def _every_number_has_a_source(self) -> "Sourced":
        parameters = type(self).model_fields.keys() - self._plain
        for key in sorted(parameters):
            if key not in self.sources and getattr(self, key) is not None:
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
