"""Records a MySQL or MariaDB server into a bundle that grows."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

from tiersim.files import check_target
from tiersim.traces.bundle import Manifest
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.recorders.local_host import device_of
from tiersim.traces.recorders.mysql.connection import MysqlConnection
from tiersim.traces.recorders.mysql.snapshots import MysqlSnapshots
from tiersim.traces.recorders.mysql.views import FOLDERS
from tiersim.traces.recorders.rounds import NotShownError, Plan, Progress, known, record_rounds


def record_mysql(
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
    was recorded until then), TraceError for Aurora, and OutputError when *target* cannot be written.
    """
    check_target(target, force=force)
    server = MysqlConnection(dsn)
    try:
        snapshots = MysqlSnapshots(server)
        first = snapshots.take()
        assert first.time_ns is not None
        for sentence in _lacking(server, snapshots):
            say(sentence)
            snapshots.recorded.warnings.append(sentence)
        host = {**snapshots.recorded.host, **(_devices(server) if snapshots.local else {})}
        fields = {"source_format": "mysql", "host": host, **known(snapshots)}
        bundle = GrowingBundle(target, first.time_ns, fields, force=force)
        return record_rounds(first, snapshots, bundle, plan, ended, progress)
    finally:
        server.close()


def _lacking(server: MysqlConnection, snapshots: MysqlSnapshots) -> Iterator[str]:
    """Say what the server does not count, and what is lost by it."""
    if not snapshots.schema:
        more = (
            ""
            if snapshots.userstat or server.engine != "mariadb"
            else "; SET GLOBAL userstat = ON counts rows by index"
        )
        yield (
            "performance_schema is OFF: queries and files are not recorded; start the server with performance_schema ="
            f" ON, or import a slow log beside{more}"
        )
    if not snapshots.local:
        yield "the server is on another machine: its processors and devices are not recorded; record on its machine"


def _devices(server: MysqlConnection) -> dict[str, Any]:
    """Return the devices of data and log, where they are known to this process."""
    try:
        (row,) = server.rows(FOLDERS)
    except (NotShownError, ValueError):
        return {}
    data = Path(row["data"] or "/")
    devices = {"data_device": device_of(data), "log_device": device_of(data / (row["log"] or ""))}
    return {name: device for name, device in devices.items() if device is not None}
