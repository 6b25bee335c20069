"""How large the buffer pool was, by the best that a recording tells of it."""

from decimal import Decimal

from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver.events import PAGE_BYTES
from tiersim.traces.statistics import Values


def tell_pool(recorded: Recorded) -> None:
    """Say how large the buffer pool is in the manifest's host; to be called when all files were read."""
    host = recorded.host
    if host.get("engine") != "sqlserver" or "buffer_pool_bytes" in host:
        return
    target = pages = Decimal(0)
    for piece in recorded.pieces:
        target = max(target, _said(piece.values.get(("memory", "host"), {}), "engine_target_bytes"))
        held = [_said(values, "pages") for (subject, entity), values in piece.values.items() if subject == "pool"]
        pages = max(pages, sum(held, Decimal(0)))
    if target:
        host["buffer_pool_bytes"], source = int(target), "the target server memory, of which the pool is most"
    elif "max_server_memory_bytes" in host:
        host["buffer_pool_bytes"], source = (
            host["max_server_memory_bytes"],
            "max server memory, of which the pool is most",
        )
    elif pages:
        host["buffer_pool_bytes"], source = (
            int(pages) * PAGE_BYTES,
            "the pages that it held: it may have room for more",
        )
    else:
        return
    recorded.inferred.append(f"the size of the buffer pool is taken from {source}")


def _said(values: Values, word: str) -> Decimal:
    value = values.get(word)
    return value if isinstance(value, Decimal) else Decimal(0)
