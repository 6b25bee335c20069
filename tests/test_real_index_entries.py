"""Pages that updates make dirty, and their log, on real servers: a table with three indexes, one of whose columns every
update changes, so that each is a non-HOT one.

Bytes of a record and of an image are those of the first thousand updates, the first of them without images. Predicted
are the pages and the log of four thousand others, from sizes of relations alone.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres_server import PostgresServer, running, versions
from tests.runs import run_database, statements_of
from tests.test_record_postgres import Recorder, found_in
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.scenarios.calibration.popularity import AccessedTable, Fitted, Law
from tiersim.scenarios.calibration.popularity.occupancy import levels
from tiersim.scenarios.statements.queries import index_entries
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import LOCK, LOOKUP
from tiersim.simulator.database.wal.log import ENTRY_BYTES, Log

pytestmark = pytest.mark.long

ROWS, FITTED, PREDICTED = 1_000_000, 1000, 4000
INDEXES = ("t_pkey", "t_owner", "t_kept")


@pytest.fixture(scope="module", params=versions())
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    with running(request.param, {"shared_buffers": "512MB", "max_wal_size": "4GB"}) as found:
        found.sql("CREATE EXTENSION pg_buffercache")
        found.sql("CREATE EXTENSION pg_stat_statements")
        found.sql("CREATE TABLE t (id int, owner int, kept int, filler char(84)) WITH (fillfactor = 80)")
        for part in range(10):
            ids = f"generate_series({part * ROWS // 10 + 1}, {(part + 1) * ROWS // 10}) i"
            found.sql(f"INSERT INTO t SELECT i, random() * {ROWS}, random() * {ROWS}, '' FROM {ids}")
        found.sql("ALTER TABLE t ADD PRIMARY KEY (id)")
        found.sql("CREATE INDEX t_owner ON t (owner)")
        found.sql("CREATE INDEX t_kept ON t (kept)")
        found.sql("VACUUM (FREEZE, ANALYZE) t")
        yield found


def _update(server: PostgresServer, updates: int) -> None:
    """Update rows at random."""
    row, owner = f"1 + floor(random() * {ROWS})::int", f"(random() * {ROWS})::int"
    server.sql(
        f"DO $$ BEGIN FOR i IN 1..{updates} LOOP UPDATE t SET owner = {owner} WHERE id = (SELECT {row}); END LOOP;"
        " END $$"
    )


def _measured(server: PostgresServer, updates: int) -> tuple[int, int]:
    """Update rows at random after a checkpoint; return dirty pages of the table and its indexes, and bytes of log."""
    server.sql("CHECKPOINT")
    (before,) = server.sql("SELECT pg_current_wal_insert_lsn()")[0]
    _update(server, updates)
    (log,) = server.sql(f"SELECT pg_current_wal_insert_lsn() - '{before}'")[0]
    names = ", ".join(f"pg_relation_filenode('{name}')" for name in ("t", *INDEXES))
    (pages,) = server.sql(f"SELECT count(*) FROM pg_buffercache WHERE isdirty AND relfilenode IN ({names})")[0]
    return int(pages), int(log)


def _sizes(server: PostgresServer) -> dict[str, int]:
    """Return the pages of the table and its indexes."""
    rows = server.sql("SELECT relname, relpages FROM pg_class WHERE relname LIKE 't\\_%' OR relname = 't'")
    return {name: int(pages) for name, pages in rows}


def _predicted(server: PostgresServer, updates: int) -> int:
    """Return dirty pages, one image each."""
    sizes = _sizes(server)
    builder = PlantBuilder(7)
    disk = add_server(builder, "disk", 1, 1000)
    own, *others = (levels(sizes[name]) for name in INDEXES)
    table = Relation(ROWS, (*own, sizes["t"]), station=disk, indexes=others)
    demands = [Demand(LOOKUP), Demand(LOCK, dirties=True, log_bytes=1, entry_share=1_000_000)]
    host = DatabaseHost(1, sum(sizes.values()), log_station=disk, log=Log(image_bytes=1))
    database = add_database(builder, host, [table], [demands], statements_of(1, updates))
    run_database(builder, database)
    log = database.log[0]
    assert log["inserted"] == log["images"] + updates * (1 + len(INDEXES) * ENTRY_BYTES)
    assert log["images"] == database.dirty.sum()
    return int(log["images"])


def test_all_indexes_become_dirty_as_on_the_server(server: PostgresServer) -> None:
    server.sql("ALTER SYSTEM SET full_page_writes = off")
    server.sql("SELECT pg_reload_conf()")
    record = _measured(server, FITTED)[1] / FITTED
    server.sql("ALTER SYSTEM RESET full_page_writes")
    server.sql("SELECT pg_reload_conf()")
    pages, log = _measured(server, FITTED)
    image = (log - record * FITTED) / pages
    pages, log = _measured(server, PREDICTED)
    found = _predicted(server, PREDICTED)
    print(f"pages {found / pages - 1:+.1%}, log {(found * image + record * PREDICTED) / log - 1:+.1%}")  # noqa: T201
    assert found == pytest.approx(pages, rel=0.03)
    assert found * image + record * PREDICTED == pytest.approx(log, rel=0.03)


def test_a_recording_tells_which_indexes_get_entries(server: PostgresServer, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.trace", server.dsn).begun()
    _update(server, FITTED)
    code, _, err = recorder.end()
    assert code == 0, err
    sizes = _sizes(server)
    table = AccessedTable("public.t", ROWS, sizes["t"], sizes["t_pkey"], FITTED, 0, 0)
    fitted = Fitted((table,), sum(sizes.values()), (Law(0.0),), (), (), 1)
    (found,) = index_entries(found_in(recorder.target), fitted, {})
    assert found.of_updates > 0.99
    assert len(found.others) == 2
    assert found.others == pytest.approx((sizes["t_owner"], sizes["t_kept"]), rel=0.02)


def test_the_next_lookup_of_a_row_that_moved_dirties_its_leaf_and_later_ones_do_not(server: PostgresServer) -> None:
    """Rows of full pages move, each far from the others; a leaf has some 370 entries."""
    server.sql("CREATE TABLE whole (id int PRIMARY KEY, filler char(84))")
    server.sql("INSERT INTO whole SELECT i, '' FROM generate_series(1, 100000) i")
    server.sql("VACUUM (FREEZE, ANALYZE) whole")
    each = "FOR i IN 1..100 LOOP {} WHERE id = i * 999; END LOOP"
    server.sql(f"DO $$ BEGIN {each.format('UPDATE whole SET filler = 1')}; END $$")
    found = []
    for _ in range(2):
        server.sql("CHECKPOINT")
        server.sql(f"DO $$ BEGIN {each.format('PERFORM filler FROM whole')}; END $$")
        dirty = "SELECT count(*) FROM pg_buffercache WHERE isdirty AND relfilenode = pg_relation_filenode('whole_pkey')"
        found.append(int(server.sql(dirty)[0][0]))
    assert found == [100, 0]
