"""Numbers as a page carries them: few digits, and None for what JSON cannot say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def five_digits(value: float | None) -> float | None:
    """Five significant digits."""
    return None if value is None else float(f"{value:.5g}")


def short_us(values_ns: Sequence[float]) -> list[float]:
    """Nanoseconds as microseconds, of five significant digits."""
    return [float(f"{value / 1e3:.5g}") for value in values_ns]


def rounded(values: np.ndarray, digits: int) -> list[float | None]:
    """Significant digits only; whole numbers without a point, unknown ones as None."""
    found: list[float | None] = []
    for value in values.tolist():
        if value == 0.0:  # most of them, where little waits
            found.append(0)
        elif math.isfinite(value):
            short = float(f"{value:.{digits}g}")
            found.append(int(short) if short.is_integer() else short)
        else:
            found.append(None)
    return found


def whole(values: np.ndarray) -> list[int]:
    """Counts."""
    return [int(value) for value in values.tolist()]


def finite(value: Any) -> Any:
    """The same with None in place of what JSON cannot say."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list) else value
