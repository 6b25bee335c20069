"""How many examples property tests draw, and which of its rows a test runs every day."""

import os
from typing import Any

import pytest

from tiersim.kernel import jit_enabled


def examples(count: int) -> int:
    """*count* where TIERSIM_EVERY_EXAMPLE is set, as by `make test-long`; a sixth of it in the tests of every day, half
    of that where kernels are not compiled.
    """
    if os.environ.get("TIERSIM_EVERY_EXAMPLE"):
        return count
    return -(-count // (6 if jit_enabled() else 12))


def first(count: int, *rows: Any) -> list[Any]:
    """What a test is parametrised with: *rows*, of which those behind the first *count* are run with the long tests."""
    later = (row if isinstance(row, tuple) else (row,) for row in rows[count:])
    return [*rows[:count], *(pytest.param(*row, marks=pytest.mark.long) for row in later)]
