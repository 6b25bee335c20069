"""Trace bundles on disk: a folder with ``manifest.json`` and Parquet tables, readable by any Arrow tool."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiersim import __version__
from tiersim.errors import TraceError, did_you_mean
from tiersim.files import checksums_of, sealed, whole_file, whole_folder
from tiersim.kernel import kernel, table_set
from tiersim.traces.parquet import DAMAGE, as_type, batches, integers, open_parquet, part_of
from tiersim.traces.references import ReferenceWriter
from tiersim.traces.schema import NOT_MEASURED, OPERATIONS, PURPOSES, REQUEST_COLUMNS, SCHEMA, UNKNOWN
from tiersim.units import NS_PER_S

MANIFEST = "manifest.json"
ROWS_PER_GROUP = 1 << 20
_TEXT = pa.dictionary(pa.int32(), pa.string())
_TYPES = {"int64": pa.int64(), "uint8": pa.uint8(), "text": _TEXT}
ARROW_SCHEMA = pa.schema([pa.field(c.name, _TYPES[c.kind], nullable=c.nullable) for c in REQUEST_COLUMNS])

# Half the size and half the time of Parquet's defaults: counters are stored as differences, columns of few values as
# codes.
_DELTA_COLUMNS = ("time_ns", "offset_bytes", "issue_ns", "command", "latency_ns")
#: Larger values are mistakes, and sums of smaller ones fit int64.
MOST = 1 << 60
#: A first request as late as this, and ten times later than all others are apart, has not been counted from time 0.
LATE_START_NS = 3600 * NS_PER_S
_TOO_MUCH = {
    "offset_bytes": "is behind the end of any device",
    "length_bytes": "is longer than any device",
    "time_ns": "is 36 years after the trace began; subtract the time of its first row",
}
_DICTIONARY_COLUMNS = [c.name for c in REQUEST_COLUMNS if c.name not in _DELTA_COLUMNS]


@dataclass(frozen=True)
class Manifest:
    """What is known of a recording besides its rows; every field may be empty when the source did not say."""

    source_format: str = "unknown"
    source_files: Sequence[Mapping[str, str]] = ()  # name and SHA-256 of each
    span_ns: int = 0  # from time 0 to the last row's queue time or completion, whichever is later
    requests: int = 0
    references: int = 0  # page references, of which the source may have nothing else
    statements: int = 0  # executions
    snapshots: int = 0  # of counters
    unmatched: int = 0  # events that found no partner
    dropped: Mapping[str, int] = field(default_factory=dict)  # why → how many events or bytes are lost
    inferred: Sequence[str] = ()  # sentences: what the import concluded and from what
    warnings: Sequence[str] = ()
    host: Mapping[str, Any] = field(default_factory=dict)
    ended: bool = True  # False while a recorder adds to it, and when that was killed
    tool_version: str = __version__

    def to_json(self) -> dict[str, Any]:
        """Return the manifest as it is written."""
        return {"schema": SCHEMA, **self.__dict__}

    @property
    def buffer_pool_bytes(self) -> int | None:
        """How large the recorded buffer pool was, None if the recording does not say so."""
        size = self.host.get("shared_buffers_bytes", self.host.get("buffer_pool_bytes"))
        return size if isinstance(size, int) and size > 0 else None


_NOTHING_KNOWN = Manifest()
_JSON_KINDS = {bool: "true or false", str: "a text", int: "a number", tuple: "a list", dict: "an object"}


@dataclass(frozen=True)
class Requests:
    """A block of requests in time order, as columns of equal length.

    ``time_ns``, ``offset_bytes``, ``length_bytes``, ``issue_ns``, ``command``, ``latency_ns`` are int64 (the last three
    hold -1 where nothing was recorded); ``op``, ``purpose``, ``flags`` uint8; ``file`` and ``stream`` int32 codes into
    the bundle's names (-1: none).
    """

    time_ns: NDArray[np.int64]
    op: NDArray[np.uint8]
    file: NDArray[np.int32]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    stream: NDArray[np.int32]
    purpose: NDArray[np.uint8]
    issue_ns: NDArray[np.int64]
    command: NDArray[np.int64]
    latency_ns: NDArray[np.int64]
    flags: NDArray[np.uint8]

    def __len__(self) -> int:
        """Count the requests."""
        return len(self.time_ns)

    @property
    def columns(self) -> "RequestColumns":
        """The columns as kernels take them."""
        return RequestColumns(**vars(self))


@table_set
class RequestColumns(NamedTuple):
    """The columns of :class:`Requests`, in its order; kernels take no dataclass."""

    time_ns: NDArray[np.int64]
    op: NDArray[np.uint8]
    file: NDArray[np.int32]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    stream: NDArray[np.int32]
    purpose: NDArray[np.uint8]
    issue_ns: NDArray[np.int64]
    command: NDArray[np.int64]
    latency_ns: NDArray[np.int64]
    flags: NDArray[np.uint8]


@kernel
def last_end_ns(time_ns: NDArray[np.int64], latency_ns: NDArray[np.int64]) -> int:
    """When the last request ended, or came where its latency was not measured."""
    last_ns = 0
    for row in range(time_ns.size):
        last_ns = max(last_ns, time_ns[row] + max(latency_ns[row], 0))
    return last_ns


class RequestWriter:
    """Takes blocks of requests in time order and writes ``requests.parquet`` group by group.

    ``file_names`` and ``stream_names`` may grow between blocks: a code is an index into them. ``references`` takes page
    references. Each of ``observers`` is called with every block before it is written.
    """

    def __init__(self, path: Path) -> None:
        """Open *path* for writing."""
        self.file_names: list[str] = []
        self.stream_names: list[str] = []
        self.observers: list[Callable[[Requests], None]] = []
        self.rows = 0
        self.last_ns = 0
        self.folder = path.parent  # where a reader may keep what it will read again
        self._writer = pq.ParquetWriter(
            path,
            ARROW_SCHEMA,
            compression="zstd",
            compression_level=1,
            use_dictionary=_DICTIONARY_COLUMNS,
            column_encoding=dict.fromkeys(_DELTA_COLUMNS, "DELTA_BINARY_PACKED"),
            write_statistics=["time_ns"],  # parts of a trace are found by time alone; all columns cost a quarter more
        )

    @cached_property
    def references(self) -> ReferenceWriter:
        """Writes page references; made by a reader that has some."""
        return ReferenceWriter(self.folder)

    def append(self, block: Requests) -> None:
        """Write one block; its times must not fall, within it or against the block before."""
        if not len(block):
            return
        for observe in self.observers:
            observe(block)
        arrays = {
            "time_ns": pa.array(block.time_ns),
            "op": _dictionary(block.op, OPERATIONS),
            "file": _dictionary(block.file, self.file_names),
            "offset_bytes": pa.array(block.offset_bytes),
            "length_bytes": pa.array(block.length_bytes),
            "stream": _dictionary(block.stream, self.stream_names),
            "purpose": _dictionary(block.purpose, PURPOSES, null=UNKNOWN),
            "issue_ns": _nullable(block.issue_ns),
            "command": _nullable(block.command),
            "latency_ns": _nullable(block.latency_ns),
            "flags": pa.array(block.flags),
        }
        table = pa.Table.from_arrays([arrays[name] for name in ARROW_SCHEMA.names], schema=ARROW_SCHEMA)
        self._writer.write_table(table, row_group_size=ROWS_PER_GROUP)
        self.rows += len(block)
        self.last_ns = max(self.last_ns, int(last_end_ns(block.time_ns, block.latency_ns)))

    def close(self) -> None:
        """Write the Parquet footers."""
        self._writer.close()
        if self.has_references:
            self.references.close()

    @property
    def has_references(self) -> bool:
        """Tell whether a reader asked for a writer of references."""
        return "references" in vars(self)


def _dictionary(codes: NDArray[Any], names: Sequence[str], null: int = -1) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        _nullable(codes.astype(np.int32, copy=False), null), pa.array(names, pa.string())
    )


def _nullable(values: NDArray[Any], null: int = NOT_MEASURED) -> pa.Array:
    missing = values == null
    return pa.array(values, mask=missing if missing.any() else None)


def starts_late(first_ns: int, span_ns: int) -> bool:
    """Tell whether times were not counted from the first request, at *first_ns* and *span_ns* before the last."""
    return first_ns > max(LATE_START_NS, 10 * span_ns)


@contextmanager
def write_bundle(target: Path, *, force: bool = False) -> Iterator[tuple[RequestWriter, dict[str, Any]]]:
    """Yield a writer and the manifest fields to fill; the bundle appears at *target* only when the block ends well.

    ``requests``, ``references`` and ``span_ns`` are filled in from the rows. Raises OutputError, see
    :func:`tiersim.files.whole_folder`.
    """
    with whole_folder(target, force=force) as folder:
        writer = RequestWriter(folder / "requests.parquet")
        fields: dict[str, Any] = {}
        try:
            yield writer, fields
        finally:
            writer.close()
        counted = {"requests": writer.rows, "references": 0, "span_ns": writer.last_ns}
        if writer.has_references:
            counted["references"] = writer.references.rows
            counted["span_ns"] = max(writer.last_ns, writer.references.last_ns)
        manifest = Manifest(**{**counted, **fields})
        (folder / MANIFEST).write_bytes(_manifest_text(folder, manifest))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of the bundle in *folder*, with checksums of all files once it has ended, replacing one that
    is there.

    Raises OutputError.
    """
    with whole_file(folder / MANIFEST, force=True) as place:
        place.write_bytes(_manifest_text(folder, manifest))


