"""Which versions of LLVM kernels are compiled with in our own way; with any other numba compiles them."""

import os
import warnings
from functools import cache
from importlib.metadata import version

#: Versions that all tests passed with. LLVM's language changes from one to the next.
TESTED = {"llvmlite": ("0.50.0",)}


@cache
def plain_numba() -> bool:
    """Whether numba compiles kernels: by TIERSIM_PLAIN_NUMBA, or because the version of LLVM was not tried (which is
    said once).
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
