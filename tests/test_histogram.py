"""Quantiles of parts of a run agree with those of the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tiersim.histogram import COARSE_BITS, FINE_BITS, bin_of, bins, coarse_quantiles_ns, quantile_ns

_DURATIONS = st.lists(st.integers(1, 10**9), min_size=1, max_size=80)


def histogram(durations_ns: list[int] | NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Count durations one by one."""
    return np.bincount([bin_of(int(one), bits) for one in durations_ns], minlength=bins(bits)).astype(np.int64)


@given(_DURATIONS, _DURATIONS, st.sampled_from((0.5, 0.95, 0.99)))
def test_a_quantile_of_the_whole_lies_between_those_of_its_parts(
    first: list[int], second: list[int], probability: float
) -> None:
    whole = histogram([*first, *second], FINE_BITS)
    parts = np.stack([histogram(part, COARSE_BITS) for part in (first, second)])
    low, high = sorted(coarse_quantiles_ns(parts, whole, probability))
    of_whole = quantile_ns(whole, probability * whole.sum())
    assert low * (1 - 1e-9) <= of_whole <= high * (1 + 1e-9)
    (same,) = coarse_quantiles_ns(parts.sum(axis=0)[None], whole, probability)
    assert same == pytest.approx(of_whole, rel=1e-9)


def test_a_quantile_of_a_part_is_that_of_its_samples() -> None:
    rng = np.random.default_rng(1)
    parts = [rng.lognormal(12, 0.5, 4000).astype(np.int64), rng.lognormal(12.1, 0.3, 4000).astype(np.int64)]
    coarse = np.stack([histogram(part, COARSE_BITS) for part in parts])
    found = coarse_quantiles_ns(coarse, histogram(np.concatenate(parts), FINE_BITS), 0.95)
    assert found == pytest.approx([np.quantile(part, 0.95) for part in parts], rel=0.01)


@given(_DURATIONS, st.sampled_from((0.5, 0.95, 0.99, 0.999, 1.0)))
def test_no_quantile_is_above_the_largest(durations: list[int], probability: float) -> None:
    fine, coarse = (histogram(durations, bits) for bits in (FINE_BITS, COARSE_BITS))
    assert quantile_ns(fine, probability * len(durations), max(durations)) <= max(durations)
    (of_part,) = coarse_quantiles_ns(coarse[None], fine, probability, max(durations))
    assert of_part <= max(durations)


def test_an_empty_part_has_no_quantile() -> None:
    empty, one = np.zeros(bins(COARSE_BITS), np.int64), histogram([1000], COARSE_BITS)
    found = coarse_quantiles_ns(np.stack([empty, one]), histogram([1000], FINE_BITS), 0.5)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(1000, rel=0.01)
    assert np.isnan(coarse_quantiles_ns(empty[None], histogram([], FINE_BITS), 0.5)).all()
