"""Files that are no lists of requests: told apart from each other and from those that are, however one asks."""

import gzip
from pathlib import Path

import pytest

from tests.recorded_files import DATA
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.readers.importing import SOURCES, UnknownFormatError, formats_like, sort_files
from tiersim.traces.readers.postgres.views import VIEWS as POSTGRES_VIEWS
from tiersim.traces.readers.recorded import decoded
from tiersim.traces.readers.sqlserver.views import VIEWS as SQLSERVER_VIEWS

SAMPLES = {
    "postgresql.log": "postgresql-log",
    "postgresql_18.log": "postgresql-log",
    "postgresql.csv": "postgresql-log",
    "postgresql.json": "postgresql-log",
    "pgbench_rate.log": "pgbench-log",
    "pgbench_failures.log": "pgbench-log",
    "pgbench_retries.log": "pgbench-log",
    "pgbench_aggregated.log": "pgbench-log",
    "pgbench_rate.out": "pgbench-output",
    "pgbench_retries.out": "pgbench-output",
    "proc.txt": "proc",
    "iostat_xt.txt": "iostat",
    "iostat_d.json": "iostat",
    "sar-d-u-b.txt": "sar",
    "sadf-d-u-b.csv": "sar",
    "cloudwatch_statistics_made_up.json": "cloudwatch",
    "cloudwatch_data_made_up.json": "cloudwatch",
    "cloudwatch_console_made_up.csv": "cloudwatch",
    "azure_made_up.json": "azure-monitor",
    "azure_made_up.csv": "azure-monitor",
    "clock.txt": "clock",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_is_of_one_kind_however_one_asks(tmp_path: Path, name: str) -> None:
    data = (DATA / name).read_bytes()
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(data))
    assert list(formats_like(data)) == [SAMPLES[name]]
    for path in (DATA / name, packed):
        assert detect_format(path) == SAMPLES[name]
        assert sort_files([path]).others == [(path, SAMPLES[name])]
        assert not sort_files([path]).requests


@pytest.mark.parametrize(
    "name", ["docs/formats.md", "docs/statistics.md", "README.md", "pyproject.toml", "tests/recorded_files.py"]
)
def test_texts_about_such_files_are_none_of_them(name: str) -> None:
    with pytest.raises(UnknownFormatError):
        detect_format(Path(__file__).parents[1] / name)


HEADINGS = [
    (key, ",".join(told.split()))
    for key, views in (("postgresql", POSTGRES_VIEWS), ("sqlserver", SQLSERVER_VIEWS))
    for view in views
    for told in view.told_by
]


@pytest.mark.parametrize(("key", "heading"), HEADINGS)
def test_every_view_is_told_by_its_columns_alone(key: str, heading: str) -> None:
    text = f"{heading}\n{','.join('1' for _ in heading.split(','))}\n"
    looks_like = SOURCES[key].looks_like
    assert looks_like is not None
    assert looks_like(text) == (key in formats_like(text.encode()))


@pytest.mark.long
def test_the_mark_of_a_kind_is_in_every_file_that_its_reader_takes() -> None:
    taken = set()
    for path in DATA.parent.rglob("*"):
        if path.is_file():
            start = path.read_bytes()[: 1 << 16]
            own = {key for key, kind in SOURCES.items() if kind.looks_like and kind.looks_like(decoded(start))}
            assert own <= set(formats_like(start)), path
            taken |= own
    assert taken >= set(SAMPLES.values())


def test_all_samples_are_one_recording(tmp_path: Path) -> None:
    import_trace([DATA], tmp_path / "a.trace")
    manifest = Bundle(tmp_path / "a.trace").manifest
    assert {file["name"] for file in manifest.source_files} == set(SAMPLES)
    assert set(manifest.source_format.split(", ")) == set(SAMPLES.values())
    assert manifest.statements > 0
    assert manifest.snapshots > 0
