"""From hits that were counted, or sampled, at the sizes of a grid to a curve with its error."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Sizes = NDArray[np.int64]

#: No trace has more pages: of 8 KiB they are 8 EiB.
_LARGEST_OCTAVE = 50


def size_grid(asked: Iterable[int] = (), *, steps: int = 8) -> Sizes:
    """Return sizes in pages, ascending: every one up to *steps*, *steps* in each doubling from there on, and those
    *asked* for.

    *steps* is a power of two.
    """
    below = np.arange(1, steps, dtype=np.int64)
    within = np.arange(steps, 2 * steps, dtype=np.int64)
    octaves = np.arange(_LARGEST_OCTAVE - steps.bit_length())
    doubled = (within[None, :] << octaves[:, None]).ravel()
    return np.unique(np.concatenate([below, doubled, np.array(list(asked), np.int64)]))


Amounts = NDArray[np.float64]

#: Quantile 0.9 of Student's t with 1, 2, … degrees of freedom, so that the interval holds in 80 % of cases.
_STUDENT = (3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345, 1.341)
MOST_SAMPLES = len(_STUDENT) + 1


@dataclass(frozen=True)
class Counts:
    """Hits by size and class, of each of several samples of the pages in units of all references; exact where the only
    sample is the whole.
    """

    sizes: Sizes  # (points,), pages
    references: NDArray[np.int64]  # (classes,): all that there were
    sampled: Amounts  # (samples, classes): references that each sample stands for
    first: Amounts  # (samples, classes): of these, first references to a page
    hits: Amounts  # (samples, classes, points)
    pages: float  # distinct pages; those that samples stand for
    exact: bool


@dataclass(frozen=True)
class MissRatioCurve:
    """Which share of references misses at each size; *error* is the half-width of an 80 % interval, NaN where it is not
    known.

    ``plain`` are the misses of the samples by their own references, ``miss_ratio`` by as many references as they ought
    to have.
    """

    sizes: Sizes
    references: int
    miss_ratio: Amounts
    plain: Amounts
    error: Amounts
    compulsory: float  # share of references that are the first to their page, and miss in any cache


def curve_of(counts: Counts, classes: Sequence[int] | None = None) -> MissRatioCurve:
    """Return the curve of *classes* together, of all by default; NaN throughout where they have no references.

    A sample of pages that happens to hold a hot one too many has too many references. They all hit, so misses are
    divided by the references that the sample ought to have, which is known (SHARDS-adj: Waldspurger, Park, Garthwaite,
    Ahmad, FAST 2015). Where pages are asked for alike, as by scans, it is the other way round: misses grow with the
    sample, and dividing by its own references (``plain``) is closer.
    """
    chosen = np.arange(len(counts.references)) if classes is None else np.array(classes, np.int64)
    references = int(counts.references[chosen].sum())
    sampled = counts.sampled[:, chosen].sum(axis=1)
    missed = sampled[:, None] - counts.hits[:, chosen].sum(axis=1)
    samples = len(sampled)
    nothing = np.full(len(counts.sizes), np.nan)
    if not references:
        return MissRatioCurve(counts.sizes, 0, nothing, nothing, nothing, float("nan"))
    ratios = np.clip(missed / references, 0.0, 1.0)
    own = missed.sum(axis=0) / sampled.sum() if sampled.any() else nothing
    error = nothing
    if counts.exact:
        error = np.zeros(len(counts.sizes))
    elif samples > 1:
        error = _STUDENT[samples - 2] * ratios.std(axis=0, ddof=1) / np.sqrt(samples)
    compulsory = float(counts.first[:, chosen].sum(axis=1).mean() / references)
    return MissRatioCurve(counts.sizes, references, ratios.mean(axis=0), own, error, min(compulsory, 1.0))
