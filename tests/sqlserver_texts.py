"""Events of SQL Server written as its tools write them, for tests."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from tiersim.traces.readers.sqlserver.events import CLASS_NAMES, COLUMN_NAMES

_NUMBERS = {name: number for number, name in COLUMN_NAMES.items()}
#: What each class is in Extended Events, and which field holds its text.
_EVENTS = {
    10: ("rpc_completed", "statement"),
    12: ("sql_batch_completed", "batch_text"),
    41: ("sql_statement_completed", "statement"),
    14: ("login", ""),
}


class Traced(NamedTuple):
    """One event of SQL Trace."""

    event_class: int
    text: str
    spid: int
    start_ms: int  # since 1970
    duration_us: int
    cpu_ms: int = 0
    reads: int = 0
    writes: int = 0
    rows: int = 0

    @property
    def end_ms(self) -> int:
        return self.start_ms + self.duration_us // 1000


EVENTS = (
    Traced(14, "-- network protocol: TCP/IP", 51, 1_795_330_800_000, 0),
    Traced(12, "select a\r\nfrom t, u where b < 'x, \"y\" & <z>' -- 7", 51, 1_795_330_800_880, 7_327, 15, 120, 2, 9),
    Traced(
        10, "exec sp_executesql N'select c from t where b=@p',N'@p int',@p=5", 52, 1_795_330_801_000, 2_000, 0, 4, 0, 1
    ),
    Traced(
        10, "exec sp_executesql N'select c from t where b=@p',N'@p int',@p=6", 52, 1_795_330_801_003, 3_000, 1, 4, 0, 1
    ),
    Traced(10, "exec sp_reset_connection", 52, 1_795_330_802_000, 0),
    Traced(12, "update t set a = 5", 52, 1_795_330_802_100, 40_000, 31, 77, 6, 12),
)


def _iso(unix_ms: int, zone: str) -> str:
    """A time as XML has it: no zeros at the end of its fraction."""
    moment = datetime.fromtimestamp(unix_ms // 1000, UTC)
    fraction = f"{unix_ms % 1000:03d}".rstrip("0")
    return f"{moment:%Y-%m-%dT%H:%M:%S}{'.' if fraction else ''}{fraction}{zone}"


def _columns(event: Traced, zone: str) -> dict[str, str]:
    timed = event.event_class != 14
    values = {
        "TextData": event.text, "SPID": str(event.spid), "StartTime": _iso(event.start_ms, zone),
        "EndTime": _iso(event.end_ms, zone) if timed else "", "Duration": str(event.duration_us) if timed else "",
        "CPU": str(event.cpu_ms), "Reads": str(event.reads), "Writes": str(event.writes), "RowCounts": str(event.rows),
        "BinaryData": "0x0A00", "DatabaseName": "shop", "LoginName": "web",
    }  # fmt: skip
    return {name: value for name, value in values.items() if value}


def trace_xml(
    events: Sequence[Traced] = EVENTS,
    *,
    namespace: bool = True,
    declared: str = "utf-16",
    encoding: str = "utf-16",
    header: bool = True,
    version: int = 14,
) -> bytes:
    """Profiler's "Trace XML File"."""
    space = ' xmlns="http://tempuri.org/TracePersistence.xsd"' if namespace else ""
    head = (
        f'  <Header>\r\n    <TraceProvider name="Microsoft SQL Server" MajorVersion="{version}" MinorVersion="0"'
        ' BuildNumber="3391" />\r\n    <ServerInformation name="DB1" />\r\n    <ProfilerUI>\r\n     '
        " <OrderedColumns>\r\n        <ID>27</ID>\r\n      </OrderedColumns>\r\n      <TracedEvents>\r\n        <Event"
        ' id="12">\r\n          <EventColumn id="1" />\r\n        </Event>\r\n      </TracedEvents>\r\n   '
        " </ProfilerUI>\r\n  </Header>\r\n"
    )
    body = "".join(
        f'    <Event id="{event.event_class}" name={quoteattr(CLASS_NAMES[event.event_class])}>\r\n'
        + "".join(
            f'      <Column id="{_NUMBERS[name]}" name="{name}">{escape(value)}</Column>\r\n'.replace(
                "\r\nfrom", "&#xD;\nfrom"
            )
            for name, value in _columns(event, "+00:00").items()
        )
        + "    </Event>\r\n"
        for event in events
    )
    text = (
        f'<?xml version="1.0" encoding="{declared}"?>\r\n<TraceData{space}>\r\n{head if header else ""} '
        f" <Events>\r\n{body}  </Events>\r\n</TraceData>"
    )
    return text.encode(encoding)


def trace_table(
    events: Sequence[Traced] = EVENTS, *, delimiter: str = ",", null: str = "NULL", named: bool = False
) -> str:
    """A trace table, or ``fn_trace_gettable``, as CSV."""
    names = (
        *("TextData", "BinaryData", "DatabaseID", "SPID", "Duration", "StartTime", "EndTime", "Reads", "Writes", "CPU"),
        *("EventClass", "DatabaseName", "LoginName", "RowCounts"),
    )
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(names)
    for event in events:
        kind = CLASS_NAMES[event.event_class] if named else str(event.event_class)
        columns = {
            name: value.replace("T", " ") if name.endswith("Time") else value
            for name, value in _columns(event, "").items()
        }
        writer.writerow([(columns | {"EventClass": kind}).get(name, null) for name in names])
    return text.getvalue()


def event_data(event: Traced) -> str:
    """One event as ``fn_xe_file_target_read_file`` has it."""
    name, text = _EVENTS[event.event_class]
    numbers = {
        "cpu_time": event.cpu_ms * 1000,
        "duration": event.duration_us,
        "physical_reads": 3,
        "logical_reads": event.reads,
        "writes": event.writes,
        "row_count": event.rows,
    }
    fields = "".join(
        f'<data name="{name}"><type name="uint64" package="package0"/><value>{value}</value></data>'
        for name, value in numbers.items()
    )
    if text:
        fields += '<data name="result"><type name="result" package="sqlserver"/><value>0</value><text>OK</text></data>'
        fields += (
            f'<data name="{text}"><type name="unicode_string"'
            f' package="package0"/><value>{escape(event.text)}</value></data>'
        )
    else:
        fields = ""
    end = _iso(event.end_ms, "Z")
    return (
        f'<event name="{name}" package="sqlserver" timestamp="{end}">{fields}'
        f'<action name="session_id" package="sqlserver"><value>{event.spid}</value></action>'
        '<action name="database_name" package="sqlserver"><value>shop</value></action></event>'
    )


def event_series(events: Sequence[Traced] = EVENTS) -> str:
    """Events one behind the other, without a root."""
    return "\r\n".join(map(event_data, events))


def event_table(events: Sequence[Traced] = EVENTS) -> str:
    """What selects ``*`` from ``fn_xe_file_target_read_file``, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("module_guid", "package_guid", "object_name", "event_data", "file_name", "file_offset"))
    for event in events:
        writer.writerow(("CE79811F", "655FD93F", "x", event_data(event), "D:\\x_0_1.xel", "4096"))
    return text.getvalue()
