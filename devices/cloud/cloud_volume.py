"""What a cloud provider sells: limits by size, what can be provisioned, bursts; an order for it becomes a volume with
limits.
"""

from typing import Any, Literal

from pydantic import Field, model_validator

from tiersim.devices.cloud import token_bucket
from tiersim.devices.cloud.token_bucket import Throttled, TokenBucket
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.sourced import Sourced
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds, StrictModel
from tiersim.units import NS_PER_S, format_bytes

_GIB = 1 << 30
#: What a volume takes from the offer as it is written there.
_OFFERED = [key for key in Throttled.model_fields if key not in Sourced.model_fields]


class OrderError(ValueError):
    """An order that the provider would refuse; ``key`` is what is wrong with it."""

    def __init__(self, key: str, message: str) -> None:
        """Keep the *key* beside the message."""
        super().__init__(message)
        self.key = key


class SizeStep(StrictModel):
    """What a volume of up to some size has."""

    up_to: Bytes = Field(gt=0, description="Largest size of this step.")
    iops: int | None = Field(default=None, gt=0, description="Requests a second that are included.")
    throughput: BytesPerSecond | None = Field(default=None, gt=0, description="Bytes a second that are included.")
    burst_iops: int | None = Field(default=None, gt=0, description="Requests a second while there are credits.")
    burst_throughput: BytesPerSecond | None = Field(
        default=None, gt=0, description="Bytes a second while there are credits."
    )

    @property
    def text(self) -> str:
        """What it says, for a person."""
        iops = "" if self.iops is None else f" {self.iops:,} IOPS"
        return f"to {format_bytes(self.up_to)}{iops} {_rate(self.throughput)}" if self.throughput else ""


class PriceTier(StrictModel):
    """What a provisioned request a second costs above some number."""

    above: int = Field(gt=0, description="Requests a second that cost what is said before.")
    price_per_iops_month: float = Field(gt=0, description="USD.")


