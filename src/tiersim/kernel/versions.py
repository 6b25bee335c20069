"""Which versions of numba kernels are compiled with in our own way; any other takes numba's."""

import os
import warnings
from functools import cache
from importlib.metadata import version

#: Versions that all tests passed with. Kernels use some of their insides, which another version may change: see
#: tests/test_kernels.py.
TESTED = {"numba": ("0.68.1",), "llvmlite": ("0.50.0",)}


@cache
def plain_numba() -> bool:
    """Whether kernels are compiled as numba does it left alone: by TIERSIM_PLAIN_NUMBA, or because its version was not
    tried (which is said once).
    """
    if os.environ.get("TIERSIM_PLAIN_NUMBA", "0") not in ("", "0"):
        return True
    for name, tested in TESTED.items():
        if (found := version(name)) not in tested:
            message = (
                f"{name} {found} was not tried ({', '.join(tested)} were): kernels compile for minutes; install"
                f" {name}=={tested[-1]}"
            )
            warnings.warn(message, stacklevel=2)
            return True
    return False
