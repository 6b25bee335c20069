"""Where what was recorded would live: files to volumes, recorded addresses to addresses on them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.survey import EXTENT_BYTES, FileUse
from tiersim.units import format_bytes


@dataclass(frozen=True)
class Home:
    """Where a file lives: address = base + offset, or by extent when ``packed`` is there."""

    volume: str
    base_bytes: int
    extents: NDArray[np.int64] | None = None
    packed: NDArray[np.int64] | None = None  # address of each extent

    def place(self, offset_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Map offsets within the file to offsets on the volume, int64."""
        if self.extents is None or self.packed is None:
            return offset_bytes + self.base_bytes
        index = np.searchsorted(self.extents, offset_bytes // EXTENT_BYTES)
        return self.packed[index] + offset_bytes % EXTENT_BYTES


def volume_of(scenario: NamedScenario, use: FileUse) -> str:
    """Volume that a file is placed on: the rule for the file, then the one for logs, then the default."""
    rules = scenario.model.placement
    if f"file:{use.name}" in rules:
        return rules[f"file:{use.name}"]
    if use.is_log and "log" in rules:
        return rules["log"]
    return scenario.model.default_volume


def place_files(scenario: NamedScenario, uses: Sequence[FileUse]) -> list[Home]:
    """Give every file its home; raises ScenarioError when a volume is too small."""
    by_volume: dict[str, list[int]] = {}
    for index, use in enumerate(uses):
        by_volume.setdefault(volume_of(scenario, use), []).append(index)
    homes: dict[int, Home] = {}
    for volume, members in by_volume.items():
        homes |= _place_on(scenario, volume, {index: uses[index] for index in members})
    return [homes[index] for index in range(len(uses))]


def _place_on(scenario: NamedScenario, volume: str, uses: Mapping[int, FileUse]) -> dict[int, Home]:
    offset = scenario.model.volumes[volume].offset or 0
    capacity = max(0, scenario.homes[volume].capacity_bytes - offset)
    if scenario.model.replay.addresses == "keep":
        homes, base = {}, 0
        for index, use in uses.items():
            homes[index] = Home(volume, offset + base)
            base += -(-use.end_bytes // EXTENT_BYTES) * EXTENT_BYTES
        _check_fit(scenario, volume, base, capacity, 'write addresses = "pack" under [replay], or choose more capacity')
        return homes
    total = sum(len(use.extents) for use in uses.values())
    wanted = scenario.model.volumes[volume].used or total * EXTENT_BYTES
    _check_fit(scenario, volume, max(wanted, total * EXTENT_BYTES), capacity, "choose more capacity or less `used`")
    spread = max(wanted // EXTENT_BYTES, total)
    homes, before = {}, 0
    for index, use in uses.items():
        numbers = np.arange(before, before + len(use.extents), dtype=np.int64)
        homes[index] = Home(volume, 0, use.extents, offset + numbers * spread // max(total, 1) * EXTENT_BYTES)
        before += len(use.extents)
    return homes


def _check_fit(scenario: NamedScenario, volume: str, needed: int, capacity: int, remedy: str) -> None:
    if needed > capacity:
        raise ScenarioError(
            f"{scenario.name}: volume {volume!r} holds {format_bytes(capacity)}, the trace needs "
            f"{format_bytes(needed)}; {remedy}"
        )
