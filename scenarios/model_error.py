"""How far what somebody measured lay from what was predicted of it: the error of the models, which no interval of a result holds.

Learned by ``tiersim validate`` (:mod:`tiersim.scenarios.validation.intervals`) and shipped as ``validation/model_error.toml``.
"""

import tomllib
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
