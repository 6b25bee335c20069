"""The two coefficients of Johnson's bounded system with which a sample has a given mean and variance: Newton's method
within brackets.

Both searches are of logits, which are nearly linear: that of the mean in the shift; that of the variance, as a share of
the most that it can be, in the logarithm of the steepness (its slope is 2 where the sample is narrow, and about 1 where
nearly all of it is at the bounds). A step that leaves its bracket is replaced by half of that.
"""

import math
from typing import Any

from tiersim.kernel import kernel

#: Scores that are nearer to each other than the inverse of this are not drawn apart.
_STEEPEST = 1e6
#: How near mean and variance are met, as shares of them.
_MEAN_TOLERANCE, _VARIANCE_TOLERANCE = 1e-12, 1e-10
_MOST_STEPS = 64


@kernel
def place_between_bounds(values: Any, place: float, variance: float, most_variance: float) -> None:
    """Replace scores by places in [0, 1], in their order, with mean *place* and *variance* as far as their ties allow.

    values : float64[n], with mean 0 and standard deviation 1; 0 < *place* ≤ 1/2; 0 < *variance* < *most_variance*, with
    as many as possible at the bounds and one between.
    """
    reach = 0.0
    for index in range(values.size):
        value = values[index]
        reach = max(reach, abs(value))
    # no slope of a logistic is more than a quarter
    low, high = math.log(4 * math.sqrt(variance)), math.log(_STEEPEST)
    wanted = math.log(variance) - math.log(most_variance - variance)
    logarithm = min(max(math.log(variance) / 2 - math.log(place), low), high)
    tried_steepest = False
    steepness = math.exp(logarithm)
    shift, found, slope, turn = _centred(values, steepness, math.log(place), place, reach)
    for _ in range(_MOST_STEPS):
        if abs(found - variance) <= _VARIANCE_TOLERANCE * variance or (logarithm == high and found < variance):
            break
        if found < variance:
            low = logarithm
        else:
            high, tried_steepest = logarithm, True
        following = low
        if 0 < found < most_variance and slope > 0:
            error = math.log(found) - math.log(most_variance - found) - wanted
            following = logarithm - error * found * (1 - found / most_variance) / (slope * steepness)
        if following >= high and not tried_steepest:
            following, tried_steepest = high, True
        elif not low < following < high:
            following = (low + high) / 2
            if not low < following < high:
                break
        logarithm, before, steepness = following, steepness, math.exp(following)
        shift, found, slope, turn = _centred(values, steepness, shift + turn * (steepness - before), place, reach)
    for index in range(values.size):
        values[index] = _logistic(steepness * values[index] + shift)


@kernel
def _centred(
    values: Any, steepness: float, shift: float, place: float, reach: float
) -> tuple[float, float, float, float]:
    """Return the shift with which the mean is *place*, begun at *shift*; the variance, its slope by the steepness, and
    that of the shift.
    """
    middle = math.log(place) - math.log1p(-place)
    low, high = middle - steepness * reach, middle + steepness * reach
    if not low < shift < high:
        shift = middle
    beyond, variance, slope, turn = 0.0, 0.0, 0.0, 0.0
    for _ in range(_MOST_STEPS):
        beyond, variance, rise, slope, turn = _moments(values, steepness, shift, place)
        if abs(beyond) <= _MEAN_TOLERANCE * place:
            break
        if beyond < 0:
            low = shift
        else:
            high = shift
        following = low
        mean = place + beyond
        if 0 < mean < 1 and rise > 0:
            following = shift + (middle - math.log(mean) + math.log1p(-mean)) * mean * (1 - mean) / rise
        if not low < following < high:
            following = (low + high) / 2
            if not low < following < high:
                break
        shift = following
    return shift, variance, slope, turn


@kernel
def _moments(values: Any, steepness: float, shift: float, place: float) -> tuple[float, float, float, float, float]:
    """Return of the logistics of *steepness* × *values* + *shift*: how far their mean is beyond *place*, and the mean
    square around that.

    Then the slope of the mean by the shift; and where the shift keeps the mean, that of the variance and of the shift
    by the steepness.
    """
    beyond, squares, rise, lever, rising, levered = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for index in range(values.size):
        value = values[index]
        logit = steepness * value + shift
        small = math.exp(-abs(logit))
        density = small / ((1 + small) * (1 + small))
        away = (1.0 if logit >= 0 else small) / (1 + small) - place
        beyond += away
        squares += away * away
        rise += density
        lever += density * value
        rising += away * density
        levered += away * density * value
    turn = -lever / rise if rise > 0 else 0.0
    count = values.size
    return beyond / count, squares / count, rise / count, 2 * (levered + turn * rising) / count, turn


@kernel
def _logistic(logit: float) -> float:
    small = math.exp(-abs(logit))
    return (1.0 if logit >= 0 else small) / (1 + small)
