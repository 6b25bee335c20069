"""``[controllers.NAME]`` as people write it."""

from typing import Literal

from pydantic import Field, field_validator, model_validator

from tiersim.devices.array.volume import StripeLock
from tiersim.devices.controller.links import link_bytes_per_s
from tiersim.devices.controller.raid_controller import DEFAULT_SOURCES, Controller, Defect
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds, StrictModel
from tiersim.units import parse_bytes

LEAST_CACHE_BYTES, MOST_CACHE_BYTES = parse_bytes("1 MiB"), parse_bytes("16 GiB")


class ControllerModel(StrictModel):
    """``[controllers.NAME]``: a RAID controller; its cache, its ceilings and its links are shared by its volumes."""

    volumes: list[str] | None = Field(
        default=None, min_length=1, description="Names of its volumes; all on drives when left out."
    )
    cache: Bytes | None = Field(
        default=None, description="Memory for writes, with a battery, 1 MiB to 16 GiB; none when left out."
    )
    write_policy: Literal["write-back", "write-through"] | None = Field(
        default=None, description="Whether writes end in the cache; write-back when left out, if there is a cache."
    )
    high_water: float = Field(
        default=Controller.high_water, gt=0, lt=1, description="Share of the cache above which destaging starts."
    )
    low_water: float = Field(
        default=Controller.low_water, ge=0, lt=1, description="Share of the cache at which destaging ends."
    )
    flush_interval: Nanoseconds = Field(
        default=Controller.flush_interval_ns, description="What has been dirty for so long is destaged."
    )
    destage_depth: int = Field(
        default=Controller.destage_depth,
        gt=0,
        le=1024,
        description="Writes of destages outstanding at each drive, on average.",
    )
    iops: int | None = Field(default=None, gt=0, description="Most commands of the host in a second.")
    throughput: BytesPerSecond | None = Field(
        default=None, gt=0, description="Most bytes from and to the host in a second, together."
    )
    host_link: str | None = Field(default=None, description="Link between host and controller, such as `pcie2-x8`.")
    drive_link: str | None = Field(default=None, description="Link that all its drives share.")
    stripe_lock: StripeLock | None = Field(
        default=None,
        description=(
            "What a write to RAID 5 or 6 locks: the parity that it changes, or the rows that it touches until it is"
            " done; left out: parity."
        ),
    )
    known_defect: Defect | None = Field(default=None, description="A defect of a controller that was measured.")

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
            stripe_lock=self.stripe_lock or Controller.stripe_lock,
            known_defect=self.known_defect,
        )

    @property
    def has_cache(self) -> bool:
        """Whether its cache takes writes."""
        return self.with_name("").cache_bytes is not None

    def assumed_defaults(self, name: str) -> list[dict[str, str]]:
        """Numbers of the controller *name* that are as nobody knows better."""
        if not self.has_cache:
            return []
        return [
            {"what": f"{name}: controller, {key}", "value": str(getattr(self, key)), "source": source}
            for key, source in DEFAULT_SOURCES.items()
            if getattr(self, key) == type(self).model_fields[key].default and source.startswith("assumed")
        ]
