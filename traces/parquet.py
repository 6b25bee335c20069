"""Opens the files of a bundle, which may be damaged, or made by anybody: they lie in it, are files, and are Parquet."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiersim.errors import TraceError, reason
from tiersim.files import is_utf8

# Its own pool gives memory back to the system after each block, which has to clear it for the next: a third of the time
# of reading.
pa.set_memory_pool(pa.system_memory_pool())

#: What pyarrow raises for what it cannot read, and among it where memory does not suffice, which is no damage;
#: ValueError: texts that are no UTF-8, among them names of columns.
DAMAGE = (pa.ArrowException, ValueError, OSError)
#: A table that is read whole has fewer rows; one that says it has more, in a file that may be tiny, is not even begun.
MOST_ROWS = 1 << 27


def open_parquet(path: Path, again: str) -> pq.ParquetFile:
    """Open the Parquet file at *path*; *again* is what to do where it is damaged.

    Raises FileNotFoundError when there is none, TraceError when it cannot be read. Columns have been looked at when it
    returns.
    """
    _check_name(path)
    try:
        file = pq.ParquetFile(path, memory_map=False)
        file.schema_arrow  # noqa: B018, which cannot be told where columns are of types that nobody has
    except FileNotFoundError:
        raise
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None
    except MemoryError:  # pyarrow's is one of its exceptions, too
        raise
    except DAMAGE:
        raise TraceError(f"{path}: is not a whole Parquet file; {again}") from None
    twice = [name for name, count in Counter(file.schema_arrow.names).items() if count > 1]
    if twice:
        raise TraceError(f"{path}: has more than one column {twice[0]!r}; {again}")
    return file


def batches(file: pq.ParquetFile, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield *file* in pieces of at most *rows*.

    Raises what is in DAMAGE, also for what pyarrow itself would pass on: indices that lie beyond their words.
    """
    source = file.iter_batches(rows, use_threads=False)
    for batch in source if file.metadata.num_rows <= rows else _ahead(source):
        batch.validate(full=True)
        yield batch
    pa.default_memory_pool().release_unused()  # 38 bytes a row of 10 million rows would stay resident


def _ahead(source: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield what *source* does, the next one read while the caller works on the one before."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, source, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield batch


def keep_freed() -> None:
    """Have Arrow keep what it frees for the next block, some 40 MiB for good.

    Where the C library gives memory back at once, reading otherwise takes twice as long
    (:func:`tiersim.operating_system.give_memory_back`).
    """
    if "mimalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.mimalloc_memory_pool())


def as_type(found: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return a column as *wanted*; raises ArrowInvalid when that loses something, ArrowNotImplementedError.

    A column that is so already is not cast: the import of pyarrow.compute takes longer than a small replay.
    """
    return found if found.type == wanted else found.cast(wanted)


def integers(found: pa.Array, missing: int) -> NDArray[Any]:
    """Return the integers of a column, with *missing* where there is none, 64 bits wide then; see :func:`as_type`."""
    if not found.null_count:
        return np.asarray(found)
    rows = slice(found.offset, found.offset + len(found))
    bits, values = found.buffers()
    known = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")[rows].view(bool)
    return np.where(known, np.frombuffer(values, found.type.to_pandas_dtype())[rows].astype(np.int64), missing)


def _check_name(path: Path) -> None:
    if not is_utf8(path):
        raise TraceError(f"{path}: the name is not UTF-8; rename it, or the folder that it lies in")


def part_of(folder: Path, name: str) -> Path:
    """Return the path of the part *name*, a file or a folder, of the bundle in *folder*, whether it is there or not.

    Raises TraceError when it is a link to somewhere else, so that nothing of this computer can be taken for part of a
    recording, or a pipe or device, which never end, or its name is not UTF-8.
    """
    path = folder / name
    _check_name(path)
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise TraceError(f"{path}: is a link that leads out of its bundle; put the file itself there")
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise TraceError(f"{path}: is no file; write or import it again")
    return path
