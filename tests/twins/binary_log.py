"""MySQL's binary log (docs/innodb.md; sql/binlog.cc, ordered_commit): a commit whose redo is durable waits for its
group.

The first of a group leads: it writes what all that are there have, in one piece, and syncs it if it is the group's
turn. Who comes meanwhile is of the next group: where no group is on its way, who flushed the redo goes alone, and those
who waited for that flush are the next group. (MySQL takes them along: it flushes the redo of the group that it has.) A
group that is synced, and with sync_binlog = 0 each, waits for company
before (binlog_group_commit_sync_delay).
"""

from tests.twins.clock import Clock, Process, Signal
from tests.twins.journal import Journal
from tiersim.simulator.database.wal.binary_log import BinaryLog

#: What comes at a time before rounds of the log's threads, whose station is a later one (docs/engines.md).
_OF_BINARY_LOG = -2


class Groups:
    """The volume takes *io_ns* for a write; a file that grows is changed by each."""

    def __init__(self, clock: Clock, settings: BinaryLog, io_ns: int, journal: Journal | None = None) -> None:
        self.clock, self.settings, self.io_ns = clock, settings, io_ns
        self.journal = journal or Journal(clock, io_ns)
        self.waiting: list[Signal] = []
        self.led = False
        self.groups = 0
        self.written: list[tuple[int, int]] = []  # when, transactions

    def commit(self) -> Process:
        """Wait until the group of a transaction is done."""
        mine = Signal()
        self.waiting.append(mine)
        if self.led:
            yield mine
        if mine in self.waiting:
            self.led = True
            yield from self._lead()
        else:
            yield self.clock.now + 1, _OF_BINARY_LOG

    def _lead(self) -> Process:
        self.groups += 1
        every = self.settings.sync_every
        is_synced = every > 0 and self.groups % every == 0
        waits_ns = self.settings.delay_ns if is_synced or every == 0 else 0
        yield self.clock.now + max(waits_ns, 1), -1  # before who comes at that time
        group, self.waiting = self.waiting, []
        if is_synced:
            self.written.append((self.clock.now, len(group)))
            yield self.clock.now + self.io_ns
            yield from self.journal.sync(self.clock.now)
        self.led = False
        for one in group[1:]:
            self.clock.set(one)
        if self.waiting:
            self.clock.set(self.waiting[0])
