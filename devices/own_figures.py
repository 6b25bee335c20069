"""What only some kinds of station can say of a run."""

from collections.abc import Callable
from typing import Any

from tiersim.devices.flash import flash_figures
from tiersim.devices.flash_cache import cache_figures
from tiersim.devices.tables import FLASH, FLASH_CACHE, TIERS, Plant
from tiersim.devices.tiers import tiers_figures

_FIGURES: dict[int, tuple[str, Callable[[Plant, int], dict[str, Any]]]] = {
    FLASH: ("flash", flash_figures),
    FLASH_CACHE: ("cache", cache_figures),
    TIERS: ("tiers", tiers_figures),
}


def own_figures(plant: Plant, station: int) -> dict[str, Any]:
    """Figures of one station by a word for its kind; empty for most."""
    kind, row = (int(plant.stations[station][key]) for key in ("kind", "row"))
    if kind not in _FIGURES:
        return {}
    word, figures = _FIGURES[kind]
    return {word: figures(plant, row)}
