"""Writes trace files and Extended Events files as SQL Server lays them out, from rows of what is in them."""

import random
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tiersim.traces.readers.sqlserver.events import CLASS_NAMES, COLUMN_NAMES

CLASSES = {name: number for number, name in CLASS_NAMES.items()}
COLUMNS = {name: number for number, name in COLUMN_NAMES.items()}
#: Columns of SQL Trace that are 64 bits wide.
_LONG = ("TransactionID", "Duration", "Reads", "Writes", "RowCounts", "XactSequence", "EventSequence")
EPOCH = datetime(2026, 11, 22, 8, 0, 0)

Value = int | str | datetime | bytes | None


def entry(number: int, value: bytes) -> bytes:
    """Return one entry of a trace file."""
    length = struct.pack("<B", len(value)) if len(value) < 0xFF else struct.pack("<BI", 0xFF, len(value))
    return struct.pack("<H", number) + length + value


def trc_value(name: str, value: Value) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass")
    if isinstance(value, datetime):
        return struct.pack(
            "<8H",
            value.year,
            value.month,
            value.isoweekday() % 7,
            value.day,
            value.hour,
            value.minute,
            value.second,
            value.microsecond // 1000,
        )
    if isinstance(value, bytes):
        return value
    return struct.pack("<q" if name in _LONG else "<i", value)


def trc_event(name: str, **columns: Value) -> bytes:
    """Return one event of a trace file, of the columns that have a value."""
    body = b"".join(entry(COLUMNS[key], trc_value(key, value)) for key, value in columns.items() if value is not None)
    return struct.pack("<HBHI", 0xFFF6, 6, CLASSES[name], len(body)) + body


def trc_header(*, version: int = 9, server: str = "SERVER", major: int = 14) -> bytes:
    """Return the header of a trace file, and the entries that stand before the events."""
    length = 0x290
    data = bytearray(length - 2)
    data[:6] = struct.pack("<HHH", 0xFEFF, length, version)
    provider = "Microsoft SQL Server".encode("utf-16-le")
    data[6 : 6 + len(provider)] = provider
    data[0x186:0x18A] = struct.pack("<BBH", major, 0, 3391)
    name = server.encode("utf-16-le")
    data[0x18E : 0x18E + len(name)] = name
    columns = struct.pack("<4H", 1, 12, 13, 14)
    marks = entry(0xFFFC, struct.pack("<H", 12) + columns) + entry(0xFBFC, columns) + entry(0xFBFB, b"\x01\0\0\0" * 70)
    return bytes(data) + b"\xfa\xfb\xed\xfb\0" + marks


def trc_file(events: Iterable[bytes], **header: Any) -> bytes:
    """Return a whole trace file."""
    return trc_header(**header) + b"".join(events)


_QUERIES = (
    (
        "SELECT TOP (50) o.OrderID, o.CustomerID, SUM(l.Amount) AS Total FROM dbo.Orders AS o JOIN dbo.[Order Lines] AS"
        " l ON l.OrderID = o.OrderID WHERE o.CustomerID = {0} AND o.Region = N'R{0}' GROUP BY o.OrderID, o.CustomerID"
        " ORDER BY Total DESC"
    ),
    (
        "UPDATE dbo.Accounts SET Balance = Balance - {0}.50, Changed = '2026-11-22T08:00:{1:02d}' WHERE AccountID IN"
        " ({0}, {1})"
    ),
    (
        "INSERT INTO dbo.History (AccountID, Amount, Note) VALUES ({0}, -{1}, 'paid by O''Neil {0}'), ({1}, {0}, N'note"
        " {1}')"
    ),
    "/* trace {0} */ SELECT Name FROM dbo.Customers WITH (NOLOCK) WHERE CustomerID = {0} -- page {1}",
)


class Load:
    """Draws executions of many sessions, batches and remote procedure calls, each with literals of its own."""

    def __init__(self, count: int, seed: int = 1, sessions: int = 40) -> None:
        self._chance = random.Random(seed)
        self._count = count
        self._sessions = sessions

    def __iter__(self) -> Iterator[tuple[str, dict[str, int | str]]]:
        """Yield batches and calls: whether ``batch`` or ``rpc``, and what is known of it; times in µs since the load
        began.
        """
        chance, end_us = self._chance, 0
        for number in range(self._count):
            end_us += 1 + int(chance.random() * 400)
            duration_us = int(chance.random() * 5_000)
            text = _QUERIES[number % len(_QUERIES)].format(number, number % 60)
            session = 51 + int(chance.random() * self._sessions)
            known: dict[str, int | str] = {
                "session": session,
                "end_us": end_us,
                "duration_us": duration_us,
                "cpu_us": duration_us // 2,
                "reads": number % 97,
                "writes": number % 3,
                "rows": number % 11,
            }
            if number % 3 == 0:
                yield "batch", known | {"text": text}
            elif number % 13 == 1:
                yield "rpc", known | {"text": "exec sp_reset_connection "}
            elif number % 3 == 1:
                quoted = text.replace("'", "''")
                yield (
                    "rpc",
                    known
                    | {
                        "text": (
                            f"exec sp_executesql N'{quoted}',N'@p0 int,@p1 nvarchar(20)',@p0={number},@p1=N'v{number}'"
                        )
                    },
                )
            else:
                yield (
                    "rpc",
                    known
                    | {"text": f"exec dbo.PlaceOrder @customer={number},@note=N'order {number}',@amount={number}.25"},
                )


