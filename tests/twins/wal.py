"""PostgreSQL's log: one flush at a time, which commits that come meanwhile share next (docs/wal.md)."""

from collections.abc import Callable, Sequence

from tests.twins.clock import Clock, Process, Signal
from tests.twins.journal import FileOfOneLength
from tests.twins.processors import Processors
from tiersim.simulator.database.wal.log import Log

#: Place of who begins to write among those that go on at the same time: slices, behind which records are inserted, end
#: at -1.
_BEFORE_INSERTS = -2


class Wal:
    """The log volume takes *io_ns* for a write, and as long for a flush, and serves one at a time; the *file* may be
    one of a file system with a journal.
    """

    def __init__(
        self,
        clock: Clock,
        settings: Log,
        io_ns: int,
        processors: Processors,
        log_io_ns: int = 0,
        file: FileOfOneLength | None = None,
    ) -> None:
        self.clock, self.settings, self.io_ns = clock, settings, io_ns
        self.processors, self.log_io_ns, self.file = processors, log_io_ns, file
        self.inserted = self.flushed = self.flushes = self.written_bytes = 0
        self.flushing = False
        self.awake = False  # the log writer comes when its time is over
        kept = -(-settings.most_kept_bytes // settings.segment_bytes)
        self.files = None if settings.most_kept_bytes == 0 else set(range(kept))
        self.waiting: list[Signal] = []
        self.changed: set[int] = set()
        self.position_of: dict[int, int] = {}
        self.ask: Callable[[int], None] = lambda segment: None

    def insert(self, length: int) -> int:
        """Insert a record; return the position behind it."""
        self.inserted += length
        return self.inserted

    def change(self, page: int, length: int) -> None:
        """Insert the record of a changed page; before the first one goes the page's image."""
        if self.settings.full_page_writes and page not in self.changed:
            self.changed.add(page)
            self.inserted += self.settings.image_bytes
        self.position_of[page] = self.insert(length)

    def hint(self, page: int) -> None:
        """Insert the image of a clean page that a hint changes, where these are wanted."""
        if self.settings.hint_images and self.settings.full_page_writes and page not in self.changed:
            self.changed.add(page)
            self.position_of[page] = self.insert(self.settings.image_bytes)

    def commit(self, length: int) -> Process:
        """Insert a commit record and wait until it is durable."""
        yield from self.flush(self.insert(length))

    def commit_later(self, length: int) -> Process:
        """Insert a commit record that the log writer makes durable, at once if enough whole blocks wait for it."""
        self.insert(length)
        yield self.clock.now + 1
        block, enough = self.settings.block_bytes, self.settings.writer_flush_bytes
        if not self.awake:
            self._call_writer()
        elif enough and not self.flushing and (self.inserted // block - self.flushed // block) * block >= enough:
            self.clock.at(self.clock.now + 1, self._write_later(timed=False), _BEFORE_INSERTS)

    def _call_writer(self) -> None:
        self.awake = True
        delay = self.settings.writer_delay_ns
        self.clock.at((self.clock.now // delay + 1) * delay, self._write_later(timed=True), _BEFORE_INSERTS)

    def _write_later(self, timed: bool) -> Process:
        if timed:
            self.awake = False
        if self.flushed < self.inserted and not self.flushing:
            self.flushing = True
            yield from self._write()
            self.flushing = False
        if self.flushed < self.inserted and not self.awake:
            self._call_writer()

    def flush(self, position: int) -> Process:
        """Wait until the log is durable up to a position."""
        if self.flushed >= position:
            return
        while self.flushed < position:
            if not self.flushing:
                self.flushing = True
                yield self.clock.now + 1, -1  # before who inserts at that time
                yield from self._write()
                self.flushing = False
                woken, self.waiting = self.waiting, []
                for one in woken:
                    self.clock.set(one)
                return
            mine = Signal()
            self.waiting.append(mine)
            yield mine
        yield self.clock.now + 1

    def _write(self) -> Process:
        for end in self._ends():
            yield from self._make_file(self.flushed // self.settings.segment_bytes)
            block = self.settings.block_bytes
            self.written_bytes += (-(-end // block) - self.flushed // block) * block
            yield self.clock.now + self.io_ns
            yield from self._io_processor()
            yield from self._flush()
            yield from self._io_processor()
            self.flushed = end
            self.flushes += 1
            if end % self.settings.segment_bytes == 0:
                self.ask(end // self.settings.segment_bytes - 1)

    def _make_file(self, segment: int) -> Process:
        """Fill the file of a segment that has none, and sync it, it again, it by its name, its directory."""
        if self.files is None or segment in self.files:
            return
        self.files.add(segment)
        yield self.clock.now + self.io_ns
        for _ in range(4):
            yield self.clock.now + self.io_ns

    def _flush(self) -> Process:
        if self.file is None:
            yield self.clock.now + self.io_ns
        else:
            yield from self.file.sync()

    def _ends(self) -> Sequence[int]:
        """Return the ends of segments on the way, and what is inserted."""
        segment = self.settings.segment_bytes
        ends = range((self.flushed // segment + 1) * segment, self.inserted, segment)
        return [*ends, self.inserted]

    def _io_processor(self) -> Process:
        if self.log_io_ns:
            yield from self.processors.use(self.log_io_ns, first=True)
