"""Images of pages that sysbench-tpcc changes, by a real server: rows as its script makes them, and 14 updates a page
since they were loaded. The hours of checkpoints take the mean of them.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.postgres_server import PostgresServer, running, versions
from tiersim.scenarios.validation.checkpoint_hours import _IMAGE_BYTES

pytestmark = pytest.mark.long

ITEMS, CUSTOMERS, LINES, CHANGED = 48_000, 20_000, 300_000, 1000
#: Pages that a checkpoint of the hours finds changed, in millions.
PAGES = {"stock": 4.2, "customer": 2.3, "lines": 1.4}
#: Records beside the image: that of an update, and of its pruning; of a line and its entry, and the line's own page.
RECORD_BYTES = {"stock": 80, "customer": 100, "lines": 130}


@pytest.fixture(scope="module", params=versions())
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    settings = {"shared_buffers": "256MB", "max_wal_size": "4GB", "wal_compression": "on", "log_statement": "none"}
    with running(request.param, settings) as found:
        found.sql(
            "CREATE FUNCTION same(int) RETURNS text LANGUAGE sql VOLATILE AS"
            " $$ SELECT repeat(chr(97 + (random() * 25)::int), $1) $$"
        )
        found.sql(
            "CREATE FUNCTION text_of(int) RETURNS text LANGUAGE sql VOLATILE AS"
            " $$ SELECT string_agg(chr(97 + (random() * 25)::int), '') FROM generate_series(1, $1) $$"
        )
        places = ", ".join(f"s_dist_{number:02} char(24)" for number in range(1, 11))
        found.sql(
            f"CREATE TABLE stock (s_i_id int, s_w_id smallint, s_quantity smallint, {places}, s_ytd decimal(8,0),"
            " s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50), PRIMARY KEY (s_w_id, s_i_id))"
        )
        found.sql(
            f"INSERT INTO stock SELECT i, 1, 10 + random() * 90, {'same(24), ' * 10} 0, 0, 0,"
            f" same(26 + (random() * 24)::int) FROM generate_series(1, {ITEMS}) i"
        )
        found.sql(
            "CREATE TABLE customer (c_id int, c_d_id smallint, c_w_id smallint, c_first varchar(16), c_middle char(2),"
            " c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2),"
            " c_zip char(9), c_phone char(16), c_since timestamp, c_credit char(2), c_credit_lim bigint,"
            " c_discount decimal(4,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2), c_payment_cnt smallint,"
            " c_delivery_cnt smallint, c_data text, PRIMARY KEY (c_w_id, c_d_id, c_id))"
        )
        found.sql(
            "INSERT INTO customer SELECT i, 1, 1, 'first-' || text_of(2 + (random() * 8)::int), 'OE', 'BAROUGHTABLE',"
            " 'street1-' || text_of(10), 'street2-' || text_of(10), 'city-' || text_of(10), text_of(2),"
            " 'zip-' || (10000 + random() * 89999)::int, (1e15 + random() * 8e15)::bigint, now(), 'GC', 50000,"
            f" random() * 0.5, -10, 10, 1, 0, same(300 + (random() * 200)::int) FROM generate_series(1, {CUSTOMERS}) i"
        )
        found.sql("CREATE TABLE lines (ol_supply_w_id smallint, ol_i_id int)")
        found.sql("CREATE INDEX lines_by_item ON lines (ol_supply_w_id, ol_i_id)")
        found.sql(
            "INSERT INTO lines SELECT 1 + (random() * 99)::int, 1 + (random() * 99999)::int"
            f" FROM generate_series(1, {LINES})"
        )
        found.sql(
            f"DO $$ DECLARE row int; BEGIN FOR k IN 1..30000 LOOP row := 1 + (random() * {ITEMS - 1})::int;"
            " UPDATE stock SET s_quantity = 10 + random() * 90 WHERE s_w_id = 1 AND s_i_id = row;"
            f" IF k % 3 = 0 THEN row := 1 + (random() * {CUSTOMERS - 1})::int; UPDATE customer SET"
            " c_balance = c_balance - (random() * 5000)::int, c_ytd_payment = c_ytd_payment + 100"
            " WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = row; END IF; COMMIT; END LOOP; END $$"
        )
        yield found


def _image_bytes(server: PostgresServer, name: str, change: str) -> float:
    """Return how long the images of pages are that a change is the first of behind a checkpoint."""
    server.sql("CHECKPOINT")
    counted = "SELECT wal_fpi, wal_bytes FROM pg_stat_wal"
    before = [float(text) for text in server.sql(counted)[0]]
    server.sql(change)
    images, log_bytes = (float(text) - old for text, old in zip(server.sql(counted)[0], before, strict=True))
    return (log_bytes - CHANGED * RECORD_BYTES[name]) / images


def _one_a_page(server: PostgresServer, table: str, key: str, change: str) -> str:
    """Return the update of one row of each page of many, which are looked for before."""
    pages = f"SELECT min({key}) AS k FROM {table} GROUP BY (ctid::text::point)[0]::int"
    server.sql(f"CREATE TABLE keys_of_{table} AS {pages}")
    which = {"stock": "s_w_id = 1 AND s_i_id", "customer": "c_w_id = 1 AND c_d_id = 1 AND c_id"}[table]
    return (
        f"DO $$ DECLARE row record; BEGIN FOR row IN SELECT k FROM keys_of_{table} ORDER BY random() LIMIT {CHANGED}"
        f" LOOP UPDATE {table} SET {change} WHERE {which} = row.k; END LOOP; END $$"
    )


def test_images_are_as_long_as_the_hours_of_checkpoints_take_them(server: PostgresServer) -> None:
    stock = _one_a_page(server, "stock", "s_i_id", "s_quantity = s_quantity + 1")
    customer = _one_a_page(server, "customer", "c_id", "c_balance = c_balance - 17")
    lines = (
        "INSERT INTO lines SELECT 1 + (random() * 99)::int, 1 + (random() * 99999)::int"
        f" FROM generate_series(1, {CHANGED})"
    )
    changes = {"stock": stock, "customer": customer, "lines": lines}
    images = {name: _image_bytes(server, name, change) for name, change in changes.items()}
    assert np.average(list(images.values()), weights=list(PAGES.values())) == pytest.approx(_IMAGE_BYTES, rel=0.1)
