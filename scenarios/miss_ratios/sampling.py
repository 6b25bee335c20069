"""What is asked of a curve: policy, samples, sizes, whose curves are told apart."""

from dataclasses import dataclass

from tiersim.errors import ScenarioError, did_you_mean
from tiersim.scenarios.sweeps.axes import parse_values
from tiersim.simulator.policies import POLICIES

LRU = "lru"
#: What curves are told apart by.
KINDS = ("relation", "query", "operation")


@dataclass(frozen=True)
class Sampling:
    """*rate*: the share of the pages that each sample has; *most_pages*: how many it has at most; neither: all
    references are taken.
    """

    policy: str = LRU
    rate: float | None = None
    most_pages: int | None = None
    samples: int = 8
    seed: int = 1
    sizes_bytes: tuple[int, ...] = ()  # none: as many as show the curve
    by: tuple[str, ...] = ("relation", "operation")
    workers: int = 1

    def __post_init__(self) -> None:
        """Raise ScenarioError for what cannot be asked."""
        if self.policy not in POLICIES:
            known = ", ".join(POLICIES)
            raise ScenarioError(
                f"{self.policy!r} is no replacement policy{did_you_mean(self.policy, POLICIES)}; known are {known}"
            )
        for kind in self.by:
            if kind not in KINDS:
                raise ScenarioError(f"--by {kind}: is not one of {', '.join(KINDS)}; write one of these")
        if self.rate is not None and not 0 < self.rate <= 1:
            raise ScenarioError(
                f"--sample {self.rate:g}: is no share of the pages; take more than 0 and 1 at most, such as 0.01"
            )
        if self.rate is not None and self.most_pages is not None:
            raise ScenarioError("a sample is a share of the pages or a largest number of pages; give only one of them")
        if self.most_pages is not None and self.policy != LRU:
            raise ScenarioError(
                "a sample of a number of pages is for LRU, whose distances can be counted while it shrinks; for"
                f" {self.policy} take a share (--sample 0.1)"
            )


def parse_sizes(text: str) -> tuple[int, ...]:
    """Read sizes of caches as values of a sweep are written, in bytes, ascending; raises ScenarioError naming the text.

    >>> parse_sizes("1 GiB..4GiB, 3 GiB")
    (1073741824, 2147483648, 3221225472, 4294967296)
    """
    found = parse_values(f"--sizes {text}", "sizes", text)
    if found.numbers is None or found.unit != "bytes" or min(found.numbers) < 1:
        raise ScenarioError(
            f"--sizes {text}: is no list of sizes above 0; write for example 1GiB..64GiB, or 8GiB,12GiB"
        )
    return tuple(sorted(map(int, found.numbers)))
