"""``tiersim record``: live recordings, bounded in time and size."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.options import Force, Json
from tiersim.errors import TraceError
from tiersim.units import format_ns, parse_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tiersim.traces.bundle import Manifest
    from tiersim.traces.recorders.rounds import Plan

app = typer.Typer(help="Record a server or a device while it works, into a trace bundle.", no_args_is_help=True)

Output = Annotated[Path | None, typer.Option("--output", "-o", help="The bundle, NAME.trace.")]
Minutes = Annotated[float, typer.Option("--minutes", min=0.01, max=10080, help="How long.")]
Interval = Annotated[float, typer.Option("--interval", min=1, help="Seconds between snapshots.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Record nothing; print the commands to run by hand.")]
_NOT_IN_LINES = "is not in the printed lines, for it may hold a password"


@app.command("postgres")
def postgres(
    output: Output = None,
    dsn: Annotated[
        str,
        typer.Option(
            "--dsn",
            help=(
                "Connection string of libpq. PGHOST, PGPASSFILE, PGSERVICE ..."
                " give what is missing in it. Put no password"
                " in it: other users of this machine see it in the process list."
            ),
        ),
    ] = "",
    minutes: Minutes = 15,
    interval: Interval = 30,
    sample: Annotated[
        float, typer.Option("--sample", min=0, help="Seconds between samples of what sessions wait for; 0 for none.")
    ] = 1,
    buffercache: Annotated[
        bool,
        typer.Option(
            "--buffercache",
            help="Count the pages of each relation in the buffer pool, at the start and the end. Visits every page.",
        ),
    ] = False,
    dry_run: DryRun = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Record a PostgreSQL server (10 or later): its counters at intervals.

    The role needs pg_monitor; the session is read-only. Ctrl-C ends the recording
    early and keeps what was recorded. docs/recording.md lists what is recorded and
    what never leaves the server.

    Example: tiersim record postgres --dsn service=prod --minutes 30 -o prod.trace
    """
    from tiersim.traces.recorders.postgres import Plan, record_postgres
    from tiersim.traces.recorders.postgres.by_hand import commands

    if dry_run:
        if dsn:
            _say(f"--dsn: {_NOT_IN_LINES}; set PGHOST, PGPORT, PGUSER and PGDATABASE for psql")
        print("\n".join(commands(with_pool=buffercache)))
        return
    plan = Plan(minutes * 60, interval, sample, buffercache)
    _record(record_postgres, dsn, output, plan, json=json, force=force)


