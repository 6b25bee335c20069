"""VACUUM and ANALYZE beside a load of PostgreSQL: how many pages they read and wrote while it was recorded, and when
autovacuum is due if the load goes on. A run reads, writes and logs as many for each transaction; no row goes.

A table is due when its dead rows exceed a threshold and a share of its rows (postmaster/autovacuum.c,
relation_needs_vacanalyze). Deletions leave dead rows, and so do updates whose new version lies on another page; of
those that stay on their page (HOT) nothing is left when the page is pruned (access/heap/pruneheap.c). VACUUM adds up
what its pages cost, and sleeps for the delay whenever that comes to the limit (commands/vacuum.c, vacuum_delay_point).
"""

from collections.abc import Mapping
from decimal import Decimal

from tiersim.devices.host.upkeep import Upkeep
from tiersim.traces.differences import UPKEEP_MS, UPKEEP_RUNS, Differences, EntityChange, of_log, of_upkeep
from tiersim.units import NS_PER_MS, NS_PER_S

#: Defaults: autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor (utils/misc/guc_tables.c).
_THRESHOLD_ROWS, _SCALE_FACTOR = 50, 0.2
#: maintenance_io_concurrency of versions before 18.
_DEPTH = 10
#: Of a run, where nobody knows how much is due when a recording begins.
_HALF = 0.5


def upkeep_of(found: Differences, page_bytes: int) -> Upkeep | None:
    """Return what VACUUM and ANALYZE read for each page of all others, and wrote for each of these (pg_stat_io,
    PostgreSQL 16), in runs as long as those over the table that they missed most of; None where they read nothing.
    """
    (own, others), (written, _) = (of_upkeep(found, counter) for counter in ("read_bytes", "written_bytes"))
    if not own or not others:
        return None
    runs = {name: sum(_count(change, run) for run in UPKEEP_RUNS) for name, change in found.of("relation").items()}
    missed = {name: _count(change, "pages_read") for name, change in found.of("relation").items() if runs[name]}
    largest = max(missed, key=missed.__getitem__, default="")
    pages = own / page_bytes * missed[largest] / max(sum(missed.values()), 1) if largest else own / page_bytes
    depth = found.of("setting").get("maintenance_io_concurrency", EntityChange()).last.get("setting", _DEPTH)
    times, begun = _course(found.of("relation").get(largest, EntityChange()))
    return Upkeep(
        times * own / others,
        written / own,
        max(round(pages / max(runs.get(largest, 1), 1)), 1),
        max(int(depth), 1),
        _page_ns(found, own / page_bytes),
        begun,
    )


def _course(relation: EntityChange) -> tuple[float, float]:
    """Return how many times as often as it was recorded ANALYZE runs over a table if that goes on, and which share of
    the changes that a run waits for had come when the recording began: those that runs waited for are the recorded
    ones, and what had come, without what has come since the last run. 1 and a half where nobody counted, and of VACUUM.
    """
    before, after = relation.first.get("rows_modified"), relation.last.get("rows_modified")
    analyzed, vacuumed = (sum(_count(relation, name) for name in names) for names in (UPKEEP_RUNS[2:], UPKEEP_RUNS[:2]))
    if not (isinstance(before, Decimal) and isinstance(after, Decimal)) or vacuumed or not analyzed:
        return 1.0, _HALF
    changed = sum(_count(relation, name) for name in ("rows_inserted", "rows_updated", "rows_deleted"))
    waited_for = float(before + changed - after)
    if waited_for <= 0:
        return 1.0, _HALF
    return changed / waited_for, min(float(before) * analyzed / waited_for, 1.0)


def _page_ns(found: Differences, pages: float) -> int:
    """Return how long VACUUM and ANALYZE took for each of the *pages* that they read, besides the reads and writes that
    they waited for: PostgreSQL 18 says it, if it times IO.
    """
    took_ms = sum(float(change.number(name) or 0) for change in found.of("relation").values() for name in UPKEEP_MS)
    read_ms, written_ms = (of_upkeep(found, counter)[0] for counter in ("read_ms", "write_ms"))
    return round(max(took_ms - read_ms - written_ms, 0.0) * NS_PER_MS / pages) if read_ms else 0


