"""The pairing of blktrace events once more, written to be read: lists instead of hash tables, no
streaming, no limits.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from tests.blktrace_records import C, D, Q, R, X

SECTOR_BYTES = 512
HOLE_SECTORS = 8


@dataclass(frozen=True)
class Event:
    action: int
    time_ns: int
    device: int
    sector: int
    sectors: int
    rwbs: str  # letters as in tests.blktrace_records.categories
    cut: int = 0

    @property
    def op(self) -> str:
        return "discard" if "D" in self.rwbs else "write" if "W" in self.rwbs else "read"


@dataclass(eq=False)
class Row:
    time_ns: int
    device: int
    op: str
    first: int
    end: int
    fua: bool = False
    preflush: bool = False
    postflush: bool = False
    own: bool = False  # a flush that a bio waits for
    ghost: bool = False  # the recording has no Q of it
    start: int = 0  # first sector that is not completed
    issued_sectors: int = 0
    issue_ns: int = -1
    command: int = -1
    done_ns: int = -1
    state: str = "queued"
    flush: "Row | None" = None

    def __post_init__(self) -> None:
        self.start = self.first


@dataclass
class Pairing:
    """Rows in the order in which they were made; *open* in the order in which they came to where they are."""

    rows: list[Row] = field(default_factory=list)
    open: list[Row] = field(default_factory=list)
    queue_seen: bool = False
    without_command: int = 0
    without_bio: int = 0
    command: int = 0

    def add(self, row: Row) -> Row:
        self.rows.append(row)
        self.open.append(row)
        return row

    def move_to_end(self, row: Row) -> None:
        self.open.remove(row)
        self.open.append(row)

    def close(self, row: Row, state: str = "done") -> None:
        self.open.remove(row)
        row.state = state

    def flushes(self, device: int, state: str) -> list[Row]:
        return [row for row in self.open if row.op == "flush" and row.device == device and row.state == state]

    def next_command(self) -> int:
        self.command += 1
        return self.command - 1

    # --- Q and X

    def bio(self, time_ns: int, device: int, op: str, first: int, end: int, fua: bool, preflush: bool) -> None:
        flush = self.add(Row(time_ns, device, "flush", 0, 0)) if preflush else None
        self.add(Row(time_ns, device, op, first, end, fua=fua, preflush=preflush, flush=flush))

    def queue(self, event: Event) -> None:
        self.queue_seen = True
        preflush, fua = "F" in event.rwbs, "U" in event.rwbs
        if event.sectors:
            self.bio(event.time_ns, event.device, event.op, event.sector, event.sector + event.sectors, fua, preflush)
        elif preflush:
            self.add(Row(event.time_ns, event.device, "flush", 0, 0, own=True))

    def split(self, event: Event) -> None:
        for row in self.open:
            if self.is_at(row, event, event.sector, "queued") and event.sector < event.cut < row.end:
                end, row.end = row.end, event.cut
                self.bio(row.time_ns, row.device, row.op, event.cut, end, row.fua, row.preflush)
                self.rows[-1].ghost = row.ghost
                return

    # --- ranges

    @staticmethod
    def is_at(row: Row, event: Event, place: int, state: str) -> bool:
        return (row.device, row.op, row.start, row.state) == (event.device, event.op, place, state)

    def queued_in(self, event: Event) -> list[Row]:
        """The queued rows that lie in the range one behind the other; exact fits, then first come, first served."""
        found = []
        place, end = event.sector, event.sector + event.sectors
        while place < end:
            here = [row for row in self.open if self.is_at(row, event, place, "queued") and row.end <= end]
            exact = [row for row in here if row.end == end]
            if here:
                found.append((exact or here)[0])
                place = found[-1].end
            else:
                place += HOLE_SECTORS
        return found

    def issued_in(self, event: Event) -> list[Row]:
        """The rows in the range that belong to one command."""
        found: list[Row] = []
        place, end = event.sector, event.sector + event.sectors
        while place < end:
            here = [row for row in self.open if self.is_at(row, event, place, "issued")]
            if found:
                here = [row for row in here if row.command == found[0].command]
                exact = here
            else:
                exact = [row for row in here if row.issued_sectors == end - place]
            if here:
                found.append((exact or here)[0])
                place = found[-1].end
            else:
                place += HOLE_SECTORS
        return found

    # --- D and R

    def issue(self, event: Event) -> None:
        if event.sectors == 0:
            if "F" in event.rwbs:
                self.issue_flush(event)
            return
        rows = self.queued_in(event)
        if not rows:
            self.without_bio += 1
            end = event.sector + event.sectors
            rows = [self.add(Row(event.time_ns, event.device, event.op, event.sector, end, ghost=True))]
        command = self.next_command()
        for row in rows:
            row.state, row.issue_ns, row.command, row.issued_sectors = "issued", event.time_ns, command, event.sectors
            row.preflush &= "F" not in event.rwbs
            row.postflush = row.fua and "U" not in event.rwbs
            self.drop_flush_without_command(row)

    def drop_flush_without_command(self, row: Row) -> None:
        if row.flush and row.flush.state == "queued":
            self.close(row.flush, "dropped")

    def issue_flush(self, event: Event) -> None:
        rows = self.flushes(event.device, "queued")
        if not rows:
            flying = self.flushes(event.device, "issued")
            shared = [row for before, row in pairwise(flying) if before.command == row.command]
            rows = shared[-1:]
        if not rows:
            self.without_bio += 1
            rows = [self.add(Row(event.time_ns, event.device, "flush", 0, 0, ghost=True))]
        command = self.next_command()
        for row in rows:
            row.state, row.issue_ns, row.command = "issued", event.time_ns, command
            self.move_to_end(row)

    def requeue(self, event: Event) -> None:
        if event.sectors:
            rows = self.issued_in(event)
        elif "F" in event.rwbs:
            flying = self.flushes(event.device, "issued")
            latest = max((row.command for row in flying), default=-1)
            rows = [row for row in flying if row.command == latest]
            for row in rows:
                self.move_to_end(row)
        else:
            return
        self.without_command += not rows
        for row in rows:
            row.state, row.issue_ns, row.command = "queued", -1, -1

    # --- C

    def complete(self, event: Event) -> None:
        if event.sectors == 0:
            self.complete_without_data(event)
            return
        rows = self.issued_in(event)
        if not rows:
            rows = self.queued_in(event)
            command = self.next_command() if rows else -1
            for row in rows:
                row.command = command
        self.without_command += not rows
        end = event.sector + event.sectors
        for row in rows:
            if row.end <= end:
                self.finish(row, event.time_ns)
            else:
                row.start = end
                self.move_to_end(row)

    def finish(self, row: Row, time_ns: int) -> None:
        row.done_ns = time_ns
        if row.state == "issued" and (row.preflush or row.postflush):
            row.state = "ending"
            if row.postflush:
                row.flush = self.add(Row(row.time_ns, row.device, "flush", 0, 0))
            self.move_to_end(row)
        else:
            self.drop_flush_without_command(row)
            self.close(row)

    def complete_without_data(self, event: Event) -> None:
        flying = self.flushes(event.device, "issued")
        if "F" in event.rwbs and flying:
            for row in flying:
                if row.command == flying[0].command:
                    row.done_ns = event.time_ns
                    if row.own:
                        row.state = "ending"
                        self.move_to_end(row)
                    else:
                        self.close(row)
            return
        if "F" in event.rwbs and "W" not in event.rwbs:
            self.without_command += 1
            return
        ending = [row for row in self.open if row.device == event.device and row.state == "ending"]
        here = [row for row in ending if row.op != "flush" and event.sector in (row.first, row.end)]
        alone = [row for row in self.flushes(event.device, "queued") if row.own and "F" in event.rwbs]
        chosen = (here or [row for row in ending if row.op == "flush"] or alone)[:1]
        self.without_bio += not chosen
        for row in chosen:
            if row.state == "queued":
                row.command = self.next_command()
            row.done_ns = event.time_ns
            self.drop_flush_without_command(row)
            self.close(row)


def pair(events: Iterable[Event]) -> Pairing:
    """Pair *events*, which are in time order."""
    pairing = Pairing()
    handlers = {Q: pairing.queue, X: pairing.split, D: pairing.issue, R: pairing.requeue, C: pairing.complete}
    for event in events:
        handlers[event.action](event)
    return pairing


def table(pairing: Pairing) -> list[tuple[int, str, int, int, int, int, int, int]]:
    """Return (queued, op, device, offset, length, issue, command, completion) of each request, by queue time.

    Ghosts are requests only where nothing was seen when it was queued.
    """
    rows = [row for row in pairing.rows if row.ghost != pairing.queue_seen and row.state != "dropped"]
    rows.sort(key=lambda row: row.time_ns)
    return [
        (
            row.time_ns,
            row.op,
            row.device,
            row.first * SECTOR_BYTES,
            (row.end - row.first) * SECTOR_BYTES,
            row.issue_ns,
            row.command,
            row.done_ns,
        )
        for row in rows
    ]
