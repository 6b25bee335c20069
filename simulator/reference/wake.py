"""SimPy events whose order at one instant is the key's and not that of their insertion."""

from typing import Any

from simpy import Environment
from simpy.events import Event, EventPriority


class Wake(Event):
    """An event that waits until :meth:`set` gives it a time and a key."""

    def __init__(self, env: Environment) -> None:
        """Make an event that is not in the calendar yet."""
        super().__init__(env)
        self._ok = True
        self._value: Any = None

    def set(self, at_ns: int, key: int) -> "Wake":
        """Put it into the calendar; SimPy sorts by (time, priority), and the key is the priority."""
        self.env.schedule(self, priority=EventPriority(key), delay=at_ns - self.env.now)
        return self
