"""What a synthesis is made from: intervals of the queries, and samples of sessions."""

from pathlib import Path

from tiersim.scenarios.calibration.synthesis.counted import Intervals
from tiersim.scenarios.calibration.synthesis.waits import Samples
from tiersim.traces.statistics import Snapshot


class Evidence:
    """Takes in the snapshots of a bundle; memory is that of its intervals and of two snapshots."""

    def __init__(self, path: Path) -> None:
        """Begin without any of the bundle at *path*."""
        self.path = path
        self.intervals = Intervals(path)
        self.samples = Samples()

    def add(self, snapshot: Snapshot) -> None:
        """Take in the next snapshot; raises TraceError for a value that cannot be."""
        self.intervals.add(snapshot)
        self.samples.add(snapshot)
