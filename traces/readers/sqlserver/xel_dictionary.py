"""The dictionary inside ``.xel`` files: which events, fields, actions, types and maps there are, and where fields lie.

A dictionary block is a list of packages: ``u16 10, u32 bytes, GUID, 10 bytes, u64 start (FILETIME), u64 ticks per
second, 8 bytes``, the name and description, two GUIDs, a table of counts, and lists of objects: ``u32 count``, then for
each ``4 bytes, u8 package, u16 id, u8 kind``, name, description, and what its kind has besides. Texts are UTF-16 and
end with a zero.
"""

import struct
from dataclasses import dataclass, field

#: Kinds of objects.
_EVENT, _ACTION, _MAP, _TYPE = 0x00, 0x10, 0x30, 0x60
_PACKAGE_BYTES = 0x38  # before the name
_START_AT = 0x20
_COUNT_BYTES = 12
_LISTS = 4  # of events, actions, maps and types
_UUID = "UUID"
#: More bytes, objects and words of maps are damage: SQL Server has some thousands of events, and a file those of its
#: session.
_MOST_BYTES, _MOST_OBJECTS, _MOST_WORDS = 4 << 20, 1 << 16, 1 << 20

#: Package and id of an object.
Key = tuple[int, int]


@dataclass(frozen=True)
class EventField:
    """A field of an event: where it lies in its data, of which type it is, and what the dictionary says of it."""

    offset: int
    type: Key
    kind: int  # of the type: a map or a type
    description: str


@dataclass(frozen=True)
class EventType:
    """An event: its name, and its fields by name."""

    name: str
    fields: dict[str, EventField]


@dataclass(frozen=True)
class Action:
    """What is collected with events: its name and type."""

    name: str
    type: Key
    kind: int


@dataclass
class Dictionary:
    """All objects of a file by key; ``start`` is the time of tick 0, 100 ns since 1601 (UTC)."""

    start: int = 0
    ticks_per_s: int = 0
    events: dict[Key, EventType] = field(default_factory=dict)
    actions: dict[Key, Action] = field(default_factory=dict)
    maps: dict[Key, dict[int, str]] = field(default_factory=dict)
    widths: dict[Key, int] = field(default_factory=dict)  # bytes of types and maps; 0: as long as it is
    types: dict[Key, str] = field(default_factory=dict)
    _objects: int = 0
    _words: int = 0

    def add(self, data: bytes) -> bool:
        """Take in what the inside of a dictionary block says, and tell whether all of it could be read."""
        at, well = 0, len(data) <= _MOST_BYTES
        data = data[:_MOST_BYTES]
        while at + _PACKAGE_BYTES <= len(data) and data[at : at + 2] == b"\x0a\0":
            (length,) = struct.unpack_from("<I", data, at + 2)
            if length < _PACKAGE_BYTES:
                return False
            try:
                self._add_package(_Reader(data[at : at + length]))
            except (struct.error, IndexError):
                well = False
            at += length
        return well and at > 0

    def width(self, kind_of: EventField | Action) -> int:
        """Return how many bytes a value has, less than 0 with a sign; 0 where it is as long as it is.

        Raises KeyError when its type is not in the dictionary.
        """
        width = self.widths[kind_of.type]
        return -width if self.types.get(kind_of.type, "").startswith("int") else width

    def _add_package(self, reader: "_Reader") -> None:
        self.start, self.ticks_per_s = reader.take("<QQ", _START_AT)
        reader.at = _PACKAGE_BYTES
        reader.text()
        reader.text()
        reader.at += 34
        (counts,) = reader.take("<H", reader.at)
        reader.at += 4 + _COUNT_BYTES * counts
        for _ in range(_LISTS):
            (count,) = reader.next("<I")
            if count > len(reader.data):
                raise IndexError
            for _ in range(count):
                reader.at += 4
                self._add_object(reader)

    def _add_object(self, reader: "_Reader") -> None:
        self._objects += 1
        if self._objects > _MOST_OBJECTS:
            raise IndexError
        package, number, kind = reader.next("<BHB")
        key = package, number
        name = reader.text()
        reader.text()
        if kind == _EVENT:
            self.events[key] = EventType(name, _fields(reader))
        elif kind == _ACTION:
            of_package, of_number, of_kind, _ = reader.next("<BHBQ")
            self.actions[key] = Action(name, (of_package, of_number), of_kind)
        elif kind == _MAP:
            width, count = reader.next("<BH")
            words = {}
            for _ in range(count):
                (value,) = reader.next("<I")
                words[value] = reader.text()
            self._words += count
            if self._words > _MOST_WORDS:
                raise IndexError
            # a package may be written again with fewer of its words
            self.maps.setdefault(key, {}).update(words)
            self.widths[key] = width
        elif kind == _TYPE:
            (self.widths[key],) = reader.next("<B")
            self.types[key] = name
        else:
            raise IndexError


def _fields(reader: "_Reader") -> dict[str, EventField]:
    constant, customizable, data, _ = reader.next("<HHHH")
    for _ in range(constant):
        reader.at += 4
        value_bytes = 16 if reader.text() == _UUID else 8
        reader.at += value_bytes
        reader.text()
    for _ in range(customizable):
        reader.at += 4
        reader.text()
        reader.at += 24
        reader.text()
    fields = {}
    for _ in range(data):
        package, number, kind = reader.next("<BHB")
        name = reader.text()
        offset, _ = reader.next("<HH")
        fields[name] = EventField(offset, (package, number), kind, reader.text())
    return fields


class _Reader:
    """Goes over the bytes of one package; raises struct.error or IndexError at their end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, layout: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(layout, self.data, at)

    def next(self, layout: str) -> tuple[int, ...]:
        found = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return found

    def text(self) -> str:
        end = self.at
        while True:
            end = self.data.find(b"\0\0", end)
            if end < 0:
                raise IndexError
            if (end - self.at) % 2 == 0:
                break
            end += 1
        text = self.data[self.at : end].decode("utf-16-le", errors="replace")
        self.at = end + 2
        return text
