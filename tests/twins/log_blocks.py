"""SQL Server's transaction log: blocks, many of which are under way (docs/sqlserver.md)."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.twins.clock import Clock, Process, Signal
from tests.twins.stand_in import FLUSH, WRITE
from tiersim.simulator.database.wal.log_blocks import LogBlocks


@dataclass
class Block:
    """Log that is written together."""

    end: int
    size: int
    done: bool = False


@dataclass
class Blocks:
    """*io_ns* of a number of bytes is how long the volume takes for a write; it serves all at once."""

    clock: Clock
    settings: LogBlocks
    io_ns: Callable[[int], int]
    inserted: int = 0
    sent: int = 0  # up to where blocks are under way
    durable: int = 0
    under_way: list[Block] = field(default_factory=list)
    waiting: list[tuple[int, Signal]] = field(default_factory=list)
    writes: dict[Signal, Block] = field(default_factory=dict)  # of those that write one
    asked: list[tuple[int, int, int]] = field(default_factory=list)  # of the volume: when, what, bytes

    def insert(self, length: int) -> int:
        """Insert a record; return the position behind it."""
        self.inserted += length
        return self.inserted

    def commit(self, length: int) -> Process:
        """Insert a commit record; wait until all up to it is durable."""
        position = self.insert(length)
        if not self.settings.delayed_durability:
            yield from self.wait(position)

    def wait(self, position: int) -> Process:
        """Wait until the log is durable up to a position; who finds that nobody writes it does so."""
        if self.durable < position:
            mine = Signal()
            self.waiting.append((position, mine))
            self._go_on()
            yield mine
            block = self.writes.pop(mine, None)
            if block is not None:
                yield from self._write(position, block)
                if self.durable < position:
                    yield from self.wait(position)
                return
        yield self.clock.now + 1

    def _go_on(self) -> None:
        """Let those go whose log is durable; give the next block to the first whose log is not on its way."""
        for one in [one for one in self.waiting if one[0] <= self.durable]:
            self.waiting.remove(one)
            self.clock.set(one[1])
        limits = self.settings
        for one in list(self.waiting):
            end = min(self.inserted, self.sent + limits.largest_block_bytes)
            size = -(-(end - self.sent) // limits.sector_bytes) * limits.sector_bytes
            writing = [block.size for block in self.under_way if not block.done]
            if len(writing) == limits.most_writes or (writing and sum(writing) + size > limits.most_bytes):
                return
            if one[0] > self.sent:
                self.sent = end
                self.waiting.remove(one)
                self.writes[one[1]] = Block(end, size)
                self.under_way.append(self.writes[one[1]])
                self.clock.set(one[1])

    def _write(self, position: int, block: Block) -> Process:
        yield self.clock.now + 1
        if position > self.sent:  # another block takes the rest
            self.clock.at(self.clock.now, self.wait(position))
        for what, size in ((WRITE, block.size), (FLUSH, 0)):
            self.asked.append((self.clock.now, what, size))
            yield self.clock.now + self.io_ns(size)
        block.done = True
        while self.under_way and self.under_way[0].done:
            self.durable = self.under_way.pop(0).end
        self._go_on()
