"""The file that names several recordings which share hardware: ``[tenants.NAME]``."""

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from tiersim.devices.array.shares import SharedQueue
from tiersim.devices.cloud.instance import Limits
from tiersim.errors import did_you_mean
from tiersim.simulator.categories import COUNT
from tiersim.toml_files import Bytes, Nanoseconds, SignedNanoseconds, StrictModel, parse_toml, read_text, validate

#: Categories of all recordings of a run are numbered in a byte.
MOST_TENANTS = 256 // COUNT
_NAME = re.compile(r"[A-Za-z0-9_-]+")


class TenantModel(StrictModel):
    """``[tenants.NAME]``: one recording, where it lies, when it begins, how it is played."""

    recording: str = Field(description="A trace bundle, or a file that can be imported; relative to this file.")
    placement: dict[str, str] = Field(
        default_factory=dict, description="As [placement] of the scenario, which holds when it is left out."
    )
    offset: Bytes | None = Field(
        default=None,
        ge=0,
        description="Where its addresses begin on each of its volumes; left out: behind those of the tenants before.",
    )
    shift: SignedNanoseconds = Field(default=0, description="It begins so much later than it is aligned to.")
    replay: dict[str, Any] = Field(
        default_factory=dict, description="Keys of [replay] of the scenario with other values: load, mode, clients ..."
    )
    host: dict[str, Any] = Field(
        default_factory=dict, description="Keys of [host] with other values; of a recording of statements."
    )
    engine: dict[str, Any] = Field(
        default_factory=dict, description="Keys of [engine] with other values; of a recording of statements."
    )
    recorded_on: str | None = Field(
        default=None,
        description=(
            "As --recorded-on: a scenario of the hardware that it was recorded on, by name or file (relative to this"
            " one); costs of its statements are calibrated by it."
        ),
    )
    limit: Limits | None = Field(
        default=None, description="Most requests and bytes a second of this tenant: keys of [instances.NAME]."
    )
    queue_depth: int | None = Field(
        default=None, gt=0, le=2**32, description="Most requests of this tenant outstanding at its volumes together."
    )
    share: int | None = Field(
        default=None,
        gt=0,
        le=10_000,
        description="Its part of what the tenants get together, against the others' shares (left out: 1).",
    )
    minimum: int | None = Field(
        default=None, gt=0, description="Requests a second that it gets in any case, as far as it asks for them."
    )
    # what tiersim pack asks of an array for it
    targets: list[str] = Field(default_factory=list, description="As --slo of tiersim size: p99(data read) < 5 ms.")
    size: Bytes | None = Field(default=None, gt=0, description="Its data, where the recording touches less of them.")
    cores: float | None = Field(default=None, gt=0, description="Cores of the scenario's host that it takes.")
    memory: Bytes | None = Field(default=None, gt=0, description="Memory of the scenario's host that it takes.")
    apart: list[str] = Field(default_factory=list, description="Tenants that are not to share an array with it.")

    @model_validator(mode="after")
    def _offset_is_possible(self) -> "TenantModel":
        if self.offset is not None and self.offset % 512:
            raise ValueError(f'offset: {self.offset} bytes are not a multiple of 512; choose one, such as "100 GiB"')
        if self.limit is not None and self.limit.iops is None and self.limit.throughput is None:
            raise ValueError("limit: has no limits; write iops or throughput")
        if "seed" in self.replay:
            raise ValueError("replay.seed: is one for all; write it under [replay] of the scenario")
        return self


class SharesModel(StrictModel):
    """``[shares]``: the queue before the volumes that tenants have shares of."""

    queue_depth: int = Field(
        default=32,
        gt=0,
        le=2**32,
        description=(
            "Most requests of all tenants outstanding behind it; 32 is the default of VMware ESX since 3.5 for virtual"
            " machines that share a device (Disk.SchedNumReqOutstanding)."
        ),
    )
    volumes: list[str] = Field(default_factory=list, description="Volumes behind it; left out: all.")
    unit: Bytes | None = Field(
        default=None, gt=0, description="A request counts once for each begun unit; left out: once, whatever its size."
    )


class TenantsModel(StrictModel):
    """A tenants file."""

    description: str = Field(default="", description="A sentence for people.")
    align: Literal["start", "clock", "peak"] = Field(
        default="start",
        description="What of the recordings falls together: their starts, the same time of day, their busiest seconds.",
    )
    shifts: Nanoseconds | None = Field(
        default=None,
        gt=0,
        description="How much sooner or later than aligned each may begin; the worst minute of all these is searched.",
    )
    shares: SharesModel | None = Field(
        default=None, description="Where share and minimum of tenants hold; left out: on all volumes together."
    )
    tenants: dict[str, TenantModel] = Field(min_length=1, description="Recordings by name.")

    @property
    def shared_queue(self) -> SharedQueue | None:
        """The queue that tenants have shares of; None where none has a share or a minimum."""
        said = self.shares
        if said is None and not any(one.share or one.minimum for one in self.tenants.values()):
            return None
        said = said or SharesModel()
        return SharedQueue(said.queue_depth, said.volumes, said.unit or 0)

    @model_validator(mode="after")
    def _names_are_possible(self) -> "TenantsModel":
        for name in self.tenants:
            if not _NAME.fullmatch(name):
                raise ValueError(f"tenants.{name}: the name goes into file names; use letters, digits, - and _")
        return self

    @model_validator(mode="after")
    def _others_are_there(self) -> "TenantsModel":
        for name, tenant in self.tenants.items():
            for other in tenant.apart:
                if other not in self.tenants or other == name:
                    hint = did_you_mean(other, self.tenants)
                    raise ValueError(f"tenants.{name}.apart: {other!r} is not one of the other tenants{hint}")
        return self


def read_tenants(path: Path) -> TenantsModel:
    """Read the file at *path*; raises ScenarioError."""
    text = read_text(path)
    return validate(TenantsModel, parse_toml(text, str(path)), text, str(path))
