"""What pages are put together from: files beside this one, and numbers of few digits."""

from __future__ import annotations

import math
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def asset(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__package__).joinpath(*name.split("/")).read_text(encoding="utf-8")


def head(title: str, *, may_load: str = "", style: str = "") -> str:
    """Return a page up to its body; *may_load* is what its policy allows beside styles of its own, *style* comes after
    those of every page.
    """
    return Template(asset("head.html")).substitute(
        title=escape(title), may_load=may_load, style=asset("page.css") + style
    )


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
