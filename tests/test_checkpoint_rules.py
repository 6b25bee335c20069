"""PostgreSQL's arithmetic against what servers logged of their checkpoints, and against its documentation."""

import pytest

from tiersim.errors import ScenarioError
from tiersim.scenarios.database_models import EngineModel
from tiersim.scenarios.statements.engines import EngineSources
from tiersim.scenarios.statements.postgresql import postgresql
from tiersim.simulator.database.checkpoint.checkpointer import (
    CHECKPOINT_TIMEOUT_NS,
    MAX_WAL_BYTES,
    SEGMENT_BYTES,
    Checkpoints,
    completion_target,
    distance_segments,
    log_buffer_bytes,
    version_number,
    write_phase_ns,
)
from tiersim.units import NS_PER_S

GIB, MIB, KIB = 1 << 30, 1 << 20, 1 << 10


@pytest.mark.parametrize(
    ("version", "number"),
    [("9.4", 90400), ("9.6.24", 90624), ("10.5", 100005), ("15", 150000), ("15.18 (Debian 15.18-1)", 150018)],
)
def test_versions_are_numbered_as_the_server_does(version: str, number: int) -> None:
    assert version_number(version) == number


@pytest.mark.parametrize("page_bytes", [4 * KIB, 8 * KIB, 32 * KIB])
def test_checkpoints_flush_after_as_many_pages_as_set_whatever_their_size(page_bytes: int) -> None:
    """pg_settings counts them in pages of the server, 32 by default."""
    hosts: dict[int, dict[str, int]] = {32: {}, 48: {"checkpoint_flush_after_bytes": 48 * page_bytes}}
    for pages, host in hosts.items():
        sources = EngineSources(EngineModel(), host, "17", page_bytes, 1 << 30, None, 1 << 30, 0)
        checkpoints = postgresql(sources, {}).checkpoints
        assert isinstance(checkpoints, Checkpoints)
        assert checkpoints.flush_after_pages == pages


def test_what_is_no_version_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"engine\.version: 'devel'"):
        version_number("devel")


@pytest.mark.parametrize(
    ("version", "max_wal_bytes", "target", "logged_kib"),
    [(90600, 64 * GIB, 0.5, 26_836_971), (140000, 64 * GIB, 0.9, 35_307_545), (140000, 128 * GIB, 0.9, 70_631_420)],
)
def test_checkpoints_are_as_far_apart_as_servers_logged(
    version: int, max_wal_bytes: int, target: float, logged_kib: int
) -> None:
    """Within the segment in which the log asks for one."""
    segments = distance_segments(version, max_wal_bytes, target)
    assert segments * SEGMENT_BYTES / KIB == pytest.approx(logged_kib, abs=SEGMENT_BYTES / KIB)


def test_segments_are_given_before_9_5_and_one_is_the_least() -> None:
    assert distance_segments(90400, GIB, 0.5) == 3
    assert distance_segments(90400, GIB, 0.5, checkpoint_segments=300) == 300
    assert distance_segments(150000, 16 * MIB, 0.9) == 1
    assert distance_segments(150000, MAX_WAL_BYTES, 0.9) == 33
    assert distance_segments(150000, GIB, 0.9, segment_bytes=64 * MIB) == 8


def test_the_target_is_later_since_14() -> None:
    assert (completion_target(130013), completion_target(140000)) == (0.5, 0.9)


def test_a_checkpoint_writes_for_its_share_of_the_interval() -> None:
    assert write_phase_ns(0.9, 900 * NS_PER_S) == 810 * NS_PER_S
    assert write_phase_ns(0.5, CHECKPOINT_TIMEOUT_NS) == 150 * NS_PER_S


@pytest.mark.parametrize(
    ("shared_buffers", "segment", "expected"),
    [
        (128 * MIB, 16 * MIB, 4 * MIB),
        (8 * GIB, 16 * MIB, 16 * MIB),
        (8 * GIB, 64 * MIB, 64 * MIB),
        (MIB, 16 * MIB, 64 * KIB),
    ],
)
def test_log_buffers_follow_from_shared_buffers(shared_buffers: int, segment: int, expected: int) -> None:
    assert log_buffer_bytes(shared_buffers, segment) == expected
