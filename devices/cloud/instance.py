"""The limits of a cloud instance on all its volumes together."""

from typing import Any, Literal

from pydantic import Field, model_validator

from tiersim.devices.cloud.cloud_volume import burst, volume_of
from tiersim.devices.cloud.token_bucket import BYTE_PARTS, TokenBucket, add_bucket
from tiersim.devices.cloud.token_bucket_kernels import TOKEN
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.sourced import Sourced
from tiersim.devices.station_records import PASS_ON_NS
from tiersim.toml_files import BytesPerSecond, Nanoseconds, StrictModel
from tiersim.units import NS_PER_MS, NS_PER_S

#: How often an allowance arrives: no provider says. The range covers what throttles are seen to do.
_REFILL_NS = 10 * NS_PER_MS
_REFILL = {
    "refill_interval": "assumed: 1 ms .. 100 ms",
    "carry_over": "assumed: 0 s .. 1 s",
}


class Limits(StrictModel):
    """Requests and bytes a second, and how far and how long they may be exceeded."""

    iops: int | None = Field(
        default=None,
        gt=0,
        description="Requests a second; the baseline at which credits are earned, where there are bursts.",
    )
    throughput: BytesPerSecond | None = Field(default=None, gt=0, description="Bytes a second, likewise.")
    burst_iops: int | None = Field(
        default=None, gt=0, description="Requests a second for as long as there are credits."
    )
    burst_throughput: BytesPerSecond | None = Field(default=None, gt=0, description="Bytes a second, likewise.")
    burst_time: Nanoseconds | None = Field(
        default=None, gt=0, description="How long a full balance lasts at the highest rate."
    )

    @model_validator(mode="after")
    def _bursts_have_a_baseline(self) -> "Limits":
        for key in ("iops", "throughput"):
            if getattr(self, f"burst_{key}") is not None:
                if getattr(self, key) is None:
                    raise ValueError(f"burst_{key}: needs {key}, the baseline at which credits are earned")
                if self.burst_time is None:
                    raise ValueError(f'burst_{key}: needs burst_time, how long it lasts; for example "30 min"')
        return self

    @model_validator(mode="after")
    def _can_be_counted(self) -> "Limits":
        for key, parts in (("iops", TOKEN), ("throughput", BYTE_PARTS)):
            baseline, highest = (getattr(self, one) or 0 for one in (key, f"burst_{key}"))
            full = max(highest - baseline, 0) * (self.burst_time or 0) // NS_PER_S
            if full * parts >= 2**62:
                raise ValueError(f"burst_time: burst_{key} has more credits than can be counted; shorten it")
            if max(baseline, highest) * _REFILL_NS >= 2**62:
                raise ValueError(f"{key}: is more than can be counted; leave out what nothing reaches")
        return self


class Instance(Limits, Sourced):
    """A type of the catalogue."""

    kind: Literal["instance"]


def limits_of(name: str, limits: Limits, sources: dict[str, str]) -> TokenBucket:
    """Return the volume without latency that has such limits."""
    values: dict[str, Any] = {
        "capacity": 1 << 62,
        "latency": PASS_ON_NS,
        "refill_interval": _REFILL_NS,
        "carry_over": 0,
        "iops": limits.iops,
        "rate": limits.throughput,
    }
    values |= burst("iops", "credits", limits.iops, limits.burst_iops, None, limits.burst_time)
    values |= burst("rate", "bytes", limits.throughput, limits.burst_throughput, None, limits.burst_time)
    return volume_of(name, values, sources | _REFILL)


def add_instance(builder: PlantBuilder, name: str, limits: TokenBucket, credits: float) -> int:
    """Put an instance into the plant and return its station, which each of its volumes needs a port to."""
    return add_bucket(builder, limits, name, credits=credits, shared=True)
