"""Files that are no measurement, or damaged, or made to do harm: one sentence, never a traceback."""

import gzip
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.fio_documents import DATA, direction, document, job, latency_ns, read
from tests.test_diskspd_xml import XML
from tests.test_fio_layouts import FIO_2_21
from tests.test_measured_points import TABLE
from tiersim.errors import TraceError
from tiersim.traces.measurement import MeasuredPoint
from tiersim.traces.readers import load_generators
from tiersim.traces.readers.fio_json import read_fio
from tiersim.traces.readers.load_generators import measurements

#: Of each kind one, as small as can be.
WHOLE = {
    "fio": "note: both\n" + document(job(read=direction(10, clat_ns=latency_ns(bins={"90000": 10})))),
    "old fio": FIO_2_21,
    "DiskSpd": XML,
    "table": TABLE,
}


def try_read(folder: Path, data: bytes) -> list[MeasuredPoint]:
    """Read a file that holds *data*, and check what is said if that fails."""
    (folder / "measured").write_bytes(data)
    return try_measure(folder / "measured")


def try_measure(path: Path) -> list[MeasuredPoint]:
    """Read a file, and check what is said if that fails."""
    try:
        return measurements(path)
    except TraceError as error:
        said = str(error)
        assert said.startswith(str(path))
        assert "\n" not in said
        assert len(said) < 500
        return []


@pytest.mark.parametrize("kind", WHOLE)
def test_cut_off_at_every_byte(tmp_path: Path, kind: str) -> None:
    whole = WHOLE[kind].rstrip()
    data = (whole if kind == "table" else " ".join(whole.replace("note: both", "").split())).encode()
    assert try_read(tmp_path, data)
    for size in reversed(range(len(data))):
        os.truncate(tmp_path / "measured", size)
        found = try_measure(tmp_path / "measured")
        assert not found or kind == "table"  # a cell that lost its end is still a cell


@pytest.mark.parametrize("kind", WHOLE)
@given(data=st.data())
@settings(max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_bytes(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    text = bytearray(WHOLE[kind].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        noise = data.draw(
            st.binary(max_size=4) | st.sampled_from([b"-1", b"1e999", b"NaN", b"null", b"{", b'"', b"9" * 30])
        )
        text[at : at + data.draw(st.integers(0, 6))] = noise
    for point in try_read(tmp_path, bytes(text)):
        check(point)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["mean", "N", "iops", "50"]), inner, max_size=3)
    ),
    max_leaves=4,
)
KEYS = ["total_ios", "runtime", "iops", "io_bytes", "io_kbytes", "clat_ns", "lat_ns", "slat_ns", "clat"]
LATENCY_KEYS = ["mean", "max", "min", "stddev", "N", "percentile", "bins"]


@given(
    parts=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
    latency=st.dictionaries(st.sampled_from(LATENCY_KEYS), VALUES, max_size=3),
    entry=st.dictionaries(
        st.sampled_from(["read", "sync", "error", "groupid", "jobname", "elapsed", "job_runtime", "iodepth_level"]),
        VALUES,
        max_size=3,
    ),
    options=st.dictionaries(
        st.sampled_from(["rw", "bs", "iodepth", "numjobs", "sync", "rate"]), st.text(max_size=5), max_size=2
    ),
)
@settings(max_examples=examples(300), deadline=None)
def test_values_of_any_kind_in_any_place(
    parts: dict[str, object], latency: dict[str, object], entry: dict[str, object], options: dict[str, str]
) -> None:
    reads = {**direction(clat_ns={**latency_ns(), **latency}), **parts}
    for jobs in ([job(options, read=reads)], [{**job(options, read=reads), **entry}] * 2, [job(), entry]):
        try:
            for point in read_fio(document(*jobs, timestamp_ms=parts.get("iops")), "file"):
                check(point)
        except TraceError as error:
            said = str(error)
            assert said.startswith("file: ")


def check(point: MeasuredPoint) -> None:
    """What holds of every point, whatever it was read from."""
    for value in (point.iops, point.mean_ns, point.stddev_ns, point.least_ns, point.most_ns, point.submission_mean_ns):
        assert value is None or 0 <= value < float("inf")
    for value in (point.block_bytes, point.depth, point.jobs, point.seconds, point.requests, point.rate_limit_iops):
        assert value is None or value > 0
    for percentiles in (point.percentiles, point.sync_percentiles):
        assert [percent for percent, _ in percentiles] == sorted({percent for percent, _ in percentiles})
        assert all(0 < percent <= 100 and ns >= 0 for percent, ns in percentiles)
    assert point.read_share is None or 0 <= point.read_share <= 1


