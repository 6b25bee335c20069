"""The access distribution (skew) of a database's rows, from what its buffer pool missed, and what a pool of another
size would miss.
"""

from tiersim.scenarios.calibration.popularity.fit import Fitted, fit, predict
from tiersim.scenarios.calibration.popularity.occupancy import AccessedTable, Law

__all__ = ["AccessedTable", "Fitted", "Law", "fit", "predict"]
