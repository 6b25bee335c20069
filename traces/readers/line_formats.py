"""Formats of one request a line: what a subclass says of its columns is all that tells one such format from another."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.bundle import MOST, RequestWriter
from tiersim.traces.readers.delimited import (
    DECIMAL,
    HEAD_BYTES,
    Delimited,
    Field,
    Lines,
    Words,
    as_is,
    chunks,
    sniffed_lines,
)
from tiersim.traces.readers.opened import Opened, Progress
from tiersim.traces.readers.ordered import Rows, new_rows
from tiersim.traces.readers.request_files import DAMAGED, Collected, name_of, read_files
from tiersim.traces.schema import DISCARD, FLUSH, NOT_MEASURED
from tiersim.units import NS_PER_S

#: So many lines tell a format, and so many of them must be well.
SNIFFED_LINES = 100
WELL_SHARE = 0.9
_PEEKED_LINES = 1000
#: A clock that ticks no more often than this hides what happens at once.
_COARSE_NS = 1_000_000
#: The code of an "operation" that is none, and no mistake either.
SET_ASIDE = 255


class RequestTable:
    """One import of a format; a subclass names its columns, and changes what else is different.

    Columns that mean something: ``time_ns``, ``offset_bytes``, ``length_bytes``, ``latency_ns`` (whole numbers are in
    the unit that the column's factor tells), ``op``, and the words that *file* and *stream* are made of.
    """

    key: ClassVar[str]
    fields: Sequence[Field] = ()
    delimiter: bytes = b","
    decimal_point: bytes = b"."
    quoted: bool = False
    more: bool = False
    clean: Callable[[bytes], bytes] = staticmethod(as_is)
    operations: ClassVar[Mapping[bytes, int]] = {}
    file: ClassVar[tuple[str, ...]] = ()  # the columns that name it, and how
    file_name: ClassVar[str] = "{}"
    stream: ClassVar[tuple[str, ...]] = ()
    stream_name: ClassVar[str] = "{}"
    heading: ClassVar[bool] = False  # whether prepare is enough to tell the format
    set_aside: ClassVar[str] = ""  # why a line of such an "operation" is a loss; empty when it is none
    tells_flushes: ClassVar[bool] = False
    tick_ns: ClassVar[int] = 1  # of the source's clock
    unix_ns: ClassVar[int | None] = None  # where its clock began; None when nobody knows

    def __init__(self) -> None:
        """Begin an import."""
        self.inferred: list[str] = []
        self.warnings: list[str] = []
        self._base: int | None = None  # of the clock: later times are counted from it, so that they fit

    # What a subclass may change.

    def prepare(self, head: bytes) -> bool:
        """Look at what a file begins with, set what depends on it, and tell whether a heading is as it must be."""
        return True

    def skips(self, line: bytes) -> bool:
        """Tell whether a line is a heading or a comment."""
        return False

    def operation(self, word: bytes) -> int:
        """Return the code of an operation; -1 when it is none."""
        return self.operations.get(word, -1)

    def adjust(self, rows: Rows, lines: Lines, well: NDArray[np.bool_]) -> None:
        """Change rows that say something in their own way; what is set to false in *well* is left out as damaged."""

    def believable(self, lines: Lines) -> bool:
        """Tell whether lines that could be read are likely to be of this format."""
        return True

    def finish(self) -> None:
        """Say what is known only when everything is read."""

    # What all have in common.

    def peek(self, head: bytes) -> Lines:
        """Parse the first lines of what a file begins with."""
        return self._delimited().parse_slowly(sniffed_lines(head, _PEEKED_LINES))

    @classmethod
    def looks_like(cls, first_bytes: bytes) -> bool:
        """Tell whether a file that begins so is of this format."""
        table = cls()
        if not table.prepare(first_bytes):
            return False
        if cls.heading:
            return True
        lines = table._delimited().parse_slowly(sniffed_lines(first_bytes, SNIFFED_LINES))
        well = table._rows(lines)[1]
        seen = len(lines) + len(lines.damaged)
        return 0 < seen * WELL_SHARE <= int(np.count_nonzero(well)) and table.believable(lines)

    @classmethod
    def read(cls, paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
        """Write the requests of a recording to *writer* and return what the manifest says of it.

        Memory does not grow with their number. Raises TraceError when most lines of a file are damaged or none is a
        request.
        """
        table = cls()
        manifest = read_files(paths, writer, progress, cls.key, table._read_file, tells_flushes=cls.tells_flushes)
        table.finish()
        factor = next((1 if c.kind == DECIMAL else c.factor for c in table.fields if c.name == "time_ns"), 1)
        first_ns = manifest["host"]["clock_start_ns"] + (table._base or 0) * factor
        manifest["host"] = {"clock_start_ns": first_ns}
        if cls.unix_ns is not None:
            manifest["host"] = {"clock_start_unix_ns": first_ns + cls.unix_ns}
        manifest["inferred"] = list(dict.fromkeys(table.inferred)) + manifest["inferred"]
        manifest["warnings"] = manifest["warnings"] + list(dict.fromkeys(table.warnings))
        if cls.tick_ns >= _COARSE_NS:
            manifest["warnings"].append(
                f"the clock of {cls.key} ticks every {cls.tick_ns / NS_PER_S:g} s: all requests of a tick stand at its "
                "beginning, in the order of the file, and a replay sends them all at once"
            )
        return manifest

    def _delimited(self) -> Delimited:
        return Delimited(
            self.fields, self.delimiter, self.decimal_point, self.quoted, self.more, self.clean, self.skips
        )

    def _read_file(self, source: Opened, collected: Collected) -> None:
        delimited: Delimited | None = None
        all_lines, damaged, first_damaged = 0, 0, 0
        for text, first_line in chunks(source):
            if delimited is None:
                if not self.prepare(text[:HEAD_BYTES]):
                    raise TraceError(f"{source.path}: does not begin as {self.key} does; choose another --format")
                delimited = self._delimited()
            for lines in delimited.parse(text, first_line):
                rows, well = self._rows(lines)
                bad = [*lines.damaged, *lines.line[~well].tolist()]
                if bad:
                    first_damaged = first_damaged or min(bad)
                    damaged += len(bad)
                all_lines += len(lines) + len(lines.damaged)
                self._collect(rows, lines, well, source.path, collected)
        if delimited is None and not source.damage:
            raise TraceError(f"{source.path}: is empty; record again")
        if damaged:
            what = f"{damaged:,} of {all_lines:,} lines are not {self.key}, the first is line {first_damaged:,}"
            if 2 * damaged > all_lines:
                raise TraceError(f"{source.path}: {what}; give another file or another --format")
            collected.lose(DAMAGED, damaged)
            collected.warnings.append(f"{source.path.name}: {what}; they were left out")

    def _collect(self, rows: Rows, lines: Lines, well: NDArray[np.bool_], path: Path, collected: Collected) -> None:
        """Hand over the rows that are well and stand for a request, with the names of their files and streams."""
        aside = well & (rows["op"] == SET_ASIDE)
        if self.set_aside:
            collected.lose(self.set_aside, int(np.count_nonzero(aside)))
        well = well & ~aside
        if self.file:
            words = [lines.words[name] for name in self.file]
            rows["file"][well] = _numbered(words, well, self.file_name, collected.file_codes)
        else:
            rows["file"] = collected.only_file(path)
        if self.stream:
            words = [lines.words[name] for name in self.stream]
            rows["stream"][well] = _numbered(words, well, self.stream_name, collected.stream_codes)
        collected.add(rows if well.all() else rows[well])

    def _rows(self, lines: Lines) -> tuple[Rows, NDArray[np.bool_]]:
        """Return what the lines say, and which of them say what they can."""
        rows = new_rows(len(lines))
        codes = lines.words["op"].map(self.operation)
        well = codes >= 0
        rows["op"] = np.maximum(codes, 0)
        placed = rows["op"] < FLUSH  # what says nothing by its offset and length cannot say anything wrong
        placed |= rows["op"] == DISCARD
        for column in self.fields:
            factor = 1 if column.kind == DECIMAL else column.factor
            if column.name == "time_ns":
                values = self._since_base(lines.numbers["time_ns"])
                well &= np.abs(values) <= MOST // factor
                rows["time_ns"] = np.where(well, values, 0) * factor
            elif column.name in ("offset_bytes", "length_bytes"):
                values = np.where(placed, lines.numbers[column.name], 0)
                well &= (values >= 0) & (values <= MOST // factor)
                rows[column.name] = np.where(well, values, 0) * factor
            elif column.name == "latency_ns":
                values = lines.numbers["latency_ns"]
                well &= values <= MOST // factor
                rows["latency_ns"] = np.where(well & (values >= 0), np.where(well, values, 0) * factor, NOT_MEASURED)
        self.adjust(rows, lines, well)
        return rows, well

    def _since_base(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count times from one in the middle of the first chunk: so they fit, and a damaged one does not move the
        others.
        """
        values = np.clip(values, -(2**62), 2**62)
        if self._base is None and len(values):
            self._base = int(np.sort(values)[len(values) // 2])
        return values - (self._base or 0)


def _numbered(
    columns: Sequence[Words],
    well: NDArray[np.bool_],
    label: str,
    number: Callable[[Iterable[str]], NDArray[np.int32]],
) -> NDArray[np.int32]:
    """Return the codes of what several words together name, for the rows that are well."""
    together = np.zeros(len(well), np.int64)
    for words in columns:
        together = together * len(words.words) + words.codes
    distinct, places = np.unique(together[well], return_inverse=True)
    names = []
    for value in distinct.tolist():
        parts: list[str] = []
        for words in reversed(columns):
            value, place = divmod(value, len(words.words))
            parts.insert(0, name_of(words.words[place]))
        names.append(label.format(*parts))
    return number(names)[places]
