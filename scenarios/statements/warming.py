"""The buffer pool as it is before a run: filled by statements like those of the load, of which nothing is counted.

They run in a plant of their own, whose disk takes no time, and look up rows that the run does not draw. What they leave in the pool is where the
run begins; no time has passed for its devices.
"""

from dataclasses import replace

import numpy as np

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.tables import RESOURCES
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.statements.programs import Program
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.build import Host, Relation, Statements, add_database
from tiersim.simulator.database.tables import HAND, LOG, LOOKUP, OWN, UNUSED, Database
from tiersim.simulator.metrics import new_metrics

#: Rows that are looked up for each frame of the pool, as many as popularity is fitted with; and statements at most, for memory's sake.
_ROWS_A_FRAME, _MOST_STATEMENTS = 12, 8_000_000


def warm(database: Database, program: Program, relations: list[Relation], frames: int, seed: int) -> None:
    """Fill *frames* of the pool of *database*; the others stay unused."""
    statements = program.statements
    rows = np.array([sum(one.kind == LOOKUP for one in demands) for demands in program.classes])[statements.classes]
    if not rows.any():
        return
    pages = int(database.level_pages.sum())
    count = min(int(np.ceil(_ROWS_A_FRAME * min(frames, pages) / rows.mean())), _MOST_STATEMENTS)
    builder = PlantBuilder(seed)
    disk = add_server(builder, "disk", 1, 1)
    used = len(statements.classes)
    drawn = (Draws(seed).uniform(count, "warm") * used).astype(np.int64)
    scratch = add_database(
        builder,
        Host(cores=1, frames=frames, log_station=disk, page_bytes=int(database.page_bytes[0])),
        [replace(relation, station=disk) for relation in relations],
        [[demand for demand in demands if demand.kind != LOG] for demands in program.classes],
        _behind(used, statements.classes[drawn]),
        program.category,
    )
    scratch.sessions["next"] = used
    metrics = new_metrics(FIRST_CLASS + len(program.names), len(builder.stations), RESOURCES, 1, 1 << 60)
    engine.run_database(builder.build(16), scratch, metrics)
    database.frame_of[:] = scratch.frame_of
    for name in ("page_of", "state", "used", "dirty"):
        getattr(database, name)[:frames] = getattr(scratch, name)
    for place in (HAND, UNUSED):
        database.pool_state[place] = scratch.pool_state[place]


def _behind(used: int, classes: np.ndarray) -> Statements:
    """Return statements of one session, numbered from *used* on, since the numbers before draw the rows of the run."""
    count = used + len(classes)
    flags, nothing = np.zeros(count, np.uint8), np.zeros(count, np.int64)
    return Statements(
        session_ends=[count],
        classes=np.concatenate([np.zeros(used, np.int32), classes]),
        waits_for=np.full(count, OWN, np.uint8),
        start_ns=nothing,
        think_ns=nothing,
        cpu_ns=nothing,
        begins=flags,
        ends=flags,
    )
