"""The counters of a bundle, read once: what they come to over the recording, and whether the load changed in it.

Which tables the texts of queries name, found word by word: neither tables nor texts are gone through once for each
of the others.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Protocol

from tiersim.traces.differences import Differences, Differencing
from tiersim.traces.statistics import Snapshot, Values, read_snapshots

_WORDS = re.compile(r"\w+")


class NamedTables:
    """Tables that texts may name, as ``schema.table`` or by the name alone, in any case."""

    def __init__(self, tables: Iterable[str]) -> None:
        """Note *tables* under the first word of their names without a schema."""
        self._of_word: dict[str, list[tuple[str, re.Pattern[str] | None]]] = {}
        for table in tables:
            bare = table.rpartition(".")[2].lower()
            first = _WORDS.search(bare)
            # a name that is not one word has to stand in the text as it is
            whole = None if first and first[0] == bare else re.compile(rf"\b{re.escape(bare)}\b")
            self._of_word.setdefault(first[0] if first else "", []).append((table, whole))

    def within(self, text: str) -> list[str]:
        """Return the tables that *text* names, in no order that means anything.

        >>> NamedTables(["public.orders", "public.order-lines", "lines"]).within('SELECT * FROM "Order-Lines" JOIN
        orders')
        ['public.order-lines', 'public.orders']
        """
        text = text.lower()
        return [
            table
            for word in sorted({*_WORDS.findall(text), ""} & self._of_word.keys())
            for table, whole in self._of_word[word]
            if whole is None or whole.search(text)
        ]


class Gathering(Protocol):
    """What takes in snapshots one after the other, in order of time."""

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot."""


class Counters:
    """What the snapshots of a bundle come to; none of them is kept.

    ``pool`` is what the buffer pool held when somebody first looked, by entity, ``log`` what was said of the log then;
    empty if nobody did. ``drift`` says whether the load changed.
    """

    def __init__(self, path: Path) -> None:
        """Begin without any."""
        self.path = path
        self.pool: Mapping[str, Values] = {}
        self.log: Values = {}
        self.drift = Drift()
        self._differencing = Differencing()
        self._digest = hashlib.blake2b(digest_size=16)

    @property
    def found(self) -> Differences:
        """What counters grew by over the whole recording."""
        return self._differencing.found

    def digest(self) -> "hashlib.blake2b":
        """Return a hash of all snapshots that can be continued."""
        return self._digest.copy()

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot."""
        self._differencing.add(snapshot)
        self.drift.add(snapshot)
        if not self.pool:
            self.pool = {entity: values for (subject, entity), values in snapshot.values.items() if subject == "pool"}
        if not self.log:
            self.log = snapshot.values.get(("log", "log"), {})
        said = sorted((*key, sorted((k, str(v)) for k, v in values.items())) for key, values in snapshot.values.items())
        self._digest.update(json.dumps([snapshot.time_ns, said]).encode())


def read_counters(
    path: Path, *others: Gathering, prepare: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot
) -> Counters:
    """Read the counters of the bundle at *path*, for *others*, too, as *prepare* gives each snapshot; raises TraceError
    naming what is wrong.
    """
    counters = Counters(path)
    for snapshot in map(prepare, read_snapshots(path)):
        counters.add(snapshot)
        for other in others:
            other.add(snapshot)
    return counters


#: What differs by a smaller share, or by fewer standard deviations of its count, did not change.
_CHANGED, _DEVIATIONS = 0.15, 3.0
#: So many snapshots have a first third and a last.
_SNAPSHOTS = 4


@dataclass
class Drift:
    """Takes in snapshots of a server's databases, one after the other: times in ns, and transactions and pages missed
    until then.
    """

    _seen: list[tuple[int, float, float]] = field(default_factory=list)

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot; one without databases or time says nothing."""
        databases = {entity: values for (subject, entity), values in snapshot.values.items() if subject == "database"}
        apart = [values for entity, values in databases.items() if entity != "*"] or list(databases.values())
        transactions = sum(_number(one, "commits") or _number(one, "transactions") for one in apart)
        if transactions and snapshot.time_ns is not None:
            self._seen.append((snapshot.time_ns, transactions, sum(_number(one, "pages_read") for one in apart)))

    @property
    def said(self) -> tuple[str, ...]:
        """Say what changed from the first third to the last; nothing where nobody looked in between, or counters began
        anew.
        """
        if len(self._seen) < _SNAPSHOTS or any(
            b[place] < a[place] for a, b in zip(self._seen, self._seen[1:], strict=False) for place in (1, 2)
        ):
            return ()
        begun, ended = self._seen[0], self._seen[-1]
        third_ns = (ended[0] - begun[0]) / 3
        until = min(self._seen[1:], key=lambda one: abs(one[0] - begun[0] - third_ns))
        since = min(self._seen[:-1], key=lambda one: abs(ended[0] - one[0] - third_ns))
        parts = [
            (until[0] - begun[0], until[1] - begun[1], until[2] - begun[2]),
            (ended[0] - since[0], ended[1] - since[1], ended[2] - since[2]),
        ]
        if until[0] > since[0] or not all(count and span for span, count, _ in parts):
            return ()
        found = []
        rates = [count / span * 1e9 for span, count, _ in parts]
        if _differ(rates, [count for _, count, _ in parts]):
            found.append(f"{rates[0]:,.0f} transactions/s in its first third, {rates[1]:,.0f} in its last")
        misses = [read / count for _, count, read in parts]
        if _differ(misses, [read for *_, read in parts]):
            found.append(
                f"{misses[0]:.3g} pages missed per transaction in its first third, {misses[1]:.3g} in its last"
            )
        remedy = "; it is simulated as one steady load: record while the load is steady"
        return (f"the recorded load changed: {'; '.join(found)}{remedy}",) if found else ()


def _number(values: Values, name: str) -> float:
    return float(values.get(name) or 0)


def _differ(both: list[float], counts: list[float]) -> bool:
    """Tell whether two figures differ by more than chance, and by enough to matter."""
    if not all(both):
        return any(count > _DEVIATIONS**2 for count in counts)
    apart = abs(both[1] / both[0] - 1)
    return apart > max(_CHANGED, _DEVIATIONS * sqrt(sum(1 / max(count, 1) for count in counts)))


def of_log(found: Differences, name: str) -> float:
    """Return how much a counter of the log grew, whichever view had it: pg_stat_wal, or pg_stat_io
    from version 18 on.
    """
    changes = [*found.of("log").values(), *(c for entity, c in found.of("io").items() if "/wal/" in entity)]
    return sum(float(change.number(name) or 0) for change in changes)
