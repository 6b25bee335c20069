"""``tiersim mrc``: the curve of a recording, those of its parts, and what it says of where it was recorded."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.runs import needs_jit
from tiersim.cli.main import app
from tiersim.errors import ScenarioError, TiersimError, TraceError
from tiersim.scenarios.miss_ratios import Sampling, miss_ratios, parse_sizes
from tiersim.scenarios.miss_ratios.references import PageStream
from tiersim.traces.bundle import Bundle, write_bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.references import References
from tiersim.traces.samples import reads
from tiersim.traces.schema import QUERY_COLUMNS, STATEMENT_COLUMNS
from tiersim.traces.statistics import QUERIES, STATEMENTS, table_of, write_table
from tiersim.units import format_bytes

GIB, MIB, PAGE = 1 << 30, 1 << 20, 8192
#: Pages that are asked for, of which relation, by which statement, and whether to write.
ASKED = [
    (1, 0, 0, 0),
    (2, 0, 0, 1),
    (1, 0, 1, 0),
    (1, 1, 1, 0),
    (2, 0, 2, 0),
    (1, 0, -1, 1),
    (1, 1, 1, 0),
    (3, 0, 9, -1),
]


def references(folder: Path, rows: list[tuple[int, int, int, int]] = ASKED, **host: Any) -> Bundle:
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    nothing = np.full(len(rows), -1)
    folder.mkdir(exist_ok=True)
    path = folder / "references.trace"
    with write_bundle(path) as (writer, fields):
        writer.references.relation_names += ["orders", "lines"]
        page, relation, statement, kind = columns
        writer.references.append(
            References(nothing, statement, relation.astype(np.int32), page, nothing, kind.astype(np.int32))
        )
        fields["host"] = host
    return Bundle(path)


def with_queries(bundle: Bundle) -> Bundle:
    rows: list[dict[str, int | str | None]] = [
        {"time_ns": place, "query": query} for place, query in enumerate(["aa", "bb", "aa"])
    ]
    write_table(bundle.path / STATEMENTS, STATEMENT_COLUMNS, table_of(STATEMENT_COLUMNS, rows))
    texts: list[dict[str, int | str | None]] = [
        {"query": "aa", "text": "SELECT <script>"},
        {"query": "bb", "text": None},
    ]
    write_table(bundle.path / QUERIES, QUERY_COLUMNS, table_of(QUERY_COLUMNS, texts))
    return bundle


def requests(folder: Path, **columns: Any) -> Bundle:
    path = folder / "requests.trace"
    path.mkdir(parents=True)
    rows = len(columns["offset_bytes"])
    table = {"time_ns": np.arange(rows), "op": ["read"] * rows, "length_bytes": [PAGE] * rows, **columns}
    pq.write_table(pa.table(table), path / "requests.parquet")
    return Bundle(path)


def curve(document: dict[str, Any]) -> dict[int, float]:
    return {point["cache_bytes"] // document["page_bytes"]: point["miss_ratio"] for point in document["points"]}


def parts(document: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {part["name"]: part for part in document["curves"] if part["kind"] == kind}


def pages_of(bundle: Bundle) -> list[int]:
    return [page for block in PageStream(bundle, PAGE, ()).blocks() for page in block.keys.tolist()]


# Sizes


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1GiB..8GiB", (GIB, 2 * GIB, 4 * GIB, 8 * GIB)),
        ("1GiB..7.5GiB", (GIB, 2 * GIB, 4 * GIB)),
        ("1.5 GiB..3GiB+512MiB", (3 * GIB // 2, 2 * GIB, 5 * GIB // 2, 3 * GIB)),
        ("1GiB..2.25GiB*1.5", (GIB, 3 * GIB // 2, 9 * GIB // 4)),
        ("4GiB, 1GiB", (GIB, 4 * GIB)),
        ("64MiB", (64 * MIB,)),
    ],
)
def test_sizes_are_ranges_and_lists(text: str, sizes: tuple[int, ...]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("8", "no list of sizes"),
        ("8GiB..1GiB", "ends below its beginning"),
        ("1GiB..8GiB*1", "not a number above 1"),
        ("1GiB..8GiB*x", "'x' in the range"),
        ("1GiB..8GiB*inf", "'inf' in the range"),
        ("1B..8GiB+1B", "more than 1,000 values"),
        ("0GiB..8GiB", "begins at 0"),
        ("0GiB", "no list of sizes above 0"),
        ("1GiB..8GiB+0B", "is not bytes above 0"),
        ("1GiB..8Gib", "did you mean 'GiB'"),
        ("1Gib", "no list of sizes"),
        ("4GiB, 1GiB,4GiB", "is there twice"),
        ("", "no value beside one of its commas"),
        ("..", "no list of sizes"),
    ],
)
def test_what_is_no_size_is_a_sentence(text: str, what: str) -> None:
    with pytest.raises(ScenarioError, match=what):
        parse_sizes(text)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"policy": "lur"}, "did you mean 'lru'"),
        ({"by": ("table",)}, "--by table: is not one of"),
        ({"rate": 2.0}, "no share of the pages"),
        ({"rate": 0.1, "most_pages": 100}, "give only one of them"),
        ({"policy": "arc", "most_pages": 100}, "take a share"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(asked: dict[str, Any], what: str) -> None:
    with pytest.raises(ScenarioError, match=what):
        Sampling(**asked)


# Page references


def test_references_give_the_curve_of_the_whole_cache(tmp_path: Path) -> None:
    document = miss_ratios(references(tmp_path), Sampling())
    assert document["schema"] == "tiersim.mrc/1"
    assert (document["policy"], document["method"], document["page_bytes"]) == ("lru", "exact", PAGE)
    assert (document["references"], document["distinct_pages"]) == (8, 4)
    assert document["compulsory_miss_ratio"] == 0.5
    # distances: -, -, 2, -, 3, 3, 3, -
    assert curve(document) == {1: 1.0, 2: 0.875, 3: 0.5, 4: 0.5}
    assert [point["capacity_miss_ratio"] for point in document["points"]] == [0.5, 0.375, 0.0, 0.0]
    assert {point["error"] for point in document["points"]} == {0.0}
    assert document["recorded"] == {
        "cache_bytes": None,
        "beyond": "references were recorded above any cache: a size is that of the whole cache",
    }


def test_relations_and_operations_share_the_cache(tmp_path: Path) -> None:
    document = miss_ratios(references(tmp_path), Sampling())
    relations, operations = parts(document, "relation"), parts(document, "operation")
    assert {name: part["references"] for name, part in relations.items()} == {"orders": 6, "lines": 2}
    assert [point["miss_ratio"] for point in relations["lines"]["points"]] == [1, 1, 0.5, 0.5]
    assert relations["lines"]["compulsory_miss_ratio"] == 0.5
    # of one it is not known
    assert {name: part["references"] for name, part in operations.items()} == {"read": 5, "write": 2}
    assert [point["miss_ratio"] for point in operations["write"]["points"]] == [1, 1, 0.5, 0.5]


def test_queries_of_the_statements_that_asked(tmp_path: Path) -> None:
    document = miss_ratios(with_queries(references(tmp_path)), Sampling(by=("query",)))
    queries = parts(document, "query")
    assert {name: part["references"] for name, part in queries.items()} == {"aa": 3, "bb": 3}
    assert queries["aa"]["text"] == "SELECT <script>"
    assert queries["bb"]["text"] is None
    assert [point["miss_ratio"] for point in queries["bb"]["points"]] == pytest.approx([1, 2 / 3, 1 / 3, 1 / 3])
    assert parts(document, "relation") == {}


def test_more_parts_than_can_be_told_apart_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiersim.scenarios.miss_ratios.references._MOST_CLASSES", 3)
    assert miss_ratios(references(tmp_path), Sampling(by=("relation",)))["curves"]
    with pytest.raises(TraceError, match="4 combinations of relations, queries and operations are too many"):
        miss_ratios(references(tmp_path / "again"), Sampling())


def test_curves_that_are_left_out_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiersim.scenarios.miss_ratios.document._MOST_CURVES", 1)
    document = miss_ratios(references(tmp_path), Sampling())
    assert list(parts(document, "relation")) == ["orders"]
    assert "of 2 curves by relation the 1 with most references are listed" in document["notes"]


def test_asked_sizes_are_the_points(tmp_path: Path) -> None:
    document = miss_ratios(references(tmp_path), Sampling(sizes_bytes=(3 * PAGE + 1, 100 * PAGE)))
    assert curve(document) == {3: 0.5, 100: 0.5}
    with pytest.raises(ScenarioError, match="a cache of 4 KiB holds no page of 8 KiB"):
        miss_ratios(references(tmp_path / "again"), Sampling(sizes_bytes=(4096,)))


def test_pages_are_as_large_as_the_trace_says(tmp_path: Path) -> None:
    document = miss_ratios(references(tmp_path, page_bytes=16384), Sampling())
    assert document["points"][-1]["cache_bytes"] == 4 * 16384
    with pytest.raises(TraceError, match=r"host.page_bytes: 'big' is no size of a page"):
        miss_ratios(references(tmp_path / "again", page_bytes="big"), Sampling())


@needs_jit
@pytest.mark.parametrize("policy", ["arc", "fifo"])
def test_another_policy_is_simulated(tmp_path: Path, policy: str) -> None:
    document = miss_ratios(references(tmp_path), Sampling(policy=policy))
    assert (document["policy"], document["method"]) == (policy, "exact")
    assert curve(document)[4] == 0.5
    assert document["curves"] == []


def test_samples_say_what_they_are(tmp_path: Path) -> None:
    luck = np.random.default_rng(1)
    rows = [(int(page), 0, -1, 0) for page in luck.zipf(1.3, 4000) % 3000]
    bundle = references(tmp_path, rows)
    document = miss_ratios(bundle, Sampling(rate=0.1))
    assert document["method"] == "shards"
    assert document["sample"] == {"rate": 0.1, "most_pages": None, "samples": 8, "seed": 1}
    whole = miss_ratios(bundle, Sampling(sizes_bytes=tuple(point["cache_bytes"] for point in document["points"])))
    for found, point in zip(document["points"], whole["points"], strict=True):
        assert found["miss_ratio"] == pytest.approx(point["miss_ratio"], abs=0.1)
        assert found["error"] > 0
    assert json.dumps(document, allow_nan=False) == json.dumps(miss_ratios(bundle, Sampling(rate=0.1, workers=2)))
    fixed = miss_ratios(bundle, Sampling(most_pages=100))
    assert fixed["sample"]["most_pages"] == 100


def test_pages_of_any_number_in_one_relation_and_none_beyond_reach_in_several(tmp_path: Path) -> None:
    far = [(-(2**63), 0, -1, 0), (2**63 - 1, 0, -1, 0), (-(2**63), 0, -1, 0)]
    assert miss_ratios(references(tmp_path, far), Sampling())["distinct_pages"] == 2
    with pytest.raises(TraceError, match=r"pages beyond number 2\^47"):
        miss_ratios(references(tmp_path / "several", [*far, (1, 1, -1, 0)]), Sampling())


def test_damage_and_emptiness_are_sentences(tmp_path: Path) -> None:
    bundle = references(tmp_path)
    table = bundle.path / "references.parquet"
    table.write_bytes(table.read_bytes()[:-20])
    with pytest.raises(TraceError, match="is not a whole Parquet file"):
        miss_ratios(bundle, Sampling())
    with pytest.raises(TraceError, match="asks for no page"):
        miss_ratios(requests(tmp_path / "a", op=["flush"], offset_bytes=[0], length_bytes=[0]), Sampling())
    with write_bundle(tmp_path / "empty.trace"):
        pass
    with pytest.raises(TiersimError):
        miss_ratios(Bundle(tmp_path / "empty.trace"), Sampling())


# Requests


def test_a_request_is_the_pages_that_it_touches(tmp_path: Path) -> None:
    bundle = requests(
        tmp_path,
        op=["read", "write", "flush", "discard", "read", "write"],
        offset_bytes=[0, PAGE - 1, 0, 0, 3 * PAGE, 0],
        length_bytes=[1, 2, 0, PAGE, 4 * PAGE, PAGE],
        purpose=["data read", "data write", None, None, None, "log write"],
    )
    assert pages_of(bundle) == [0, 0, 1, 3, 4, 5, 6]
    document = miss_ratios(bundle, Sampling())
    assert "1 log writes are left out: the WAL bypasses the buffer pool" in document["notes"]
    assert {name: part["references"] for name, part in parts(document, "operation").items()} == {"read": 5, "write": 2}


def test_long_requests_come_in_parts(tmp_path: Path) -> None:
    pages = 300_000
    bundle = requests(tmp_path, offset_bytes=[PAGE, 0, 5 * PAGE], length_bytes=[PAGE, 2 * PAGE, 4 << 30])
    found = pages_of(bundle)
    assert found == [1, 0, 1, *range(5, 5 + (4 << 30) // PAGE)]
    many = requests(tmp_path / "many", offset_bytes=[0] * 5, length_bytes=[pages * PAGE] * 5)
    assert pages_of(many) == list(range(pages)) * 5


def test_a_request_that_is_too_long_is_named(tmp_path: Path) -> None:
    bundle = requests(tmp_path, offset_bytes=[0, 0], length_bytes=[PAGE, 1 << 50])
    with pytest.raises(TraceError, match="row 1: a request of 1024 TiB is longer than any"):
        miss_ratios(bundle, Sampling())


def test_files_are_told_apart(tmp_path: Path) -> None:
    bundle = requests(tmp_path, offset_bytes=[0, 0, 0], file=["a", "b", "a"])
    document = miss_ratios(bundle, Sampling())
    assert document["distinct_pages"] == 2
    assert {name: part["references"] for name, part in parts(document, "relation").items()} == {"a": 2, "b": 1}


@pytest.mark.parametrize("known", [True, False])
def test_a_block_trace_never_saw_the_hits_of_its_cache(tmp_path: Path, known: bool) -> None:
    bundle = requests(tmp_path, offset_bytes=[0, 0])
    if known:
        manifest = {"schema": "tiersim.trace/1", "host": {"shared_buffers_bytes": 64 * MIB}}
        (bundle.path / "manifest.json").write_text(json.dumps(manifest))
        bundle = Bundle(bundle.path)
    recorded = miss_ratios(bundle, Sampling())["recorded"]
    assert recorded["cache_bytes"] == (64 * MIB if known else None)
    below = "a buffer pool of 64 MiB" if known else "a cache whose size is not known"
    assert recorded["beyond"].startswith(
        f"the requests were recorded below {below}, whose hits are not in the recording"
    )
    assert "does not say how a smaller cache in its place would do" in recorded["beyond"]


# Counters


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counted")
    target = folder / "reads.trace"
    import_trace([reads(folder) / "counters"], target)
    return target


@needs_jit
def test_counters_give_the_curve_of_their_law(counted: Path) -> None:
    document = miss_ratios(Bundle(counted), Sampling(by=("relation", "query")))
    assert (document["policy"], document["method"], document["synthesised"]) == ("sweep", "law", True)
    ratios = [point["miss_ratio"] for point in document["points"]]
    assert ratios == sorted(ratios, reverse=True)
    recorded = document["recorded"]["cache_bytes"]
    at_recorded = next(point for point in document["points"] if point["cache_bytes"] == recorded)
    assert not at_recorded["extrapolated"]
    assert document["points"][0]["extrapolated"]
    assert "are extrapolated" in document["notes"][0]  # before what a short listing leaves out
    more = format_bytes((Bundle(counted).manifest.buffer_pool_bytes or 0) - recorded)
    assert f"a pool (engine.buffer_pool) is {more} larger" in document["recorded"]["beyond"]
    # 0.1656 + 0.3175 of four pages were missed at an access (docs/popularity.md)
    (table,) = parts(document, "relation").values()
    missed = next(point["miss_ratio"] for point in table["points"] if point["cache_bytes"] == recorded)
    assert missed == pytest.approx((0.1656 + 0.3175) / 4, rel=0.02)
    assert any("an access distribution is fitted to the misses" in sentence for sentence in document["notes"])
    (query,) = parts(document, "query").values()
    assert "pgbench_accounts" in query["text"]
    json.dumps(document, allow_nan=False)


def test_counters_have_no_pages_to_sample_or_to_simulate(counted: Path) -> None:
    for asked in (Sampling(rate=0.1), Sampling(policy="arc"), Sampling(most_pages=100)):
        with pytest.raises(ScenarioError, match="leave out --policy and --sample"):
            miss_ratios(Bundle(counted), asked)


# The command


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tiersim.cli.import_trace.compile_if_cold", lambda: None)
    return with_queries(references(tmp_path)).path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["mrc", *map(str, arguments)])


def test_the_command_shows_a_curve(trace: Path) -> None:
    said = run(trace, "--by", "query", "--by", "relation")
    assert said.exit_code == 0
    assert "references: 8 references to 4 pages of 8 KiB, policy lru, exact" in said.stdout
    assert "16 KiB" in said.stdout
    assert "███" in said.stdout
    assert "0.8750" in said.stdout
    assert "Compulsory misses (the first reference to each page; no cache avoids them): 0.5000" in said.stdout
    assert "SELECT <script>" in said.stdout
    assert "a size is that of the whole cache." in said.stdout


def test_the_command_prints_one_document_and_writes_it(trace: Path, tmp_path: Path) -> None:
    target = tmp_path / "curve.mrc.json"
    said = run(trace, "--json", "-o", target)
    assert said.exit_code == 0
    assert json.loads(said.stdout) == json.loads(target.read_text())
    assert sorted(tmp_path.iterdir()) == [target, trace]
    again = run(trace, "-o", target)
    assert again.exit_code == 1
    assert "is already there" in str(again.exception)
    assert run(trace, "-o", target, "--force").exit_code == 0


def test_every_key_is_documented(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "docs" / "mrc.md").read_text()
    document = miss_ratios(with_queries(references(tmp_path)), Sampling(by=("query",), rate=0.5))
    keys = {*document, *document["sample"], *document["points"][0], *document["curves"][0], *document["recorded"]}
    assert {key for key in keys - {"schema"} if f"`{key}`" not in text} == set()


def test_a_failure_leaves_no_file(trace: Path, tmp_path: Path) -> None:
    for wrong in (["--sizes", "1KiB"], ["--policy", "lur"], ["--by", "table"], ["--sample", "0"]):
        said = run(trace, "-o", tmp_path / "curve.mrc.json", *wrong)
        assert isinstance(said.exception, ScenarioError), wrong
    assert sorted(tmp_path.iterdir()) == [trace]
    assert run(trace, "--samples", "99").exit_code == 2


def test_samples_show_their_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiersim.cli.import_trace.compile_if_cold", lambda: None)
    (tmp_path / "recorded.lirs").write_text("\n".join(map(str, np.random.default_rng(1).zipf(1.3, 4000) % 3000)) + "\n")
    said = run(tmp_path / "recorded.lirs", "--sample", "0.1")
    assert said.exit_code == 0
    assert "policy lru, estimated from samples" in said.stdout
    assert "±" in said.stdout
