"""Files that are no lists of requests: told apart from each other and from those that are, however one asks."""

import gzip
from pathlib import Path

import pytest

from tests.recorded_files import DATA
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.readers.detect import FORMATS, sorted_out
from tiersim.traces.readers.recorded import decoded
from tiersim.traces.readers.sources import SOURCES, source_of

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
    assert [key for key, source in SOURCES.items() if source.looks_like(decoded(data))] == [SAMPLES[name]]
    assert not [key for key, kind in FORMATS.items() if kind.looks_like(data)]
    for path in (DATA / name, packed):
        assert detect_format(path) == source_of(path) == SAMPLES[name]
        assert sorted_out([path]).others == [(path, SAMPLES[name])]
        assert not sorted_out([path]).requests


@pytest.mark.parametrize(
    "name", ["docs/formats.md", "docs/statistics.md", "README.md", "pyproject.toml", "tests/recorded_files.py"]
)
def test_texts_about_such_files_are_none_of_them(name: str) -> None:
    assert source_of(Path(__file__).parents[1] / name) is None


def test_all_samples_are_one_recording(tmp_path: Path) -> None:
    import_trace([DATA], tmp_path / "a.trace")
    manifest = Bundle(tmp_path / "a.trace").manifest
    assert {file["name"] for file in manifest.source_files} == set(SAMPLES)
    assert set(manifest.source_format.split(", ")) == set(SAMPLES.values())
    assert manifest.statements > 0
    assert manifest.snapshots > 0