def billion_laughs() -> str:
    entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE Results [<!ENTITY a0 "lol">{entities}]><Results>&a9;</Results>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (billion_laughs(), "declares a document type or entities"),
        ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><Results></Results>', "declares a document type or entities"),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "http://[::1]/">]><Results>&x;</Results>', "declares a document type"),
        ("<Results>&undefined;</Results>", "is damaged or cut off"),
        ("<Results>" + "<a>" * 100_000, "is damaged or cut off"),
        ("<Results>" + "<a>" * 100_000 + "</a>" * 100_000 + "</Results>", "results of 0 time spans|measured no read"),
        ("<Results>" + "<a/>" * 4_000_001 + "</Results>", "more than 4,000,000 elements"),
        ('<Results a="&#0;"/><Results>', "is damaged or cut off"),
        ('{"fio version":"fio-3","jobs":' + "[" * 1_000_000, "nested too deep"),
        ('{"fio version":"fio-3","jobs":' + '{"a":' * 1_000_000, "nested too deep"),
        ('{"fio version":' * 100_000, "nested too deep"),
        ('{"fio version":1,"jobs":[' + "0," * 2_000_001 + "0]}", "more than 2,000,000 values"),
        ('{"fio version":1,"jobs":[' + "9" * 5_000 + "]}", "is damaged or cut off|not an object|nested too deep"),
        ('{"fio version":1,"jobs":[1]}', "a job in its JSON is '1', not an object"),
        ('{"fio version":1,"jobs":{}}', "its JSON holds no jobs"),
        ('{"fio version":1,"jobs":[]}', "fio measured no read and no write"),
        ('"jobs":', "its JSON"),
        ("", "is empty"),
        (" \n\t\n", "is empty"),
        ("\0" * 1000, "is empty"),
        ("select 1;", "begins with 'select 1;' and is no measurement that is known"),
        ("fio version 3 iolog\n10 /a/data add\n", "is no measurement that is known"),
        ("file,rw,bs\na,read,4k\n", "is no measurement that is known"),
    ],
)
def test_hostile_and_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError, match=message) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(str(tmp_path / "measured"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        document(job({"rw": "x" * 100_000})),
        document(job({"bs": "4k-8k"}, name="a" * 100_000)),
        TABLE.replace("8k", "k" * 100_000),
        TABLE.replace("40142.7", "x" * 100_000),
        TABLE.replace("8k", "k" * 200_000),
        XML.replace("Results>", f"{'R' * 100_000}>").replace("<System>", "<Results>"),
    ],
)
def test_what_is_said_is_short(tmp_path: Path, text: str) -> None:
    assert try_read(tmp_path, text.encode()) == []


def test_many_jobs_take_no_longer_than_their_text(tmp_path: Path) -> None:
    """20,000 jobs of 20,000 names beside 20,000 options of all: two squares of it would take minutes."""
    options = {f"option{number}": "1" for number in range(20_000)}
    jobs = [{"jobname": f"job{number}", "groupid": 0, "read": {"total_ios": 1}} for number in range(20_000)]
    points = read(tmp_path, document(*jobs, **{"global options": options}))
    assert len(points) == 20_000
    assert "'job0' and 19,998 more ran at the same time" in points[-1].warnings[0]


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        measurements(tmp_path / "nosuch")
    with pytest.raises(TraceError, match="is a directory"):
        measurements(tmp_path)


def test_compressed_files_are_read_and_damaged_ones_refused(tmp_path: Path) -> None:
    packed = gzip.compress(XML.encode())
    assert read(tmp_path, packed) == read(tmp_path, XML)
    with pytest.raises(TraceError, match="compressed data end too early"):
        read(tmp_path, packed[:-9])
    assert len(measurements(DATA / "fit.json.xz")) == len(
        read(tmp_path, lzma.decompress((DATA / "fit.json.xz").read_bytes()))
    )


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TraceError, match="is longer than 256 MiB"):
        read(tmp_path, gzip.compress(b" " * (load_generators.MOST_BYTES + 1), 1))
    monkeypatch.setattr(load_generators, "MOST_BYTES", 1 << 20)
    with pytest.raises(TraceError, match="is longer than 1 MiB"):
        read(tmp_path, gzip.compress(b" " * ((1 << 20) + 1)))
    assert read(tmp_path, XML.encode() + b" " * ((1 << 20) - len(XML)))
