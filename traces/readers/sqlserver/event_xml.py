"""Extended Events as XML: ``event_data`` of ``fn_xe_file_target_read_file`` (bare, or in a CSV), rings, events one
behind the other.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded, Source
from tiersim.traces.readers.sqlserver.event_times import EventTimes
from tiersim.traces.readers.sqlserver.events import (
    PAGE_BYTES,
    XE_EVENTS,
    XE_NUMBERS,
    XE_TEXTS,
    Wait,
    What,
    wait_class,
)
from tiersim.traces.readers.sqlserver.executions import ExecutionEvent, finish_executions
from tiersim.traces.readers.sqlserver.text_events import TextEvents
from tiersim.traces.readers.sqlserver.trace_rows import OF_SYSTEM, SYSTEM, number_of, numbers_of
from tiersim.traces.readers.sqlserver.xml_events import XmlEvents
from tiersim.traces.schema import NOT_KNOWN
from tiersim.units import NS_PER_MS

_EVENT = re.compile(r'<event\s[^<>]{0,300}?\btimestamp="|<RingBufferTarget\b')
_RING = re.compile(r"<RingBufferTarget\b([^<>]*)>")
_ATTRIBUTE = re.compile(r'(\w+)="{1,2}(\d{1,18})"')
_NUMBERS = numbers_of(XE_NUMBERS)
_FILES = (What.FILE_READ, What.FILE_WRITE)
_DAMAGED = "damaged events"


def _looks_like(start: str) -> bool:
    text = start.replace("\0", "").lstrip("\ufeff \r\n\t")
    is_such = text.startswith(("<", '"<event ')) or "event_data" in text.split("\n", 1)[0]
    return is_such and _EVENT.search(text) is not None


def _read(path: Path, opened: Opened, recorded: Recorded) -> None:
    """Add what the events say; raises TraceError when there are none, or most are damaged."""
    found = XmlEvents(opened, "event")
    texts = recorded.of(TextEvents)
    times = EventTimes()
    events = damaged = files = 0
    for event in found:
        what = XE_EVENTS.get(event.get("name", ""), What.OTHER)
        events += 1
        if what in _FILES:
            files += 1
        elif what != What.OTHER:
            fields, words = _fields(event)
            if fields.get("is_system") in SYSTEM:
                recorded.lose(OF_SYSTEM, 1)
                continue
            try:
                texts.take(_event(what, event.get("timestamp", ""), fields, words, times))
            except ValueError:
                events -= 1
                damaged += 1
    texts.flush()
    damaged += found.damaged
    if damaged > events:
        raise TraceError(
            f"{path}: {damaged:,} of {damaged + events:,} events cannot be read; save event_data again, whole (sqlcmd"
            " cuts texts)"
        )
    recorded.host.setdefault("engine", "sqlserver")
    recorded.host.setdefault("page_bytes", PAGE_BYTES)
    recorded.lose("reads and writes of files, which are read from .xel files alone", files)
    if damaged:
        recorded.lose(_DAMAGED, damaged)
        recorded.warnings.append(f"{path.name}: {damaged:,} damaged events are left out")
    if found.cut or opened.damage:
        why = "it is cut off within an event" if found.cut else opened.damage
        recorded.warnings.append(f"{path.name}: {why}; what stands before is read, the rest is lost")
    _say_ring(path, found.outside, events, recorded)
    recorded.inferred += times.said(path.name)


#: What the registry of sources holds of it.
EVENT_XML = Source(_read, _looks_like, finish_executions)


def _fields(event: Element) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values of an event's fields and actions by name, and the words that stand for those that are codes."""
    values: dict[str, str] = {}
    words: dict[str, str] = {}
    for field in event:
        name = field.get("name", "")
        for child in field:
            if child.tag == "value":
                values[name] = child.text or ""
            elif child.tag == "text":
                words[name] = child.text or ""
    return values, words


def _event(
    what: What, timestamp: str, fields: Mapping[str, str], words: Mapping[str, str], times: EventTimes
) -> ExecutionEvent:
    """Return an event; raises ValueError when a number or its time is none. It is noted when it ends."""
    numbers = [number_of(fields.get(name), unit) for name, unit in _NUMBERS]
    wait = Wait.OTHER
    if what == What.WAIT:
        wait = wait_class(words.get("wait_type") or fields.get("wait_type", ""))
        numbers[0] = number_of(fields.get("duration"), NS_PER_MS)
    return ExecutionEvent._make(
        (
            what,
            next((fields[name] for name in XE_TEXTS if fields.get(name)), None),
            NOT_KNOWN,
            times.unix_ns(timestamp),
            *numbers,
            wait,
            fields.get("database_name") or None,
            fields.get("server_principal_name") or fields.get("username") or None,
        )
    )


def _say_ring(path: Path, outside: str, events: int, recorded: Recorded) -> None:
    """Say what a ring that holds the last events alone has lost."""
    ring = _RING.search(outside)
    if ring is None:
        return
    told = {name: int(value) for name, value in _ATTRIBUTE.findall(ring[1])}
    held = told.get("eventCount", events)
    lost = max(told.get("totalEventsProcessed", held) - held, 0)
    dropped = told.get("droppedCount", 0)
    missing = max(held - events, 0)
    recorded.lose("events that the ring had no place for any more", lost)
    recorded.lose("events that were dropped while recording", dropped)
    recorded.lose("events of the ring that are not in its XML, which is cut at 4 MB", missing)
    if lost or dropped or missing or told.get("truncated"):
        recorded.warnings.append(
            f"{path.name}: the ring holds {events:,} of {held + lost + dropped:,} events; record to an event_file"
            " instead"
        )
