"""What a recorded server's processors spent on its queries, apart from what the simulation charges by itself."""

from collections.abc import Mapping
from dataclasses import dataclass

from tiersim.simulator.database.costs import Costs


@dataclass(frozen=True)
class ProcessorCosts:
    """CPU in ns on a core of the recorded host.

    ``statement_ns`` is that of one execution by query, besides what ``costs`` charge for its pages. ``client_ns`` is what the client
    spends on a transaction on the same cores; 0: it ran elsewhere, and its time is think time.
    """

    statement_ns: Mapping[str, int]
    client_ns: int
    costs: Costs
    basis: str  # what it was found from, a sentence for people
