"""``[engine]`` of a scenario as people write it: the database server that statements run on."""

from typing import Literal

from pydantic import Field

from tiersim.toml_files import Bytes, Nanoseconds, StrictModel


class ReplicaModel(StrictModel):
    """``[engine.replica]``: a synchronous replica that confirms each commit; how long a message there and back takes,
    and its flush.
    """

    round_trip: Nanoseconds = Field(ge=0, description="A message there and back.")
    flush: Nanoseconds = Field(ge=0, description="The replica's own flush.")


class EngineModel(StrictModel):
    """``[engine]``: the database engine's settings; what is left out is as it was recorded.

    Some keys are PostgreSQL's, others SQL Server's, others InnoDB's; those of another are refused when statements run
    (OTHERS_KEYS).
    """

    kind: Literal["postgresql", "sqlserver", "mysql", "mariadb"] | None = Field(
        default=None, description="The engine; as recorded when left out, and no other than that."
    )
    version: int | None = Field(
        default=None,
        ge=1,
        description=(
            "PostgreSQL: decides on rules of checkpoints. SQL Server: the major version, which decides on limits and"
            " defaults; 16 when not recorded."
        ),
    )
    buffer_pool: Bytes | None = Field(
        default=None, gt=0, description="Size of the buffer pool (SQL Server: max server memory)."
    )
    os_cache: Bytes | None = Field(
        default=None,
        ge=0,
        description="Size of the operating system's page cache; inferred from the recording when left out, else none.",
    )
    direct_io: bool | None = Field(
        default=None, description="PostgreSQL: whether pages are read past the operating system's page cache."
    )
    io_method: Literal["sync", "worker", "io_uring"] | None = Field(
        default=None, description="PostgreSQL: how it reads ahead."
    )
    io_workers: int | None = Field(default=None, ge=1, le=32, description="PostgreSQL: processes that read ahead.")
    effective_io_concurrency: int | None = Field(
        default=None, ge=0, le=1000, description="PostgreSQL: reads ahead at a time."
    )
    checkpoint_timeout: Nanoseconds | None = Field(
        default=None, ge=1_000_000_000, description="PostgreSQL: time between checkpoints."
    )
    checkpoint_completion_target: float | None = Field(
        default=None, ge=0, le=1, description="PostgreSQL: share of that time in which a checkpoint writes."
    )
    checkpoint_flush_after: Bytes | None = Field(
        default=None, ge=0, le=2 << 20, description="PostgreSQL: a checkpoint asks for writing back after so much."
    )
    max_wal_size: Bytes | None = Field(default=None, gt=0, description="PostgreSQL: log between checkpoints.")
    checkpoint_segments: int | None = Field(
        default=None, ge=1, le=1 << 20, description="PostgreSQL 9.4 and earlier: log between checkpoints, in segments."
    )
    wal_buffers: Bytes | None = Field(
        default=None, ge=64 << 10, description="PostgreSQL: log that may wait to be written."
    )
    full_page_writes: bool | None = Field(
        default=None,
        description="PostgreSQL: whether the first change of a page after a checkpoint puts the page into the log.",
    )
    synchronous_commit: bool | None = Field(default=None, description="PostgreSQL: whether commits wait for the log.")
    commit_delay: Nanoseconds | None = Field(
        default=None, ge=0, le=100_000_000, description="PostgreSQL: wait of a commit for others to join its flush."
    )
    replica: ReplicaModel | None = Field(default=None, description="PostgreSQL: a synchronous replica.")
    recovery_interval: Nanoseconds | None = Field(
        default=None, ge=1_000_000_000, description="SQL Server: time between automatic checkpoints."
    )
    target_recovery_time: Nanoseconds | None = Field(
        default=None, ge=0, description="SQL Server: that of indirect checkpoints; 0: automatic ones."
    )
    extension: Bytes | None = Field(
        default=None,
        gt=0,
        description="SQL Server: size of the buffer pool extension, on the volume of placement.extension.",
    )
    delayed_durability: bool | None = Field(default=None, description="SQL Server: commits do not wait for the log.")
    flush_log_at_trx_commit: Literal[0, 1, 2] | None = Field(
        default=None, description="InnoDB: a commit waits for nothing, for a flush of the redo log, or for its write."
    )
    redo_log_capacity: Bytes | None = Field(default=None, ge=8 << 20, description="InnoDB: all of the redo log.")
    io_capacity: int | None = Field(default=None, ge=1, description="InnoDB: pages a second that are written early.")
    io_capacity_max: int | None = Field(default=None, ge=1, description="InnoDB: most of these.")
    lru_scan_depth: int | None = Field(
        default=None, ge=1, description="InnoDB: frames that are kept free, of each instance of the pool."
    )
    flush_neighbors: bool | None = Field(
        default=None, description="InnoDB: changed pages beside one that is written go along."
    )
    doublewrite: bool | None = Field(
        default=None, description="InnoDB: pages are written to the doublewrite file first."
    )
    old_blocks_time: Nanoseconds | None = Field(
        default=None, ge=0, description="InnoDB: time after which an old page that is used becomes young."
    )
    sync_binlog: int | None = Field(
        default=None, ge=0, description="MySQL and MariaDB: groups of commits after which the binary log is synced."
    )
    binary_log: bool | None = Field(default=None, description="MySQL and MariaDB: whether there is a binary log.")


