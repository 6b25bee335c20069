"""How often benchmarks measure."""

import os


def rounds(count: int) -> int:
    """*count* times, of which the fastest is taken; once where TIERSIM_ONE_ROUND is set, as in CI: other work stands
    beside it there, so what comes out counts, not how fast.
    """
    return 1 if os.environ.get("TIERSIM_ONE_ROUND") else count
