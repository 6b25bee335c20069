"""A solid-state drive, on whatever bus, from its datasheet and what was measured of it."""

from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.sourced import Sourced, flash_reasons
from tiersim.devices.ssd.flash_kernels import ENTRIES, LINK, UNIT_ENTRIES
from tiersim.devices.ssd.ftl import PageMapping, add_ftl, greedy, lru
from tiersim.devices.station_records import FLASH, HELD_FLASH, NEVER, NONE, Plant
from tiersim.random_numbers import FLASH_PLACE, FLASH_STATE, random_source
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds
from tiersim.units import NS_PER_S, format_bytes

PS_PER_S, PS_PER_NS = 10**12, 10**3
#: Resource of a full-duplex link that carries what is written.
WRITE_LINK = "write link"

#: One time, or one for each page of a cell (lower, middle, upper), all equally likely.
_Times = Annotated[
    tuple[Nanoseconds, ...], BeforeValidator(lambda value: value if isinstance(value, list | tuple) else (value,))
]


class Flash(Sourced):
    """A flash drive."""

    kind: Literal["flash"]
    capacity: Bytes = Field(gt=0, description="Bytes that the host can use.")
    cell: Literal["slc", "mlc", "tlc", "qlc", "3d-xpoint"] = Field(description="Type of cell.")
    channels: int = Field(gt=0, description="Channels between dies and controller.")
    dies: int = Field(gt=0, description="Dies of all channels together: pages that can be sensed at a time.")
    page: Bytes = Field(gt=0, description="Bytes that a die senses at a time, on all its planes.")
    unit: Bytes = Field(
        gt=0,
        description=(
            "Bytes that the drive maps, 4 KiB as a rule. A read or write of a part moves the whole unit"
            " over the channel."
        ),
    )
    planes: int = Field(
        default=1, gt=0, le=16, description="Parts of a page that can be sensed with parts of other pages."
    )
    spread: int = Field(
        gt=0, description="Consecutive units lie on so many dies before the first die gets its next unit."
    )
    read: _Times = Field(
        description="Time to sense a page; or a list by page of a cell (lower, middle, upper), each for as many pages."
    )
    program: Nanoseconds = Field(gt=0, description="Time of one program of a die.")
    program_size: Bytes = Field(gt=0, description="Bytes that one program writes.")
    erase: Nanoseconds = Field(gt=0, description="Time of one erase.")
    block: Bytes = Field(gt=0, description="Bytes that one erase clears.")
    over_provisioning: float = Field(gt=0, le=10, description="Spare capacity divided by user capacity: 0.07 is 7 %.")
    suspend: Nanoseconds | None = Field(
        default=None, description="Longest wait of a read for the program in progress; left out: until it ends."
    )
    allocation: Literal["dynamic", "static"] = Field(
        default="dynamic",
        description="dynamic: programs go to the dies in turn; static: to the die of the address, one unit each.",
    )
    commands: Literal["planned", "held"] = Field(
        default="planned",
        description=(
            "planned: sent to the dies as they come; held: a die with data to transfer takes none, and none is sent"
            " while its channel is at work; each die takes a read before a write, the dies of a channel take turns."
            " So they sense together and transfer one after the other, as MQSim's do. Needs static allocation, no"
            " suspend, and power-loss protection where there is a buffer."
        ),
    )
    program_command: Nanoseconds = Field(
        default=0, description="Time of a channel for a command to program, before the data. Only with 'held'."
    )
    chip_dies: int = Field(
        default=1,
        gt=0,
        le=16,
        description=(
            "Dies of a chip. With commands = 'held' a chip takes one command at a time: give `dies` as the number of"
            " chips, and here how many dies each has. Only with 'held'."
        ),
    )
    chip_planes: int = Field(
        default=1,
        gt=0,
        le=4,
        description=(
            "Planes of each of them. One command reads or programs what waits for different planes of a die, if the"
            " pages have the same number in their blocks; requests of one unit alone. Only with 'held', and pages of"
            " one unit."
        ),
    )
    collection: Literal["greedy", "lru"] = Field(
        default="greedy",
        description="Victim of garbage collection: greedy takes the block with the fewest valid units, lru the oldest.",
    )
    mapping: Literal["analytic", "mapped"] = Field(
        default="analytic",
        description="analytic: write amplification from closed forms; mapped: every unit has its place.",
    )
    state: Literal["steady", "fresh"] = Field(
        default="steady", description="steady: full and overwritten at random for long; fresh: nothing written."
    )
    channel_rate: BytesPerSecond = Field(gt=0, description="Data rate of one channel.")
    link_rate: BytesPerSecond = Field(gt=0, description="Data rate between drive and host.")
    controller_iops: int = Field(gt=0, description="Highest rate of commands.")
    read_latency: Nanoseconds = Field(description="Firmware, bus and driver of a read, besides sensing and transfer.")
    write_latency: Nanoseconds = Field(description="The same of a write.")
    buffer: Bytes = Field(description="Size of the write buffer; 0 B: a write ends when its program ends.")
    buffer_rate: BytesPerSecond | None = Field(
        default=None, gt=0, description="Rate at which data enter the buffer; left out: link_rate."
    )
    power_loss_protection: bool = Field(description="Whether the write buffer survives a loss of power.")
    flush: Nanoseconds = Field(description="Time of a flush when nothing waits in the buffer.")
    flush_interval: Nanoseconds | None = Field(
        default=None, description="Shortest time between two flushes; left out: none."
    )
    queue_depth: int = Field(gt=0, description="Commands that the drive works on at a time.")
    read_ahead: Bytes | None = Field(
        default=None,
        gt=0,
        description=(
            "Bytes that the drive reads on into its memory when a read begins where the last one ended, and it has no"
            " other command; left out: none."
        ),
    )
    slc_static: Bytes | None = Field(
        default=None,
        description="Bytes that cells used with one bit take at any time, to be moved to others (pseudo-SLC cache).",
    )
    slc_dynamic: Bytes | None = Field(
        default=None, description="More of them while cells are free: a steady drive is full and has none."
    )
    slc_program: Nanoseconds | None = Field(default=None, gt=0, description="Time of a program of one bit a cell.")
    slc_program_size: Bytes | None = Field(default=None, gt=0, description="Bytes that such a program writes.")
    slc_full: Literal["direct", "fold"] | None = Field(
        default=None,
        description=(
            "Writes when the cache is full. direct (default): to cells of all bits; fold: into the cache, and as much"
            " is moved out of it before the next program of the die."
        ),
    )
    slc_idle: Nanoseconds | None = Field(
        default=None, description="The drive moves out what is in the cache after so long without a command."
    )
    slc_used: Bytes | None = Field(default=None, description="Bytes in the cache when a run begins; left out: none.")
    host_cpu: Nanoseconds | None = Field(
        default=None,
        gt=0,
        description="CPU time of a command in a driver that keeps the map on the host. Resource `host cpu`.",
    )
    host_threads: int | None = Field(default=None, gt=0, description="Commands that this driver works on at a time.")
    host_memory_per_gib: Bytes | None = Field(
        default=None, description="Memory of the host for such a map, for each GiB of capacity."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "Flash":
        if self.dies % self.channels:
            raise ValueError(f"dies: {self.dies} is not a multiple of channels = {self.channels}")
        if self.dies % self.spread:
            raise ValueError(f"spread: {self.spread} does not divide dies = {self.dies}")
        for key, part in (("page", self.unit), ("program_size", self.unit), ("block", self.program_size)):
            if getattr(self, key) % part:
                raise ValueError(f"{key}: {getattr(self, key)} bytes is not a multiple of the {part} bytes in it")
        if self.page % (self.planes * self.unit):
            raise ValueError(
                f"planes: a page of {self.page} bytes on {self.planes} planes does not hold whole units of"
                f" {self.unit} bytes on each"
            )
        if 0 < self.buffer < self.program_size:
            raise ValueError(f"buffer: {self.buffer} bytes is less than one program writes")
        if self.allocation == "static" and self.program_size != self.unit:
            raise ValueError("allocation: 'static' needs programs of one unit each")
        if self.commands == "held" and self._not_held():
            raise ValueError(f"commands: 'held' needs {self._not_held()}")
        if self.program_command and self.commands != "held":
            raise ValueError("program_command: needs commands = 'held'")
        if self.chip_dies * self.chip_planes > 1 and (self.commands != "held" or self.page != self.unit):
            raise ValueError("chip_dies, chip_planes: need commands = 'held' and pages of one unit")
        if wrong := self._client_keys_wrong():
            raise ValueError(wrong)
        if (self.host_cpu is None) != (self.host_threads is None):
            raise ValueError("host_cpu: needs host_threads, and the other way round")
        if self.mapping == "mapped" and (problem := self.page_mapping.problem()):
            raise ValueError(f"mapping: 'mapped' {problem}")
        if reasons := flash_reasons(self.model_dump()):
            raise ValueError(reasons[0])
        return self

    def _not_held(self) -> str:
        """Return what keeps a drive from holding commands back."""
        needed = {
            "allocation = 'static'": self.allocation == "static",
            "mapping = 'analytic'": self.mapping == "analytic",
            "no suspend": self.suspend is None,
            "power_loss_protection, or no buffer": self.power_loss_protection or self.buffer == 0,
            "an interface that queues flushes": not self.flushes_alone,
        }
        return next((what for what, there in needed.items() if not there), "")

    def _client_keys_wrong(self) -> str:
        """Return what is wrong with the cache of one bit a cell, or with reading ahead."""
        if self.read_ahead is not None and (self.read_ahead % self.unit or self.commands == "held"):
            return f"read_ahead: needs commands = 'planned' and a multiple of the unit of {self.unit} bytes"
        size, time = self.slc_program_size, self.slc_program
        needed = {"slc_program": time, "slc_program_size": size, "slc_idle": self.slc_idle}
        if self.slc_static is None and self.slc_dynamic is None:
            given = [key for key in (*needed, "slc_full", "slc_used") if getattr(self, key) is not None]
            return f"{given[0]}: needs slc_static or slc_dynamic" if given else ""
        if missing := [key for key, value in needed.items() if value is None]:
            return f"{missing[0]}: needed beside slc_static and slc_dynamic"
        if size is None or time is None or size % self.unit or size > self.program_size or time > self.program:
            return "slc_program: one bit a cell takes no longer than all, and whole units, no more than program_size"
        if (self.slc_used or 0) > self.slc_bytes:
            return f"slc_used: the cache takes {format_bytes(self.slc_bytes)}; a steady drive has no slc_dynamic"
        if self.commands == "held" or self.allocation == "static" or self.mapping == "mapped":
            return "slc_static: needs commands = 'planned', allocation = 'dynamic' and mapping = 'analytic'"
        return ""

    @property
    def slc_bytes(self) -> int:
        """Size of the cache of one bit a cell in the state that the drive is in when a run begins."""
        return (self.slc_static or 0) + ((self.slc_dynamic or 0) if self.state == "fresh" else 0)

    @property
    def flushes_alone(self) -> bool:
        """Whether a flush waits for the commands before it, and those behind it for the flush: SATA does not queue it.

        FLUSH CACHE EXT is no command of SATA's native queue, and with one of those nothing else may be outstanding (ATA
        command set; Linux: drivers/ata, ata_std_qc_defer).
        """
        return self._is_sata

    @property
    def half_duplex(self) -> bool:
        """Whether reads and writes take turns on the link.

        Serial ATA has one frame under way, in one direction, while the other direction acknowledges it (Serial ATA
        specification, link layer). The others carry data both ways at a time: PCI Express is dual simplex (PCI Express
        Base Specification, 1.2), SAS and Fibre Channel full duplex (T10, SPL; T11, FC-FS).
        """
        return self._is_sata

    @property
    def _is_sata(self) -> bool:
        return (self.interface or "").startswith("SATA")

    @property
    def read_mean_ns(self) -> float:
        """Mean time to sense a page."""
        return sum(self.read) / len(self.read)

    @property
    def steady_amplification(self) -> float:
        """Units programmed for each one that the host writes uniformly at random over a full drive."""
        if self.collection == "greedy":
            return greedy(self.over_provisioning, self.block // self.unit)
        return lru(self.over_provisioning)

    @property
    def write_amplification(self) -> float:
        """The same in the state that the drive is in when a run begins."""
        return self.steady_amplification if self.state == "steady" else 1.0

    @property
    def copy_ns(self) -> int:
        """Die time that collection needs for a unit: its share of a program and of sensing a page of its victim.

        Of a page with u units, each valid with probability v = 1 - 1/WA, at least one is with 1 - (1 - v)^u. Small
        blocks with much spare space may have none, v = 0; a copy would be alone then.
        """
        valid = 1 - 1 / self.steady_amplification
        units = self.page // self.unit
        senses = (1 - (1 - valid) ** units) / (valid * units) if valid > 0 else 1
        return round(self.program * self.unit / self.program_size + senses * self.read_mean_ns)

    @property
    def page_mapping(self) -> PageMapping:
        """The map that a mapped drive has."""
        units, block_units = -(-self.capacity // self.unit), self.block // self.unit  # the last may be a part of one
        return PageMapping(units, self.dies, block_units, self.over_provisioning, self.collection)

    def add_to(self, builder: PlantBuilder, name: str, credits: float = 1.0) -> int:
        """Put one into the plant and return its station; burst credits begin with such a share of a full balance."""
        return add_flash(builder, self, name)

    def describe(self) -> dict[str, Any]:
        """Return figures that a person checks it by."""
        return describe(self)


def add_flash(builder: PlantBuilder, drive: Flash, name: str) -> int:
    """Put one flash drive into the plant and return its station."""
    units = drive.buffer // drive.unit
    mapped = drive.mapping == "mapped"
    amplification = 1.0 if mapped else drive.write_amplification  # a map counts for itself
    resources = {"controller": 1, "channels": drive.channels, "dies": drive.dies, "link": 1}
    if drive.host_threads is not None:
        resources["host cpu"] = drive.host_threads
    if not drive.half_duplex:
        resources[WRITE_LINK] = 1
    row = builder.row(
        "flashes",
        queue=builder.queue(),
        held=int(drive.commands == "held"),
        held_reads=_queues(builder, drive.dies),
        held_writes=_queues(builder, drive.dies),
        held_sensed=_queues(builder, drive.channels),
        held_buffer=builder.queue(),
        with_data=builder.table([0] * drive.dies),
        turns=builder.table([0] * drive.channels),
        held_joined=builder.queue(),
        chip_dies=drive.chip_dies,
        chip_planes=drive.chip_planes,
        filled_pages=builder.table(_filled_pages(drive, builder.seed, len(builder.stations))),
        block_pages=drive.block // drive.page,
        program_command_ns=drive.program_command,
        queue_depth=drive.queue_depth,
        ftl=add_ftl(builder, drive.page_mapping, steady=drive.state == "steady") if mapped else NONE,
        unit_bytes=drive.unit,
        page_units=drive.page // drive.unit,
        planes=drive.planes,
        spread=drive.spread,
        channels=drive.channels,
        dies=drive.dies,
        reads=builder.table(drive.read),
        read_kinds=len(drive.read),
        patch_ns=round(drive.read_mean_ns),
        suspend_ns=NEVER if drive.suspend is None else drive.suspend,
        static=int(drive.allocation == "static"),
        copies_q16=round((amplification - 1) * 2**16),
        erases_q32=0 if mapped or drive.state == "fresh" else round(amplification * drive.unit / drive.block * 2**32),
        copy_ns=drive.copy_ns,
        erase_ns=drive.erase,
        unit_channel_ns=drive.unit * NS_PER_S // drive.channel_rate,
        link_ps_per_byte=PS_PER_S // drive.link_rate,
        write_link=LINK if drive.half_duplex else list(resources).index(WRITE_LINK),
        buffer_ps_per_byte=0 if drive.buffer_rate is None else PS_PER_S // drive.buffer_rate,
        controller_ns=max(1, NS_PER_S // drive.controller_iops),
        read_latency_ns=drive.read_latency,
        write_latency_ns=drive.write_latency,
        flush_ns=drive.flush,
        flush_interval_ns=drive.flush_interval or 0,
        protected=int(drive.power_loss_protection),
        flushes_alone=int(drive.flushes_alone),
        buffer_units=units,
        host_cpu_ns=drive.host_cpu or 0,
        host_threads=drive.host_threads or 0,
        last_flush_ns=-(drive.flush_interval or 0),
        calendars=builder.table([0] * (drive.channels * ENTRIES)),
        sense_start=builder.table([0] * drive.dies),
        sensed=builder.table([0] * drive.dies),
        sensing_planes=builder.table([0] * drive.dies),
        registers=builder.table([NEVER] * (drive.dies * drive.planes)),
        read_free=builder.table([0] * drive.dies),
        program_free=builder.table([0] * drive.dies),
        passed=builder.table([0] * drive.dies),
        programmed_after=builder.table([0] * drive.dies),
        free_after=builder.table([0] * drive.dies),
        copies_owed=builder.table(_out_of_step(drive.dies, 2**16)),
        erases_owed=builder.table(_out_of_step(drive.dies, 2**32)),
        buffer_free=builder.table([0] * (units * UNIT_ENTRIES)),
        host_free=builder.table([0] * (drive.host_threads or 0)),
        program_took=builder.table([drive.program] * drive.dies),
        ahead_units=(drive.read_ahead or 0) // drive.unit,
        units=-(-drive.capacity // drive.unit),
        ahead_ready=builder.table([0] * ((drive.read_ahead or 0) // drive.unit)),
        stream_end=NEVER,
        **({"program_ns": drive.program, "program_units": drive.program_size // drive.unit} | _slc_cache(drive)),
    )
    builder.write_first(partial(_draw_places, row))
    return builder.station(HELD_FLASH if drive.commands == "held" else FLASH, row, name, resources)


def _draw_places(row: int, plant: Plant) -> None:
    plant.flashes[row]["place_source"] = random_source(int(plant.seed[0]), FLASH_PLACE, row)


def _slc_cache(drive: Flash) -> dict[str, int]:
    """What a drive with a cache of one bit a cell has beside others; its first program goes there if there is room."""
    if not drive.slc_bytes or drive.slc_program is None or drive.slc_program_size is None:
        return {}
    units, free = drive.slc_bytes // drive.unit, (drive.slc_bytes - (drive.slc_used or 0)) // drive.unit
    dense = {"dense_program_ns": drive.program, "dense_program_units": drive.program_size // drive.unit}
    cached = drive.slc_full == "fold" or free * drive.unit >= drive.slc_program_size
    folded_ns = max(drive.copy_ns / drive.dies, 2 * drive.unit * NS_PER_S / drive.channel_rate / drive.channels)
    return {
        "slc_units": units,
        "slc_free_units": free,
        "slc_program_ns": drive.slc_program,
        "slc_program_units": drive.slc_program_size // drive.unit,
        "slc_folds": int(drive.slc_full == "fold"),
        "slc_idle_ns": drive.slc_idle or 0,
        # a block of one bit a cell holds so much less
        "slc_erases_q32": round(drive.unit / drive.block * drive.program_size / drive.slc_program_size * 2**32),
        "fold_ps": max(1, round(folded_ns * PS_PER_NS)),
        "into_slc": int(cached),
        "program_ns": drive.slc_program if cached else drive.program,
        "program_units": (drive.slc_program_size if cached else drive.program_size) // drive.unit,
        **dense,
    }


def _filled_pages(drive: Flash, seed: int, station: int) -> list[int]:
    """Pages of each plane's open block that are filled: none of a fresh drive, any number of one in use."""
    planes = drive.dies * drive.chip_dies * drive.chip_planes
    if drive.state == "fresh" or planes == drive.dies:
        return [0] * planes
    luck = np.random.default_rng([seed, FLASH_STATE, planes, station])
    return [int(pages) for pages in luck.integers(0, drive.block // drive.page, planes)]


def _queues(builder: PlantBuilder, count: int) -> int:
    """Make lists side by side; returns the first."""
    first, *_ = (builder.queue() for _ in range(count))
    return first


def _out_of_step(dies: int, whole: int) -> list[int]:
    """What each die owes at the start, less than one: so they do not all collect at once."""
    return [die * whole // dies for die in range(dies)]


def flash_figures(plant: Plant, row: int) -> dict[str, Any]:
    """Units that were programmed for each one that the host wrote; None while it has written
    nothing to a mapped drive. And the free part of its cache of one bit a cell, if it has one.
    """
    drive = plant.flashes[row]
    if drive["ftl"] == NONE:
        found = {"write_amplification": 1 + float(drive["copies_q16"]) / 2**16}
        if drive["slc_units"]:
            found["slc_free_share"] = int(drive["slc_free_units"]) / int(drive["slc_units"])
        return found
    ftl = plant.ftls[drive["ftl"]]
    host = int(ftl["host_units"])
    return {"write_amplification": 1 + int(ftl["copied_units"]) / host if host else None}


def describe(drive: Flash) -> dict[str, Any]:
    """Figures that a person checks a drive by: an 8 KiB read alone, and the random rates that the parts allow."""
    size = 8192
    units = -(-size // drive.unit)
    senses = max(min(units, drive.spread), -(-units * drive.unit // drive.page))  # pages that it lies in
    transfer_ns = -(-units // senses) * (drive.unit * NS_PER_S // drive.channel_rate)
    command_ns = NS_PER_S // drive.controller_iops
    kinds = sorted(drive.read)
    # the slowest of as many pages, each of a kind of its own
    slowest_ns = sum(((n + 1) ** senses - n**senses) * ns for n, ns in enumerate(kinds)) / len(kinds) ** senses
    read_ns = command_ns + (drive.host_cpu or 0) + drive.read_latency + size * NS_PER_S // drive.link_rate
    reads = min(
        drive.controller_iops,
        # every sensing serves all planes, at best
        drive.dies * drive.planes * NS_PER_S / (senses * (drive.read_mean_ns + drive.planes * transfer_ns)),
        drive.channels * NS_PER_S / (senses * transfer_ns),
        drive.link_rate // size,
    )
    amplification = drive.write_amplification
    erases = 0 if drive.state == "fresh" else amplification * drive.unit / drive.block
    unit_channel_ns = drive.unit * NS_PER_S / drive.channel_rate
    unit_ns = drive.program * drive.unit / drive.program_size + unit_channel_ns
    unit_ns += (amplification - 1) * drive.copy_ns + erases * drive.erase
    writes = min(
        drive.controller_iops,
        drive.dies * NS_PER_S / (units * unit_ns),
        drive.channels * NS_PER_S / (units * unit_channel_ns * (2 * amplification - 1)),  # a copy goes out and in
        drive.link_rate // size,
        (drive.buffer_rate or drive.link_rate) // size,
    )
    return {
        "random_read_ns": round(read_ns + slowest_ns + transfer_ns),
        "random_reads_per_s": int(reads),
        "sustained_random_writes_per_s": int(writes),
    }
