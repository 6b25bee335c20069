"""PostgreSQL's checkpointer, with direct I/O or through the OS page cache (docs/wal.md)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby

from tests.twins.clock import Clock, Process
from tests.twins.wal import Wal
from tests.twins.write_back import WriteBack
from tiersim.simulator.database.checkpoint.checkpointer import Checkpoints


@dataclass
class Checkpoint:
    """What became of one."""

    start_ns: int
    by_log: bool
    redo: int
    pages: int
    written_pages: int = 0
    written_ns: int = 0
    end_ns: int = 0


@dataclass
class Checkpointer:
    """Writes *dirty* pages, each in *io_ns*; *file_of* a page says what is synced, which takes as long. Files with
    higher numbers were made earlier: the table before its index.
    """

    clock: Clock
    settings: Checkpoints
    wal: Wal
    dirty: set[int]
    file_of: Callable[[int], int]
    io_ns: int
    cache: WriteBack | None = None
    done: list[Checkpoint] = field(default_factory=list)
    writes: list[tuple[int, int]] = field(default_factory=list)  # when, and the page
    written_files: set[int] = field(default_factory=set)
    pending: list[int] = field(default_factory=list)  # pages whose writing back is to be asked for
    begun: int = 0
    runs: bool = False
    wanted: bool | None = None  # why another one begins behind that which runs

    def start(self) -> None:
        """Be there from the beginning, when the last checkpoint began some time ago."""
        self.wal.ask = self.ask
        self.redo = 0
        self.clock.at(0, self._timer(self.settings.timeout_ns - self.settings.since_ns))

    def _timer(self, due_ns: int) -> Process:
        mine = self.begun
        yield max(due_ns, 1)
        if self.begun == mine:
            yield from self._asked(by_log=False)

    def ask(self, segment: int) -> None:
        """A segment of the log is full."""
        if segment >= self.redo // self.wal.settings.segment_bytes + self.settings.segments - 1:
            self.clock.at(self.clock.now + 1, self._asked(by_log=True))

    def _asked(self, by_log: bool) -> Process:
        if self.runs:
            self.wanted = by_log
            return
        self.runs = True
        yield from self._run(by_log)
        while self.wanted is not None:
            yield self.clock.now + 1
            yield from self._run(bool(self.wanted))
        self.runs = False

    def _run(self, by_log: bool) -> Process:
        start = self.clock.now
        self.begun += 1
        self.wanted = None
        self.clock.at(start, self._timer(start + self.settings.timeout_ns))
        if self.redo == self.wal.inserted:
            return
        self.redo = self.wal.inserted
        self.wal.changed.clear()
        marked = sorted(self.dirty, key=lambda page: (-self.file_of(page), page))
        one = Checkpoint(start, by_log, self.redo, len(marked))
        for processed, page in enumerate(marked, 1):
            if page not in self.dirty:
                continue
            yield from self.wal.flush(self.wal.position_of.get(page, 0))
            yield from self._write(page)
            one.written_pages += 1
            if self._is_ahead(processed / len(marked), start):
                yield self.clock.now + self.settings.nap_ns
        one.written_ns = self.clock.now
        if self.pending:
            yield from self._hand_on()
        for file in sorted(self.written_files):
            yield from self._sync(file)
        self.written_files.clear()
        one.end_ns = self.clock.now
        self.done.append(one)

    def _write(self, page: int) -> Process:
        self.dirty.discard(page)
        self.written_files.add(self.file_of(page))
        self.writes.append((self.clock.now, page))
        if self.cache is None:
            yield self.clock.now + self.io_ns
            return
        yield from self.cache.write(page)
        if self.settings.flush_after_pages:
            self.pending.append(page)
        if len(self.pending) == self.settings.flush_after_pages > 0:
            yield from self._hand_on()

    def _hand_on(self) -> Process:
        """Let the pages be written back, neighbours of a file together."""
        yield self.clock.now + 1
        assert self.cache is not None
        for _, pages in groupby(self.pending, self.file_of):
            self.cache.fill(pages)
        self.pending.clear()

    def _sync(self, file: int) -> Process:
        if self.cache is None:
            yield self.clock.now + self.io_ns
        else:
            yield from self.cache.sync(lambda page: self.file_of(page) == file)

    def _is_ahead(self, progress: float, start: int) -> bool:
        progress *= self.settings.completion_target
        log = (self.wal.inserted - self.redo) / self.wal.settings.segment_bytes / self.settings.segments
        return progress >= log and progress >= (self.clock.now - start) / self.settings.timeout_ns
