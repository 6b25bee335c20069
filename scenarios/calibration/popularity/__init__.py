"""How hot a database's rows are, from what its buffer pool missed, and what a pool of another size would miss."""

from tiersim.scenarios.calibration.popularity.fit import Fitted, fit, predict
from tiersim.scenarios.calibration.popularity.tables import AccessedTable, Law

__all__ = ["AccessedTable", "Fitted", "Law", "fit", "predict"]
