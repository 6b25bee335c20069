"""Tells the recorder's own queries among those that a server counted."""

from functools import cache

from tiersim.traces.query_text import fingerprint
from tiersim.traces.recorders.mysql import views as mysql
from tiersim.traces.recorders.postgres import views as postgres


def is_of_recorder(text: str) -> bool:
    """Tell whether *text*, with literals or without, asks what a recorder asks."""
    return _mark(text) in _marks()


@cache
def _marks() -> frozenset[str]:
    asked = (mysql.MOMENT, mysql.SESSIONS, *mysql.QUERIES, postgres.MOMENT, postgres.SESSIONS, *postgres.VIEWS)
    return frozenset(map(_mark, [postgres.LARGEST, mysql.FOLDERS, *(query.sql for query in asked)]))


def _mark(text: str) -> str:
    """Return what tells a query; servers write conditions in words of their own."""
    return fingerprint(text.lower().partition(" where ")[0])
