"""What a file of views has besides its values: rows that cannot be read, and moments that it does not tell."""

from collections import Counter
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.moments import moment_of
from tiersim.traces.readers.recorded import Recorded

_DAMAGED = "damaged rows"
#: With more damage than rows after so many, a file is something else.
_ENOUGH = 1000


class RowsOfViews:
    """Counts the rows of one file: a few damaged ones are left out and said; a file of which most are damaged is
    refused, with *remedy*.
    """

    def __init__(self, path: Path, remedy: str) -> None:
        """Begin with none."""
        self._path, self._remedy = path, remedy
        self._damaged = 0
        self._first_damage = ""
        self.read = 0

    def damage(self, line: int, what: str) -> None:
        """Count a row that cannot be read; raises TraceError when most cannot."""
        self._damaged += 1
        self._first_damage = self._first_damage or f"line {line}: {what}"
        if self._damaged > _ENOUGH and self._damaged > self.read:
            raise TraceError(f"{self._path}: {self._first_damage}, as are most other rows; {self._remedy}")

    def finish(self, recorded: Recorded, *, views: bool) -> None:
        """Say what was lost; raises TraceError when there were no *views*, or more rows are damaged than not."""
        if self._damaged > self.read:
            raise TraceError(
                f"{self._path}: {self._damaged:,} of {self._damaged + self.read:,} rows cannot be read "
                f"({self._first_damage}); {self._remedy}"
            )
        if not views:
            raise TraceError(
                f"{self._path}: has no table with the columns of a view that is known; save one view a file"
            )
        if self._damaged:
            recorded.lose(_DAMAGED, self._damaged)
            recorded.warnings.append(
                f"{self._path.name}: {self._damaged:,} damaged rows are left out, the first: {self._first_damage}"
            )


class MomentsOfViews:
    """Names the moments of the tables of one file: what psql's \\watch prints, or a file that was appended to, has
    several without a time.
    """

    def __init__(self, path: Path) -> None:
        """Begin with none."""
        self._path = path
        self._undated: Counter[str] = Counter()

    def name(self, view: str, moment_ns: int | None) -> str:
        """Return the name of the moment of the next table of *view*."""
        moment = moment_of(self._path, view)
        if moment_ns is not None:
            return moment
        self._undated[view] += 1
        return moment if self._undated[view] == 1 else f"{moment} {self._undated[view]}"
