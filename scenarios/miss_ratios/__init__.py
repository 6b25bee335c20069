"""What a cache of each size would miss of a recording: ``tiersim mrc`` (``docs/mrc.md``)."""

from tiersim.scenarios.miss_ratios.document import miss_ratios
from tiersim.scenarios.miss_ratios.sampling import KINDS, Sampling, parse_sizes

__all__ = ["KINDS", "Sampling", "miss_ratios", "parse_sizes"]
