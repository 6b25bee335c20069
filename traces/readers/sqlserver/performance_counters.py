"""Performance counters of SQL Server and Windows, as perfmon and ``sys.dm_os_performance_counters`` name them.

Facts: Microsoft's documentation of each object. What counts "/sec" is a counter here: the DMV holds its sum already,
perfmon's samples its mean rate since the sample before.
"""

from decimal import Decimal
from typing import NamedTuple

_ONE, _KIB, _MIB, _MS, _PERCENT = Decimal(1), Decimal(1 << 10), Decimal(1 << 20), Decimal(1000), Decimal("0.01")
_TOTAL = "_total"
#: The entity of what is of all databases, and of all files, together.
_ALL = "*"


class BundleCounter(NamedTuple):
    """What a performance counter is in the words of a bundle."""

    subject: str
    entity: str
    word: str
    factor: Decimal = _ONE  # what one unit of it is
    rate: bool = False  # a mean per s, of a word that is a counter


def _sum(subject: str, entity: str, word: str) -> BundleCounter:
    return BundleCounter(subject, entity, word, rate=True)


#: Of SQL Server, by object and counter, both in lower case.
_ENGINE = {
    ("buffer manager", "page reads/sec"): _sum("database", _ALL, "pages_read"),
    ("buffer manager", "page writes/sec"): _sum("database", _ALL, "pages_written"),
    ("buffer manager", "page lookups/sec"): _sum("database", _ALL, "pages_looked_up"),
    ("buffer manager", "readahead pages/sec"): _sum("database", _ALL, "pages_read_ahead"),
    ("buffer manager", "page life expectancy"): BundleCounter("database", _ALL, "page_life_s"),
    ("buffer manager", "checkpoint pages/sec"): _sum("checkpointer", "checkpointer", "pages_written"),
    ("buffer manager", "background writer pages/sec"): _sum("checkpointer", "checkpointer", "indirect_pages_written"),
    ("buffer manager", "lazy writes/sec"): _sum("background writer", "background writer", "pages_written"),
    ("buffer manager", "free list stalls/sec"): _sum("background writer", "background writer", "free_list_stalls"),
    ("buffer manager", "database pages"): BundleCounter("pool", _ALL, "pages"),
    ("sql statistics", "batch requests/sec"): _sum("database", _ALL, "batches"),
    ("general statistics", "user connections"): BundleCounter("database", _ALL, "backends"),
    ("memory manager", "target server memory (kb)"): BundleCounter("memory", "host", "engine_target_bytes", _KIB),
    ("memory manager", "total server memory (kb)"): BundleCounter("memory", "host", "engine_bytes", _KIB),
}
#: Of the object Databases, by counter: the log's entity is named by the database, that of all together is "log".
_DATABASES = {
    "transactions/sec": ("database", "transactions", True),
    "write transactions/sec": ("database", "write_transactions", True),
    "log flushes/sec": ("log", "flushes", True),
    "log bytes flushed/sec": ("log", "bytes", True),
    "log flush waits/sec": ("log", "flush_waits", True),
    "log flush wait time": ("log", "flush_wait_ms", False),
}
#: Of Windows' disks, by counter.
_DISK = {
    "disk reads/sec": ("reads_per_s", _ONE),
    "disk writes/sec": ("writes_per_s", _ONE),
    "disk transfers/sec": ("requests_per_s", _ONE),
    "disk read bytes/sec": ("read_bytes_per_s", _ONE),
    "disk write bytes/sec": ("written_bytes_per_s", _ONE),
    "avg. disk sec/read": ("read_latency_ms", _MS),
    "avg. disk sec/write": ("write_latency_ms", _MS),
    "avg. disk sec/transfer": ("latency_ms", _MS),
    "avg. disk queue length": ("queue_mean", _ONE),
    "current disk queue length": ("in_flight", _ONE),
}
_WINDOWS = {
    ("processor", "% processor time"): BundleCounter("processor", "host", "busy_share", _PERCENT),
    ("processor", "% user time"): BundleCounter("processor", "host", "user_share", _PERCENT),
    ("processor", "% privileged time"): BundleCounter("processor", "host", "system_share", _PERCENT),
    ("processor", "% idle time"): BundleCounter("processor", "host", "idle_share", _PERCENT),
    ("memory", "available bytes"): BundleCounter("memory", "host", "available_bytes"),
    ("memory", "available kbytes"): BundleCounter("memory", "host", "available_bytes", _KIB),
    ("memory", "available mbytes"): BundleCounter("memory", "host", "available_bytes", _MIB),
}

UNCHECKED = (
    "Log Flush Wait Time is assumed to be ms of recent waits, as described, and was never compared with a server"
)


def counted(object_name: str, counter: str, instance: str) -> BundleCounter | None:
    """Return what a counter of perfmon is here; None for what is not kept.

    *object_name* may be that of a named instance, ``MSSQL$NAME:Databases``; *instance* is a disk, database or
    processor.
    """
    engine, colon, name = object_name.strip().lower().rpartition(":")
    counter, instance = counter.strip().lower(), instance.strip()
    whole = instance.lower() in ("", _TOTAL)
    if colon and (engine == "sqlserver" or engine.startswith("mssql$")):
        if name == "databases":
            return _of_database(counter, None if whole else instance)
        return _ENGINE.get((name, counter))
    if name in ("physicaldisk", "logicaldisk"):
        if whole:
            return None  # a sum over disks that are listed by themselves
        if counter in _DISK:
            word, factor = _DISK[counter]
            return BundleCounter("device", instance, word, factor)
        return None
    return _WINDOWS.get((name, counter)) if whole else None


def _of_database(counter: str, name: str | None) -> BundleCounter | None:
    if counter not in _DATABASES:
        return None
    subject, word, rate = _DATABASES[counter]
    entity = name or (_ALL if subject == "database" else "log")
    return BundleCounter(subject, entity, word, rate=rate)


def engine_of(object_name: str) -> str | None:
    """Return the instance of SQL Server that an object is of, such as ``MSSQL$NAME``; None for Windows' own."""
    engine, colon, _ = object_name.strip().rpartition(":")
    return engine if colon else None
