"""In which steps a load can be run: sessions are cloned or left out whole."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

#: A load that is missed by no more than this share is called as it was asked for.
_SAME = 0.005


@dataclass(frozen=True)
class LoadSteps:
    """What is whole, such as ``8 sessions`` of the recording, and the load that is run where one is asked for
    (:meth:`at`).
    """

    whole: str
    reached: Callable[[float], float]

    def at(self, load: float) -> float:
        """Return the multiple of the recorded load that *load* runs."""
        return as_called(load, self.reached(load))

    def at_least(self, load: float) -> float:
        """Return the smallest multiple to ask for that runs *load* or more, to 1 part in 1,000."""
        low, high = load, float(math.ceil(load))
        if self.at(low) >= load:
            high = low
        while high - low > 1e-3 * load:
            middle = (low + high) / 2
            low, high = (low, middle) if self.at(middle) >= load else (middle, high)
        found = self.at(high)
        return found if self.at(found) == found else high

    def not_run(self, load: float) -> dict[str, Any]:
        """Return, as a result has it, the load that is run in place of *load*; nothing where that is run."""
        found = self.at(load)
        return {} if found == load else {"load_not_run": {"whole": self.whole, "asked": load, "ran": found}}


def whole_loads(whole: str, said: Iterable[str]) -> str:
    """Return a sentence that says which loads ran in place of which."""
    return f"sessions are cloned or left out whole ({whole} recorded): {', '.join(said)}"


def as_called(load: float, reached: float) -> float:
    """Return what a load that was *reached* is called where *load* was asked for."""
    return load if abs(reached - load) <= _SAME * load else reached


def taken(share: float, sessions: int) -> int:
    """Return how many whole *sessions* a share of them is, one at the least."""
    return max(1, round(share * sessions))


def steps_of_sessions(sessions: int) -> LoadSteps:
    """Return the steps of a load whose sessions are cloned, or left out of a copy."""

    def reached(load: float) -> float:
        copies = math.ceil(load) - 1
        return copies + taken(load - copies, sessions) / sessions

    return LoadSteps(counted(sessions, "session"), reached)


def steps_of_clients(clients: int) -> LoadSteps:
    """Return the steps of a load of so many clients."""
    return LoadSteps(counted(clients, "client"), lambda load: taken(load, clients) / clients)


def counted(count: int, what: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"
