"""How long flash lasts under the simulated writes: rated bytes against bytes that reach each device in a year."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiersim.devices.array import PARITIES, copies_of
from tiersim.devices.flash import Flash
from tiersim.devices.volume import Volume
from tiersim.scenarios.hardware import NamedScenario
from tiersim.simulator.result import Result
from tiersim.units import NS_PER_S

_YEAR_NS = 365.25 * 86_400 * NS_PER_S
#: Latency classes that are writes, and those that hold reads, too, by what places them.
_WRITES = {"default": ("data write", "checkpoint write"), "log": ("log write",)}
_MIXED = {"default": ("unknown",), "temp": ("temp",), "backup": ("backup",)}


@dataclass(frozen=True)
class Endurance:
    """Years until the first device has been written as much as it is rated for; a figure (``docs/sizing.md``)."""

    value: float | None
    low: float | None
    high: float | None
    resolved: bool
    basis: str


def endurance_of(scenario: NamedScenario, result: Result, ratings: Mapping[str, float | None]) -> Endurance | None:
    """Return how long the flash of *scenario* lasts at the rate of a run; None where it has none.

    *ratings* are bytes that may be written to a device, by volume or pool; None is not known. A rating is of random writes (JESD219), which the
    drive's own model amplifies by ``steady_amplification``: what the run amplified is taken against that. ``low`` takes the rating for bytes of
    flash, so that all amplification counts; it takes all bytes that may be writes for writes, and ``high`` those that are.
    """
    found = [
        _of_volume(scenario, result, name, ratings.get(name)) for name in scenario.hardware if _is_flash(scenario, name)
    ]
    if not found:
        return None
    unknown = [one for one in found if one.low is None]
    if unknown:
        return unknown[0]
    first = min(found, key=lambda one: one.low or 0.0)
    return first


def _is_flash(scenario: NamedScenario, name: str) -> bool:
    return isinstance(scenario.hardware[name].device, Flash)


def _of_volume(scenario: NamedScenario, result: Result, name: str, rated: float | None) -> Endurance:
    volume = scenario.hardware[name]
    drive = volume.device
    assert isinstance(drive, Flash)
    if rated is None:
        return Endurance(None, None, None, False, f"how much may be written to {drive.name} is not known")
    if name not in scenario.homes:
        return Endurance(None, None, None, False, f"how much is written to volume {name!r} is not counted")
    certain, possible = _written_bytes_a_year(scenario, result, name)
    least, most = _share(volume)
    if possible == 0:
        return Endurance(None, None, None, False, f"nothing was written to volume {name!r} in the run")
    amplification = _amplification(result, name) or drive.write_amplification
    against_rating = amplification / drive.steady_amplification
    low = rated / (possible * most * max(amplification, 1.0))
    high = None if certain == 0 else rated / (certain * least * min(against_rating, 1.0))
    exact = certain == possible
    value = rated / (possible * most * against_rating) if exact else None
    basis = (
        f"simulated writes against {drive.name}'s rating; each byte takes {amplification:.2f} of flash, and {drive.steady_amplification:.2f} "
        "under the random writes of a rating"
    )
    return Endurance(
        value,
        low,
        high,
        exact,
        basis if exact else f"{basis}; which of the bytes are writes to {name!r} is not counted",
    )


def _written_bytes_a_year(scenario: NamedScenario, result: Result, name: str) -> tuple[float, float]:
    """Return what is certainly and what is possibly written to a volume in a year."""
    rates = _bytes_a_year(result)
    certain = sum(rates.get(one, 0.0) for one in _placed(scenario, name, _WRITES, alone=True))
    possible = sum(rates.get(one, 0.0) for one in _placed(scenario, name, _WRITES, alone=False))
    return certain, possible + sum(rates.get(one, 0.0) for one in _placed(scenario, name, _MIXED, alone=False))


def _placed(
    scenario: NamedScenario, name: str, classes: Mapping[str, tuple[str, ...]], *, alone: bool
) -> Iterator[str]:
    """Yield the classes that may go to a volume; *alone*: that go nowhere else."""
    rules, default = scenario.model.placement, scenario.model.default_volume
    of_data = {default, *(home for key, home in rules.items() if key.startswith(("file:", "relation:")))}
    for key, names in classes.items():
        homes = (
            of_data
            if key == "default"
            else {rules.get(key, rules.get("tempdb", default) if key == "temp" else default)}
        )
        if name in homes and (len(homes) == 1 or not alone):
            yield from names


def _bytes_a_year(result: Result) -> dict[str, float]:
    """Return bytes a year by latency class, of the time in which anything was done."""
    table = result.timeline
    if "bytes" not in table.column_names:
        return {}
    start, end, moved = (table[key].to_numpy() for key in ("start_ns", "end_ns", "bytes"))
    classes = np.array(table["class"].to_pylist())
    closed = start < start.max()  # the last interval takes what ended later
    busy = closed & (moved > 0)
    if not busy.any():
        return {}
    elapsed_ns = float(end[busy].max())
    return {
        name: float(moved[closed & (classes == name)].sum()) * _YEAR_NS / elapsed_ns for name in np.unique(classes).tolist()
    }  # fmt: skip


def _share(volume: Volume) -> tuple[float, float]:
    """Return what one device is written of a byte that is written to the volume: at least, and at most.

    Parity is written with whole rows at best, and with each write at worst (read-modify-write).
    """
    copies, parities = copies_of(volume.layout, volume.count), PARITIES.get(volume.layout, 0)
    if volume.layout == "jbod":
        return 1 / volume.count, 1.0
    if parities:
        return 1 / (volume.count - parities), (1 + parities) / volume.count
    return copies / volume.count, copies / volume.count


def _amplification(result: Result, name: str) -> float | None:
    """Return how much flash was written for each byte, on average over a volume's drives; None where nothing was."""
    found: list[Any] = [
        station["flash"]["write_amplification"]
        for key, station in result.summary["stations"].items()
        if "flash" in station and (key == name or key.startswith(f"{name}."))
    ]
    known = [one for one in found if one is not None]
    return sum(known) / len(known) if known else None
