"""A volume with allowances: a cloud volume, or any device behind a throttle."""

from typing import Any, Literal

from pydantic import Field, model_validator

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.sourced import Sourced
from tiersim.devices.tables import BUCKET, NONE
from tiersim.devices.token_bucket_kernels import TOKEN
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds
from tiersim.units import NS_PER_S


class TokenBucket(Sourced):
    """A volume whose requests wait for an allowance; see ``docs/devices.md`` for each key.

    Give ``iops`` (one allowance for all) or ``read_iops`` and ``write_iops`` (one each), and likewise the rates.
    """

    kind: Literal["token-bucket"]
    capacity: Bytes = Field(gt=0)
    latency: Nanoseconds = Field(gt=0)
    refill_interval: Nanoseconds = Field(gt=0)
    carry_over: Nanoseconds  # unused allowance that is kept, as the time that earned it
    iops: int | None = Field(default=None, gt=0)
    read_iops: int | None = Field(default=None, gt=0)
    write_iops: int | None = Field(default=None, gt=0)
    rate: BytesPerSecond | None = Field(default=None, gt=0)
    read_rate: BytesPerSecond | None = Field(default=None, gt=0)
    write_rate: BytesPerSecond | None = Field(default=None, gt=0)
    accounting_unit: Bytes | None = None  # a request costs one token for each begun unit

    @model_validator(mode="after")
    def _one_way_of_limiting(self) -> "TokenBucket":
        if self.iops and (self.read_iops or self.write_iops):
            raise ValueError("give iops for reads and writes together, or read_iops and write_iops, not both")
        if self.rate and (self.read_rate or self.write_rate):
            raise ValueError("give rate for reads and writes together, or read_rate and write_rate, not both")
        highest = max(self.iops or 0, self.rate or 0, self.read_rate or 0, self.write_rate or 0)
        if highest * (self.refill_interval + self.carry_over) >= 2**62:
            raise ValueError("carry_over is longer than an allowance of this rate can be counted; shorten it")
        return self


def add_bucket(builder: PlantBuilder, volume: TokenBucket, name: str, below: int = NONE) -> int:
    """Put one volume into the plant and return its station; its requests go on to station *below*, if there is one."""

    def allowance(per_second: int | None) -> int:
        if per_second is None:
            return NONE
        per_refill = per_second * volume.refill_interval
        # the fraction of a token that is left over never lapses: 7.5 a refill are 7 and 8 in turn
        ceiling = per_refill + per_second * volume.carry_over
        ceiling += (TOKEN - 1) if ceiling % TOKEN else 0
        return builder.row(
            "allowances", rate_per_s=per_second, per_refill=per_refill, ceiling=ceiling, level=per_refill
        )

    shared = volume.iops is not None or volume.rate is not None
    requests, length = allowance(volume.iops), allowance(volume.rate)
    row = builder.row(
        "buckets",
        read_queue=builder.queue(),
        write_queue=builder.queue(),
        read_requests=requests if volume.iops else allowance(volume.read_iops),
        read_bytes=length if volume.rate else allowance(volume.read_rate),
        write_requests=requests if volume.iops else allowance(volume.write_iops),
        write_bytes=length if volume.rate else allowance(volume.write_rate),
        refill_interval_ns=volume.refill_interval,
        latency_ns=volume.latency,
        unit_bytes=volume.accounting_unit or 0,
        write_resource=0 if shared else 1,
        below=below,
    )
    resources = {"allowance": 1} if shared else {"read allowance": 1, "write allowance": 1}
    return builder.station(BUCKET, row, name, resources, children=1)


def describe(volume: TokenBucket) -> dict[str, Any]:
    """Figures that a person checks a volume by."""
    return {
        "random_read_ns": volume.latency,
        "random_reads_per_s": volume.iops or volume.read_iops,
        "refills_per_s": round(NS_PER_S / volume.refill_interval, 3),
    }
