"""All faults, by what they are in."""

from tests.mutations.engine import ENGINE
from tests.mutations.fault import Fault
from tests.mutations.page import PAGE
from tests.mutations.physics import PHYSICS
from tests.mutations.readers import READERS
from tests.mutations.results import RESULTS
from tests.mutations.scenarios import SCENARIOS
from tests.mutations.twins import TWINS

AREAS: dict[str, tuple[Fault, ...]] = {
    "physics": (*PHYSICS, *TWINS),
    "engine": ENGINE,
    "readers": READERS,
    "scenarios": SCENARIOS,
    "results": RESULTS,
    "page": PAGE,
}