class CloudVolume(Throttled):
    """An offer."""

    kind: Literal["cloud-volume"]
    smallest: Bytes = Field(gt=0, description="Smallest size that is sold.")
    largest: Bytes = Field(gt=0, description="Largest size that is sold.")
    iops: int | None = Field(default=None, gt=0, description="Requests a second that are included.")
    iops_per_gib: int | None = Field(
        default=None, gt=0, description="Included requests a second for each GiB, if that is more."
    )
    throughput: BytesPerSecond | None = Field(default=None, gt=0, description="Bytes a second that are included.")
    sizes: tuple[SizeStep, ...] | None = Field(
        default=None, min_length=1, description="Steps: a volume of up to a size has these limits."
    )
    billed_by_step: bool = Field(
        default=False, description="Whether a volume costs as much as the largest of its step. Not simulated."
    )
    provisioned: tuple[Literal["iops", "throughput"], ...] | None = Field(
        default=None, description="What can be ordered beyond the included limits."
    )
    least_iops: int | None = Field(default=None, gt=0, description="Fewest requests a second that can be ordered.")
    most_iops: int | None = Field(default=None, gt=0, description="Most requests a second.")
    most_iops_per_gib: int | None = Field(
        default=None, gt=0, description="Most requests a second that can be ordered for each GiB."
    )
    least_throughput: BytesPerSecond | None = Field(
        default=None, gt=0, description="Least throughput that can be ordered."
    )
    most_throughput: BytesPerSecond | None = Field(default=None, gt=0, description="Highest throughput.")
    throughput_per_iops: BytesPerSecond | None = Field(
        default=None,
        gt=0,
        description="Bytes a second for each provisioned request a second: the highest order, or what comes with it.",
    )
    burst_iops: int | None = Field(default=None, gt=0, description="Requests a second while there are credits.")
    burst_credits: int | None = Field(default=None, gt=0, description="Full balance of credits for requests.")
    burst_throughput: BytesPerSecond | None = Field(
        default=None, gt=0, description="Bytes a second while there are credits."
    )
    burst_time: Nanoseconds | None = Field(
        default=None, gt=0, description="How long a full balance lasts at the highest rate."
    )
    price_per_gib_month: float | None = Field(default=None, gt=0, description="USD.")
    price_per_iops_month: float | None = Field(default=None, gt=0, description="USD, for what is provisioned.")
    iops_tiers: tuple[PriceTier, ...] | None = Field(
        default=None, min_length=1, description="Tiers: provisioned requests a second above a number cost this."
    )

    @model_validator(mode="after")
    def _sizes_ascend(self) -> "CloudVolume":
        ends = [step.up_to for step in self.sizes or ()]
        if ends != sorted(ends) or (ends and ends[-1] != self.largest):
            raise ValueError("sizes: do not ascend to the largest size; put them in order, the last up_to = largest")
        return self

    @model_validator(mode="after")
    def _tiers_ascend(self) -> "CloudVolume":
        begins = [tier.above for tier in self.iops_tiers or ()]
        if begins and (begins != sorted(set(begins)) or self.price_per_iops_month is None):
            raise ValueError("iops_tiers: do not ascend from price_per_iops_month on; put them in order behind it")
        return self

    @model_validator(mode="after")
    def _can_be_had(self) -> "CloudVolume":
        steps, ordered = self.sizes or (), self.provisioned or ()
        limits: tuple[Literal["iops", "throughput"], ...] = ("iops", "throughput")
        for key in limits:
            if key in ordered and getattr(self, f"most_{key}") is None:
                raise ValueError(f"most_{key}: is missing, and {key} can be provisioned; write how far")
            if not self.includes(key) and key not in ordered:
                raise ValueError(f"{key}: is neither included nor provisioned; write {key}, or add it to provisioned")
        if self.billed_by_step and not steps:
            raise ValueError("billed_by_step: there are no steps; write sizes, or leave it out")
        bursts: tuple[CloudVolume | SizeStep, ...] = (self, *steps)
        if any(one.burst_iops for one in bursts) and not (self.burst_credits or self.burst_time):
            raise ValueError("burst_iops: needs burst_credits or burst_time, for how long it lasts")
        if any(one.burst_throughput for one in bursts) and not self.burst_time:
            raise ValueError("burst_throughput: needs burst_time, for how long it lasts")
        return self

    def includes(self, key: Literal["iops", "throughput"]) -> bool:
        """Tell whether a volume has some of it without an order."""
        in_steps = self.sizes is not None and all(getattr(step, key) for step in self.sizes)
        if key == "iops":
            return bool(self.iops or self.iops_per_gib) or in_steps
        by_iops = "throughput" not in (self.provisioned or ()) and self.throughput_per_iops
        return bool(self.throughput or by_iops) or in_steps

    @property
    def capacity(self) -> int:
        """The largest size in bytes."""
        return self.largest

    def add_to(self, builder: PlantBuilder, name: str, credits: float = 1.0) -> int:
        """Put what one gets without an order into the plant, its burst credits at a share of a full balance; return its
        station.
        """
        return self.order(None).add_to(builder, name, credits)

    def describe(self) -> dict[str, Any]:
        """Return figures that a person checks it by."""
        return describe(self)

    def text_of(self, parameter: str) -> str:
        """Write a parameter for a person, with its unit."""
        if parameter == "provisioned":
            return ", ".join(self.provisioned or ())
        if parameter == "sizes":
            return "\n".join(step.text for step in self.sizes or ())
        if parameter == "iops_tiers":
            tiers = self.iops_tiers or ()
            return "\n".join(f"above {tier.above:,} IOPS {tier.price_per_iops_month:g} USD" for tier in tiers)
        return super().text_of(parameter)

    @property
    def depends_on_size(self) -> bool:
        """Whether a volume's limits follow from its size."""
        return self.iops_per_gib is not None or self.sizes is not None

    def order(self, size: int | None, iops: int | None = None, throughput: int | None = None) -> TokenBucket:
        """Return the volume that one gets for an order, sizes in bytes; raises OrderError when it would be refused."""
        if size is None and self.depends_on_size:
            raise OrderError(
                "device",
                f'{self.name}: its limits follow from its size; write for example size = "500 GiB", or --set'
                " volumes.NAME.size=500GiB",
            )
        size_bytes = self.largest if size is None else size
        if not self.smallest <= size_bytes <= self.largest:
            raise OrderError(
                "size",
                f"{format_bytes(size_bytes)}: {self.name} is sold from {format_bytes(self.smallest)} to "
                f"{format_bytes(self.largest)}",
            )
        own_iops = self._iops(size_bytes, iops)
        own_rate = self._throughput(size_bytes, own_iops, throughput)
        plain = size is None and iops is None and throughput is None
        what = "baseline" if plain else format_bytes(size_bytes)
        name = f"{self.name}, {what} ({own_iops:,} IOPS, {_rate(own_rate)})"
        return self._volume(name, size_bytes, own_iops, own_rate)

    def billed_bytes(self, size_bytes: int) -> int:
        """Return the size that a volume of *size_bytes* is paid for."""
        if not self.billed_by_step:
            return size_bytes
        return next((step.up_to for step in self.sizes or () if size_bytes <= step.up_to), size_bytes)

    def _at(self, key: str, size_bytes: int) -> Any:
        """What the offer says under *key* for a size."""
        step = next((step for step in self.sizes or () if size_bytes <= step.up_to), None)
        found = getattr(step, key, None)
        return getattr(self, key) if found is None else found

    def _iops(self, size_bytes: int, ordered: int | None) -> int:
        included = self._at("iops", size_bytes)
        if self.iops_per_gib is not None:
            included = max(included or 0, self.iops_per_gib * size_bytes // _GIB)
        if self.most_iops is not None and included is not None:
            included = min(included, self.most_iops)
        least = self.least_iops or included
        most = self.most_iops
        per_gib = self.most_iops_per_gib
        by_size = None if per_gib is None else max(per_gib * size_bytes // _GIB, least or 0)
        self._check("iops", ordered, included)
        if ordered is None:
            return int(included)
        if least is not None and ordered < least:
            raise OrderError("iops", f"{ordered:,}: {self.name} has at least {least:,} IOPS")
        if most is not None and ordered > most:
            raise OrderError("iops", f"{ordered:,}: {self.name} has at most {most:,} IOPS")
        if by_size is not None and ordered > by_size:
            raise OrderError(
                "iops",
                f"{ordered:,}: {self.name} of {format_bytes(size_bytes)} has at most {by_size:,} IOPS "
                f"({per_gib:,} a GiB); choose a larger size",
            )
        return ordered

    def _throughput(self, size_bytes: int, iops: int, ordered: int | None) -> int:
        included = self._at("throughput", size_bytes)
        most = self.most_throughput
        by_iops = None if self.throughput_per_iops is None else self.throughput_per_iops * iops
        if included is None and by_iops is not None and "throughput" not in (self.provisioned or ()):
            included = by_iops if most is None else min(by_iops, most)
        self._check("throughput", ordered, included)
        if ordered is None:
            return int(included)
        least = self.least_throughput or included
        if least is not None and ordered < least:
            raise OrderError("throughput", f"{_rate(ordered)}: {self.name} has at least {_rate(least)}")
        if most is not None and ordered > most:
            raise OrderError("throughput", f"{_rate(ordered)}: {self.name} has at most {_rate(most)}")
        if by_iops is not None and ordered > max(by_iops, least or 0):
            raise OrderError(
                "throughput",
                f"{_rate(ordered)}: {self.name} of {iops:,} IOPS has at most {_rate(by_iops)} "
                f"({_rate(self.throughput_per_iops or 0)} for each); order more iops",
            )
        return ordered

    def _check(self, key: Literal["iops", "throughput"], ordered: int | None, included: int | None) -> None:
        """Refuse to order what is not for sale, and to leave out what has to be ordered."""
        if ordered is not None and key not in (self.provisioned or ()):
            raise OrderError(key, f"{self.name}: its {key} cannot be ordered; leave it out")
        if ordered is None and included is None:
            raise OrderError("device", f"{self.name}: its {key} has to be ordered; write {key} beside it")

    def _volume(self, name: str, size_bytes: int, iops: int, rate: int) -> TokenBucket:
        burst_iops, burst_rate = self._at("burst_iops", size_bytes), self._at("burst_throughput", size_bytes)
        offered = [key for key in _OFFERED if key in self.model_fields_set]
        values: dict[str, Any] = {"capacity": size_bytes, "iops": iops, "rate": rate}
        values |= {key: getattr(self, key) for key in offered}
        values |= burst("iops", "credits", iops, burst_iops, self.burst_credits, self.burst_time)
        values |= burst("rate", "bytes", rate, burst_rate, None, self.burst_time)
        return volume_of(name, values, self.sources)


def burst(
    rate: str, balance: str, baseline: int | None, highest: int | None, credits: int | None, time_ns: int | None
) -> dict[str, int]:
    """Keys of a token bucket for a burst up to *highest*; none if the baseline is as high.

    A full balance is *credits*, or lasts *time_ns* at the highest rate, while more is earned at the baseline.
    """
    if baseline is None or highest is None or highest <= baseline:
        return {}
    full = credits if credits is not None else (highest - baseline) * (time_ns or 0) // NS_PER_S
    return {f"burst_{rate}": highest, f"burst_{balance}": full}


def volume_of(name: str, values: dict[str, Any], sources: dict[str, str]) -> TokenBucket:
    """Make a token bucket of plain numbers; what *sources* does not know was ordered."""
    given = {key: value for key, value in values.items() if value is not None}
    known = {key: sources.get(key, "derived: as ordered") for key in given}
    return TokenBucket.model_construct(kind="token-bucket", name=name, sources=known, **given)


def _rate(bytes_per_s: int) -> str:
    """Write a rate in the unit that it was given in: providers count in MB or in MiB."""
    decimal = bytes_per_s % (10**6 if bytes_per_s >= 10**6 else 10**3) == 0
    return f"{bytes_per_s / 10**6:g} MB/s" if decimal else f"{bytes_per_s / 2**20:g} MiB/s"


def describe(offer: CloudVolume) -> dict[str, Any]:
    """Figures that a person checks an offer by: of what one gets without an order, or of the largest that can be
    ordered.
    """
    size = offer.largest if offer.depends_on_size else None
    iops = offer.most_iops if offer.iops is None and "iops" in (offer.provisioned or ()) else None
    rate = offer.most_throughput if offer.throughput is None and "throughput" in (offer.provisioned or ()) else None
    return token_bucket.describe(offer.order(size, iops, rate))
