"""Records a PostgreSQL server over one connection that only reads: counters at intervals, waits of
sessions in between.
"""

from tiersim.traces.recorders.postgres.recording import record_postgres
from tiersim.traces.recorders.rounds import Plan

__all__ = ["Plan", "record_postgres"]
