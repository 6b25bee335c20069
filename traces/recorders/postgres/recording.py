"""Records a PostgreSQL server into a bundle that grows: snapshots at intervals, samples of its sessions in between."""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

from tiersim.files import check_target
from tiersim.traces.bundle import Manifest
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.recorders.local_host import device_of
from tiersim.traces.recorders.postgres.advice import advice, reach
from tiersim.traces.recorders.postgres.connection import PostgresConnection
from tiersim.traces.recorders.postgres.snapshots import PostgresSnapshots
from tiersim.traces.recorders.rounds import NotShownError, Plan, Progress, known, record_rounds


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
    server = PostgresConnection(dsn)
    try:
        snapshots = PostgresSnapshots(server, with_pool=plan.with_pool)
        extensions = set(snapshots.extensions)
        lacking = advice(server, extensions) + reach(extensions, local=snapshots.local, with_pool=plan.with_pool)
        for sentence in lacking:
            say(sentence)
        snapshots.recorded.warnings += lacking
        first = snapshots.take()
        assert first.time_ns is not None
        bundle = GrowingBundle(target, first.time_ns, _fields(server, snapshots), force=force)
        return record_rounds(first, snapshots, bundle, plan, ended, progress)
    finally:
        server.close()


def _fields(server: PostgresConnection, snapshots: PostgresSnapshots) -> dict[str, Any]:
    host = {**snapshots.recorded.host, **(_devices(server) if snapshots.local else {})}
    return {"source_format": "postgresql", "host": host, **known(snapshots)}


def _devices(server: PostgresConnection) -> dict[str, str]:
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