#: Keys of InnoDB, and of the binary log above it.
_OF_INNODB = (
    "flush_log_at_trx_commit",
    "redo_log_capacity",
    "io_capacity",
    "io_capacity_max",
    "lru_scan_depth",
    "flush_neighbors",
    "doublewrite",
    "old_blocks_time",
    "sync_binlog",
    "binary_log",
)
_REFUSED = dict.fromkeys(_OF_INNODB, "it is InnoDB's; leave it out")
#: Keys of the others than InnoDB, and what is written in their place.
_OF_OTHERS = {
    "os_cache": "InnoDB is simulated with O_DIRECT; leave it out",
    "direct_io": "InnoDB is simulated with O_DIRECT; leave it out",
    "io_method": "it is PostgreSQL's; leave it out",
    "io_workers": "it is PostgreSQL's; leave it out",
    "effective_io_concurrency": "it is PostgreSQL's; leave it out",
    "checkpoint_timeout": "write redo_log_capacity",
    "checkpoint_completion_target": "write io_capacity",
    "checkpoint_flush_after": "InnoDB writes past the page cache of the operating system; leave it out",
    "checkpoint_segments": "write redo_log_capacity",
    "max_wal_size": "write redo_log_capacity",
    "wal_buffers": "it is PostgreSQL's; leave it out",
    "full_page_writes": "write doublewrite",
    "synchronous_commit": "write flush_log_at_trx_commit",
    "commit_delay": "it is PostgreSQL's; leave it out",
    "replica": "a synchronous replica of MySQL is not simulated; leave it out",
    "recovery_interval": "write redo_log_capacity",
    "target_recovery_time": "write redo_log_capacity",
    "extension": "write a volume of its own with caches",
    "delayed_durability": "write flush_log_at_trx_commit",
}
#: Keys of ``[engine]`` that are those of another engine, by engine, and what is written in their place.
OTHERS_KEYS: dict[str, dict[str, str]] = {
    "mysql": _OF_OTHERS,
    "mariadb": _OF_OTHERS,
    "postgresql": {
        **_REFUSED,
        "recovery_interval": "write checkpoint_timeout, or max_wal_size",
        "target_recovery_time": "write checkpoint_timeout and checkpoint_completion_target",
        "extension": "write a volume of its own with caches",
        "delayed_durability": "write synchronous_commit",
    },
    "sqlserver": {
        **_REFUSED,
        "os_cache": "SQL Server reads past the page cache of the operating system; leave it out",
        "direct_io": "SQL Server always reads past the page cache of the operating system; leave it out",
        "io_method": "SQL Server always reads asynchronously; leave it out",
        "io_workers": "SQL Server always reads asynchronously; leave it out",
        "effective_io_concurrency": "SQL Server decides itself how far it reads ahead; leave it out",
        "checkpoint_timeout": "write recovery_interval, or target_recovery_time for indirect checkpoints",
        "checkpoint_completion_target": "write target_recovery_time, whose checkpoints write all the time",
        "checkpoint_flush_after": "SQL Server writes past the page cache of the operating system; leave it out",
        "checkpoint_segments": "write recovery_interval, which says how much log there is between checkpoints",
        "max_wal_size": "write recovery_interval, which says how much log there is between checkpoints",
        "wal_buffers": "SQL Server's log buffers have no setting; leave it out",
        "full_page_writes": "SQL Server puts no images of pages into its log; leave it out",
        "synchronous_commit": "write delayed_durability, which is its opposite",
        "commit_delay": "SQL Server has none; leave it out",
        "replica": "a synchronous replica of SQL Server is not simulated; leave it out",
    },
}
