"""The counters of a bundle, read once: what they come to over the recording, for all that ask."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from tiersim.scenarios.calibration.drift import Drift
from tiersim.traces.differences import Differences, Differencing
from tiersim.traces.statistics import Snapshot, Values, read_snapshots


class Gathering(Protocol):
    """What takes in snapshots one after the other, in order of time."""

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot."""


class Counters:
    """What the snapshots of a bundle come to; none of them is kept.

    ``pool`` is what the buffer pool held when somebody first looked, by entity; empty if nobody did. ``drift`` says
    whether the load changed.
    """

    def __init__(self, path: Path) -> None:
        """Begin without any."""
        self.path = path
        self.pool: Mapping[str, Values] = {}
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
        said = sorted((*key, sorted((k, str(v)) for k, v in values.items())) for key, values in snapshot.values.items())
        self._digest.update(json.dumps([snapshot.time_ns, said]).encode())


def read_counters(path: Path, *others: Gathering) -> Counters:
    """Read the counters of the bundle at *path*, for *others*, too; raises TraceError naming what is wrong."""
    counters = Counters(path)
    for snapshot in read_snapshots(path):
        counters.add(snapshot)
        for other in others:
            other.add(snapshot)
    return counters
