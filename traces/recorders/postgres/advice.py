"""What a server does not count, or does not show, and what is lost by it: a sentence each."""

from typing import NamedTuple

from tiersim.traces.recorders.postgres.connection import PostgresConnection
from tiersim.traces.recorders.rounds import Row


class Wish(NamedTuple):
    """A setting that a recording is better with; it is granted unless the setting is one of ``lacking``."""

    setting: str
    lacking: tuple[str, ...]
    lost: str
    since: int = 0


_BY_RELOADING = "set it by ALTER SYSTEM, then SELECT pg_reload_conf()"

WISHES = (
    Wish("track_io_timing", ("off",), f"how long reads and writes took is not recorded; {_BY_RELOADING}"),
    Wish(
        "track_wal_io_timing",
        ("off",),
        f"how long writes and flushes of the log took is not recorded; {_BY_RELOADING}",
        140_000,
    ),
    Wish("track_activities", ("off",), "what sessions wait for is not recorded"),
    Wish("track_counts", ("off",), "what tables and indexes were used for is not recorded"),
    Wish("log_checkpoints", ("off",), "the server's log does not tell of checkpoints, and cannot be imported for them"),
    Wish("compute_query_id", ("off",), "statements have no identifiers and are not recorded", 140_000),
    Wish("pg_stat_statements.track", ("none",), "statements are not recorded"),
)
#: How far predictions from a recording reach without a part of it (docs/reach.md).
_NO_HOST = (
    "the server is on another machine: what its processors did is not recorded, which tells waits from work;"
    " transactions/s on faster storage than the recorded one are then 10 to 17 % off in the median, 40 % at worst"
    " (docs/reach.md). Record on the server's machine"
)
_NO_PAGES = "{}: pools more than 4 times as large as the recorded one are a guess"
_SETTINGS = "SELECT name, setting FROM pg_settings WHERE name = ANY ('{%s}'::text[])"
_ROLE = (
    "SELECT pg_has_role('pg_read_all_stats', 'USAGE') AS stats, pg_has_role('pg_read_all_settings', 'USAGE') AS"
    " settings"
)
_LIBRARY = "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements'"


def advice(server: PostgresConnection, extensions: set[str]) -> list[str]:
    """Say what the server and the role lack; *extensions* are those of the database."""
    found = [_role(row) for row in server.rows(_ROLE)]
    if "pg_stat_statements" not in extensions:
        remedy = "CREATE EXTENSION pg_stat_statements in this database" if server.rows(_LIBRARY) else "install contrib"
        found.append(
            "pg_stat_statements is not installed in the database: what each query asks for is not recorded; "
            f"{remedy}, with the library in shared_preload_libraries"
        )
    wanted = ",".join(wish.setting for wish in WISHES)
    settings = {row["name"]: row["setting"] for row in server.rows(_SETTINGS % wanted)}
    found += [
        f"{wish.setting} is {settings[wish.setting]}: {wish.lost}"
        for wish in WISHES
        if settings.get(wish.setting) in wish.lacking
    ]
    return [sentence for sentence in found if sentence]


def reach(extensions: set[str], *, local: bool, with_pool: bool) -> list[str]:
    """Say how far predictions will reach from a recording, where it could reach further."""
    found = [] if local else [_NO_HOST]
    if "pg_buffercache" not in extensions:
        found.append(
            _NO_PAGES.format("pg_buffercache is not installed in the database")
            + "; CREATE EXTENSION pg_buffercache, and record with --buffercache"
        )
    elif not with_pool:
        found.append(_NO_PAGES.format("pages of the pool are not counted") + "; record with --buffercache")
    return found


def _role(row: Row) -> str:
    if row["stats"] == "t":
        return ""
    return (
        "the role is not a member of pg_monitor: statements and waits of other roles, and the sizes and numbers that it"
        " may not see, are not recorded; GRANT pg_monitor to it"
    )
