"""How far what somebody measured lay from what was predicted of it: the error of the models, which no interval of a result holds.

Learned by ``tiersim validate`` (:mod:`tiersim.scenarios.validation.intervals`) and shipped as ``validation/model_error.toml``.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def model_error_of(calibration: str) -> dict[str, Any]:
    """Return between which multiples (``low``, ``high``) of a predicted figure 80 % of the measured ones lay, by kind of figure, and of how many.

    *calibration* is a result's verdict; one that failed is as good as none. ``basis`` says what the hardware of those predictions was taken from; ``other``
    stands for each figure that is not named.
    """
    table = tomllib.loads((files("tiersim.scenarios.validation") / "model_error.toml").read_text(encoding="utf-8"))
    basis = "calibrated" if calibration == "calibrated" else "assumed"
    return {"basis": basis, "figures": table[basis]}


def multiples_of(error: Mapping[str, Any], figure: str) -> tuple[float, float]:
    """Return ``low`` and ``high`` of :func:`model_error_of` for a figure of a result: ``throughput``, or a statistic of a latency, such as ``p99``."""
    kind = figure if figure == "throughput" else "mean" if figure in ("mean", "p50") else "tail"
    found = error["figures"].get(kind) or error["figures"]["other"]
    return found["low"], found["high"]
