"""A solid-state drive, on whatever bus, from its datasheet and what was measured of it; and the tables of its
page-mapped flash translation layer, with nothing written or in the steady state of random writes.

How often flash writes each unit that the host writes, at steady state, are closed forms for drives that are full and
overwritten at random places. Spare space is over-provisioning rho: physical units = (1 + rho) x logical units, without
blocks that are open or kept in reserve. A cleaned block gives the host the room of its stale units: with x valid units
of b left, WA = b / (b - x).

Sources: P. Desnoyers, Analytic modeling of SSD write performance, SYSTOR 2012 (LRU cleaning, greedy cleaning); L. Xiang
and B. M. Kurkoski, An improved analytic expression for write amplification in NAND flash, arXiv:1110.4245 (LRU); B. Van
Houdt, A mean field model for a class of garbage collection algorithms in flash-based solid state drives, SIGMETRICS
2013 (greedy, as the limit of many choices).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.sourced import Sourced, flash_reasons
from tiersim.devices.ssd.flash_kernels import ENTRIES, LINK, UNIT_ENTRIES
from tiersim.devices.ssd.ftl_kernels import ERASED, SEALED
from tiersim.devices.station_records import FLASH, HELD_FLASH, NEVER, NONE, Plant
from tiersim.random_numbers import FLASH_PLACE, FLASH_STATE, random_source
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds
from tiersim.units import NS_PER_S, format_bytes

#: Halvings of an interval until a double does not change any more.
_HALVINGS = 60


def lru(over_provisioning: float, classes: Sequence[tuple[float, float]] = ((1.0, 1.0),)) -> float:
    """Write amplification when the block that was filled longest ago is cleaned, *over_provisioning* > 0.

    *classes* are (share of the logical units, share of the writes) of units that are written alike; one class is
    uniform.
    """
    return (1 + over_provisioning) / _turn(over_provisioning, classes)


def _turn(over_provisioning: float, classes: Sequence[tuple[float, float]]) -> float:
    """Host writes, in multiples of the logical units, in which the log is written from end to end.

    A unit with rate r is valid after a turn of t with probability exp(-r t), and is then written again; so it is
    written r / (1 - exp(-r t)) times per host write. These add up to WA, and WA x t is all that is there: 1 + rho. For
    one class WA = a / (a + W(-a exp(-a))) with a = 1 + rho and Lambert's W.
    """

    def written(turn: float) -> float:
        lengths = [(units, writes / units * turn) for units, writes in classes]
        return sum(units * (length / -math.expm1(-length) if length > 0 else 1) for units, length in lengths)

    low, high = 0.0, 1 + over_provisioning
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if written(middle) < 1 + over_provisioning else (low, middle)
    return (low + high) / 2


def greedy(over_provisioning: float, block_units: int) -> float:
    """Write amplification when the block with the fewest valid units is cleaned, *over_provisioning* > 0."""
    level, share, flow = _greedy_state(over_provisioning, block_units)
    return block_units / (block_units - level + level * share / flow)


def _greedy_state(over_provisioning: float, block_units: int) -> tuple[int, float, float]:
    """Lowest level j with blocks, the share of blocks with j valid units, and c; shares above j are f(i) = c / i.

    A block with i valid units loses the next one at a rate proportional to i, and what reaches a level above j leaves
    it again: i f(i) = c. Of the blocks that reach j, as many as fall on to j - 1 (j f(j) of c) are cleaned there, the
    others at j: x = j - j f(j) / c. The shares add up to 1, and the valid units, of b in a block, to b / (1 + rho).
    """
    j = np.arange(block_units)
    inverse = 1 / np.arange(1, block_units + 1)
    tail = np.cumsum(inverse[::-1])[::-1]  # sum of 1 / i over i = j + 1 .. b
    flow = (block_units / (1 + over_provisioning) - j) / (block_units - j - j * tail)
    share = 1 - flow * tail
    level = int(np.argmin(np.maximum(-share, j * share - flow)))  # the only one with 0 <= j f(j) <= c
    return level, max(float(share[level]), 0.0), float(flow[level])


def greedy_valid_units(over_provisioning: float, block_units: int, blocks: int) -> NDArray[np.int64]:
    """Valid units of *blocks* blocks in the steady state of greedy cleaning: equally likely ones, in rising order."""
    level, share, flow = _greedy_state(over_provisioning, block_units)
    shares = np.append(share, flow / np.arange(level + 1, block_units + 1))
    drawn = np.searchsorted(np.cumsum(shares), (np.arange(blocks) + 0.5) / blocks)
    return np.minimum(level + drawn, block_units)


def lru_valid_units(over_provisioning: float, block_units: int, blocks: int) -> NDArray[np.int64]:
    """Valid units of *blocks* blocks in the steady state of LRU cleaning, oldest first: exp(-age) of each are valid."""
    turn = _turn(over_provisioning, ((1.0, 1.0),))
    expected = block_units * np.exp(-turn * (np.arange(blocks)[::-1] + 0.5) / blocks)
    valid: NDArray[np.int64] = np.diff(np.rint(np.cumsum(expected)).astype(np.int64), prepend=0)
    return valid


#: Blocks of each die at the start: the one that is being filled, and, at steady state, the one that is being cleaned.
_ACTIVE, _VICTIM = 0, 1

Collection = Literal["greedy", "lru"]


@dataclass(frozen=True)
class PageMapping:
    """How a drive maps its units; ``over_provisioning`` is spare space per logical one, without open blocks."""

    units: int  # that the host sees
    dies: int
    block_units: int
    over_provisioning: float
    collection: Collection = "greedy"

    @property
    def sealed_blocks(self) -> int:
        """Blocks of a die besides the one that is being filled: whole ones, so as to have at least the spare space."""
        blocks = self.units * (1 + self.over_provisioning) / (self.dies * self.block_units)
        return math.ceil(round(blocks, 9))  # 100 x 1.07 is a little more than 107

    @property
    def spare_share(self) -> float:
        """Over-provisioning with whole blocks."""
        return self.sealed_blocks * self.block_units * self.dies / self.units - 1

    @property
    def _fair_units(self) -> int:
        return -(-self.units // self.dies)

    @property
    def most_valid(self) -> int:
        """Units that a die may hold: its fair share, and half of what is beyond it.

        The other half is kept for collection: a die that the host filled to the last place would copy without end.
        """
        return (self._fair_units + self.sealed_blocks * self.block_units) // 2

    def problem(self) -> str | None:
        """Say why there cannot be such a mapping, or None."""
        places = self.sealed_blocks * self.block_units
        if self.sealed_blocks < 2:
            return (
                "makes fewer than three blocks a die, which leaves none to clean; choose smaller blocks or fewer dies"
            )
        if places - self._fair_units < 2:
            return "leaves a die less than two spare units; write more"
        if (self.sealed_blocks + 1) * self.block_units * self.dies >= NONE:
            return "makes more units than a map can hold; choose larger units, or the analytic mapping"
        return None


def add_ftl(builder: PlantBuilder, mapping: PageMapping, *, steady: bool) -> int:
    """Put a translation layer into the plant and return its row; raises ValueError if :meth:`PageMapping.problem` finds
    one.

    *steady*: full, and overwritten at random for ever; otherwise nothing is written.
    """
    if problem := mapping.problem():
        raise ValueError(problem)
    greedy_lists = mapping.block_units + 1 if mapping.collection == "greedy" else 1
    lists, blocks = SEALED + greedy_lists, mapping.sealed_blocks + 1
    heads = mapping.dies * lists
    first = builder.reserve("mapped_blocks", heads + mapping.dies * blocks)
    places = builder.reserve("units", mapping.units)
    holds = builder.reserve("units", mapping.dies * blocks * mapping.block_units)
    seed = [builder.seed, FLASH_STATE, first]
    valid = np.zeros((mapping.dies, blocks), np.int64)
    if steady:
        valid = _steady_units(mapping, np.random.default_rng(seed))

    def write(plant: Plant) -> None:
        rows = plant.mapped_blocks[first : first + heads + valid.size]
        rows["valid_units"][heads:] = valid.ravel()
        rows["newer"], rows["older"] = first + _rings(_lists(mapping, valid, lists, steady=steady))
        if steady:
            placed = np.flatnonzero(np.arange(mapping.block_units) < valid.reshape(-1, 1)).astype(np.uint32)
            logical = np.random.default_rng(seed).permutation(np.arange(mapping.units, dtype=np.uint32))
            plant.units[holds:][placed] = logical
            plant.units[places:][logical] = placed + 1

    dies = [
        {
            "active": first + heads + die * blocks + _ACTIVE,
            "filled_units": int(valid[die, _ACTIVE]),
            "victim": first + heads + die * blocks + _VICTIM if steady else NONE,
            "free_blocks": 0 if steady else mapping.sealed_blocks,
            "valid_units": int(valid[die].sum()),
            "lowest": 0,
        }
        for die in range(mapping.dies)
    ]
    builder.write_first(write)
    return builder.row(
        "ftls",
        logical_units=mapping.units,
        block_units=mapping.block_units,
        dies=mapping.dies,
        die_blocks=blocks,
        greedy=int(mapping.collection == "greedy"),
        most_valid=mapping.most_valid,
        places=places,
        holds=holds,
        lists=lists,
        first_list=first,
        first_block=first + heads,
        first_die=builder.rows("ftl_dies", dies),
    )


def _steady_units(mapping: PageMapping, rng: "np.random.Generator") -> NDArray[np.int64]:
    """Valid units of each block (dies, blocks): one of each die is being filled, one cleaned; dies are out of step."""
    size, sealed = mapping.block_units, mapping.sealed_blocks
    if mapping.collection == "greedy":
        rate, others = greedy(mapping.spare_share, size), greedy_valid_units(mapping.spare_share, size, sealed - 1)
    else:
        rate, others = lru(mapping.spare_share), lru_valid_units(mapping.spare_share, size, sealed - 1)
    valid = np.empty((mapping.dies, sealed + 1), np.int64)
    for die in range(mapping.dies):
        units = mapping.units // mapping.dies + int(die < mapping.units % mapping.dies)
        filled = min(size * die // mapping.dies, units)
        left = round((size - filled) * (1 - 1 / rate))  # in the victim, which is cleaned as fast as the other is filled
        left = max(min(left, units - filled, size - filled - 1), units - filled - (sealed - 1) * size)
        valid[die] = filled, left, *_adding_up(others, units - filled - left, size, rng)
    return valid


def _adding_up(counts: NDArray[np.int64], total: int, most: int, rng: "np.random.Generator") -> NDArray[np.int64]:
    """Counts from 0 to *most* nearest to the given ones that add up to *total*; which ones differ is drawn."""
    counts = counts.copy()
    while missing := total - int(counts.sum()):
        step = 1 if missing > 0 else -1
        free = np.flatnonzero((counts + step >= 0) & (counts + step <= most))
        counts[rng.permutation(free)[: abs(missing)]] += step
    return counts


def _lists(mapping: PageMapping, valid: NDArray[np.int64], lists: int, *, steady: bool) -> NDArray[np.int64]:
    """List that each head and each block is in, by its head's row; a block in none is one of its own."""
    heads = np.arange(mapping.dies * lists)
    own = len(heads) + np.arange(valid.size).reshape(valid.shape)
    member = np.zeros_like(valid) + heads[::lists, None] + (SEALED if steady else ERASED)
    if steady and mapping.collection == "greedy":
        member += valid
    loose = [_ACTIVE, _VICTIM] if steady else [_ACTIVE]
    member[:, loose] = own[:, loose]
    return np.concatenate([heads, member.ravel()])


def _rings(lists: NDArray[np.int64]) -> NDArray[np.int64]:
    """Next and previous row of each row in a ring of all rows of its list, in their order."""
    order = np.argsort(lists, kind="stable")
    first = np.flatnonzero(np.diff(lists[order], prepend=-1))  # of each ring
    after, ahead = np.roll(order, -1), np.roll(order, 1)
    after[np.roll(first, -1) - 1] = order[first]
    ahead[first] = order[np.roll(first, -1) - 1]
    rings = np.empty((2, len(order)), np.int64)
    rings[:, order] = after, ahead
    return rings


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
        return (self.interface or "").startswith("SATA")

    @property
    def half_duplex(self) -> bool:
        """Whether reads and writes take turns on the link.

        Serial ATA has one frame under way, in one direction, while the other direction acknowledges it (Serial ATA
        specification, link layer). The others carry data both ways at a time: PCI Express is dual simplex (PCI Express
        Base Specification, 1.2), SAS and Fibre Channel full duplex (T10, SPL; T11, FC-FS).
        """
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
