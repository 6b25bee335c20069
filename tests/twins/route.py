"""What a request passes at a controller: where commands are taken, then all stops of its data at once
(docs/controllers.md).
"""

from collections.abc import Sequence

from tests.twins.stand_in import NONE, READ, WRITE, Part, Twin


class Route(Twin):
    """Stops of *reads*, of *writes*, and of requests without data."""

    def __init__(
        self, overhead_ns: int, commands: int, reads: Sequence[int], writes: Sequence[int], others: Sequence[int]
    ) -> None:
        self.overhead_ns, self.commands = overhead_ns, commands
        self.stops = {READ: reads, WRITE: writes}
        self.others = others
        self.taken: set[int] = set()  # requests whose command is being taken

    def accept(self, now: int, slot: int) -> int:
        return now + self.overhead_ns

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if self.commands == NONE:
            return self._data(slot)
        self.taken.add(slot)
        return [Part(self.commands, asked.op, asked.offset, asked.length)]

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        if slot not in self.taken:
            return ()
        self.taken.remove(slot)
        return self._data(slot)

    def _data(self, slot: int) -> Sequence[Part]:
        asked = self.asked(slot)
        return [Part(stop, asked.op, asked.offset, asked.length) for stop in self.stops.get(asked.op, self.others)]
