"""Results that differ in nothing but the size of the buffer pool: one tier of storage at several sizes."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiersim.simulator.result import Result


def pool_bytes(result: Result) -> int | None:
    """Size of the simulated buffer pool; None where there was none."""
    found: int | None = (result.summary.get("engine") or {}).get("buffer_pool_bytes")
    return found


def tiers(results: Sequence[Result]) -> list[list[int]]:
    """Indices of the results of each tier, by size of the pool; tiers in the order of their first results."""
    found: dict[tuple[str, int], dict[int | None, int]] = {}
    for index, result in enumerate(results):
        size, twin = pool_bytes(result), 0
        key = f"{index}" if size is None else _apart_from_the_pool(result)
        while size in found.get((key, twin), {}):  # the same run given twice
            twin += 1
        found.setdefault((key, twin), {})[size] = index
    return [[index for _, index in sorted(members.items(), key=lambda one: one[0] or 0)] for members in found.values()]


def tier_name(names: Sequence[str]) -> str:
    """What the names of a tier's results have in common: of ``flash-1GiB`` and ``flash-16GiB``, ``flash``."""
    if len(set(names)) == 1:
        return names[0]
    same = itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    common = "".join(letters[0] for letters in same)
    return common.rstrip("0123456789").rstrip(" -_,.:(@") or names[0]


def _apart_from_the_pool(result: Result) -> str:
    """Trace and scenario without what the pool's size changes."""
    try:
        scenario: dict[str, Any] = tomllib.loads(result.scenario_toml)
    except tomllib.TOMLDecodeError:
        scenario = {"file": result.scenario_toml}
    scenario.pop("description", None)
    engine = scenario.pop("engine", {})
    engine.pop("buffer_pool", None)
    return json.dumps([result.summary["trace"]["hash"], scenario, engine], sort_keys=True, default=str)
