"""What rows of PostgreSQL's views say, for who has the rows and no file."""

from collections.abc import Iterable
from decimal import Decimal

from tiersim.traces.readers.postgres.times import canonical
from tiersim.traces.readers.postgres.views import BY_NAME
from tiersim.traces.readers.recorded import Key
from tiersim.traces.readers.views import Gathered, Row


def values_of(view_name: str, rows: Iterable[Row]) -> dict[Key, dict[str, Decimal | str]]:
    """Return what rows of a view say, by (subject, entity); *view_name* is that of one of VIEWS.

    Raises ValueError, a phrase that names the column, when a value is not what it must be.
    """
    gathered = Gathered(BY_NAME[view_name], canonical)
    for row in rows:
        gathered.add(row)
    return gathered.values
