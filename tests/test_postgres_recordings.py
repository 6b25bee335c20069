"""Recorded views beside the project: told by their content, and their differences as a naive twin takes them."""

from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from tests.naive_views import VIEWS, file_of, growth, rows_of
from tiersim.traces.bundle import Manifest
from tiersim.traces.differences import Differences, differences
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.statistics import read_snapshots

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded views are not beside this checkout"),
]

AB = [SHARED / "postgres/ab" / name for name in ("sel_fast_1", "sel_read400_1", "tpcb_fast_1", "tpcb_read400_1")]
LAB = [path for path in sorted((SHARED / "postgres/lab").glob("*")) if path.is_dir()]
SIXTEEN = SHARED / "postgres/pg16_views"
SEVENTY = SHARED / "blktrace/pgbench_70tps"
PAIRS = [*AB, *LAB, SIXTEEN, SEVENTY]
#: Not of a view.
NO_VIEWS = ("latency_quantiles_ms.csv",)
FILES = [
    file
    for root in (SHARED / "postgres", SEVENTY)
    for file in sorted(root.rglob("*.csv"))
    if file.name not in NO_VIEWS
]  # fmt: skip


@cache
def taken(folder: Path, scratch: Path) -> tuple[Manifest, Differences]:
    target = scratch / f"{folder.name}.trace"
    views = [path for path in sorted(folder.rglob("*.csv")) if path.name not in NO_VIEWS]
    manifest = import_trace(views, target, force=True)
    return manifest, differences(read_snapshots(target))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("views")


CASES = [(folder, view) for folder in PAIRS for view in VIEWS if file_of(folder, view, "after").exists()]


@pytest.mark.parametrize(("folder", "view"), CASES, ids=[f"{folder.name}-{view}" for folder, view in CASES])
def test_differences_are_those_of_the_twin(folder: Path, view: str, scratch: Path) -> None:
    _, found = taken(folder, scratch)
    expected = growth(folder, view)
    assert expected
    for (subject, entity), numbers in expected.items():
        grown = found.of(subject)[entity].grown
        assert {word: grown[word] for word in numbers} == numbers, entity


def test_every_cell_and_pair_is_judged() -> None:
    assert len(CASES) == 4 * 9 + 5 * 8 + 5 + 9


@pytest.mark.parametrize("folder", PAIRS, ids=lambda folder: folder.name)
def test_two_moments_are_two_snapshots(folder: Path, scratch: Path) -> None:
    manifest, found = taken(folder, scratch)
    assert manifest.snapshots == 2
    assert set(found.snapshots.values()) <= {1, 2}
    assert not manifest.dropped
    assert manifest.host["engine"] == "postgresql"


@pytest.mark.parametrize("folder", [*AB, SEVENTY], ids=lambda folder: folder.name)
def test_moments_are_when_the_rows_beside_them_say(folder: Path, scratch: Path) -> None:
    manifest, found = taken(folder, scratch)
    ends = [next(rows_of(file_of(folder, "meta", moment)))["clock_ts"] for moment in ("before", "after")]
    seconds = [Decimal(60) * Decimal(end[14:16]) + Decimal(end[17:].split("+")[0]) for end in ends]
    assert manifest.span_ns == int((seconds[1] - seconds[0]) * 10**9)
    assert found.span_ns["query"] == manifest.span_ns
    assert manifest.host["version"] == "15.18"
    assert manifest.host["page_bytes"] == 8192


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SHARED)) for path in FILES])
def test_every_file_is_told_by_its_content(path: Path) -> None:
    assert detect_format(path) == "postgresql"


@pytest.mark.parametrize("path", FILES[:: max(1, len(FILES) // 24)], ids=lambda path: path.name)
def test_a_file_imports_alone_under_any_name(path: Path, tmp_path: Path) -> None:
    alone = tmp_path / "unnamed"
    alone.write_bytes(path.read_bytes())
    manifest = import_trace([alone], tmp_path / "out.trace")
    assert manifest.source_format == "postgresql"
    assert not manifest.dropped


def test_pool_of_a_cell_is_all_of_its_pages(scratch: Path) -> None:
    cell = next(path for path in LAB if path.name == "update_zipf_sb512_free")
    taken(cell, scratch)
    *_, after = read_snapshots(scratch / f"{cell.name}.trace")
    pool = {entity: values["pages"] for (subject, entity), values in after.values.items() if subject == "pool"}
    rows = list(rows_of(file_of(cell, "pg_buffercache_usage", "after")))
    expected = {}
    for row in rows:
        schema = "public." if row["relname"].startswith("pgbench") else ""
        state = "dirty" if row["isdirty"] == "t" else "clean"
        expected[f"{schema}{row['relname']}/{row['usagecount']}/{state}"] = int(row["count"])
    assert pool == expected
    assert sum(int(row["count"]) for row in rows) == 65536