def _manifest_text(folder: Path, manifest: Manifest) -> bytes:
    if manifest.ended:
        return sealed(manifest.to_json(), checksums_of(folder, MANIFEST))
    return (json.dumps(manifest.to_json(), indent=1, sort_keys=True, default=str) + "\n").encode()


class Bundle:
    """A trace bundle opened for reading; whatever wrote it, what comes out has the types of :class:`Requests`."""

    def __init__(self, path: Path, table: Path | None = None) -> None:
        """Open the bundle folder at *path*; raises TraceError when it is not one. Its requests may lie in a *table*
        elsewhere.
        """
        self.path = path
        self._table_path = table or part_of(path, "requests.parquet")
        try:
            self._file = open_parquet(self._table_path, "write or import it again")
        except FileNotFoundError:
            raise TraceError(
                f"{path}: is not a trace bundle (it has no requests.parquet); import the recording with tiersim import"
            ) from None
        self._check_columns()
        self.file_names: list[str] = []
        self.stream_names: list[str] = []
        self._codes_of_names: dict[str, dict[str, int]] = {"file": {}, "stream": {}}
        self.manifest = self._read_manifest()

    @property
    def rows(self) -> int:
        """Number of requests."""
        return int(self._file.metadata.num_rows)

    def refuse_without_requests(self) -> None:
        """Raise TraceError when other things than requests are all there is, for those that need requests."""
        if self.manifest.references and not self.rows:
            raise TraceError(f"{self.path}: holds page references and no requests; use it with cache studies")
        if (self.manifest.statements or self.manifest.snapshots) and not self.rows:
            raise TraceError(
                f"{self.path}: holds statements and counters and no requests; record the block device too (tiersim"
                " record blktrace) and import both together"
            )

    def requests(self) -> Requests:
        """Read all requests at once."""
        blocks = list(self.blocks())
        if not blocks:
            return _empty()
        return Requests(*(np.concatenate([getattr(b, c.name) for b in blocks]) for c in REQUEST_COLUMNS))

    def blocks(self, rows: int = ROWS_PER_GROUP) -> Iterator[Requests]:
        """Yield the requests in blocks of at most *rows*; raises TraceError naming the first bad column and row."""
        first_row, last_ns = 0, -(2**63)
        try:
            for batch in batches(self._file, rows):
                block = self._convert(batch, first_row)
                times = block.time_ns
                if len(times):
                    if times[0] < last_ns or (times[1:] < times[:-1]).any():
                        row = 0 if times[0] < last_ns else int(np.flatnonzero(times[1:] < times[:-1])[0]) + 1
                        self._refuse(
                            "time_ns", first_row + row, int(times[row]), "is before the row above; sort by time_ns"
                        )
                    last_ns = int(times[-1])
                first_row += len(block)
                yield block
        except MemoryError:
            raise
        except DAMAGE as error:
            what = str(error).splitlines()[0]
            raise TraceError(f"{self._table_path}: is damaged ({what}); write or import it again") from None

    def _check_columns(self) -> None:
        there = self._file.schema_arrow.names
        for column in REQUEST_COLUMNS:
            if column.required and column.name not in there:
                hint = did_you_mean(column.name, there)
                raise TraceError(f"{self._table_path}: the column {column.name!r} is required and not there{hint}")

    def _read_manifest(self) -> Manifest:
        path = part_of(self.path, MANIFEST)
        try:
            values = json.loads(path.read_bytes())
            if not isinstance(values, dict):
                raise ValueError("not an object")
        except FileNotFoundError:
            return Manifest(source_format="written by another tool", requests=self.rows)
        except (OSError, ValueError, RecursionError):
            raise TraceError(f"{path}: is not a JSON object; remove it or import the trace again") from None
        schema = values.pop("schema", SCHEMA)
        if schema != SCHEMA:
            raise TraceError(f"{path}: schema {schema!r} is not {SCHEMA!r}; this tiersim is too old or too new for it")
        known = {name: value for name, value in values.items() if name in Manifest.__dataclass_fields__}
        for name, value in known.items():
            kind = type(getattr(_NOTHING_KNOWN, name))
            if not isinstance(value, list if kind is tuple else kind):
                raise TraceError(f"{path}: {name}: {value!r} is not {_JSON_KINDS[kind]}; remove the key or the file")
        return Manifest(**known)

    def _refuse(self, column: str, row: int, value: object, what: str) -> None:
        raise TraceError(f"{self._table_path}: column {column!r}, row {row}: {value!r} {what}")

    def _convert(self, batch: pa.RecordBatch, first_row: int) -> Requests:
        rows = batch.num_rows
        columns: dict[str, NDArray[Any]] = {}
        for column in REQUEST_COLUMNS:
            found = batch.column(column.name) if column.name in batch.schema.names else None
            if column.kind == "text":
                columns[column.name] = self._codes(column.name, found, rows, first_row)
            else:
                columns[column.name] = self._integers(column.name, found, rows, first_row)
        for name, too_much in _TOO_MUCH.items():
            if rows and (columns[name].min() < 0 or columns[name].max() > MOST):
                bad = np.flatnonzero((columns[name] < 0) | (columns[name] > MOST))
                value = int(columns[name][bad[0]])
                self._refuse(name, first_row + int(bad[0]), value, "is negative" if value < 0 else too_much)
        for name in ("issue_ns", "latency_ns"):
            if rows and (columns[name].min() < NOT_MEASURED or columns[name].max() > MOST):
                bad = np.flatnonzero((columns[name] < NOT_MEASURED) | (columns[name] > MOST))
                value = int(columns[name][bad[0]])
                self._refuse(
                    name, first_row + int(bad[0]), value, "is negative" if value < 0 else "is 36 years or more"
                )
        if rows and columns["length_bytes"].min() == 0:
            empty = np.flatnonzero((columns["length_bytes"] == 0) & (columns["op"] != OPERATIONS.index("flush")))
            if empty.size:
                self._refuse(
                    "length_bytes", first_row + int(empty[0]), 0, "is empty for an operation that is not a flush"
                )
        for found in columns.values():  # as those that Arrow holds: kernels compile for each kind of array
            found.flags.writeable = False
        return Requests(**columns)

    def _integers(self, name: str, found: pa.Array | None, rows: int, first_row: int) -> NDArray[Any]:
        nullable = name in ("issue_ns", "command", "latency_ns")
        wanted = np.dtype(np.uint8 if name == "flags" else np.int64)
        if found is None:
            return np.full(rows, NOT_MEASURED if nullable else 0, wanted)
        if not nullable and found.null_count:
            row = int(np.flatnonzero(found.is_null())[0])
            self._refuse(name, first_row + row, None, "is not allowed; every row needs a value")
        if pa.types.is_timestamp(found.type):
            self._refuse(name, first_row, found[0].as_py(), "is a date; write the nanoseconds since the trace began")
        if pa.types.is_duration(found.type):
            found = found.cast(pa.duration("ns")).cast(pa.int64())
        target = pa.uint8() if name == "flags" else pa.int64()
        try:
            cast = as_type(found, target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            row, value = _first_uncastable(found, target)
            self._refuse(name, first_row + row, value, f"cannot be turned into {target} without loss")
        return integers(cast, NOT_MEASURED).astype(wanted, copy=False)

    def _codes(self, name: str, found: pa.Array | None, rows: int, first_row: int) -> NDArray[Any]:
        fixed = {"op": OPERATIONS, "purpose": PURPOSES}.get(name)
        if found is None:
            if name == "purpose":
                return np.full(rows, UNKNOWN, np.uint8)
            if name == "file":
                return np.full(rows, self._code_of("file", "data"), np.int32)
            return np.full(rows, -1, np.int32)
        try:
            encoded = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
            words = as_type(encoded.dictionary, pa.string()).to_pylist()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            self._refuse(name, first_row, found[0].as_py(), "is not text")
        if fixed is None:
            codes = [self._code_of(name, word) for word in words]
            null = -1
        else:
            codes = [fixed.index(word) if word in fixed else -1 for word in words]
            null = UNKNOWN if name == "purpose" else -1
        table, places = np.array([*codes, null], np.int32), integers(encoded.indices, len(words))
        if name != "stream" and table[: len(table) if found.null_count else -1].min(initial=0) < 0:
            bad = np.flatnonzero(table[places] < 0)
            if bad.size:
                value = found[int(bad[0])].as_py()
                allowed = f"is not one of {', '.join(fixed)}" if fixed else "is not allowed; every row needs a value"
                self._refuse(name, first_row + int(bad[0]), value, allowed)
        result: NDArray[Any] = table.astype(np.uint8 if fixed is not None else np.int32)[places]
        return result

    def _code_of(self, column: str, word: str) -> int:
        names = self.file_names if column == "file" else self.stream_names
        code = self._codes_of_names[column].setdefault(word, len(names))
        if code == len(names):
            names.append(word)
        return code


def _first_uncastable(values: pa.Array, target: pa.DataType) -> tuple[int, object]:
    for row in range(len(values)):
        try:
            values.slice(row, 1).cast(target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return row, values[row].as_py()
    return 0, values[0].as_py()


def _empty() -> Requests:
    kinds = {"time_ns": np.int64, "op": np.uint8, "file": np.int32, "offset_bytes": np.int64, "length_bytes": np.int64}
    kinds |= {"stream": np.int32, "purpose": np.uint8, "issue_ns": np.int64, "command": np.int64}
    kinds |= {"latency_ns": np.int64, "flags": np.uint8}
    return Requests(**{name: np.zeros(0, kind) for name, kind in kinds.items()})
