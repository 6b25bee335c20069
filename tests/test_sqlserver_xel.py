"""Extended Events files of SQL Server are read by their own dictionaries, to the last byte, and whatever is left of
damaged ones.
"""

import json
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.imported_rows import said
from tests.recorded_files import SHARED, read_files, read_text, statements, texts
from tests.sqlserver_files import (
    EPOCH,
    MAPS,
    XE,
    XEL_HEADER,
    Load,
    trc_file,
    trc_of,
    xel_block,
    xel_dictionary,
    xel_event,
    xel_file,
    xel_of,
)
from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver import window, xel, xel_kernels
from tiersim.traces.readers.sqlserver.coded_texts import text_at
from tiersim.traces.readers.sqlserver.trc_kernels import MISSING
from tiersim.traces.readers.sqlserver.xel_dictionary import Dictionary
from tiersim.traces.readers.sqlserver.xel_kernels import (
    DICTIONARY,
    FIRST_FIELD,
    KNOWN,
    LOST_BYTES,
    PLACE,
    SCAN_COUNTS,
    TICKS,
    WantedEvents,
    block_of,
    is_block,
    scan,
)
from tiersim.traces.schema import PURPOSES
from tiersim.traces.statistics import read_statements

pytestmark = pytest.mark.kernels

REAL = SHARED / "sqlserver" / "xel"
US, MS = 1_000, 1_000_000
EPOCH_NS = int((EPOCH - datetime(1970, 1, 1)) / timedelta(microseconds=1)) * US
SESSION = {"session_id": 51}


def file_of(*events: bytes, **dictionary: Any) -> bytes:
    return b"".join(xel_file(events, **dictionary))


def read(folder: Path, data: bytes) -> Recorded:
    return read_text(folder, data, key="sqlserver-xel", name="a.xel")


def decoded(data: bytes) -> list[dict[str, Any]]:
    """Return all that a file holds, every field and action of every event, and make sure that nothing is left over."""
    array, dictionary, found, at = np.frombuffer(data, np.uint8), Dictionary(), [], 0x200
    while at < len(data):
        assert is_block(array, at, len(data))
        kind, size, header, used = block_of(array, at)
        if kind == DICTIONARY:
            assert dictionary.add(data[at + header : at + header + used])
        else:
            found += _events(array, at + header, at + header + used, dictionary)
        at += size
    assert at == len(data)
    return found


def _events(array: Any, at: int, end: int, dictionary: Dictionary) -> list[dict[str, Any]]:
    events, actions = list(dictionary.events.items()), list(dictionary.actions.items())
    most = max(len(event.fields) for _, event in events)
    fields, action_fields = (
        np.zeros((len(events), most + len(actions), 2), np.int64),
        np.zeros((len(actions), 2), np.int64),
    )
    for row, (_, event) in enumerate(events):
        for place, field in enumerate(event.fields.values()):
            fields[row, place] = field.offset, dictionary.width(field) or PLACE
    for row, (_, action) in enumerate(actions):
        width = dictionary.width(action)
        action_fields[row] = most + row, width if 0 < abs(width) <= 8 else PLACE
    keys, action_keys = (
        np.array([package << 16 | number for (package, number), _ in some], np.int64) for some in (events, actions)
    )
    values, counts = np.empty((10_000, FIRST_FIELD + most + len(actions)), np.int64), np.zeros(SCAN_COUNTS, np.int64)
    stop, rows = scan(array, at, end, WantedEvents(keys, fields, action_keys, action_fields), values, 0, counts)
    assert (stop, counts[LOST_BYTES]) == (end, 0)
    found = []
    for row in values[:rows].tolist():
        event = events[row[KNOWN]][1]
        told: dict[str, Any] = {"name": event.name, "ticks": row[TICKS]}
        told["data"] = {
            name: (row[FIRST_FIELD + place], field) for place, (name, field) in enumerate(event.fields.items())
        }
        told["actions"] = {
            a.name: (row[FIRST_FIELD + most + place], a)
            for place, (_, a) in enumerate(actions)
            if row[FIRST_FIELD + most + place] != MISSING
        }
        for part in ("data", "actions"):
            told[part] = {name: _value(array, dictionary, value, of) for name, (value, of) in told[part].items()}
        found.append(told)
    return found


