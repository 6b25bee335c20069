"""Where the scan of ``.xel`` files finds what executions need, from the dictionary of a file."""

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.readers.sqlserver.events import XE_EVENTS, XE_NUMBERS, XE_TEXTS, What, wait_class
from tiersim.traces.readers.sqlserver.xel_dictionary import Action, Dictionary, EventField
from tiersim.traces.readers.sqlserver.xel_kernels import FIRST_FIELD, PLACE, WantedEvents
from tiersim.traces.schema import NOT_KNOWN
from tiersim.units import NS_PER_S

#: 1970 as 100 ns since 1601.
_UNIX_EPOCH = 116_444_736_000_000_000
_NS_PER_START = 100

#: Fields and actions that are read, by name, and their columns in the rows of the scan.
_OTHER = (
    "text",
    "database",
    "user",
    "wait_type",
    "opcode",
    "is_system",
    "database_id",
    "file_id",
    "offset",
    "size",
    "path",
)
FIELDS = {name: FIRST_FIELD + place for place, name in enumerate((*XE_NUMBERS, *_OTHER))}
_SAME = {
    **dict.fromkeys(XE_TEXTS, "text"),
    "database_name": "database",
    "server_principal_name": "user",
    "username": "user",
}
_WITH_TEXTS = ("text", "database", "user", "path")
#: A wait of ``wait_info`` that is over; others have begun only.
_WAIT_IS_OVER = "End"
#: Events of which real files were at hand.
_CHECKED = ("rpc_completed", "sql_batch_completed", "wait_completed", "login", "logout", "sql_batch_starting")


class Layout:
    """What the scan is to read, and what its rows mean; ``whats`` is what each known event is."""

    def __init__(self, dictionary: Dictionary) -> None:
        """Look up what is wanted in *dictionary*."""
        named = {event.name: (key, event) for key, event in dictionary.events.items()}
        wanted = [named[name] for name in XE_EVENTS if name in named]
        self.whats = np.array([XE_EVENTS[event.name] for _, event in wanted], np.int64)
        keys = np.array([package << 16 | number for (package, number), _ in wanted], np.int64)
        fields = np.zeros((len(wanted), len(FIELDS), 2), np.int64)
        self.unchecked = {event.name for _, event in wanted if event.name not in _CHECKED}
        self.duration_said = ""
        self._start, self._ticks_per_s = dictionary.start, max(dictionary.ticks_per_s, 1)
        self._waits: dict[int, int] = {}
        self._over: int | None = None
        for row, (_, event) in enumerate(wanted):
            for name, field in event.fields.items():
                place = _place(name)
                width = _width(dictionary, name, field)
                if place is not None and width:
                    fields[row, place - FIRST_FIELD] = field.offset, width
                if name == "duration" and XE_EVENTS[event.name] in (What.FILE_READ, What.FILE_WRITE):
                    self.duration_said = field.description
                if name == "wait_type":
                    self._waits = {
                        value: wait_class(word) for value, word in dictionary.maps.get(field.type, {}).items()
                    }
                if name == "opcode":
                    words = dictionary.maps.get(field.type, {})
                    self._over = next((value for value, word in words.items() if word == _WAIT_IS_OVER), None)
        collected = {action.name: (key, action) for key, action in dictionary.actions.items()}
        actions = [
            (key, place, width)
            for key, action in collected.values()
            if (place := _place(action.name)) is not None and (width := _width(dictionary, action.name, action))
        ]
        action_keys = np.array([package << 16 | number for (package, number), _, _ in actions], np.int64)
        action_fields = np.array([(place - FIRST_FIELD, width) for _, place, width in actions], np.int64)
        self.wanted = WantedEvents(keys, fields, action_keys, action_fields.reshape(-1, 2))

    def unix_ns(self, ticks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ticks as ns since 1970; NOT_KNOWN where that cannot be."""
        start_ns = (self._start - _UNIX_EPOCH) * _NS_PER_START
        if not 0 <= start_ns < 1 << 62 or self._ticks_per_s > NS_PER_S * 8:
            return np.full(len(ticks), NOT_KNOWN, np.int64)
        seconds, rest = np.divmod(ticks, self._ticks_per_s)
        known = (ticks >= 0) & (seconds < 1 << 31)
        since_ns = np.where(known, seconds, 0) * NS_PER_S + rest * NS_PER_S // self._ticks_per_s
        return np.where(known, start_ns + since_ns, NOT_KNOWN)

    def is_over(self, opcodes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell waits that are over from those that begin; all are where nothing says."""
        if self._over is None:
            return np.ones(len(opcodes), np.bool_)
        over: NDArray[np.bool_] = (opcodes < 0) | (opcodes == self._over)
        return over

    def wait_classes(self, types: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the classes of wait types."""
        found, codes = np.unique(types, return_inverse=True)
        return np.array([self._waits.get(value, 0) for value in found.tolist()], np.int64)[codes]


def _place(name: str) -> int | None:
    return FIELDS.get(_SAME.get(name, name))


def _width(dictionary: Dictionary, name: str, of: EventField | Action) -> int:
    """Return the width of a field for the scan; 0 where it is of no use: a text where a number is wanted, or the other
    way round.
    """
    try:
        width = dictionary.width(of)
    except KeyError:
        return 0
    is_text = _SAME.get(name, name) in _WITH_TEXTS
    if is_text:
        return PLACE if width == 0 else 0
    return width if 0 < abs(width) <= 8 else 0
