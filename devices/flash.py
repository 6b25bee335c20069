"""A solid-state drive, on whatever bus, from its datasheet and what was measured of it."""

from typing import Any, Literal

from pydantic import Field, model_validator

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.sourced import Sourced
from tiersim.devices.tables import FLASH
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds

PS_PER_S = 10**12


class Flash(Sourced):
    """A flash drive; see ``docs/devices.md`` for each key."""

    kind: Literal["flash"]
    capacity: Bytes = Field(gt=0)
    channels: int = Field(gt=0)
    dies: int = Field(gt=0)  # of all channels: how many pages can be sensed at once
    page: Bytes = Field(gt=0)
    read: Nanoseconds  # sense one page
    program: Nanoseconds = Field(gt=0)  # die time of one page written, garbage collection at steady state included
    suspend: Nanoseconds  # longest wait of a read for a program in progress
    channel_rate: BytesPerSecond = Field(gt=0)
    link_rate: BytesPerSecond = Field(gt=0)
    controller_iops: int = Field(gt=0)  # its highest rate of commands
    read_latency: Nanoseconds  # firmware, bus and driver, beside sensing and transfer
    write_latency: Nanoseconds
    flush: Nanoseconds
    power_loss_protection: bool
    buffer: Bytes
    queue_depth: int = Field(gt=0)

    @model_validator(mode="after")
    def _plausible(self) -> "Flash":
        if self.dies % self.channels:
            raise ValueError(f"dies = {self.dies} is not a multiple of channels = {self.channels}")
        if self.buffer < self.page:
            raise ValueError("buffer is smaller than one page")
        if self.read < 1000 * 5:
            raise ValueError("read is below 5 µs: no flash cell is sensed so fast; a write into a buffer may be")
        return self


def add_flash(builder: PlantBuilder, drive: Flash, name: str) -> int:
    """Put one flash drive into the plant and return its station."""
    buffer_pages = drive.buffer // drive.page
    row = builder.row(
        "flashes",
        queue=builder.queue(),
        queue_depth=drive.queue_depth,
        channels=drive.channels,
        dies=drive.dies,
        page_bytes=drive.page,
        read_ns=drive.read,
        program_ns=drive.program,
        suspend_ns=drive.suspend,
        channel_ps_per_byte=PS_PER_S // drive.channel_rate,
        link_ps_per_byte=PS_PER_S // drive.link_rate,
        controller_ns=max(1, 10**9 // drive.controller_iops),
        read_latency_ns=drive.read_latency,
        write_latency_ns=drive.write_latency,
        flush_ns=drive.flush,
        protected=int(drive.power_loss_protection),
        buffer_pages=buffer_pages,
        channel_free=builder.table([0] * drive.channels),
        read_free=builder.table([0] * drive.dies),
        program_free=builder.table([0] * drive.dies),
        buffer_free=builder.table([0] * buffer_pages),
    )
    resources = {"controller": 1, "channels": drive.channels, "dies": drive.dies}
    return builder.station(FLASH, row, name, resources)


def describe(drive: Flash) -> dict[str, Any]:
    """Figures that a person checks a drive by: an 8 KiB read alone, and the random rates that the parts allow."""
    size = 8192
    pages = -(-size // drive.page)
    transfer_ns = min(size, drive.page) * 10**9 // drive.channel_rate
    read_ns = (
        10**9 // drive.controller_iops + drive.read + transfer_ns + size * 10**9 // drive.link_rate + drive.read_latency
    )
    reads = min(
        drive.controller_iops, drive.dies * 10**9 // (pages * (drive.read + transfer_ns)), drive.link_rate // size
    )
    writes = min(drive.controller_iops, drive.dies * 10**9 // (pages * drive.program), drive.link_rate // size)
    return {"random_read_ns": read_ns, "random_reads_per_s": reads, "sustained_random_writes_per_s": writes}
