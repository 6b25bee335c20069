"""PostgreSQL's background writer as a passive machine: it writes dirty pages that the sweep will come to soon.

storage/bufmgr.c, BgBufferSync; postmaster/bgwriter.c. Every round looks ahead of the hand for pages without a use left,
until it has found as many as are likely to be needed before the next round, and writes those that are dirty, one after
the other, *most_pages* at most. How many will be needed follows the number of frames that were taken lately, rising at
once and falling slowly; how many are there already follows how many frames the hand had to pass for each. The next
round begins *delay_ns* after the end of one. A round that has looked at the whole pool while no frame was taken is the
last, if the one before was such, too; then the next page that is read wakes the writer.

Through the OS page cache it asks for writing back after each *flush_after_pages*. A page is clean when its write
begins; if it is changed meanwhile it is dirty again.

A round is a background request of the station to itself. Averages are counted in 2^-16.
"""

from dataclasses import dataclass

from tiersim.devices.plant import settings_of, values_of
from tiersim.devices.requests import add_background, add_child
from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, WRITE
from tiersim.simulator.database.buffer_pool.pages import clean, station_of
from tiersim.simulator.database.database_state import (
    AT_LOG,
    HAND,
    LAPS,
    READING,
    TAKEN,
    VALID,
    Database,
    record,
)
from tiersim.simulator.database.page_cache import BY_WRITER, hand_on, has_enough, note_write_back
from tiersim.simulator.database.wal.log import must_flush_for

#: Rounds that averages go over, the first average of frames that are passed for one that is taken, and the time in
#: which rounds without need come over the whole pool (BgBufferSync: smoothing_samples, smoothed_density,
#: scan_whole_pool_milliseconds).
_ROUNDS, _FIRST_DENSITY, _WHOLE_POOL_NS = 16, 10, 120_000_000_000
_BITS = 16


@dataclass(frozen=True)
class BackgroundWriter:
    """Settings, with PostgreSQL's defaults: bgwriter_delay, bgwriter_lru_maxpages, bgwriter_lru_multiplier,
    bgwriter_flush_after (on Linux).
    """

    delay_ns: int = 200_000_000
    most_pages: int = 100  # of a round
    multiplier: float = 2.0
    flush_after_pages: int = 64


#: The background writer; averages in 2^-16.
WRITER = record(
    "station",
    *settings_of(BackgroundWriter, without=("flush_after_pages",)),
    "multiplier",  # frames that a round provides for each that is taken, in thousandths
    "awake",
    "rounds",
    "written_pages",
    "next",  # frame that it looks at next
    "next_lap",
    "hand",  # of the sweep, when the last round began
    "laps",
    "taken",  # frames up to then
    "taken_average",  # in a round
    "density",  # frames that are passed for one that is reusable
    "needed",  # reusable frames ahead of the hand
    "found",
    "found_before",  # this round
    "to_scan",
    "to_scan_at_first",
    "written",  # in this round
    "page_after_log",  # page + 1 that is written when the log is flushed up to it
    "idle_rounds",
    indices=("station",),
)


@kernel
def wake_writer(p: Plant, d: Database, made: int) -> int:
    """Begin the writer's rounds, if there is a writer that sleeps, when a frame was taken; *made* children are there
    already.
    """
    if d.writer.size == 0 or made == p.children.size:
        return made
    w = d.writer[0]
    if w["awake"] or w["taken"] == d.pool_state[TAKEN]:
        return made
    w["awake"] = 1
    return add_background(p, made, w["station"], FLUSH, 0, 0)


@kernel
def accept_writer(d: Database, now: int) -> int:
    """Take the next round."""
    return int(now + d.writer[0]["delay_ns"])


@kernel
def finish_writer(p: Plant, d: Database) -> int:
    """Begin a round."""
    _begin_round(d)
    return resume_writer(p, d)


