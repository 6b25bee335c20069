"""The words and columns of a trace bundle (``docs/bundle.md`` is their table for people who write bundles)."""

from typing import NamedTuple

from tiersim.operations import DISCARD, FLUSH, OPERATIONS, READ, WRITE

__all__ = ["DISCARD", "FLUSH", "OPERATIONS", "READ", "WRITE"]  # what readers need besides the names below

SCHEMA = "tiersim.trace/1"

#: Purposes in the order of their codes.
PURPOSES = ("data read", "data write", "log write", "checkpoint write", "temp", "backup", "unknown")
DATA_READ, DATA_WRITE, LOG_WRITE, CHECKPOINT_WRITE, TEMP, BACKUP, UNKNOWN = range(7)

#: Bits of the ``flags`` column.
FLAG_SYNC, FLAG_FUA, FLAG_READAHEAD, FLAG_META, FLAG_HELD_BACK = 1, 2, 4, 8, 16

#: What a measured latency is when it was not measured, inside numpy columns (Parquet holds null).
NOT_MEASURED = -1
#: The same of page references.
NOT_KNOWN = -1

#: How the warning begins of a clock that is so coarse that many requests have the same time.
COARSE_CLOCK = "time resolution is"

#: What a page reference does, in the order of the codes.
REFERENCE_KINDS = ("read", "write")


class Column(NamedTuple):
    """One column of a bundle's tables."""

    name: str
    kind: str  # int64, uint8, decimal (37 digits, 18 of them behind the point), or text (stored as a dictionary)
    required: bool
    nullable: bool
    meaning: str


REQUEST_COLUMNS = (
    Column(
        "time_ns", "int64", True, False, "when it was queued, ns since the trace began; never falls from row to row"
    ),
    Column("op", "text", True, False, "read, write, flush or discard"),
    Column("file", "text", False, False, "device or file that it went to; one file when absent"),
    Column("offset_bytes", "int64", True, False, "first byte within the file; 0 for a flush"),
    Column("length_bytes", "int64", True, False, "bytes; 0 for a flush"),
    Column("stream", "text", False, True, "process that queued it"),
    Column(
        "purpose", "text", False, True, "data read, data write, log write, checkpoint write, temp, backup or unknown"
    ),
    Column("issue_ns", "int64", False, True, "when the device got it (the last time, if it was given back)"),
    Column("command", "int64", False, True, "rows of the same number went to the device as one command"),
    Column("latency_ns", "int64", False, True, "from queue to completion; null when it was not measured"),
    Column(
        "flags", "uint8", False, False, "1 synchronous, 2 forced unit access, 4 read-ahead, 8 metadata, 16 low priority"
    ),
)

REFERENCE_COLUMNS = (
    Column("time_ns", "int64", False, True, "when, ns since the trace began; null when only the order is known"),
    Column("statement", "int64", False, True, "row of the statement that asked for it"),
    Column("relation", "text", True, False, "table, index, file or volume that the page belongs to"),
    Column("page", "int64", True, False, "number of the page within it"),
    Column("length_bytes", "int64", False, True, "bytes, where the source refers to objects of different sizes"),
    Column("kind", "text", False, True, "read or write"),
)

#: What a statement may be, in the order of the codes of ``kind``.
STATEMENT_KINDS = ("language", "rpc", "utility", "transaction")

STATEMENT_COLUMNS = (
    Column("time_ns", "int64", True, False, "when it started, ns since the trace began; may be negative"),
    Column("duration_ns", "int64", False, True, "from start to end, as its server or its client saw it"),
    Column("cpu_ns", "int64", False, True, "of the processors, all workers together"),
    Column("session", "text", False, True, "connection, process or client that issued it, one after the other"),
    Column("transaction", "int64", False, True, "statements of a session that share it belong together"),
    Column("kind", "text", False, True, "language, rpc, utility, or transaction (a whole one, its statements unknown)"),
    Column("query", "text", False, True, "fingerprint, see queries.parquet"),
    Column("logical_reads", "int64", False, True, "pages looked up, in the buffer pool or not"),
    Column("physical_reads", "int64", False, True, "pages that were not in the buffer pool"),
    Column("writes", "int64", False, True, "pages that it wrote itself"),
    Column("rows", "int64", False, True, "returned or changed"),
    Column("rows_examined", "int64", False, True, "looked at to find these"),
    Column("log_bytes", "int64", False, True, "written to the log for it"),
    Column("temp_bytes", "int64", False, True, "read from and written to temporary files"),
    Column("parallel", "int64", False, True, "workers besides the session itself"),
    Column("lock_wait_ns", "int64", False, True, "of its duration, waiting for locks"),
    Column("io_wait_ns", "int64", False, True, "of its duration, reading and writing pages"),
    Column("log_wait_ns", "int64", False, True, "of its duration, waiting for the log"),
    Column("client_wait_ns", "int64", False, True, "of its duration, waiting for the client"),
)

QUERY_COLUMNS = (
    Column("query", "text", True, False, "fingerprint of the text: the same wherever it was recorded"),
    Column("entity", "text", False, True, "its name in statistics.parquet; several may share a fingerprint"),
    Column("text", "text", False, True, "with literals replaced by ?"),
    Column("database", "text", False, True, "where it ran, as the source names it"),
    Column("user", "text", False, True, "who ran it, as the source names it"),
)

STATISTICS_COLUMNS = (
    Column("snapshot", "int64", True, False, "counted from 0 in order of time"),
    Column("time_ns", "int64", False, True, "when it was taken, ns since the trace began; null when nobody noted it"),
    Column("subject", "text", True, False, "what is counted: query, relation, io, ..."),
    Column("entity", "text", True, False, "which of them"),
    Column("counter", "text", True, False, "its name, with its unit"),
    Column("value", "decimal", False, True, "as the source printed it, to the last digit"),
    Column("text", "text", False, True, "what is no number"),
)
