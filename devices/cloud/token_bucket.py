"""A volume with token buckets (rate limits): a cloud volume, or any device behind a throttle."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from tiersim.devices.cloud.token_bucket_kernels import TOKEN
from tiersim.devices.plant import INSTANCE, Balance, PlantBuilder
from tiersim.devices.sourced import Sourced
from tiersim.devices.station_records import BUCKET, NEVER, NONE, Plant
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds
from tiersim.units import NS_PER_MS, NS_PER_S, parse_ns

#: Credits for bytes are counted in thousandths of one: a balance for half an hour does not fit 64 bits in billionths.
BYTE_PARTS = 1_000
#: What allowances that stand behind others are called.
_CREDITS, _BYTE_CREDITS = "credits", "byte credits"
#: Sources for a limit that says only how much it lets through. Linux (``block/blk-throttle.c``, for ``io.max``) grants
#: the tokens of a slice of time when the slice begins; unused ones lapse at its end. A slice is 100 ms (HZ / 10). On
#: flash it was 20 ms (HZ / 50) before 6.10 with BLK_DEV_THROTTLING_LOW, and always from 6.10 (bf20ab538c81) until that
#: was taken back as a mistake. QEMU's buckets leak all the time (``util/throttle.c``); of clouds nobody says.
_LEFT_OUT = {"refill_interval": "assumed: 1 ms .. 100 ms", "carry_over": "assumed: 0 s .. 1 s"}
_ASSUMED = re.compile(r"assumed: (.+?) \.\. (.+?)(?: \(.*\))?")


class Throttled(Sourced):
    """What every volume behind limits has, whoever sells it: a volume that is ordered takes these from the offer."""

    latency: Nanoseconds = Field(gt=0, description="Time of a request after its tokens are paid.")
    refill_interval: Nanoseconds = Field(gt=0, description="Time between two refills of the bucket.")
    carry_over: Nanoseconds = Field(description="Unused tokens that are kept, as the time that earned them.")
    accounting_unit: Bytes | None = Field(
        default=None, gt=0, description="A request costs one token for each begun unit."
    )
    merged_from: Bytes | None = Field(
        default=None,
        gt=0,
        description=(
            "Requests of this length and more share units when each begins where the one before it "
            "ended, of the same operation."
        ),
    )
    flush: Nanoseconds | None = Field(default=None, gt=0, description="Duration of a flush; left out: latency.")
    flushes_counted: bool = Field(
        default=True,
        description="Whether a flush costs a write token. Linux counts a flush that it throttles as a write.",
    )


class TokenBucket(Throttled):
    """A volume whose requests wait for an allowance.

    Give ``iops`` (one allowance for all) or ``read_iops`` and ``write_iops`` (one each), and likewise the rates.
    """

    kind: Literal["token-bucket"]
    capacity: Bytes = Field(gt=0, description="Bytes.")
    refill_interval: Nanoseconds = Field(
        default=100 * NS_PER_MS,
        gt=0,
        description="Time between two refills of the bucket; left out: that of Linux, and ranges hold 1 to 100 ms.",
    )
    carry_over: Nanoseconds = Field(
        default=0, description="Unused tokens that are kept, as the time that earned them; left out: none, as Linux."
    )
    iops: int | None = Field(default=None, gt=0, description="Requests a second, reads and writes together.")
    read_iops: int | None = Field(default=None, gt=0, description="Reads a second.")
    write_iops: int | None = Field(default=None, gt=0, description="Writes a second.")
    rate: BytesPerSecond | None = Field(default=None, gt=0, description="Bytes a second, reads and writes together.")
    read_rate: BytesPerSecond | None = Field(default=None, gt=0, description="Bytes read a second.")
    write_rate: BytesPerSecond | None = Field(default=None, gt=0, description="Bytes written a second.")
    burst_iops: int | None = Field(default=None, gt=0, description="Requests a second while there are credits.")
    burst_credits: int | None = Field(
        default=None, gt=0, description="Full balance of credits for requests; earned at iops."
    )
    burst_rate: BytesPerSecond | None = Field(default=None, gt=0, description="Bytes a second while there are credits.")
    burst_bytes: Bytes | None = Field(
        default=None, gt=0, description="Full balance of credits for bytes; earned at rate."
    )
    takes_turns: bool = Field(
        default=False,
        description=(
            "Whether writes of the log, of the binary log and of pages take turns, as an NVMe drive takes them from the"
            " queues of different processors; else the oldest goes first."
        ),
    )

    @property
    def refill_range_ns(self) -> tuple[int, int] | None:
        """Return between what the refill interval is assumed to lie; None where it is known."""
        found = _ASSUMED.fullmatch(self.sources.get("refill_interval", ""))
        return None if found is None else (parse_ns(found[1]), parse_ns(found[2]))

    @model_validator(mode="after")
    def _what_is_left_out_is_assumed(self) -> "TokenBucket":
        self.sources.update({key: source for key, source in _LEFT_OUT.items() if key not in self.model_fields_set})
        try:
            low, high = self.refill_range_ns or (self.refill_interval,) * 2
        except ValueError as error:
            raise ValueError(f"sources: refill_interval: {error}") from None
        if not 0 < low <= self.refill_interval <= high:
            raise ValueError("sources: refill_interval: the range does not hold the interval; write LOW .. HIGH")
        return self

    @model_validator(mode="after")
    def _one_way_of_limiting(self) -> "TokenBucket":
        if self.iops and (self.read_iops or self.write_iops):
            raise ValueError("give iops for reads and writes together, or read_iops and write_iops, not both")
        if self.rate and (self.read_rate or self.write_rate):
            raise ValueError("give rate for reads and writes together, or read_rate and write_rate, not both")
        highest = max(
            self.iops or 0, self.burst_iops or 0, self.rate or 0, self.read_rate or 0, self.write_rate or 0,
            self.burst_rate or 0,
        )  # fmt: skip
        if highest * (self.refill_interval + self.carry_over) >= 2**62:
            raise ValueError("refill_interval and carry_over hold more of this rate than can be counted; shorten them")
        return self

    @model_validator(mode="after")
    def _bursts_are_whole(self) -> "TokenBucket":
        for baseline, burst, credits in (
            ("iops", "burst_iops", "burst_credits"),
            ("rate", "burst_rate", "burst_bytes"),
        ):
            lower, higher, balance = (getattr(self, key) for key in (baseline, burst, credits))
            if (higher is None) != (balance is None):
                raise ValueError(
                    f"{burst} and {credits} belong together: how fast a burst is, and how much it can spend"
                )
            if higher is not None and (lower is None or lower >= higher):
                raise ValueError(f"{burst}: needs {baseline}, the lower rate at which credits are earned")
        if (self.burst_credits or 0) * TOKEN >= 2**62 or (self.burst_bytes or 0) * BYTE_PARTS >= 2**62:
            raise ValueError("there are more credits than can be counted; give fewer")
        return self

    def add_to(self, builder: PlantBuilder, name: str, credits: float = 1.0) -> int:
        """Put one into the plant and return its station; burst credits begin with such a share of a full balance."""
        return add_bucket(builder, self, name, credits=credits)

    def describe(self) -> dict[str, Any]:
        """Return figures that a person checks it by."""
        return describe(self)


def add_bucket(
    builder: PlantBuilder,
    volume: TokenBucket,
    name: str,
    below: int = NONE,
    credits: float = 1.0,
    shared: bool = False,
) -> int:
    """Put one volume into the plant and return its station; its requests go on to station *below*, if there is one.

    *credits* is the share of its credits, if it has any, that it starts with. With *shared* it is a limit on several
    volumes, each with a port to it (:func:`~tiersim.devices.host.gate.add_port`).
    """

    def allowance(per_second: int | None, what: str, behind: int = NONE) -> int:
        if per_second is None:
            return NONE
        earning = len(resources)
        resources[f"{what} limit"] = 1
        per_refill = per_second * volume.refill_interval
        # the fraction of a token that is left over never lapses: 7.5 a refill are 7 and 8 in turn
        ceiling = per_refill + per_second * volume.carry_over
        ceiling += (TOKEN - 1) if ceiling % TOKEN else 0
        return builder.row(
            "allowances", rate_per_s=per_second, parts=TOKEN, per_refill=per_refill, ceiling=ceiling, level=per_refill,
            short_ns=NEVER, behind=behind, resource=NONE, earning=earning,
        )  # fmt: skip

    def balance(per_second: int | None, tokens: int | None, parts: int, name: str) -> int:
        if per_second is None or tokens is None:
            return NONE
        resource = len(resources)
        resources[name] = 1
        start = round(credits * tokens) * parts
        return builder.row(
            "allowances", rate_per_s=per_second, parts=parts, ceiling=tokens * parts, level=start, start=start,
            per_refill=max(1, round(per_second * volume.refill_interval * parts / NS_PER_S)),
            short_ns=NEVER, behind=NONE, resource=resource, earning=NONE,
        )  # fmt: skip

    resources: dict[str, int] = {}
    behind_requests = balance(volume.iops, volume.burst_credits, TOKEN, _CREDITS)
    behind_bytes = balance(volume.rate, volume.burst_bytes, BYTE_PARTS, _BYTE_CREDITS)
    requests = allowance(volume.burst_iops or volume.iops, "IOPS", behind_requests)
    length = allowance(volume.burst_rate or volume.rate, "throughput", behind_bytes)
    row = builder.row(
        "buckets",
        read_queue=builder.queue(),
        write_queue=builder.queue(),
        read_requests=requests if volume.iops else allowance(volume.read_iops, "read IOPS"),
        read_bytes=length if volume.rate else allowance(volume.read_rate, "read throughput"),
        write_requests=requests if volume.iops else allowance(volume.write_iops, "write IOPS"),
        write_bytes=length if volume.rate else allowance(volume.write_rate, "write throughput"),
        refill_interval_ns=volume.refill_interval,
        latency_ns=volume.latency,
        flush_ns=volume.flush or volume.latency,
        free_flushes=int(not volume.flushes_counted),
        unit_bytes=volume.accounting_unit or 0,
        merged_bytes=volume.merged_from or 0,
        below=below,
        shared=int(shared),
        takes_turns=int(volume.takes_turns),
        last_maker=NONE,
    )
    return builder.station(
        BUCKET, row, name, resources or {"no limit": 1}, children=1, role=INSTANCE if shared else None
    )


def balances_of(plant: Plant, station: int, end_ns: int) -> Sequence[Balance]:
    """What is left of the credits of one volume after a run from 0 to *end_ns*."""
    found = []
    bucket = plant.buckets[plant.stations[station]["row"]]
    for head, resource in ((bucket["read_requests"], _CREDITS), (bucket["read_bytes"], _BYTE_CREDITS)):
        behind = NONE if head == NONE else int(plant.allowances[head]["behind"])
        if behind != NONE:
            a = plant.allowances[behind]
            refills = max(0, end_ns // int(bucket["refill_interval_ns"]) - int(a["refills_seen"]))
            ceiling = int(a["ceiling"])
            level = min(ceiling, int(a["level"]) + refills * int(a["per_refill"]))
            ran_out = None if a["short_ns"] == NEVER else int(a["short_ns"])
            found.append(Balance(station, resource, int(a["start"]) / ceiling, level / ceiling, ran_out))
    return found


def describe(volume: TokenBucket) -> dict[str, Any]:
    """Figures that a person checks a volume by."""
    return {
        "random_read_ns": volume.latency,
        "random_reads_per_s": volume.iops or volume.read_iops,
        "refills_per_s": round(NS_PER_S / volume.refill_interval, 3),
    }