@kernel
def resume_writer(p: Plant, d: Database) -> int:
    """Write the next page of the round, the log up to it before; if there is none, wait for the next round."""
    w = d.writer[0]
    if d.page_cache.size > 0 and has_enough(d, BY_WRITER):
        return hand_on(p, d, BY_WRITER, 0)
    while True:
        if w["page_after_log"] > 0:
            page = w["page_after_log"] - 1
            w["page_after_log"] = 0
        else:
            frame = _next_dirty(d)
            if frame < 0:
                break
            page = d.page_of[frame]
            if must_flush_for(d, page):
                w["page_after_log"] = page + 1
                return add_child(p, 0, d.stations[AT_LOG], FLUSH, d.page_position[page], 0)
        held = d.frame_of[page]
        if held > 0 and d.dirty[held - 1]:  # nobody has written it while the log was flushed
            clean(d, held - 1)
            w["written_pages"] += 1
            note_write_back(d, BY_WRITER, page)
            return add_child(p, 0, station_of(d, page), WRITE, page * d.page_bytes[0], d.page_bytes[0])
    if _end_round(d):
        return add_background(p, 0, w["station"], FLUSH, 0, 0)
    w["awake"] = 0
    return 0


@kernel
def _begin_round(d: Database) -> None:
    """Reckon how many reusable frames will be needed, and how many there are between the hand and where the last round
    ended.
    """
    w = d.writer[0]
    frames = len(d.page_of)
    hand, laps = d.pool_state[HAND], d.pool_state[LAPS]
    taken = d.pool_state[TAKEN] - w["taken"]
    passed = hand - w["hand"] + (laps - w["laps"]) * frames if w["rounds"] > 0 else 0
    if w["rounds"] > 0 and w["next_lap"] > laps:
        to_scan = hand - w["next"]
    elif w["rounds"] > 0 and w["next_lap"] == laps and w["next"] >= hand:
        to_scan = frames - (w["next"] - hand)
    else:  # at first, and when the hand has overtaken the writer
        w["next"], w["next_lap"] = hand, laps
        to_scan = frames
    w["hand"], w["laps"] = hand, laps
    w["taken"] += taken
    w["rounds"] += 1
    if passed > 0 and taken > 0:
        _smooth_density(d, passed, taken)
    if w["taken_average"] <= taken << _BITS:
        w["taken_average"] = taken << _BITS
    else:
        w["taken_average"] += ((taken << _BITS) - w["taken_average"]) // _ROUNDS
    needed = w["taken_average"] * w["multiplier"] // 1000 >> _BITS
    if needed == 0:
        w["taken_average"] = 0
    found = ((frames - to_scan) << _BITS) // w["density"]
    least = frames * w["delay_ns"] // _WHOLE_POOL_NS
    w["needed"] = max(needed, found + least)
    w["found"], w["found_before"] = found, found
    w["to_scan"], w["to_scan_at_first"] = to_scan, to_scan
    w["written"] = 0
    w["idle_rounds"] = w["idle_rounds"] + 1 if to_scan == 0 and taken == 0 else 0


@kernel
def _next_dirty(d: Database) -> int:
    """Return the next frame that the round writes, -1 if the round is over."""
    w = d.writer[0]
    while w["to_scan"] > 0 and w["found"] < w["needed"] and w["written"] < w["most_pages"]:
        frame = w["next"]
        w["next"] += 1
        if w["next"] == len(d.page_of):
            w["next"] = 0
            w["next_lap"] += 1
        w["to_scan"] -= 1
        if d.state[frame] == READING or d.used[frame] > 0:
            continue
        w["found"] += 1
        if d.state[frame] == VALID and d.dirty[frame]:
            w["written"] += 1
            return int(frame)
    return -1


@kernel
def _end_round(d: Database) -> bool:
    """Learn from the round as from frames that were taken; tell whether there is another."""
    w = d.writer[0]
    passed = w["to_scan_at_first"] - w["to_scan"]
    found = w["found"] - w["found_before"]
    if passed > 0 and found > 0:
        _smooth_density(d, passed, found)
    return bool(w["idle_rounds"] < 2)


@kernel
def _smooth_density(d: Database, passed: int, found: int) -> None:
    w = d.writer[0]
    w["density"] += ((passed << _BITS) // found - w["density"]) // _ROUNDS


def writer_fields(settings: BackgroundWriter, station: int) -> dict[str, int]:
    """Return what of the writer's row is not 0 at the start."""
    return {
        "station": station,
        **values_of(WRITER, settings),
        "multiplier": round(settings.multiplier * 1000),
        "density": _FIRST_DENSITY << _BITS,
    }
