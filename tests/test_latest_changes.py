"""Rows of the latest changes, as a statement asks for them, against a list of what was changed."""

from collections import Counter, deque

import numpy as np
import pytest

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.scenarios.validation.pgbench import closed_loop
from tiersim.simulator.database.buffer_pool.pages import draw_row, note_row
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import LOOKUP, LOOKUPS, OF_MANY, OF_ONE, Database

LONGER, SHORTER, DRAWS = 40, 5, 20_000


def _database() -> Database:
    """Two tables; statements ask for the latest 40 and the latest five changes of the second."""
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 1, 1000)
    demands = [
        Demand(LOOKUPS, table=1, rows=3, in_order=False, changed=LONGER),
        Demand(LOOKUP, table=1, changed=SHORTER),
    ]
    tables = [Relation(rows, (1, 10), station=disk) for rows in (50, 1_000_000)]
    return add_database(builder, DatabaseHost(1, 20, log_station=disk), tables, [demands], closed_loop(1, 1, 1))


@pytest.mark.parametrize("changes", [1, 3, SHORTER, LONGER, 3 * LONGER + 7])
def test_each_of_the_latest_changes_is_drawn_as_often(changes: int) -> None:
    d, latest = _database(), deque[int](maxlen=LONGER)
    for number in range(changes):
        row = 7919 * number % 1_000_000
        note_row(d, 0, row)
        note_row(d, 1, row)
        latest.append(row)
    assert not d.changes[0]  # nobody asks for those
    for asked, purpose in ((LONGER, OF_MANY), (SHORTER, OF_ONE)):
        found = Counter(draw_row(d, 1, purpose, counter, asked) for counter in range(DRAWS))
        assert set(found) == set(list(latest)[-asked:])
        even = DRAWS / len(found)
        assert np.abs(np.array([*found.values()]) - even).max() < 5 * even**0.5


def test_before_any_change_rows_are_drawn_by_the_law() -> None:
    d = _database()
    assert [draw_row(d, 1, OF_ONE, counter, SHORTER) for counter in range(100)] == [
        draw_row(d, 1, OF_ONE, counter, 0) for counter in range(100)
    ]
