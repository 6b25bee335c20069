"""Writes trace files and Extended Events files as SQL Server lays them out, from rows of what is in them."""

import random
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

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
            "<8H", value.year, value.month, value.isoweekday() % 7, value.day, value.hour, value.minute, value.second, value.microsecond // 1000
        )  # fmt: skip
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


def trc_file(events: Iterable[bytes], **header: int | str) -> bytes:
    """Return a whole trace file."""
    return trc_header(**header) + b"".join(events)  # type: ignore[arg-type]


_QUERIES = (
    "SELECT TOP (50) o.OrderID, o.CustomerID, SUM(l.Amount) AS Total FROM dbo.Orders AS o JOIN dbo.[Order Lines] AS l ON "
    "l.OrderID = o.OrderID WHERE o.CustomerID = {0} AND o.Region = N'R{0}' GROUP BY o.OrderID, o.CustomerID ORDER BY Total DESC",
    "UPDATE dbo.Accounts SET Balance = Balance - {0}.50, Changed = '2026-11-22T08:00:{1:02d}' WHERE AccountID IN ({0}, {1})",
    "INSERT INTO dbo.History (AccountID, Amount, Note) VALUES ({0}, -{1}, 'paid by O''Neil {0}'), ({1}, {0}, N'note {1}')",
    "/* trace {0} */ SELECT Name FROM dbo.Customers WITH (NOLOCK) WHERE CustomerID = {0} -- page {1}",
)


class Load:
    """Draws executions of many sessions, batches and remote procedure calls, each with literals of its own."""

    def __init__(self, count: int, seed: int = 1, sessions: int = 40) -> None:
        self._chance = random.Random(seed)
        self._count = count
        self._sessions = sessions

    def __iter__(self) -> Iterator[tuple[str, dict[str, int | str]]]:
        """Yield batches and calls: whether ``batch`` or ``rpc``, and what is known of it; times in µs since the load began."""
        chance, end_us = self._chance, 0
        for number in range(self._count):
            end_us += 1 + int(chance.random() * 400)
            duration_us = int(chance.random() * 5_000)
            text = _QUERIES[number % len(_QUERIES)].format(number, number % 60)
            session = 51 + int(chance.random() * self._sessions)
            known: dict[str, int | str] = {
                "session": session, "end_us": end_us, "duration_us": duration_us, "cpu_us": duration_us // 2, "reads": number % 97,
                "writes": number % 3, "rows": number % 11,
            }  # fmt: skip
            if number % 3 == 0:
                yield "batch", known | {"text": text}
            elif number % 13 == 1:
                yield "rpc", known | {"text": "exec sp_reset_connection "}
            elif number % 3 == 1:
                quoted = text.replace("'", "''")
                yield "rpc", known | {"text": f"exec sp_executesql N'{quoted}',N'@p0 int,@p1 nvarchar(20)',@p0={number},@p1=N'v{number}'"}
            else:
                yield "rpc", known | {"text": f"exec dbo.PlaceOrder @customer={number},@note=N'order {number}',@amount={number}.25"}


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
            completed, TextData=str(known["text"]), DatabaseName="Shop", LoginName="app", ApplicationName=".Net SqlClient Data Provider",
            SPID=session, Duration=int(known["duration_us"]), StartTime=start, EndTime=end, Reads=int(known["reads"]),
            Writes=int(known["writes"]), CPU=int(known["cpu_us"]) // 1000, RowCounts=int(known["rows"]),
        )  # fmt: skip


def filetime(moment: datetime) -> int:
    """Return a time in UTC as 100 ns since 1601."""
    return (moment.replace(tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 10


__all__ = ["CLASSES", "COLUMNS", "EPOCH", "Load", "Sequence", "entry", "filetime", "trc_event", "trc_file", "trc_header", "trc_of"]
