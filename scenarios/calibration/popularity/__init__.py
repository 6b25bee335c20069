"""The access distribution (skew) of a database's rows, from what its buffer pool missed, and what a pool of another
size would miss.
"""

from tiersim.scenarios.calibration.popularity.accessed_table import AccessedTable, Law
from tiersim.scenarios.calibration.popularity.fit import Fitted, fit, predict

__all__ = ["AccessedTable", "Fitted", "Law", "fit", "predict"]
