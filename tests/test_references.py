"""Page references: what sources without operations become, and what is said where requests are needed."""

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.imported_rows import import_text, said
from tiersim.cli.main import app
from tiersim.errors import TraceError
from tiersim.scenarios.survey import survey
from tiersim.traces.bundle import Bundle, write_bundle
from tiersim.traces.description import describe
from tiersim.traces.readers import detect_format
from tiersim.traces.references import References, ReferenceTable, pages_only
from tiersim.traces.schema import REFERENCE_COLUMNS

LIS = "7 1 0 0\n20 3 0 0\n5 2 0 1\n"
LIRS = "3\n1\n*\n3\n\n"
ROOT = Path(__file__).parents[1]


def oracle(*records: tuple[int, int, int, int]) -> bytes:
    """Return records of (s, object, bytes, number of the next request for it)."""
    return b"".join(struct.pack("<IQIq", *record) for record in records)


ORACLE = oracle((100, 1 << 63, 512, 3), (100, 9, 4096, -1), (102, 1 << 63, 512, -1))


def blocks(bundle: Bundle) -> References:
    """Return the only block of references of a bundle."""
    (block,) = ReferenceTable(bundle.path).blocks()
    return block


def test_each_block_of_a_run_is_a_reference(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, LIS)
    assert bundle.manifest.source_format == "arc-lis"
    block = blocks(bundle)
    assert block.page.tolist() == [7, 20, 21, 22, 5, 6]
    assert set(block.time_ns) == set(block.length_bytes) == set(block.kind) == {-1}


def test_one_number_a_line(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, LIRS)
    assert bundle.manifest.source_format == "lirs"
    assert blocks(bundle).page.tolist() == [3, 1, 3]
    assert said("one number a line is assumed to be the number of a page", bundle.manifest.inferred)


@pytest.mark.parametrize("first", [0, 1])  # requests are counted from either
def test_oracle_general(tmp_path: Path, first: int) -> None:
    _, bundle = import_text(tmp_path, oracle((100, 7, 512, 2 + first), (100, 9, 4096, -1), (102, 7, 512, -1)))
    assert bundle.manifest.source_format == "oracle-general"
    block = blocks(bundle)
    assert block.page.tolist() == [7, 9, 7]
    assert block.time_ns.tolist() == [0, 0, 2_000_000_000]
    assert block.length_bytes.tolist() == [512, 4096, 512]
    assert bundle.manifest.span_ns == 2_000_000_000


def test_large_object_numbers_keep_their_bits(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, ORACLE)
    assert blocks(bundle).page.astype(np.uint64).tolist() == [1 << 63, 9, 1 << 63]


def test_a_wrong_prophecy_is_no_oracle(tmp_path: Path) -> None:
    (tmp_path / "recorded").write_bytes(oracle((100, 7, 512, 2), (100, 9, 4096, -1), (102, 8, 512, -1)))
    with pytest.raises(TraceError, match="is of no known format"):
        detect_format(tmp_path / "recorded")


def test_damage_is_counted(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, LIS * 2 + "7 x 0 9\n3 0 0 9\n", format="arc-lis")
    assert bundle.manifest.dropped == {"damaged lines": 2}
    assert said("2 of 8 lines are not arc-lis, the first is line 7;", bundle.manifest.warnings)
    _, bundle = import_text(tmp_path, ORACLE + b"cut", format="oracle-general")
    assert bundle.manifest.dropped == {"bytes that are no record": 3}
    with pytest.raises(TraceError, match="3 of 4 lines are not lirs, the first is line 2"):
        import_text(tmp_path, "1\na\nb\nc\n", format="lirs")


def test_what_needs_requests_says_so_in_a_sentence(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, LIRS)
    assert bundle.rows == 0
    assert said("3 page references and no requests: for cache studies", bundle.manifest.warnings)
    for needs_requests in (describe, survey):
        with pytest.raises(TraceError, match="holds page references and no requests; use it with cache studies"):
            needs_requests(bundle)


def test_import_tells_of_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiersim.cli.import_trace.compile_if_cold", lambda: None)
    (tmp_path / "recorded").write_text(LIRS)
    said = CliRunner().invoke(app, ["import", str(tmp_path / "recorded"), "-o", str(tmp_path / "out.trace")])
    assert said.exit_code == 0
    assert "out.trace: 3 page references and no requests, for cache studies (lirs)" in said.stdout


def test_every_column_comes_back(tmp_path: Path) -> None:
    block = References(
        np.array([5, -1]), np.array([1, -1]), np.array([0, 1], np.int32), np.array([-7, 8]), np.array([4096, -1]),
        np.array([1, -1], np.int32),
    )  # fmt: skip
    with write_bundle(tmp_path / "x.trace") as (writer, _):
        writer.references.relation_names += ["orders", "lines"]
        writer.references.append(block)
    table = ReferenceTable(tmp_path / "x.trace")
    (found,) = table.blocks()
    assert all(np.array_equal(getattr(found, name), getattr(block, name)) for name in vars(block))
    assert table.relation_names == ["orders", "lines"]
    arrow = pq.read_table(tmp_path / "x.trace" / "references.parquet")
    assert arrow["kind"].to_pylist() == ["write", None]
    assert arrow["time_ns"].to_pylist() == [5, None]
    assert Bundle(tmp_path / "x.trace").manifest.references == 2


def test_a_bundle_without_references_has_no_such_table(tmp_path: Path) -> None:
    with write_bundle(tmp_path / "x.trace"):
        pass
    assert not (tmp_path / "x.trace" / "references.parquet").exists()
    with pytest.raises(TraceError, match="holds no page references"):
        ReferenceTable(tmp_path / "x.trace")


def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "references.parquet"
    pq.write_table(pa.table({"relation": ["a"], "number": [1]}), path)
    with pytest.raises(TraceError, match="the column 'page' is required and not there"):
        ReferenceTable(tmp_path)
    pq.write_table(pa.table({"relation": ["a", None], "page": [1, 2]}), path)
    with pytest.raises(TraceError, match="column 'relation' is empty in some rows"):
        list(ReferenceTable(tmp_path).blocks())
    path.write_bytes(b"PAR1 no")
    with pytest.raises(TraceError, match="is not a whole Parquet file"):
        ReferenceTable(tmp_path)


def test_every_column_is_documented() -> None:
    text = (ROOT / "docs" / "bundle.md").read_text()
    for column in REFERENCE_COLUMNS:
        assert f"| `{column.name}` |" in text.split("## references.parquet")[1].split("##")[0], column.name


def test_pages_only_knows_nothing_else() -> None:
    block = pages_only(np.array([1, 2]), length_bytes=np.array([512, 512]))
    assert block.length_bytes.tolist() == [512, 512]
    assert block.time_ns.tolist() == [-1, -1]