def trc_of(load: Iterable[tuple[str, Mapping[str, int | str]]]) -> Iterator[bytes]:
    """Yield the events of a load as a trace file has them, batches and calls with their starts."""
    names = {"batch": ("SQL:BatchStarting", "SQL:BatchCompleted"), "rpc": ("RPC:Starting", "RPC:Completed")}
    for kind, known in load:
        starting, completed = names[kind]
        end = EPOCH + timedelta(microseconds=int(known["end_us"]))
        start = end - timedelta(microseconds=int(known["duration_us"]))
        session = int(known["session"])
        if session % 8 == 0:
            yield trc_event(starting, TextData=str(known["text"]), SPID=session, StartTime=start)
        yield trc_event(
            completed,
            TextData=str(known["text"]),
            DatabaseName="Shop",
            LoginName="app",
            ApplicationName=".Net SqlClient Data Provider",
            SPID=session,
            Duration=int(known["duration_us"]),
            StartTime=start,
            EndTime=end,
            Reads=int(known["reads"]),
            Writes=int(known["writes"]),
            CPU=int(known["cpu_us"]) // 1000,
            RowCounts=int(known["rows"]),
        )


def filetime(moment: datetime) -> int:
    """Return a time in UTC as 100 ns since 1601."""
    return (moment.replace(tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 10


#: Types of package0: id, name, bytes.
_TYPES = {
    "int16": (0x08, 2),
    "int32": (0x0C, 4),
    "uint8": (0x14, 1),
    "uint16": (0x18, 2),
    "uint32": (0x1C, 4),
    "uint64": (0x20, 8),
    "unicode_string": (0x50, 0),
    "binary_data": (0x58, 0),
    "boolean": (0x68, 1),
}
_RESULTS, _WAITS = (
    {0: "OK", 1: "Error"},
    {1: "LCK_M_X", 66: "PAGEIOLATCH_SH", 178: "WRITELOG", 99: "ASYNC_NETWORK_IO", 124: "SOS_YIELD"},
)
MAPS: dict[str, tuple[int, int, dict[int, str]]] = {
    "result": (0x70, 1, _RESULTS), "wait_types": (0x40, 8, _WAITS), "opcode": (0x04, 4, {0: "Begin", 1: "End"}),
}  # fmt: skip

_COSTS = (
    ("cpu_time", "uint64"),
    ("duration", "uint64"),
    ("physical_reads", "uint64"),
    ("logical_reads", "uint64"),
    ("writes", "uint64"),
)
_FILE = (
    ("mode", "uint32"),
    ("duration", "uint64"),
    ("offset", "uint64"),
    ("size", "uint32"),
    ("database_id", "uint32"),
    ("file_id", "uint16"),
    ("path", "unicode_string"),
)
#: Events: id, and fields with their types.
XE: dict[str, tuple[int, tuple[tuple[str, str], ...]]] = {
    "rpc_completed": (
        0x74,
        (
            *_COSTS,
            ("result", "map:result"),
            ("row_count", "uint64"),
            ("object_name", "unicode_string"),
            ("statement", "unicode_string"),
        ),
    ),
    "sql_batch_completed": (
        0x140,
        (*_COSTS, ("row_count", "uint64"), ("result", "map:result"), ("batch_text", "unicode_string")),
    ),
    "sp_statement_completed": (
        0x100,
        (*_COSTS, ("nest_level", "uint16"), ("row_count", "uint64"), ("statement", "unicode_string")),
    ),
    "sql_statement_completed": (0x104, (*_COSTS, ("row_count", "uint64"), ("statement", "unicode_string"))),
    "login": (0x174, (("is_cached", "boolean"),)),
    "wait_info": (
        0xC4,
        (
            ("wait_type", "map:wait_types"),
            ("opcode", "map:opcode"),
            ("duration", "uint64"),
            ("signal_duration", "uint64"),
        ),
    ),
    "physical_page_read": (0xD0, (("file_id", "uint16"), ("page_id", "uint32"), ("database_id", "uint32"))),
    "file_read_completed": (0xE0, _FILE),
    "file_write_completed": (0xE4, _FILE),
    "error_reported": (0xF0, (("error_number", "int32"),)),
}
ACTIONS = {
    "session_id": (0x08, "uint16"),
    "client_app_name": (0x24, "unicode_string"),
    "database_name": (0x28, "unicode_string"),
    "is_system": (0x2C, "boolean"),
}
_PACKAGE = 2


def _text(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + b"\0\0"


def _key(kind: str) -> bytes:
    if kind.startswith("map:"):
        return struct.pack("<BHB", _PACKAGE, MAPS[kind[4:]][0], 0x30)
    return struct.pack("<BHB", 0, _TYPES[kind][0], 0x60)


def _width(kind: str) -> int:
    return MAPS[kind[4:]][1] if kind.startswith("map:") else _TYPES[kind][1]


def _object(package: int, number: int, kind: int, name: str, body: bytes) -> bytes:
    return b"\0\0\2\0" + struct.pack("<BHB", package, number, kind) + _text(name) + _text(f"about {name}") + body


def _event(name: str, descriptions: Mapping[str, str]) -> bytes:
    number, fields = XE[name]
    body = struct.pack("<4H", 2, 1, len(fields), 8)
    body += b"\0\x40\0\x60" + _text("UUID") + bytes(16) + _text("Globally Unique ID")
    body += b"\0\x14\0\x60" + _text("VERSION") + bytes(8) + _text("version")
    body += b"\0\x68\0\x60" + _text("collect_statement") + bytes(24) + _text("collects")
    offset = 0
    for field, kind in fields:
        body += _key(kind) + _text(field) + struct.pack("<HH", offset, 0) + _text(descriptions.get(field, ""))
        offset += _width(kind) or 8
    return _object(_PACKAGE, number, 0, name, body)


def _package(number: int, name: str, start: int, ticks_per_s: int, lists: Sequence[Sequence[bytes]]) -> bytes:
    body = (
        bytes(16)
        + b"\0\0\1\0"
        + bytes(6)
        + struct.pack("<QQ", start, ticks_per_s)
        + b"\x0a\0\0\0"
        + struct.pack("<H", number)
        + b"\0\x80"
    )
    body += _text(name) + _text("a package") + bytes(32) + struct.pack("<HHH", 0, 8, 0) + bytes(12 * 8)
    body += b"".join(struct.pack("<I", len(objects)) + b"".join(objects) for objects in lists)
    body += b"\x22" * (-(len(body) + 6) % 16)
    return b"\x0a\0" + struct.pack("<I", len(body) + 6) + body


def xel_block(kind: int, inside: bytes, number: int = 0) -> bytes:
    """Return one block of an Extended Events file, 1 a dictionary, 0 events."""
    header = 0x4C if kind else 0x4D
    size = -(-(header + len(inside)) // 512) * 512
    buffer = 0xFFFFFFFF if kind else number
    data = struct.pack("<IIIHHIHHII", 0, 0, buffer, 0x0A, kind, size, 0, header, len(inside), 0xABCD)
    return data.ljust(header, b"\0") + inside + b"\x55" * (size - header - len(inside))


def xel_dictionary(
    *,
    start: datetime = EPOCH,
    ticks_per_s: int = 10_000_000,
    names: Sequence[str] = tuple(XE),
    descriptions: Mapping[str, str] | None = None,
) -> bytes:
    """Return the dictionary block of a session of events of *names*."""
    types = [_object(0, number, 0x60, name, struct.pack("<B", size)) for name, (number, size) in _TYPES.items()]
    maps = [
        _object(
            _PACKAGE,
            number,
            0x30,
            name,
            struct.pack("<BH", width, len(words)) + b"".join(struct.pack("<I", v) + _text(w) for v, w in words.items()),
        )
        for name, (number, width, words) in MAPS.items()
    ]
    actions = [_object(_PACKAGE, number, 0x10, name, _key(kind) + bytes(8)) for name, (number, kind) in ACTIONS.items()]
    ticks = filetime(start), ticks_per_s
    packages = _package(0, "package0", *ticks, [[], [], [], types])
    packages += _package(
        _PACKAGE, "sqlserver", *ticks, [[_event(name, descriptions or {}) for name in names], actions, maps, []]
    )
    return xel_block(1, packages)


def xel_event(name: str, ticks: int, actions: Mapping[str, int | str] | None = None, **values: int | str) -> bytes:
    """Return one record; fields without a value are 0 or empty."""
    number, fields = XE[name]
    fixed, behind = b"", b""
    fixed_bytes = sum(_width(kind) or 8 for _, kind in fields)
    for field, kind in fields:
        value = values.get(field, 0)
        width = _width(kind)
        if width:
            fixed += int(value).to_bytes(width, "little", signed=int(value) < 0)
        else:
            text = str(values.get(field, "")).encode("utf-16-le", "surrogatepass")
            fixed += struct.pack("<II", fixed_bytes + len(behind), len(text))
            behind += text
    data = fixed + behind
    record = (
        struct.pack("<BHB", _PACKAGE, number, 0)
        + b"\x0a\x39\xaf\xf2"
        + bytes(4)
        + struct.pack("<QI", ticks, len(data))
        + data
    )
    for action, value in (actions or {}).items():
        own, kind = ACTIONS[action]
        inside = (
            str(value).encode("utf-16-le") if kind == "unicode_string" else int(value).to_bytes(_width(kind), "little")
        )
        record += struct.pack("<BHBI", _PACKAGE, own, 0x10, len(inside)) + inside
    return record + b"\0\0\0\x60" + bytes(4)


XEL_HEADER = b"\x5a\x37\xab\xef\x0a\0\0\x02" + bytes(range(16)) + b"\x99" * 488


def xel_file(events: Iterable[bytes], *, block_bytes: int = 1 << 20, **dictionary: Any) -> Iterator[bytes]:
    """Yield a whole Extended Events file, piece by piece."""
    yield XEL_HEADER + xel_dictionary(**dictionary)
    inside, number = bytearray(), 0
    for event in events:
        inside += event
        if len(inside) >= block_bytes:
            yield xel_block(0, bytes(inside), number)
            inside, number = bytearray(), number + 1
    if inside:
        yield xel_block(0, bytes(inside), number)


def xel_of(load: Iterable[tuple[str, Mapping[str, int | str]]]) -> Iterator[bytes]:
    """Yield the events of a load as a session of Extended Events has them."""
    for kind, known in load:
        costs = {
            "cpu_time": known["cpu_us"],
            "duration": known["duration_us"],
            "logical_reads": known["reads"],
            "physical_reads": int(known["reads"]) % 5,
            "writes": known["writes"],
            "row_count": known["rows"],
        }
        actions = {
            "session_id": known["session"],
            "client_app_name": ".Net SqlClient Data Provider",
            "database_name": "Shop",
        }
        ticks = int(known["end_us"]) * 10
        if kind == "batch":
            yield xel_event("sql_batch_completed", ticks, actions, batch_text=known["text"], **costs)
        else:
            yield xel_event(
                "rpc_completed", ticks, actions, statement=known["text"], object_name="sp_executesql", **costs
            )


def smallest_files() -> dict[str, list[bytes]]:
    """Return a few small files of each format that hold something of all that is read, for damaging them."""
    quoted = "exec sp_executesql N'select a from t where b=@p and c=''x''',N'@p int',@p=3"
    prepared = "declare @p1 int\nset @p1=7\nexec sp_prepexec @p1 output,NULL,N'select 1'"
    trc = trc_file(
        [
            trc_event(
                "RPC:Completed", TextData=quoted, SPID=51, Duration=900, StartTime=EPOCH, CPU=1, Reads=5, Writes=0
            ),
            trc_event(
                "SP:StmtCompleted", TextData="select b", SPID=51, Duration=5, NestLevel=2, EndTime=EPOCH, IsSystem=0
            ),
            trc_event(
                "SP:StmtCompleted",
                TextData="exec p",
                SPID=51,
                Duration=9,
                NestLevel=1,
                EndTime=EPOCH,
                DatabaseName="Shop",
            ),
            trc_event("Audit Login", SPID=51, StartTime=EPOCH),
            trc_event("RPC:Completed", TextData=prepared, SPID=51, Duration=900, StartTime=EPOCH),
            trc_event(
                "RPC:Completed", TextData="exec sp_execute 7,1", SPID=51, Duration=900, StartTime=EPOCH, RowCounts=3
            ),
        ]
    )
    session = {"session_id": 51}
    queries = [
        xel_event("rpc_completed", 10_000, session, statement=quoted, duration=900, cpu_time=16_000, physical_reads=1),
        xel_event("rpc_completed", 20_000, session, statement="exec sp_reset_connection", duration=1),
        xel_event("rpc_completed", 30_000, session, statement=prepared, duration=900),
    ]
    io = [
        xel_event("wait_info", 10_000, session, wait_type=66, opcode=1, duration=3),
        xel_event("physical_page_read", 10_000, session, file_id=1, page_id=8, database_id=5),
        xel_event(
            "file_read_completed",
            20_000,
            session,
            duration=9,
            offset=8192,
            size=65536,
            database_id=5,
            file_id=1,
            path="d.mdf",
        ),
        xel_event("sp_statement_completed", 20_000, session, duration=900, nest_level=1, statement="select 1"),
    ]
    io_names = ("wait_info", "physical_page_read", "file_read_completed", "sp_statement_completed")
    xels = [
        b"".join(xel_file(events, block_bytes=400, names=names))
        for names, events in ((("rpc_completed",), queries), (io_names, io))
    ]
    return {"sqlserver-trc": [trc], "sqlserver-xel": xels}
