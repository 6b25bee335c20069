"""Client flash drives: the cache of cells that take one bit, and read-ahead; closed forms."""

from typing import Any

import numpy as np
import pytest

from tests.flash_runs import command_ns, in_loop, latencies, link_ns, read_ns, transfer_ns
from tests.plants import flash
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash, flash_figures
from tiersim.operations import READ, WRITE

UNIT = 4096
PROGRAM = 12 * UNIT
MS = 1_000_000


def drive(**changes: Any) -> Flash:
    """Two dies, programs of three pages of 16 KiB, or of one page with one bit a cell; a buffer of one program."""
    keys: dict[str, Any] = {
        "cell": "tlc",
        "state": "fresh",
        "channels": 2,
        "dies": 2,
        "program": 1_200_000,
        "program_size": PROGRAM,
        "block": 64 * PROGRAM,
        "buffer": 2 * PROGRAM,
        "slc_static": 30 * PROGRAM,
        "slc_dynamic": 10 * PROGRAM,
        "slc_program": 200_000,
        "slc_program_size": PROGRAM // 3,
        "slc_idle": 100 * MS,
    }
    return flash(**keys | changes)


def written_bytes(which: Flash, count: int) -> np.ndarray:
    """When each of so many programs of one unit after the other, in a loop of depth 4, is done."""
    streams = in_loop(which, WRITE, np.arange(count) * PROGRAM, PROGRAM, 4)
    return np.sort(streams.done_ns)


def rate(which: Flash, done: np.ndarray) -> float:
    """Bytes a second."""
    return (len(done) - 1) * PROGRAM * 1e9 / float(done[-1] - done[0])


def direct_rate(which: Flash, time: int, size: int) -> float:
    return which.dies * size * 1e9 / (time + transfer_ns(which, size // UNIT))


def test_writes_are_fast_until_the_cache_is_full_and_then_go_past_it() -> None:
    one = drive()
    done = written_bytes(one, 100)
    fast, slow = direct_rate(one, 200_000, PROGRAM // 3), direct_rate(one, 1_200_000, PROGRAM)
    assert rate(one, done[4:36]) == pytest.approx(fast, rel=0.05)
    assert rate(one, done[50:]) == pytest.approx(slow, rel=0.05)


def test_a_steady_drive_is_full_and_has_no_dynamic_part() -> None:
    one = drive(state="steady", over_provisioning=1.0)
    assert one.slc_bytes == 30 * PROGRAM
    done = written_bytes(one, 60)
    assert rate(one, done[4:26]) > 1.5 * rate(one, done[32:])


def test_a_cache_that_folds_when_full_pays_for_both_programs() -> None:
    one = drive(slc_full="fold", slc_used=40 * PROGRAM)
    done = written_bytes(one, 100)
    units = PROGRAM // 3 // UNIT
    erased = units * UNIT / (one.block // 3) * one.erase
    each = 200_000 + transfer_ns(one, units) + units * one.copy_ns + erased
    assert rate(one, done[20:]) == pytest.approx(one.dies * PROGRAM / 3 * 1e9 / each, rel=0.05)


def test_what_has_room_in_the_cache_moves_nothing_out() -> None:
    """Of two programs the first finds room for a unit, or none: the second waits for one unit more to be moved out."""
    size, waited = PROGRAM // 3, []
    for used in (40 * PROGRAM - UNIT, 40 * PROGRAM):
        one = drive(slc_full="fold", slc_used=used, dies=1, channels=1, buffer=0)
        waited.append(latencies(one, [0, 1000], WRITE, np.arange(2) * size, size)[1])
    assert waited[1] - waited[0] == one.copy_ns


def test_a_result_says_how_much_of_the_cache_is_free() -> None:
    def figures(one: Flash) -> dict[str, Any]:
        builder = PlantBuilder(1)
        add_flash(builder, one, "drive")
        return flash_figures(builder.build(), 0)

    for used, free in ((0, 1.0), (10, 0.75), (40, 0.0)):
        assert figures(drive(slc_used=used * PROGRAM))["slc_free_share"] == free
    assert "slc_free_share" not in figures(flash())


def test_a_drive_that_was_idle_has_room_again() -> None:
    one = drive(slc_used=40 * PROGRAM)
    folded_ns = 40 * PROGRAM // UNIT * one.copy_ns // one.dies
    burst = [0] * 8
    for pause, is_fast in ((80 * MS, False), (100 * MS + folded_ns + 20 * MS, True)):
        times = [*burst, *(np.array(burst) + pause + 10 * MS)]
        took = latencies(one, times, WRITE, np.arange(16) * PROGRAM, PROGRAM)
        assert (took[-1] < 0.7 * took[7]) == is_fast


def test_a_read_that_finds_an_idle_drive_folding_waits_for_its_program() -> None:
    one = drive(slc_used=40 * PROGRAM, suspend=None)
    alone, folding = (latencies(one, [at], READ, 0, UNIT)[0] for at in (50 * MS, 100 * MS + 300_000))
    assert alone == read_ns(one)
    assert alone < folding <= alone + one.program


def test_a_stream_of_reads_is_served_from_memory_and_others_are_not() -> None:
    one = drive(read_ahead=32 * UNIT)
    offsets = np.array([0, 1, 2, 3, 40, 41, 90]) * UNIT
    took = latencies(one, np.arange(7) * MS, READ, offsets, UNIT)
    hit = command_ns(one) + link_ns(one, UNIT) + one.read_latency
    assert [took[index] == hit for index in range(7)] == [False, False, True, True, False, False, False]


def test_what_was_read_ahead_is_read_again_after_it_was_written() -> None:
    one = drive(read_ahead=32 * UNIT)
    hit = command_ns(one) + link_ns(one, UNIT) + one.read_latency
    for written, is_hit in ((2, False), (1, True)):
        offsets = np.array([0, 1, written, 2]) * UNIT
        took = latencies(one, np.arange(4) * 5 * MS, [READ, READ, WRITE, READ], offsets, UNIT)
        assert (took[3] == hit) == is_hit


def test_a_drive_with_other_commands_does_not_read_ahead() -> None:
    """What the host has asked for side by side is read side by side, not one behind the other."""
    ahead, plain = (
        in_loop(drive(read_ahead=size), READ, np.arange(400) * 8 * UNIT, 8 * UNIT, 16) for size in (32 * UNIT, None)
    )
    assert ahead.done_ns.tolist() == plain.done_ns.tolist()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"slc_idle": None}, "slc_idle: needed beside slc_static"),
        ({"slc_static": None, "slc_dynamic": None}, "slc_program: needs slc_static or slc_dynamic"),
        ({"slc_program_size": 2 * PROGRAM}, "no more than program_size"),
        ({"slc_program": 2_000_000}, "takes no longer"),
        ({"slc_used": 41 * PROGRAM}, "slc_used: the cache takes"),
        ({"mapping": "mapped", "capacity": 1 << 24}, "mapping = 'analytic'"),
        ({"read_ahead": 1000}, "read_ahead: needs"),
    ],
)
def test_keys_that_do_not_fit_together_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        drive(**changes)
