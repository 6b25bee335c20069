"""The tables of pgbench."""

#: A scale unit of pgbench_accounts: 100,000 rows, 61 of them on a page; its primary key with 366 rows on a leaf (src/bin/pgbench;
#: fillfactor 100 and 90).
ROWS = 100_000
HEAP_PAGES, INDEX_PAGES = 1640, 274
