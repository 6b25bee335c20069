"""What is asked of a curve: policy, samples, sizes, whose curves are told apart."""

import re
from dataclasses import dataclass

from tiersim.errors import ScenarioError, did_you_mean
from tiersim.simulator.policies import POLICIES
from tiersim.units import parse_bytes

LRU = "lru"
#: What curves are told apart by.
KINDS = ("relation", "query", "operation")
#: More sizes are a slip of the finger.
_MOST_SIZES = 1000
_RANGE = re.compile(r"(?P<first>[^.]+(?:\.\d+[^.]*)?)\.\.(?P<last>[^*+]+)(?:(?P<how>[*+])(?P<by>.+))?")


@dataclass(frozen=True)
class Asked:
    """*rate*: the share of the pages that each sample has; *most_pages*: how many it has at most; neither: all references are taken."""

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
                raise ScenarioError(f"curves are told apart by {', '.join(KINDS)}, not by {kind!r}")
        if self.rate is not None and not 0 < self.rate <= 1:
            raise ScenarioError(
                f"--sample {self.rate:g}: is no share of the pages; take more than 0 and 1 at most, such as 0.01"
            )
        if self.rate is not None and self.most_pages is not None:
            raise ScenarioError("a sample is a share of the pages, or a number of pages at most; give one of both")
        if self.most_pages is not None and self.policy != LRU:
            raise ScenarioError(
                f"a sample of a number of pages is for LRU, whose distances can be counted while it shrinks; for {self.policy} take a share (--sample 0.1)"
            )


def parse_sizes(text: str) -> tuple[int, ...]:
    """Read ``A..B`` (doubles), ``A..B+STEP``, ``A..B*FACTOR`` or ``a,b,c``, in bytes, ascending; raises ScenarioError naming the text.

    >>> parse_sizes("1 GiB..4GiB, 3 GiB")
    (1073741824, 2147483648, 3221225472, 4294967296)
    """
    try:
        sizes = {size for part in text.split(",") for size in _sizes_of(part.strip())}
    except ValueError as error:
        raise ScenarioError(f"--sizes {text}: {error}") from None
    return tuple(sorted(sizes))


def _sizes_of(part: str) -> list[int]:
    found = _RANGE.fullmatch(part)
    if not found:
        return [_positive(part)]
    first, last = _positive(found["first"]), _positive(found["last"])
    if first > last:
        raise ValueError(f"{part!r} ends below its beginning; write the smaller one first")
    step = _positive(found["by"]) if found["how"] == "+" else 0
    factor = 2.0 if found["how"] != "*" else _factor(found["by"])
    sizes, size = [], float(first)
    while size <= last:
        sizes.append(round(size))
        if len(sizes) > _MOST_SIZES:
            raise ValueError(f"{part!r} has more than {_MOST_SIZES:,} sizes; take larger steps")
        size = size + step if step else size * factor
    return sizes


def _positive(text: str) -> int:
    size = parse_bytes(text)
    if size < 1:
        raise ValueError(f"{text!r} holds nothing; give a size above 0")
    return size


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 1 < factor < float("inf"):
        raise ValueError(f"{text!r} is no factor above 1; write for example 1GiB..64GiB*1.5")
    return factor
