"""Numbers as a page carries them: few digits, and None in place of what JSON cannot say."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def rounded(values: np.ndarray, digits: int) -> list[float | None]:
    """Significant digits only; whole numbers without a point, unknown ones as None."""
    short = (float(f"{value:.{digits}g}") if math.isfinite(value) else None for value in values.tolist())
    return [int(value) if value is not None and value.is_integer() else value for value in short]


def whole(values: np.ndarray) -> list[int]:
    """Counts."""
    return [int(value) for value in values.tolist()]


def finite(value: Any) -> Any:
    """The same with None in place of what JSON cannot say."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