def images_of_upkeep(found: Differences) -> float:
    """Return how many images of pages the log got from VACUUM and ANALYZE: all that no statement is counted for.

    With checksums (initdb's default from PostgreSQL 18 on) or wal_log_hints a page that only its hint bits change in
    needs one, too (storage/bufmgr.c, MarkBufferDirtyHint): ANALYZE reads 30,000 pages of a large table, and where rows
    were changed since a checkpoint most of them.
    """
    counted = sum(_count(change, "log_full_page_images") for change in found.of("query").values())
    return max(of_log(found, "full_page_images") - counted, 0.0)


def said_of_vacuum(found: Differences, upkeep: Upkeep | None = None) -> list[str]:
    """Say what VACUUM and ANALYZE did while a load was recorded, *upkeep*, and which tables are due before it has gone
    on for as long again.
    """
    relations = found.of("relation")
    runs = sum(_count(change, name) for change in relations.values() for name in ("vacuums", "autovacuums"))
    said = []
    if upkeep is not None:
        own, others = of_upkeep(found, "read_bytes")
        said.append(
            f"VACUUM and ANALYZE read {own / others:.1%} as many pages as statements while this was recorded, some"
            f" {upkeep.run_pages:,} at a time; a replay asks for as many for each transaction, at random places;"
            " their full-page images are spread over the commits"
        )
    elif runs:
        said.append(
            f"tables were vacuumed {runs:,} times while this was recorded: pages that VACUUM reads and writes, and its"
            " WAL, are not simulated; what they cost statements is in the recorded times alone"
        )
    settings = {name: str(change.last.get("setting", "")) for name, change in found.of("setting").items()}
    span_ns = found.span_ns.get("relation")
    if not span_ns or settings.get("autovacuum") == "off":
        return said
    for name, change in sorted(relations.items()):
        due_s = due_after_s(change, span_ns / NS_PER_S, settings)
        if due_s is not None and due_s <= span_ns / NS_PER_S and not _count(change, "autovacuums"):
            said.append(
                f"{name}: autovacuum is due when the recorded load goes on for {due_s:,.0f} s; {_pace(settings)}its"
                " pages and its WAL are not simulated"
            )
    return said


def due_after_s(relation: EntityChange, span_s: float, settings: Mapping[str, str]) -> float | None:
    """Return after how many seconds a table is due that goes on as in *span_s*, 0 if it is; None if it never is or its
    dead rows were not counted.
    """
    dead, live = relation.number("rows_dead"), relation.number("rows_live")
    if dead is None or live is None:
        return None
    base = float(settings.get("autovacuum_vacuum_threshold") or _THRESHOLD_ROWS)
    share = float(settings.get("autovacuum_vacuum_scale_factor") or _SCALE_FACTOR)
    left = base + share * float(live) - float(dead)
    moved = _count(relation, "rows_updated") - _count(relation, "rows_hot_updated")
    a_second = (moved + _count(relation, "rows_deleted")) / span_s
    if left < 0:
        return 0.0
    return left / a_second if a_second > 0 else None


def pages_per_s(limit: float, delay_ms: float, page_cost: float) -> float:
    """Return how many pages VACUUM comes to at most when each costs as much; *delay_ms* > 0."""
    return limit / page_cost * 1000 / delay_ms


def _pace(settings: Mapping[str, str]) -> str:
    """Say how fast VACUUM reads and changes pages at most, where its settings were recorded and slow it down."""
    names = ("autovacuum_vacuum_cost_delay", "vacuum_cost_page_miss", "vacuum_cost_page_dirty")
    delay_ms, miss, dirty = (float(settings.get(name) or 0) for name in names)
    limit = float(settings.get("autovacuum_vacuum_cost_limit") or 0)
    if limit <= 0:  # -1: that of VACUUM
        limit = float(settings.get("vacuum_cost_limit") or 0)
    if min(delay_ms, miss, dirty, limit) <= 0:
        return ""
    read, changed = (pages_per_s(limit, delay_ms, cost) for cost in (miss, dirty))
    return f"it reads {read:,.0f} pages/s or changes {changed:,.0f} at most; "


def _count(change: EntityChange, name: str) -> int:
    return int(change.number(name) or 0)
