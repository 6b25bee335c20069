"""``[controllers.NAME]`` as people write it."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from tiersim.devices.controller import DEFAULT_SOURCES, Controller, Defect
from tiersim.devices.links import link_bytes_per_s
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds, StrictModel
from tiersim.units import parse_bytes

LEAST_CACHE_BYTES, MOST_CACHE_BYTES = parse_bytes("1 MiB"), parse_bytes("16 GiB")


class ControllerModel(StrictModel):
    """``[controllers.NAME]``: a RAID controller; its cache, its ceilings and its links are shared by its volumes."""

    volumes: list[str] | None = Field(default=None, min_length=1)  # None: all on drives
    cache: Bytes | None = None
    write_policy: Literal["write-back", "write-through"] | None = None  # None: write-back if there is a cache
    high_water: float = Field(default=Controller.high_water, gt=0, lt=1)
    low_water: float = Field(default=Controller.low_water, ge=0, lt=1)
    flush_interval: Nanoseconds = Controller.flush_interval_ns
    destage_depth: int = Field(default=Controller.destage_depth, gt=0, le=1024)
    iops: int | None = Field(default=None, gt=0)
    throughput: BytesPerSecond | None = Field(default=None, gt=0)
    host_link: str | None = None
    drive_link: str | None = None
    known_defect: Defect | None = None

    @field_validator("host_link", "drive_link")
    @classmethod
    def _link_is_known(cls, name: str | None) -> str | None:
        if name is not None:
            link_bytes_per_s(name)
        return name

    @model_validator(mode="after")
    def _cache_is_possible(self) -> "ControllerModel":
        if self.cache is not None and not LEAST_CACHE_BYTES <= self.cache <= MOST_CACHE_BYTES:
            raise ValueError("cache: is not between 1 MiB and 16 GiB")
        if self.write_policy == "write-back" and self.cache is None:
            raise ValueError('write_policy: write-back needs a cache; add for example cache = "256 MiB"')
        if self.low_water > self.high_water:
            raise ValueError("low_water: is above high_water; destaging that starts there would end at once")
        return self

    def with_name(self, name: str) -> Controller:
        """The controller as devices know it."""
        return Controller(
            name,
            cache_bytes=None if self.write_policy == "write-through" else self.cache,
            high_water=self.high_water,
            low_water=self.low_water,
            flush_interval_ns=self.flush_interval,
            destage_depth=self.destage_depth,
            iops=self.iops,
            bytes_per_s=self.throughput,
            host_link_bytes_per_s=None if self.host_link is None else link_bytes_per_s(self.host_link),
            drive_link_bytes_per_s=None if self.drive_link is None else link_bytes_per_s(self.drive_link),
            known_defect=self.known_defect,
        )

    def assumed_defaults(self, name: str) -> list[dict[str, str]]:
        """Numbers of the controller *name* that are as nobody knows better."""
        if self.with_name(name).cache_bytes is None:
            return []
        return [
            {"what": f"{name}: controller, {key}", "value": str(getattr(self, key)), "source": source}
            for key, source in DEFAULT_SOURCES.items()
            if getattr(self, key) == type(self).model_fields[key].default and source.startswith("assumed")
        ]
