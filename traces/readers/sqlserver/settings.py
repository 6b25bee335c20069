"""Settings of a server, ``sys.configurations`` and ``sys.databases``: which are kept, and what they say of the host."""

from tiersim.traces.readers.views import number

#: By the name in sys.configurations: what decides over pages, the log, checkpoints, plans and workers.
KEPT = frozenset((
    "access check cache bucket count", "affinity I/O mask", "affinity mask", "backup checksum default",
    "backup compression default", "blocked process threshold (s)", "cost threshold for parallelism", "fill factor (%)",
    "index create memory (KB)", "lightweight pooling", "locks", "max degree of parallelism", "max server memory (MB)",
    "max worker threads", "min memory per query (KB)", "min server memory (MB)", "network packet size (B)",
    "optimize for ad hoc workloads", "priority boost", "query governor cost limit", "query wait (s)",
    "recovery interval (min)", "tempdb metadata memory-optimized", "user connections",
))  # fmt: skip

#: "max server memory (MB)" of a server that was not told to keep to any.
_UNLIMITED_MB = 2_147_483_647

_HOST = {
    "max server memory (MB)": ("max_server_memory_bytes", 1 << 20),
    "min server memory (MB)": ("min_server_memory_bytes", 1 << 20),
    "recovery interval (min)": ("recovery_interval_s", 60),
    "max degree of parallelism": ("max_degree_of_parallelism", 1),
    "cost threshold for parallelism": ("cost_threshold_for_parallelism", 1),
    "max worker threads": ("max_worker_threads", 1),
}


def host_of(name: str, value: str) -> dict[str, int]:
    """Return what the manifest says of the host by a setting; often nothing."""
    if name not in _HOST or not value.isdigit():
        return {}
    word, factor = _HOST[name]
    found = number(value)
    if found is None or (word == "max_server_memory_bytes" and found == _UNLIMITED_MB):
        return {}
    return {word: int(found) * factor}


def unit_of(name: str) -> str | None:
    """Return the unit that the name of a setting ends with: ``max server memory (MB)``."""
    _, bracket, unit = name.rpartition("(")
    return unit.removesuffix(")") if bracket else None
