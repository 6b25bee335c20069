"""Records a MySQL or MariaDB server over one connection that only reads: counters at intervals, what sessions do in
between.
"""

from tiersim.traces.recorders.mysql.recording import record_mysql

__all__ = ["record_mysql"]
