"""Curves where no page was recorded: from the laws that are fitted to what the recorded pool missed, in closed form.

Each query looks rows up as the simulation lets it; what a lookup misses in a pool of a size is what
:mod:`popularity.occupancy` says. Pages besides those of lookups and scans are found, as there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.popularity.fit import extrapolated
from tiersim.scenarios.calibration.popularity.occupancy import Pool
from tiersim.scenarios.calibration.popularity.recorded_files import SCAN_PAGES
from tiersim.scenarios.statements.loads import load_of
from tiersim.scenarios.statements.queries import pages_of
from tiersim.scenarios.statements.statement_load import StatementLoad

Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class LawCurves:
    """Misses and references by table and by query, at pools of *frames* pages."""

    load: StatementLoad
    frames: tuple[int, ...]
    extrapolated: tuple[bool, ...]
    table_references: Amounts  # (tables,)
    table_missed: Amounts  # (tables, points)
    query_references: Amounts  # (queries,)
    query_missed: Amounts  # (queries, points)
    table_pages: tuple[int, ...]

    @property
    def miss_ratio(self) -> Amounts:
        """Return the share of all pages asked for that is missed, at each size."""
        ratio: Amounts = self.query_missed.sum(axis=0) / self.query_references.sum()
        return ratio


def load_and_frames(path: Path, seed: int) -> tuple[StatementLoad, int]:
    """Return what was executed at *path*, its tables fitted, and the pages of the recorded pool that were theirs;
    raises TraceError.
    """
    load = load_of(path, seed)
    return load, load.fitted.frames


def law_curves(load: StatementLoad, frames: Sequence[int]) -> LawCurves:
    """Return what pools of *frames* pages miss in the long run."""
    fitted = load.fitted
    calls = np.bincount(load.query, minlength=len(load.queries)).astype(np.float64)
    lookups = np.array([one.lookups for one in load.asked]).reshape(len(load.queries), -1)
    again = np.array([one.again for one in load.asked]).reshape(lookups.shape)
    depth = np.array([pages_of(table) for table in fitted.tables])
    scanned = _scanned_pages(load, len(fitted.tables))
    pool = Pool(fitted.tables, fitted.seed, fitted.policy)
    missed_of_lookup, missed_of_scan = [], []
    for size in frames:
        expected = pool.expected(fitted.laws, size)
        missed_of_lookup.append([one.index_missed + one.heap_missed for one in expected])
        missed_of_scan.append(
            [
                max(1 - float(one.heap_held.sum()) / table.heap_pages, 0.0)
                for one, table in zip(expected, fitted.tables, strict=True)
            ]
        )
    each, of_scan = np.array(missed_of_lookup).T, np.array(missed_of_scan).T  # (tables, points)
    rows = lookups * calls[:, None]
    used = (rows + again * calls[:, None]) * depth
    others = np.array([one.other_pages for one in load.asked]) * calls
    return LawCurves(
        load=load,
        frames=tuple(frames),
        extrapolated=tuple(extrapolated(fitted, size) for size in frames),
        table_references=used.sum(axis=0) + scanned.sum(axis=0),
        table_missed=rows.sum(axis=0)[:, None] * each + scanned.sum(axis=0)[:, None] * of_scan,
        query_references=used.sum(axis=1) + scanned.sum(axis=1) + others,
        query_missed=rows @ each + scanned @ of_scan,
        table_pages=tuple(table.heap_pages + table.index_pages for table in fitted.tables),
    )


def _scanned_pages(load: StatementLoad, tables: int) -> Amounts:
    """Return the pages that scans of each query go through in each table (queries, tables), where executions say how
    many they asked for.
    """
    found = np.zeros((len(load.queries), tables))
    if load.logical_reads is None:
        return found
    scans = load.logical_reads >= SCAN_PAGES
    pages = np.bincount(load.query[scans], load.logical_reads[scans], len(load.queries))
    for code, one in enumerate(load.asked):
        if one.scanned >= 0:
            found[code, one.scanned] = pages[code] * one.scan_share
    return found
