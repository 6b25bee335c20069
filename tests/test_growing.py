"""A bundle that is recorded is whole at any moment, and in the end what an import would have written."""

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tiersim.errors import OutputError, TraceError
from tiersim.traces.bundle import Bundle
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.statistics import (
    NAME,
    PARTS,
    Snapshot,
    StatisticsWriter,
    Values,
    part_paths,
    read_queries,
    read_snapshots,
)

ZERO_UNIX_NS = 1_795_000_000_000_000_000


def snapshot(second: int, calls: int, **texts: str) -> Snapshot:
    values: Values = {"calls": Decimal(calls), "exec_ms": Decimal("0.1") * calls, **texts}
    return Snapshot(ZERO_UNIX_NS + second * 10**9, {("query", "1/2/t/3"): values})


def begun(folder: Path, **fields: object) -> GrowingBundle:
    return GrowingBundle(folder / "r.trace", ZERO_UNIX_NS, {"source_format": "postgresql", **fields}, force=False)


def moved(snapshots: list[Snapshot]) -> list[Snapshot]:
    return [Snapshot((s.time_ns or 0) - ZERO_UNIX_NS, s.values) for s in snapshots]


def test_at_any_moment_it_can_be_read(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    assert list(read_snapshots(bundle.folder)) == []
    taken = [snapshot(0, 1), snapshot(10, 5), snapshot(20, 9, since="2026")]
    for number, one in enumerate(taken, 1):
        bundle.add([one])
        assert list(read_snapshots(bundle.folder)) == moved(taken[:number])
        opened = Bundle(bundle.folder)
        assert opened.rows == 0
        assert opened.manifest.snapshots == number
        assert opened.manifest.host["clock_start_unix_ns"] == ZERO_UNIX_NS
    (warning,) = opened.manifest.warnings
    assert (
        warning
        == "the recording was not ended: it goes on, or was killed; its last snapshot is of 2026-11-18 11:07:00 UTC, 20"
        " s after the first"
    )
    assert opened.manifest.span_ns == 20 * 10**9


def test_in_the_end_it_is_one_table_without_parts(tmp_path: Path) -> None:
    bundle = begun(tmp_path, warnings=["something"])
    taken = [snapshot(0, 1), snapshot(10, 5), snapshot(11, 6), snapshot(20, 2)]
    bundle.add(taken[:1])
    bundle.add(taken[1:3], [{"query": "f", "entity": "1/2/t/3", "text": "SELECT ?"}])
    bundle.add(taken[3:])
    manifest = bundle.end()
    assert sorted(path.name for path in bundle.folder.iterdir()) == [
        "manifest.json", "queries.parquet", "requests.parquet", NAME,
    ]  # fmt: skip
    assert list(read_snapshots(bundle.folder)) == moved(taken)
    assert pq.read_table(bundle.folder / NAME)["snapshot"].to_pylist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert read_queries(bundle.folder).texts("text") == ["SELECT ?"]
    assert manifest == Bundle(bundle.folder).manifest
    assert manifest.snapshots == 4
    assert manifest.warnings[0] == "something"
    assert "were reset" in manifest.warnings[1]  # calls fell
    assert len(manifest.warnings) == 2


_VALUES = st.dictionaries(
    st.tuples(st.sampled_from(["query", "session"]), st.text(max_size=5)),
    st.dictionaries(
        st.sampled_from(["calls", "since"]),
        st.decimals(-(10**18), 10**18, allow_nan=False, places=6) | st.text(max_size=5),
        min_size=1,
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=examples(30), deadline=None)  # each part is synced to disk
@given(st.lists(st.lists(_VALUES, min_size=1, max_size=4), min_size=1, max_size=5))
def test_however_it_is_cut_into_parts_it_says_the_same(parts: list[list[dict[tuple[str, str], Values]]]) -> None:
    with TemporaryDirectory() as folder:
        bundle = begun(Path(folder))
        taken: list[Snapshot] = []
        for part in parts:
            new = [Snapshot(ZERO_UNIX_NS + len(taken) + place, values) for place, values in enumerate(part)]
            bundle.add(new)
            taken += new
            assert list(read_snapshots(bundle.folder)) == moved(taken)
        assert bundle.end().snapshots == len(taken)
        assert list(read_snapshots(bundle.folder)) == moved(taken)


def test_one_that_was_joined_but_for_its_manifest_is_read_once(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.add([snapshot(0, 1)])
    whole = StatisticsWriter(bundle.folder)
    whole.append(moved([snapshot(0, 1)])[0])
    whole.close()
    assert len(list(read_snapshots(bundle.folder))) == 1


def test_what_a_crash_left_half_written_is_not_read(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.add([snapshot(0, 1)])
    (bundle.folder / PARTS / ".000001.parquet.77.partial").write_bytes(b"PAR1 and")
    assert len(list(read_snapshots(bundle.folder))) == 1


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.add([snapshot(0, 1)])
    bundle.add([snapshot(1, 1)])
    (bundle.folder / PARTS / "000001.parquet").write_bytes(b"PAR1 and")
    with pytest.raises(TraceError, match=r"statistics/000001\.parquet: is not a whole Parquet file"):
        list(read_snapshots(bundle.folder))


def test_a_folder_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "r.trace").mkdir()
    (tmp_path / "r.trace/thesis.tex").write_text("years of work")
    with pytest.raises(OutputError, match="refusing to replace a folder that tiersim did not write"):
        GrowingBundle(tmp_path / "r.trace", ZERO_UNIX_NS, {}, force=True)
    assert (tmp_path / "r.trace/thesis.tex").exists()


def test_a_bundle_is_replaced_when_it_is_forced(tmp_path: Path) -> None:
    bundle = begun(tmp_path)
    bundle.add([snapshot(0, 1)])
    bundle.end()
    again = GrowingBundle(tmp_path / "r.trace", ZERO_UNIX_NS, {}, force=True)
    again.add([snapshot(0, 7)])
    assert list(read_snapshots(again.folder)) == moved([snapshot(0, 7)])


def test_many_snapshots_are_few_row_groups(tmp_path: Path) -> None:
    writer = StatisticsWriter(tmp_path)
    taken = [snapshot(second, second) for second in range(900)]
    for one in moved(taken):
        writer.append(one)
    writer.close()
    assert pq.ParquetFile(tmp_path / NAME).num_row_groups == 1
    assert list(read_snapshots(tmp_path)) == moved(taken)
    assert part_paths(tmp_path) == []
