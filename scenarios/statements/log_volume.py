"""What the recorded statements put into the log: records, and images of pages, which a run makes anew."""

from collections.abc import Mapping

from tiersim.scenarios.calibration.counters import Counters
from tiersim.scenarios.calibration.popularity.recorded_files import OWN_DATABASES
from tiersim.scenarios.calibration.synthesis.executions import bytes_of_images
from tiersim.traces.differences import Differences
from tiersim.traces.statements import read_queries

#: Blocks of SQL Server's log end with their sector, of which half is empty on average.
_HALF_A_SECTOR_BYTES = 256


def log_file_bytes(found: Differences) -> float:
    """Return the bytes of records that went to the log files of users' databases, as their counters say; half a sector
    of each write held none.
    """
    logs = [
        change
        for entity, change in found.of("file").items()
        if change.last.get("kind") == "log" and entity.partition("/")[0] not in OWN_DATABASES
    ]
    written, writes = (sum(float(log.number(name) or 0) for log in logs) for name in ("written_bytes", "writes"))
    return max(written - _HALF_A_SECTOR_BYTES * writes, 0.0)


def log_volume(counters: Counters, page_bytes: int) -> tuple[Mapping[str, float], int | None]:
    """Return the bytes of records of a call by query, and how long an image of a page is; None if no images were
    counted.

    What are images is told as for executions (:mod:`tiersim.scenarios.calibration.synthesis.executions`).
    """
    table = read_queries(counters.path)
    queries = dict(zip(table.texts("entity"), table.texts("query"), strict=True))
    record_bytes: dict[str, int] = {}
    all_calls: dict[str, int] = {}
    images = image_bytes = 0
    for entity, change in counters.found.of("query").items():
        calls, log, count, own = (
            int(change.number(name) or 0) for name in ("calls", "log_bytes", "log_full_page_images", "log_records")
        )
        if not calls or change.number("log_full_page_images") is None:
            continue
        of_images = bytes_of_images(log, count, own, page_bytes)
        query = queries.get(entity) or entity
        record_bytes[query] = record_bytes.get(query, 0) + log - of_images
        all_calls[query] = all_calls.get(query, 0) + calls
        images, image_bytes = images + count, image_bytes + of_images
    records = {query: count / all_calls[query] for query, count in record_bytes.items()}
    return records, round(image_bytes / images) if images else None
