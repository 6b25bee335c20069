"""How many examples property tests draw."""

import os


def examples(count: int) -> int:
    """*count* where TIERSIM_EVERY_EXAMPLE is set, as by `make test-long`; a third of it in the tests of every day."""
    return count if os.environ.get("TIERSIM_EVERY_EXAMPLE") else -(-count // 3)