@app.command("mysql")
def mysql(
    output: Output = None,
    dsn: Annotated[
        str,
        typer.Option(
            "--dsn",
            help=(
                "Where the server is: 'host=db1 user=recorder' (host, port, user, socket, ssl_ca, option_file), or a"
                " mysql:// address. The password comes from MYSQL_PWD or ~/.my.cnf."
            ),
        ),
    ] = "",
    minutes: Minutes = 15,
    interval: Interval = 30,
    sample: Annotated[
        float, typer.Option("--sample", min=0, help="Seconds between samples of what sessions do; 0 for none.")
    ] = 1,
    dry_run: DryRun = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Record a MySQL (5.7 or later) or MariaDB (10.6 or later) server.

    Reads its counters at intervals, in a read-only session. --dry-run prints the
    needed grants and the queries for a DBA. Ctrl-C ends the recording early and
    keeps what was recorded.

    Example: tiersim record mysql --dsn "host=db1 user=recorder" -o prod.trace
    """
    from tiersim.traces.recorders.mysql import record_mysql
    from tiersim.traces.recorders.mysql.by_hand import commands
    from tiersim.traces.recorders.rounds import Plan

    if dry_run:
        if dsn:
            _say(f"--dsn: {_NOT_IN_LINES}; write host and user into ~/.my.cnf for mysql")
        print("\n".join(commands()))
        return
    _record(record_mysql, dsn, output, Plan(minutes * 60, interval, sample), json=json, force=force)


@app.command("sqlserver")
def sqlserver(
    minutes: Annotated[int, typer.Option("--minutes", min=1, max=1439, help="How long.")] = 15,
    max_size: Annotated[
        str, typer.Option("--max-size", help="Size of all event files; beyond it, the oldest is removed.")
    ] = "1 GiB",
    folder: Annotated[
        str,
        typer.Option(
            "--folder", help="Folder of event files on the server, such as D:\\traces; default: its LOG folder."
        ),
    ] = "",
    statements: Annotated[
        bool,
        typer.Option("--statements", help="Record statements inside batches and calls, too: many more events."),
    ] = False,
    files: Annotated[
        bool, typer.Option("--files", help="Record every read and write of a database file, too, with its latency.")
    ] = False,
    lossless: Annotated[
        bool, typer.Option("--lossless", help="Let sessions wait rather than lose an event (NO_EVENT_LOSS).")
    ] = False,
    buffercache: Annotated[
        bool,
        typer.Option("--buffercache", help="Count the pages of each table in the buffer pool. Visits every page."),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Print the script that records a SQL Server (2012 or later).

    A DBA runs it with sqlcmd: an Extended Events session, bounded in time and
    size, and snapshots of the server's views before and after. The script says
    what it needs and what it costs.

    Example: tiersim record sqlserver --dry-run --minutes 30 > record.sql
    """
    from tiersim.traces.recorders.sqlserver import ScriptPlan, script

    if not dry_run:
        raise TraceError(
            "the DBA records SQL Server with a script; tiersim record sqlserver --dry-run > record.sql prints it"
        )
    plan = ScriptPlan(minutes, _most_bytes(max_size), folder, statements, files, lossless, buffercache)
    print("\n".join(script(plan)))


@app.command("blktrace")
def blktrace(
    device: Annotated[Path, typer.Argument(help="The block device, such as /dev/sdb.")],
    output: Output = None,
    minutes: Annotated[float, typer.Option("--minutes", min=0.01, max=1440, help="How long.")] = 5,
    max_size: Annotated[str, typer.Option("--max-size", help="End when the raw recording has this size.")] = "1 GiB",
    dry_run: DryRun = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Record the requests of a block device, as root.

    Uses blktrace, or the kernel's own tracing where that is not installed or
    refused. Ctrl-C ends the recording early; what was recorded is kept.

    Example: tiersim record blktrace /dev/sdb --minutes 5 -o prod.trace
    """
    from tiersim.cli.terminal import compile_if_cold
    from tiersim.traces.recorders.block import Bounds, commands, record_block
    from tiersim.traces.recorders.ending import ended_by_signals

    if dry_run:
        print("\n".join(commands(device, minutes * 60)))
        return
    target = _required(output)
    most_bytes = _most_bytes(max_size)
    compile_if_cold()
    with terminal.stages("recording"), ended_by_signals() as ended:
        manifest = record_block(device, target, Bounds(minutes * 60, most_bytes, ended), force=force)
    for sentence in manifest.warnings:
        _say(sentence)
    _report(manifest, target, json=json)


def _record(
    record: "Callable[..., Manifest]", dsn: str, output: Path | None, plan: "Plan", *, json: bool, force: bool
) -> None:
    """Record a server by snapshots, and say what is missing as soon as it is known."""
    from tiersim.traces.recorders.ending import ended_by_signals

    target = _required(output)
    with terminal.progress_bar("recording") as progress, ended_by_signals() as ended:
        said: list[str] = []

        def say(sentence: str) -> None:
            said.append(sentence)
            _say(sentence)

        manifest = record(dsn, target, plan, ended, force=force, say=say, progress=progress)
    for sentence in [sentence for sentence in manifest.warnings if sentence not in said]:
        _say(sentence)
    if ended.is_set():
        terminal.notice(f"ended early, after {format_ns(manifest.span_ns)}; what was recorded until then is kept")
    _report(manifest, target, json=json)


def _required(output: Path | None) -> Path:
    if output is None:
        raise typer.BadParameter("say where to: -o NAME.trace", param_hint="'--output' / '-o'")
    return output


def _most_bytes(max_size: str) -> int:
    """Return the bytes of --max-size; raises BadParameter when it says none."""
    try:
        return parse_bytes(max_size)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--max-size'") from None


def _say(sentence: str) -> None:
    terminal.notice(f"warning: {sentence}")


def _report(manifest: "Manifest", target: Path, *, json: bool) -> None:
    if json:
        document = {
            "schema": "tiersim.record/1",
            "trace": str(target),
            "format": manifest.source_format,
            "requests": manifest.requests,
            "snapshots": manifest.snapshots,
            "span_ns": manifest.span_ns,
            "dropped": dict(manifest.dropped),
            "inferred": list(manifest.inferred),
            "warnings": list(manifest.warnings),
        }
        terminal.print_json(document)
        return
    what = f"{manifest.requests:,} requests" if manifest.requests else f"{manifest.snapshots:,} snapshots and samples"
    print(f"{target}: {what} in {format_ns(manifest.span_ns)} ({manifest.source_format})")
    for why, count in manifest.dropped.items():
        print(f"  not recorded: {count:,} {why}")
    for sentence in manifest.inferred:
        print(f"  inferred: {sentence}")
