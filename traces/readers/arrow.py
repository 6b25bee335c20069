"""Reader of request tables that other tools wrote: a trace bundle's folder, or one Parquet or Arrow IPC file."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tiersim.errors import TraceError, reason
from tiersim.traces.bundle import Bundle, RequestWriter
from tiersim.traces.references import NAME as REFERENCES
from tiersim.traces.references import ReferenceTable

Progress = Callable[[int, int], None]

PARQUET_MAGIC, ARROW_MAGIC = b"PAR1", b"ARROW1"


def read_arrow(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Write the requests of one table to *writer* and return what the manifest says of it.

    What a bundle's own manifest says is kept. Raises TraceError when there are several paths, or naming the column and
    the row that cannot be used.
    """
    if len(paths) != 1:
        raise TraceError(f"{paths[1]}: only one table of requests can be imported at a time; import each by itself")
    path = paths[0]
    if path.is_dir():
        bundle = Bundle(path)
        _copy(bundle, writer, progress)
        if (path / REFERENCES).exists():
            table = ReferenceTable(path)
            writer.references.relation_names = table.relation_names
            for block in table.blocks():
                writer.references.append(block)
        kept = vars(bundle.manifest).copy()
        for counted in ("requests", "references", "span_ns", "ended", "tool_version"):
            del kept[counted]
        return kept
    with tempfile.TemporaryDirectory(dir=writer.folder) as folder:
        converted = Path(folder) / "requests.parquet"
        try:
            rows = path if _is_parquet(path) else _converted(path, converted)
            _copy(Bundle(Path(folder), rows), writer, progress)
        except TraceError as error:
            raise TraceError(str(error).replace(str(converted), str(path))) from None
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"source_format": "arrow", "source_files": [{"name": path.name, "sha256": digest}]}


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None


def _converted(path: Path, table: Path) -> Path:
    """Write an Arrow file as the Parquet file *table*, and return its path."""
    try:
        with _readable(path):
            reader = pa.ipc.open_file(path)
        with reader, pq.ParquetWriter(table, reader.schema) as target:
            for number in range(reader.num_record_batches):
                with _readable(path):
                    batch = reader.get_batch(number)
                # pyarrow itself writes what indices beyond their words happen to point at, or crashes
                batch.validate(full=True)
                target.write_batch(batch)
    except MemoryError:
        raise
    except (pa.ArrowException, ValueError) as error:
        raise TraceError(f"{path}: is not a whole Arrow file ({str(error).splitlines()[0]}); write it again") from None
    return table


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None


def _copy(bundle: Bundle, writer: RequestWriter, progress: Progress | None) -> None:
    # The lists of names grow with the blocks that are read.
    writer.file_names, writer.stream_names = bundle.file_names, bundle.stream_names
    for block in bundle.blocks():
        writer.append(block)
        if progress:
            progress(writer.rows, bundle.rows)
