"""In which order the statements of a transaction run: as a script has them, as they were first seen, else by what they
change.
"""

from decimal import Decimal
from pathlib import Path

import numpy as np

from tests.counted_bundles import bundle, synthesised
from tests.recorded_files import read_files, values
from tiersim.scenarios.calibration.synthesis.counted import QueryNames
from tiersim.scenarios.calibration.synthesis.sessions import places
from tiersim.scenarios.statements.programs import spread
from tiersim.traces.differences import differences
from tiersim.traces.query_text import fingerprint
from tiersim.traces.statistics import Snapshot, Values

UPDATES = ("UPDATE small SET a = a + ?", "UPDATE large SET a = a + ? WHERE b = ?")
LOOKS = "SELECT a FROM large WHERE b = ?"
CALLS = 20


def counted(folder: Path, *, since: dict[str, str] | None = None) -> list[str]:
    """Return the texts of the first transaction of a bundle, in which each of three statements ran 20 times."""
    texts = {"1": UPDATES[0], "2": LOOKS, "3": UPDATES[1]}
    snapshots = []
    for share in (0, 1):
        of: dict[tuple[str, str], Values] = {
            ("query", entity): {
                "calls": Decimal(CALLS * share),
                "exec_ms": Decimal(CALLS * share),
                "pages_read": Decimal(CALLS * share * (entity == "3")),
                "pages_hit": Decimal(5 * CALLS * share),
            }
            | ({"since": since[entity]} if since else {})
            for entity in texts
        }
        of["database", "d"] = {"commits": Decimal(CALLS * share)}
        of["relation", "public.large"] = {"kind": "table", "rows": Decimal(100_000)}
        of["relation", "public.small"] = {"kind": "table", "rows": Decimal(10)}
        of["client", "pgbench"] = {"clients": Decimal(1), "seconds": Decimal(1)}
        snapshots.append((share * 10**9, of))
    path = bundle(folder, snapshots, texts)
    table = synthesised(path, 1).executions
    first = table.columns["transaction"] == table.columns["transaction"][0]
    names = {f"print of {text}": text for text in texts.values()}
    return [names[table.words["query"][code]] for code in table.columns["query"][first].tolist()]


def test_rows_that_many_want_are_changed_last(tmp_path: Path) -> None:
    """Of the large table those first that read its pages: the others find them."""
    assert counted(tmp_path / "a") == [UPDATES[1], LOOKS, UPDATES[0]]


def test_what_was_seen_first_comes_first(tmp_path: Path) -> None:
    seen = {"1": "2026-01-01 00:00:01", "2": "2026-01-01 00:00:03", "3": "2026-01-01 00:00:02"}
    assert counted(tmp_path / "a", since=seen) == [UPDATES[0], UPDATES[1], LOOKS]


def test_a_script_goes_before_everything_else() -> None:
    """A query that it does not have comes behind those that it has."""
    told: Values = {"statements": "z x z"}
    found = differences([Snapshot(0, {("client", "pgbench"): told}), Snapshot(1, {("client", "pgbench"): told})])
    keys = places(["1", "2", "3"], QueryNames(queries={"1": "x", "2": "y", "3": "z"}), found)
    assert sorted(keys, key=lambda entity: keys[entity]) == ["3", "1", "2"]


def test_pgbench_tells_the_order_of_its_script(tmp_path: Path) -> None:
    """With latencies of statements; variables stand for values."""
    lines = (
        "transaction type: a.sql",
        "number of clients: 2",
        "number of transactions actually processed: 3",
        "statement latencies in milliseconds and failures:",
        "         0.002           0  \\set aid random(1, 100000 * :scale)",
        "         0.524           0  BEGIN;",
        "         2.139           0  UPDATE large SET a = a + :delta WHERE b = :aid;",
        "         0.549           0  SELECT a::int FROM large WHERE b = :aid;",
    )
    (tmp_path / "new.out").write_text("\n".join(lines))
    (tmp_path / "old.out").write_text("\n".join(line.replace("           0  ", "  ") for line in lines))
    for name in ("new.out", "old.out"):
        told = values(read_files(tmp_path / name), "client")[name]["statements"]
        assert told == " ".join(
            map(
                fingerprint,
                ("BEGIN", "UPDATE large SET a = a + $1 WHERE b = $2", "SELECT a::int FROM large WHERE b = $1"),
            )
        )


def test_times_differ_as_they_did_and_have_the_mean_that_is_wanted() -> None:
    cpu_ns = np.array([10, 20, 30])
    assert spread(cpu_ns, 40).tolist() == [20, 40, 60]
    assert spread(np.zeros(3, np.int64), 40).tolist() == [40, 40, 40]
    assert spread(np.zeros(0, np.int64), 40).tolist() == []
