"""Records a PostgreSQL server into a bundle that grows: snapshots at intervals, samples of its sessions in between."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from tiersim.errors import RecordingError
from tiersim.files import check_target
from tiersim.traces.bundle import Manifest
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.recorders.local_host import device_of
from tiersim.traces.recorders.postgres.advice import advice, reach
from tiersim.traces.recorders.postgres.connection import NotShownError, Server
from tiersim.traces.recorders.postgres.snapshots import Snapshots
from tiersim.traces.statistics import Snapshot

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """How long a server is recorded, in seconds; ``sample_s`` 0 takes no samples."""

    length_s: float
    interval_s: float
    sample_s: float
    with_pool: bool = False


def record_postgres(
    dsn: str,
    target: Path,
    plan: Plan,
    ended: Event,
    *,
    force: bool = False,
    say: Callable[[str], None],
    progress: Progress | None = None,
) -> Manifest:
    """Record the server at *dsn* into a new bundle at *target* and return its manifest.

    The recording ends when its time is over or *ended* is set. *say* hears what will be missing, a sentence each,
    before it begins. Raises RecordingError when the server cannot be recorded, or is lost (the bundle stays, with what
    was recorded until then), and OutputError when *target* cannot be written.
    """
    check_target(target, force=force)
    server = Server(dsn)
    try:
        snapshots = Snapshots(server, with_pool=plan.with_pool)
        extensions = set(snapshots.extensions)
        lacking = advice(server, extensions) + reach(extensions, local=snapshots.local, with_pool=plan.with_pool)
        for sentence in lacking:
            say(sentence)
        snapshots.recorded.warnings += lacking
        first = snapshots.take()
        assert first.time_ns is not None
        bundle = GrowingBundle(target, first.time_ns, _fields(server, snapshots), force=force)
        try:
            _record(first, snapshots, bundle, plan, ended, progress)
        except RecordingError as error:
            sentence = f"{error} before the recording was over; it ends there"
            snapshots.recorded.warnings.append(sentence)
            bundle.fields |= _known(snapshots)
            bundle.end()
            raise RecordingError(f"{sentence}, and {target} holds it") from None
        return bundle.end()
    finally:
        server.close()


def _record(
    first: Snapshot,
    snapshots: Snapshots,
    bundle: GrowingBundle,
    plan: Plan,
    ended: Event,
    progress: Progress | None,
) -> None:
    """Do what is due and wait for what is next; what was missed is not made up for."""
    start = time.monotonic()
    taken = [first]  # and not yet kept
    next_snapshot, next_sample = plan.interval_s, plan.sample_s or plan.length_s
    try:
        _keep(bundle, taken, snapshots)
        while not ended.is_set() and (now := time.monotonic() - start) < plan.length_s:
            if progress is not None:
                progress(int(now), int(plan.length_s))
            if now >= next_snapshot:
                taken.append(snapshots.take())
                _keep(bundle, taken, snapshots)
                next_snapshot = _next(now, plan.interval_s)
            elif now >= next_sample:
                sample = snapshots.sample()
                taken += [] if sample is None else [sample]
                next_sample = _next(now, plan.sample_s)
            else:
                ended.wait(min(next_snapshot, next_sample, plan.length_s) - now)
        taken.append(snapshots.take(at_end=True))
    finally:
        _keep(bundle, taken, snapshots)


def _next(now_s: float, every_s: float) -> float:
    return (now_s // every_s + 1) * every_s


def _keep(bundle: GrowingBundle, taken: list[Snapshot], snapshots: Snapshots) -> None:
    bundle.fields |= _known(snapshots)
    bundle.add(taken, list(snapshots.recorded.queries.values()))
    taken.clear()


def _fields(server: Server, snapshots: Snapshots) -> dict[str, Any]:
    host = {**snapshots.recorded.host, **(_devices(server) if snapshots.local else {})}
    return {"source_format": "postgresql", "host": host, **_known(snapshots)}


def _devices(server: Server) -> dict[str, str]:
    """Return the devices of data and log, where they are known to this process."""
    try:
        found = server.rows("SELECT setting FROM pg_settings WHERE name = 'data_directory'")
    except NotShownError:
        return {}
    folder = next((Path(row["setting"]) for row in found if row["setting"]), None)
    if folder is None:
        return {}
    devices = {"data_device": device_of(folder), "log_device": device_of(folder / "pg_wal")}
    return {name: device for name, device in devices.items() if device is not None}


def _known(snapshots: Snapshots) -> dict[str, Any]:
    recorded = snapshots.recorded
    return {"dropped": dict(recorded.dropped), "warnings": list(recorded.warnings)}
