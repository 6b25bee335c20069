"""What a statement of a described workload does, a step each: ``{ scan = "lineitem", degree = 8 }``. The first key is
the verb.
"""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from tiersim.toml_files import Bytes, Nanoseconds, StrictModel
from tiersim.units import parse_bytes

#: Rows of a page, reads ahead and threads are no more.
_MOST = 1024
#: SQL Server reads and writes extents of 64 KiB; a backup transfers up to 4 MB at a time (BACKUP, MAXTRANSFERSIZE).
_EXTENT, _MOST_TRANSFER = parse_bytes("64 KiB"), parse_bytes("4 MiB")


Changed = Annotated[
    int, Field(ge=0, le=1 << 24, description="Rows are of so many that were changed last; left out: by the law.")
]


class Compute(StrictModel):
    """CPU on one core, besides what the engine's table of costs charges for the other steps."""

    compute: Nanoseconds = Field(ge=0, description="CPU on one core, besides the costs of the other steps.")


class Scan(StrictModel):
    """Pages of a relation in their order, from the first on."""

    scan: str = Field(description="Relation whose pages are read in order.")
    part: float = Field(default=1.0, gt=0, le=1, description="Share of the relation, from its first page on.")
    degree: int = Field(default=1, ge=1, le=_MOST, description="Degree of parallelism.")
    ahead: int | None = Field(default=None, ge=0, le=64, description="Reads ahead; left out: the engine's.")
    block: Bytes | None = Field(default=None, gt=0, description="Bytes of a read; left out: the engine's.")
    isolation: Literal["nolock", "read committed"] = Field(
        default="nolock", description="read committed: held to the pace that SQL Server 2008 had."
    )
    cpu_per_page: Nanoseconds = Field(default=0, ge=0, description="CPU of what is done with the rows of a page.")


class Lookup(StrictModel):
    """Rows of a relation, each through its index: drawn by its law, or of the latest changes."""

    lookup: str = Field(description="Relation whose rows are found, drawn by its law.")
    rows: int = Field(default=1, ge=1, le=1 << 24, description="How many.")
    changed: Changed = 0
    prefetch: int = Field(default=64, ge=0, le=_MOST, description="Reads ahead, where the engine prefetches.")


class Change(StrictModel):
    """Rows that are looked up, locked until the transaction ends, and changed."""

    change: str = Field(description="Relation whose rows are found, locked and changed.")
    rows: int = Field(default=1, ge=1, le=64, description="How many.")
    changed: Changed = 0
    log: Bytes = Field(default=0, ge=0, description="WAL bytes of each.")
    lock: bool = Field(default=True, description="false: rows that nobody else wants.")
    entries: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of them that put an entry into the index: 1 of inserts, of updates those that are not HOT.",
    )


class Commit(StrictModel):
    """The log up to here made durable; so many bytes of it are the commit's own, and of whatever no other step logs."""

    commit: Bytes = Field(gt=0, description="Makes the WAL durable; so many bytes of it are the commit's own.")


class Spill(StrictModel):
    """Bytes of a sort or a hash that do not fit into memory, written to tempdb and read back."""

    spill: Bytes = Field(gt=0, description="Bytes that are written to tempdb and read back.")


class Copying(StrictModel):
    """Buffers that go round between pages of the database and a file."""

    buffers: int = Field(default=7, ge=1, le=_MOST, description="Buffers that go round.")
    threads: int = Field(default=1, ge=1, le=_MOST, description="Threads that work on buffers.")
    cpu_per_page: Nanoseconds = Field(default=0, ge=0, description="CPU of that work: compression, checksums.")


class Backup(Copying):
    """All relations, to a file on the volume of ``backup``, or to nothing."""

    backup: Literal["file", "nul"] = Field(
        description="Copies all relations to a file on the volume of backup, or to nothing."
    )
    transfer: Bytes = Field(default=parse_bytes("1 MiB"), gt=0, le=_MOST_TRANSFER, description="Bytes of a buffer.")
    compression: float = Field(default=1.0, ge=1, le=1000, description="Bytes of pages for one byte of the file.")


class Restore(Copying):
    """All relations, from such a file."""

    restore: Literal["file"] = Field(description="Copies all relations back from such a file.")
    transfer: Bytes = Field(default=_EXTENT, gt=0, le=_MOST_TRANSFER, description="Bytes of a buffer.")
    compression: float = Field(default=1.0, ge=1, le=1000, description="Bytes of pages for one byte of the file.")


class Write(Copying):
    """New pages of a relation, written as they are made and past the pool: of an index that is
    built, of a bulk load.
    """

    write: str = Field(description="Relation whose new pages are written past the pool: an index build, a bulk load.")
    transfer: Bytes = Field(default=parse_bytes("256 KiB"), gt=0, le=_MOST_TRANSFER, description="Bytes of a buffer.")


VERBS: dict[str, type[StrictModel]] = {
    "compute": Compute, "scan": Scan, "lookup": Lookup, "change": Change, "commit": Commit, "spill": Spill,
    "backup": Backup, "restore": Restore, "write": Write,
}  # fmt: skip


def verb_of(step: object) -> str | None:
    """Return the verb of a step as it is written, or as a model; None if it has none."""
    keys = step if isinstance(step, dict) else type(step).model_fields if isinstance(step, StrictModel) else ()
    return next((key for key in keys if key in VERBS), None)


Step = Annotated[
    Annotated[Compute, Tag("compute")]
    | Annotated[Scan, Tag("scan")]
    | Annotated[Lookup, Tag("lookup")]
    | Annotated[Change, Tag("change")]
    | Annotated[Commit, Tag("commit")]
    | Annotated[Spill, Tag("spill")]
    | Annotated[Backup, Tag("backup")]
    | Annotated[Restore, Tag("restore")]
    | Annotated[Write, Tag("write")],
    Discriminator(
        verb_of,
        custom_error_type="verb",
        custom_error_message=f"says nothing to do; write one of {', '.join(VERBS)}",
    ),
]
