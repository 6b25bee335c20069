"""How many examples property tests draw."""

import os

from tiersim.kernel import jit_enabled


def examples(count: int) -> int:
    """*count* where TIERSIM_EVERY_EXAMPLE is set, as by `make test-long`; a sixth of it in the tests of every day, half
    of that where kernels are not compiled.
    """
    if os.environ.get("TIERSIM_EVERY_EXAMPLE"):
        return count
    return -(-count // (6 if jit_enabled() else 12))
