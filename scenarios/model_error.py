"""How far what somebody measured lay from what was predicted of it: the error of the models, which no interval of a
result holds.

Learned by ``tiersim validate`` (:mod:`tiersim.scenarios.validation.intervals`) and shipped as
``validation/model_error.toml``.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

#: What a result's verdict says of its ``reach`` when it goes beyond its recording; and when it does so with costs that
#: nothing told, whose errors are those of guesses.
BEYOND, BEYOND_BY_GUESS = "beyond the recording", "beyond the recording, with assumed costs"


def model_error_of(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return between which multiples (``low``, ``high``) of a predicted figure 80 % of the measured ones lay, by kind
    of figure, and of how many.

    *verdict* is that of a result: a calibration that failed is as good as none, and one that goes beyond its recording
    has errors of its own. ``basis`` says what the
    hardware of those predictions was taken from; ``other`` stands for each figure that is not named.
    """
    basis = "calibrated" if verdict["calibration"] == "calibrated" else "assumed"
    if verdict.get("reach") == BEYOND:
        basis = "extrapolated"
    return {"basis": basis, "figures": _learned()[basis]}


@cache
def _learned() -> dict[str, Any]:
    return tomllib.loads((files("tiersim.scenarios.validation") / "model_error.toml").read_text(encoding="utf-8"))


def multiples_of(error: Mapping[str, Any], figure: str) -> tuple[float, float]:
    """Return ``low`` and ``high`` of :func:`model_error_of` for a figure of a result: ``throughput``, or a statistic of
    a latency, such as ``p99``.
    """
    kind = figure if figure == "throughput" else "mean" if figure in ("mean", "p50") else "tail"
    found = error["figures"].get(kind) or error["figures"]["other"]
    return found["low"], found["high"]