def _value(array: Any, dictionary: Dictionary, value: int, of: Any) -> Any:
    if of.type in dictionary.maps:
        return {"value": value, "text": dictionary.maps[of.type].get(value)}
    name, width = dictionary.types[of.type], dictionary.width(of)
    if name in ("unicode_string", "xml"):
        return text_at(array, value).rstrip("\0")
    if width == 0 or width > 8:
        start, length = value >> 32, value & 0xFFFFFFFF
        return array[start : start + length].tobytes().hex()
    return bool(value) if name == "boolean" else value


def test_a_package_that_is_written_again_with_fewer_words_keeps_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = Dictionary()
    number, width, words = MAPS["wait_types"]
    for kept in (words, dict([min(words.items())])):
        monkeypatch.setitem(MAPS, "wait_types", (number, width, kept))
        block = xel_dictionary()
        _, _, header, used = block_of(np.frombuffer(block, np.uint8), 0)
        assert dictionary.add(block[header : header + used])
    assert len(words) > 1
    assert dictionary.maps[2, number] == words


@pytest.mark.shared
@pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not beside this checkout")
@pytest.mark.parametrize("name", ["TestXel_0", "xe_wait_completed_0_132353446563350000"])
def test_real_files_are_decoded_to_the_last_byte(name: str) -> None:
    expected = json.loads((REAL / f"{name}.decoded.json").read_text())
    found = decoded((REAL / f"{name}.xel").read_bytes())
    assert len(found) == len(expected["events"])
    start, shorter = expected["base_filetime"], 0
    for event, known in zip(found, expected["events"], strict=True):
        moment = datetime(1601, 1, 1) + timedelta(microseconds=(start + event.pop("ticks")) // 10)
        assert datetime.fromisoformat(known.pop("timestamp").removesuffix("Z")) == moment
        for value, other in zip(known["data"].values(), event["data"].values(), strict=True):
            if isinstance(value, dict) and value["text"] is None:
                other["text"] = None  # a word that the one who decoded it first did not find
        shorter += event["actions"] != known["actions"]
        assert known.pop("actions").items() <= event.pop("actions").items()
        assert event == known
    assert shorter <= 1  # the other decoder stopped within the last event


@pytest.mark.shared
@pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not beside this checkout")
def test_a_real_file_becomes_its_executions() -> None:
    recorded = read_files(REAL / "TestXel_0.xel")
    events = json.loads((REAL / "TestXel_0.decoded.json").read_text())["events"]
    known = [event for event in events if event["name"] in ("rpc_completed", "sql_batch_completed")]
    known = [event for event in known if "sp_reset_connection" not in event["data"].get("statement", "")]
    rows = statements(recorded)
    assert sorted(row["duration_ns"] for row in rows) == sorted(event["data"]["duration"] * US for event in known)
    assert sum(row["cpu_ns"] for row in rows) == sum(event["data"]["cpu_time"] for event in known) * US
    assert sum(row["logical_reads"] for row in rows) == sum(event["data"]["logical_reads"] for event in known)
    assert not recorded.warnings
    assert not [sentence for sentence in recorded.inferred if "never checked" in sentence]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    recorded = read(
        tmp_path,
        file_of(
            xel_event(
                "sql_batch_completed",
                30_000,
                SESSION | {"database_name": "Shop"},
                batch_text="select a where b=1",
                duration=900,
                cpu_time=16_000,
                logical_reads=7,
                physical_reads=3,
                writes=2,
                row_count=4,
            ),
            xel_event(
                "rpc_completed",
                20_000,
                {"session_id": 52},
                statement="exec sp_executesql N'select b from c where d=''x'''",
                duration=5,
                object_name="sp_executesql",
            ),
            xel_event("error_reported", 20_000, {"session_id": 52}, error_number=-5),
        ),
    )
    first, second = statements(recorded)
    assert texts(recorded)[first["query"]] == "select b from c where d = ?"
    assert first["kind"] == "rpc"
    second.pop("query")
    assert second == {
        "time_ns": EPOCH_NS + 3 * MS - 900 * US,
        "duration_ns": 900 * US,
        "cpu_ns": 16 * MS,
        "session": "51.1",
        "kind": "language",
        "logical_reads": 7,
        "physical_reads": 3,
        "writes": 2,
        "rows": 4,
    }
    assert recorded.dropped == {"events that are not imported": 1}
    assert {query.get("database") for query in recorded.queries.values()} == {"Shop", None}


@pytest.mark.parametrize("number", [208, -256])  # their first and last bytes have other highest bits
def test_the_last_byte_has_the_sign(number: int) -> None:
    (event,) = decoded(file_of(xel_event("error_reported", 0, {}, error_number=number)))
    assert event["data"]["error_number"] == number


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_every_field_comes_back(data: st.DataObject) -> None:
    written, events = [], []
    for ticks in range(data.draw(st.integers(0, 5))):
        name = data.draw(st.sampled_from(sorted(XE)))
        values: dict[str, Any] = {}
        for field, kind in XE[name][1]:
            if kind == "unicode_string":
                values[field] = data.draw(st.text(st.characters(codec="utf-16", exclude_characters="\0"), max_size=20))
            elif kind.startswith("map:"):
                values[field] = data.draw(st.sampled_from(sorted(MAPS[kind[4:]][2])))
            else:
                values[field] = data.draw(
                    st.integers(-(2**31), 2**31 - 1)
                    if kind == "int32"
                    else st.integers(0, 1 if kind == "boolean" else 2**15)
                )
        actions: dict[str, Any] = data.draw(
            st.fixed_dictionaries(
                {}, optional={"session_id": st.integers(0, 2**16 - 1), "client_app_name": st.text("abc", max_size=5)}
            )
        )
        events.append(xel_event(name, ticks, actions, **values))
        written.append({"name": name, "ticks": ticks, "data": values, "actions": actions})
    found = decoded(file_of(*events, block_bytes=data.draw(st.sampled_from([1, 200, 1 << 20]))))
    for event in found:
        event["data"] = {
            name: value["value"] if isinstance(value, dict) else value for name, value in event["data"].items()
        }
    assert found == written


def test_both_kinds_of_files_tell_the_same_load(tmp_path: Path) -> None:
    (tmp_path / "a.xel").write_bytes(b"".join(xel_file(xel_of(Load(150)))))
    (tmp_path / "a.trc").write_bytes(trc_file(trc_of(Load(150))))
    one, two = (statements(read_files(tmp_path / name)) for name in ("a.xel", "a.trc"))
    names = ("duration_ns", "session", "kind", "query", "logical_reads", "writes", "rows")
    assert sorted([tuple(row[name] for name in names) for row in one]) == sorted(
        [tuple(row[name] for name in names) for row in two]
    )


@pytest.mark.parametrize("ticks_per_s", [10_000_000, 3_000_000, 2_593_903])
def test_ticks_are_what_the_file_says(tmp_path: Path, ticks_per_s: int) -> None:
    recorded = read(
        tmp_path,
        file_of(
            xel_event("sql_batch_completed", 3 * 86_400 * ticks_per_s, SESSION, batch_text="x", duration=0),
            ticks_per_s=ticks_per_s,
        ),
    )
    assert statements(recorded)[0]["time_ns"] == EPOCH_NS + 3 * 86_400 * 1_000 * MS


def test_a_file_may_have_several_dictionaries(tmp_path: Path) -> None:
    one, two = (
        xel_event(name, 10, SESSION, duration=5, **{text: "select 1"})
        for name, text in (("rpc_completed", "statement"), ("sql_batch_completed", "batch_text"))
    )
    later = EPOCH + timedelta(hours=1)
    data = (
        XEL_HEADER
        + xel_dictionary(names=["rpc_completed"])
        + xel_block(0, one)
        + xel_dictionary(names=["sql_batch_completed"], start=later)
        + xel_block(0, two)
        + xel_block(0, one)
    )
    rows = statements(read(tmp_path, data))
    assert [row["kind"] for row in rows] == ["rpc", "language", "rpc"]
    assert rows[1]["time_ns"] - rows[0]["time_ns"] == 3_600_000 * MS


def test_blocks_across_the_edges_of_what_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(xel_file(xel_of(Load(200)), block_bytes=3000))
    whole = statements(read(tmp_path, data))
    monkeypatch.setattr(xel, "_ROWS", 7)
    monkeypatch.setattr(window, "CHUNK_BYTES", 1024)
    assert statements(read(tmp_path, data)) == whole


def test_waits_and_pages_are_joined_by_session(tmp_path: Path) -> None:
    waits = {word: value for value, word in MAPS["wait_types"][2].items()}
    recorded = read(
        tmp_path,
        file_of(
            xel_event("wait_info", 1, SESSION, wait_type=waits["PAGEIOLATCH_SH"], opcode=0, duration=9),
            xel_event("wait_info", 2, SESSION, wait_type=waits["PAGEIOLATCH_SH"], opcode=1, duration=3),
            xel_event("wait_info", 2, {}, wait_type=waits["WRITELOG"], opcode=1, duration=3),
            xel_event("physical_page_read", 3, SESSION, file_id=1),
            xel_event("sql_batch_completed", 100_000, SESSION, batch_text="select 1", duration=9_000),
        ),
    )  # fmt: skip
    (row,) = statements(recorded)
    assert (row["io_wait_ns"], row["log_wait_ns"], row["physical_reads"]) == (3 * MS, 0, 0)
    assert recorded.dropped == {"waits without a session": 1}
    assert (
        said(
            "physical_page_read, sp_statement_completed, sql_statement_completed, wait_info: read as", recorded.inferred
        )
        or recorded.inferred
    )


def test_events_of_several_buffers_are_put_in_order(tmp_path: Path) -> None:
    batches = [
        xel_event("sql_batch_completed", ticks, SESSION, batch_text="select 1", duration=1) for ticks in (10, 30)
    ]
    reset = xel_event("rpc_completed", 20, SESSION, statement="exec sp_reset_connection")
    data = XEL_HEADER + xel_dictionary() + xel_block(0, b"".join(batches)) + xel_block(0, reset)
    assert [row["session"] for row in statements(read(tmp_path, data))] == ["51.1", "51.2"]


def test_a_text_that_was_not_collected_is_not_known(tmp_path: Path) -> None:
    (row,) = statements(read(tmp_path, file_of(xel_event("rpc_completed", 10, SESSION, duration=1))))
    assert "query" not in row
    assert row["kind"] == "rpc"


def test_reads_and_writes_of_files_become_requests(tmp_path: Path) -> None:
    io = {"duration": 200, "database_id": 5, "size": 65_536}
    events = [
        xel_event("file_read_completed", 50_000, SESSION, offset=8192, file_id=1, path="D:\\shop.mdf", **io),
        xel_event("file_write_completed", 40_000, {}, offset=512, file_id=2, path="L:\\shop.LDF", **io),
        xel_event("file_write_completed", 60_000, {}, offset=0, file_id=1, **(io | {"database_id": 2})),
        xel_event("file_read_completed", 60_000, {}, offset=0, file_id=1, **(io | {"size": 0})),
        xel_event("sql_batch_completed", 70_000, SESSION, batch_text="select 1", duration=3_000),
    ]  # fmt: skip
    for said_of, unit in (("The duration in microseconds", US), ("milliseconds", MS), ("", US)):
        (tmp_path / "a.xel").write_bytes(file_of(*events, descriptions={"duration": said_of}))
        manifest = import_trace([tmp_path / "a.xel"], tmp_path / "a.trace", force=True)
        bundle = Bundle(tmp_path / "a.trace")
        rows = bundle.requests()
        ends = (rows.time_ns + rows.latency_ns).tolist()
        assert np.diff(ends).tolist() == [MS, MS]
        assert rows.latency_ns.tolist() == [200 * unit] * 3
        assert [bundle.file_names[code] for code in rows.file] == ["5/2", "5/1", "2/1"]
        assert [PURPOSES[code] for code in rows.purpose] == ["log write", "data read", "temp"]
        assert rows.offset_bytes.tolist() == [512, 8192, 0]
        assert manifest.host["files"] == {"5/1": "D:\\shop.mdf", "5/2": "L:\\shop.LDF"}
        assert manifest.dropped == {"reads and writes of files without a place, a length or a time": 1}
        assert said("durations of reads and writes of files are assumed to be", manifest.inferred)
        (start_ns,) = read_statements(tmp_path / "a.trace").columns["time_ns"].tolist()
        assert start_ns == 4 * MS - (4 * MS - 200 * unit)


def test_files_of_a_session_are_in_order_and_detected(tmp_path: Path) -> None:
    names = [f"s_0_{number}.xel" for number in (132353446563350000, 1132353446563350000)]
    for name in names:
        (tmp_path / name).write_bytes(file_of(xel_event("sql_batch_completed", 1, SESSION, batch_text=name)))
        assert detect_format(tmp_path / name) == "sqlserver-xel"
    assert [
        file["name"] for file in import_trace([tmp_path], tmp_path.parent / "xel-set.trace", force=True).source_files
    ] == names


def test_a_file_that_was_cut_is_read_up_to_there(tmp_path: Path) -> None:
    head = XEL_HEADER + xel_dictionary(names=["rpc_completed"])
    events = [
        xel_event("rpc_completed", number, SESSION, statement=f"select {number}", duration=1) for number in range(3)
    ]
    data = head + xel_block(0, b"".join(events))
    inside = len(head) + 0x4D
    for cut in range(len(head), len(data), 7):
        recorded = read(tmp_path, data[:cut])
        assert len(statements(recorded)) == min(max(0, cut - inside) // len(events[0]), 3)
        assert bool(recorded.warnings) == (cut > len(head) and cut < inside + 3 * len(events[0]))
    for cut in (0, 5, len(XEL_HEADER), len(XEL_HEADER) + 40):
        with pytest.raises(TraceError, match=r"a\.xel: has no dictionary of its events"):
            read(tmp_path, data[:cut])
    recorded = read(tmp_path, data[: len(XEL_HEADER) + 900])
    assert said("a.xel: a dictionary of it is damaged", recorded.warnings)


@pytest.mark.parametrize(
    "damage",
    [
        b"\0" * 512,
        struct.pack("<IIIHHIHHII", 0, 0, 0, 0x0A, 0, 0xFFFFFE00, 0, 0x4D, 0xFFFFFF00, 0).ljust(512, b"\0"),
        struct.pack("<IIIHHIHHII", 0, 0, 0, 0x0A, 0, 0, 0, 0x4D, 0, 0).ljust(512, b"\0"),
        struct.pack("<IIIHHIHHII", 0, 0, 0, 0x0A, 1, 512, 0, 0x4C, 300, 0).ljust(512, b"\x0a"),
        xel_block(0, b"\x02\x74\0\0\x0a\0\0\0\0\0\0\0" + b"\xff" * 100),
        b"\x02\x74\0\0\x0a" * 50,
    ],
)
def test_what_stands_around_damage_is_read(tmp_path: Path, damage: bytes) -> None:
    block = xel_block(0, xel_event("rpc_completed", 5, SESSION, statement="select 1", duration=1) * 3)
    recorded = read(tmp_path, XEL_HEADER + xel_dictionary() + block + damage + block)
    assert len(statements(recorded)) == 6
    assert recorded.warnings


def test_a_record_that_is_damaged_takes_no_other_with_it(tmp_path: Path) -> None:
    event = xel_event("rpc_completed", 5, SESSION, statement="select 1", duration=1)
    huge = event[:20] + b"\xff\xff\xff\xff" + event[24:]
    recorded = read(tmp_path, XEL_HEADER + xel_dictionary() + xel_block(0, event + huge + event + event))
    assert len(statements(recorded)) == 3
    assert recorded.dropped == {"bytes of Extended Events that are no events": len(event)}


def test_times_are_utc(tmp_path: Path) -> None:
    recorded = read(
        tmp_path,
        file_of(xel_event("sql_batch_completed", 0, SESSION, batch_text="x"), start=datetime(2020, 5, 30, 20, 37)),
    )
    assert statements(recorded)[0]["time_ns"] == int(datetime(2020, 5, 30, 20, 37, tzinfo=UTC).timestamp()) * 1_000 * MS


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("value", [0, 1, 127, -1, -2, -128])
def test_numbers_have_the_sign_of_their_field(value: int, width: int) -> None:
    data = np.frombuffer(b"\xff" + value.to_bytes(width, "little", signed=True), np.uint8)
    assert xel_kernels._signed(data, 1, -width) == value


def test_a_number_that_no_column_holds_is_missing() -> None:
    data = np.frombuffer((1 << 62).to_bytes(8, "little"), np.uint8)
    assert xel_kernels._number(data, 0, 8) == MISSING
    assert xel_kernels._number(np.frombuffer(((1 << 62) - 1).to_bytes(8, "little"), np.uint8), 0, 8) == (1 << 62) - 1
