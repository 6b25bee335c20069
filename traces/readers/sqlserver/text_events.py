"""Hands events that were read as text over in blocks, so that their queries are told by kernels, each distinct one
once.
"""

import numpy as np

from tiersim.traces.query_text import LONGEST
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver.coded_texts import CodedTexts
from tiersim.traces.readers.sqlserver.execution_kernels import OUTCOME, START_NS, WAIT_CLASS, WHAT
from tiersim.traces.readers.sqlserver.executions import ExecutionEvent, Executions, new_events
from tiersim.traces.schema import NOT_KNOWN

#: A block ends with the event that reaches so many, or whose texts together reach so many characters.
_EVENTS = 1 << 13
_CHARACTERS = 1 << 22
#: Of a text no more is read: a call may quote, and double, the statement inside it.
_LONGEST = 4 * LONGEST
#: The numbers of an Event, which are columns of Events as they are.
_NUMBERS = slice(ExecutionEvent._fields.index("start_ns"), ExecutionEvent._fields.index("wait"))


class TextEvents:
    """Takes the events of a recording's texts in their order; to be flushed at the end of each file."""

    def __init__(self, recorded: Recorded) -> None:
        """Begin with none."""
        self._executions = recorded.of(Executions)
        self._coded = CodedTexts(self._executions)
        self._waiting: list[ExecutionEvent] = []
        self._characters = 0

    def take(self, event: ExecutionEvent) -> None:
        """Take one event."""
        self._waiting.append(event)
        self._characters += len(event.text or "")
        if len(self._waiting) >= _EVENTS or self._characters >= _CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Hand over what is left."""
        waiting, self._waiting, self._characters = self._waiting, [], 0
        if not waiting:
            return
        events = new_events(len(waiting))
        events[:, WHAT] = [event.what for event in waiting]
        events[:, WAIT_CLASS] = [event.wait for event in waiting]
        events[:, START_NS : OUTCOME + 1] = np.array([event[_NUMBERS] for event in waiting], np.int64)
        texts = [
            None if event.text is None else event.text[:_LONGEST].encode("utf-16-le", "replace") for event in waiting
        ]
        lengths = np.array([len(text or b"") for text in texts], np.int64)
        places = (np.cumsum(lengths) - lengths) << 32 | lengths
        places[[text is None for text in texts]] = NOT_KNOWN
        data = np.frombuffer(b"".join(text for text in texts if text), np.uint8)
        self._coded.fill(events, data, places, lambda row: (waiting[row].database, waiting[row].user))
        self._executions.add(events)
