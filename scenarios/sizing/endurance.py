"""How long flash lasts under the simulated writes: rated bytes against bytes that are written to a device in a year."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.volume import PARITIES, Volume, copies_of
from tiersim.devices.ssd.flash import WRITE_LINK, Flash
from tiersim.scenarios.hardware import NamedScenario
from tiersim.simulator.result import Result
from tiersim.units import NS_PER_S

_YEAR_NS = 365.25 * 86_400 * NS_PER_S
#: Latency classes of requests that are writes, and those that have reads in them, too, by the rule that places them.
_WRITES = {"default": ("data write", "checkpoint write"), "log": ("log write",)}
_MIXED = {"default": ("unknown",), "temp": ("temp",), "backup": ("backup",)}
#: Classes of statements that are reads of data, and those of which nobody knows which way they go.
_READS, _EITHER = ("data read", "read ahead"), ("temp", "backup")


@dataclass(frozen=True)
class Endurance:
    """Years until the first device has been written as much as it is rated for; a figure (``docs/sizing.md``)."""

    value: float | None
    low: float | None
    high: float | None
    resolved: bool
    basis: str


@dataclass(frozen=True)
class _Written:
    """Bytes a year that are written to one device: at least, and at most."""

    certain: float
    possible: float


def endurance_of(scenario: NamedScenario, result: Result, ratings: Mapping[str, float | None]) -> Endurance | None:
    """Return how long the flash of *scenario* lasts at the rate of a run; None where it has none.

    *ratings* are bytes that may be written to a device, by volume or pool; None is not known. A rating is of random
    writes (JESD219), which the drive's own model amplifies by ``steady_amplification``: what the run amplified is taken
    against that. ``low`` takes the rating for bytes of flash, so that all amplification counts, and all bytes that may
    be writes for writes; ``high`` those alone that are.
    """
    flash = [name for name, volume in scenario.hardware.items() if isinstance(volume.device, Flash)]
    of_volumes = [_of_volume(scenario, result, name, ratings.get(name)) for name in flash]
    found = [one for one in of_volumes if one is not None]
    if flash and not found:
        return _not_known(f"nothing was written to volume {' and '.join(map(repr, flash))} in the run")
    unknown = next((one for one in found if one.low is None), None)
    return unknown or min(found, key=lambda one: one.low or 0.0, default=None)


def _of_volume(scenario: NamedScenario, result: Result, name: str, rated: float | None) -> Endurance | None:
    """Return how long the drives of a volume last; None where nothing was written to them: that wears none."""
    drive = scenario.hardware[name].device
    assert isinstance(drive, Flash)
    if name not in scenario.homes:
        return _not_known(f"how much is written to volume {name!r} is not counted")
    by_statements = result.summary.get("level") == "statements"
    written = (_of_statements if by_statements else _of_requests)(scenario, result, name)
    if written.possible <= 0:
        return None
    if rated is None:
        return _not_known(f"how much may be written to {drive.name} is not known")
    amplification = _amplification(result, name) or drive.write_amplification
    usual = drive.steady_amplification
    low = rated / (written.possible * max(amplification, 1.0))
    high = rated / (written.certain * min(amplification / usual, 1.0)) if written.certain > 0 else None
    exact = written.certain == written.possible
    basis = (
        f"simulated writes against the rating of {drive.name}; a byte takes {amplification:.2f} of flash, and"
        f" {usual:.2f} under the random writes of a rating"
    )
    if not exact:
        basis += f"; how much of what passes is written to {name!r} is known within bounds"
    return Endurance(rated / (written.possible * amplification / usual) if exact else None, low, high, exact, basis)


def _not_known(why: str) -> Endurance:
    return Endurance(None, None, None, False, why)


def _of_requests(scenario: NamedScenario, result: Result, name: str) -> _Written:
    """Return what requests write to a device of a volume: by their purposes and the layout."""
    rates = _bytes_a_year(result)
    least, most = _share(scenario.hardware[name])
    certain = sum(rates.get(one, 0.0) for one in _placed(scenario, name, _WRITES, alone=True))
    possible = sum(
        rates.get(one, 0.0) for key in (_WRITES, _MIXED) for one in _placed(scenario, name, key, alone=False)
    )
    return _Written(certain * least, possible * most)


def _of_statements(scenario: NamedScenario, result: Result, name: str) -> _Written:
    """Return what statements write to a device of a volume: what passes its link, less what is read.

    Of a volume that holds all data, pages are read that the pool missed and the operating system's cache did not have.
    Parity is read before it is written, so of such a layout this is a bound.
    """
    volume, data_homes = scenario.hardware[name], _data_homes(scenario)
    passed, rates = _passed_a_year(result, volume), _bytes_a_year(result)
    read = sum(rates.get(one, 0.0) for one in _READS) * (1 - (result.summary["hit_ratio"]["os_cache"] or 0.0))
    if name not in data_homes:
        read = 0.0
    each = read / volume.count if data_homes <= {name} or name not in data_homes else 0.0
    written = max(passed - each, 0.0)
    known = each == read / volume.count and volume.layout not in (*PARITIES, "jbod")
    return _Written(written if known and not any(rates.get(one) for one in _EITHER) else 0.0, written)


def _data_homes(scenario: NamedScenario) -> set[str]:
    rules = scenario.model.placement
    placed = (home for key, home in rules.items() if key.startswith(("file:", "relation:")))
    return {scenario.model.default_volume, *placed}


def _placed(scenario: NamedScenario, name: str, classes: Mapping[str, tuple[str, ...]], *, alone: bool) -> list[str]:
    """Return the classes that may go to a volume; *alone*: that go nowhere else."""
    rules, default = scenario.model.placement, scenario.model.default_volume
    found: list[str] = []
    for key, names in classes.items():
        temp = rules.get("tempdb", default) if key == "temp" else default
        homes = _data_homes(scenario) if key == "default" else {rules.get(key, temp)}
        if name in homes and (len(homes) == 1 or not alone):
            found += names
    return found


def _bytes_a_year(result: Result) -> dict[str, float]:
    """Return bytes a year by latency class."""
    table = result.timeline
    if "bytes" not in table.column_names:
        return {}
    start, end, moved = (table[key].to_numpy() for key in ("start_ns", "end_ns", "bytes"))
    classes = np.array(table["class"].to_pylist())
    # the last interval takes what ended later
    counted = (start < start.max()) & _is_counted(result, end)
    elapsed_ns = _elapsed_ns(result, start[counted], end[counted], moved[counted] > 0)
    return {
        name: float(moved[counted & (classes == name)].sum()) * _YEAR_NS / elapsed_ns
        for name in np.unique(classes).tolist()
    }


def _passed_a_year(result: Result, volume: Volume) -> float:
    """Return the bytes a year that pass the link of a drive, on average over those of a volume."""
    drive = volume.device
    assert isinstance(drive, Flash)
    table = result.stations
    names = np.array(table["station"].to_pylist())
    own = (names == volume.name) | np.char.startswith(names, f"{volume.name}.")
    own &= np.isin(table["resource"].to_pylist(), ("link", WRITE_LINK))
    own &= _is_counted(result, table["end_ns"].to_numpy())
    start, end, share = (_numbers(table[key])[own] for key in ("start_ns", "end_ns", "utilisation"))
    busy_ns = float((share * (end - start)).sum())
    elapsed_ns = _elapsed_ns(result, start, end, share > 0)
    return busy_ns / NS_PER_S * drive.link_rate / volume.count * _YEAR_NS / elapsed_ns


def _is_counted(result: Result, end_ns: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell of intervals that end then whether they are behind the warm-up, in which no class counts its bytes."""
    counted_ns = (result.summary.get("replay") or {}).get("counted_ns") or {}
    return np.asarray(end_ns > counted_ns.get("from", 0))


def _elapsed_ns(result: Result, start_ns: NDArray[Any], end_ns: NDArray[Any], busy: NDArray[np.bool_]) -> float:
    """Return the time in which a run's work comes again: that of the recording, though a run of clients that are
    answered sooner is over sooner; of a described workload that in which anything was done.
    """
    is_described = result.summary["verdict"].get("arrivals") == "described"
    last_ns = (end_ns[busy] if is_described else end_ns).max(initial=1)
    return float(max(last_ns - start_ns.min(initial=last_ns), 1))


def _numbers(column: Any) -> NDArray[np.float64]:
    return np.asarray(column.to_numpy(), np.float64)


def _share(volume: Volume) -> tuple[float, float]:
    """Return what one device is written of a byte that is written to the volume: at least, and at most.

    Parity is written with whole rows at best, and with each write at worst (read-modify-write).
    """
    copies, parities = copies_of(volume.layout, volume.count), PARITIES.get(volume.layout, 0)
    if volume.layout == "jbod":
        return 0.0, 1.0
    if parities:
        return 1 / (volume.count - parities), (1 + parities) / volume.count
    return copies / volume.count, copies / volume.count


def _amplification(result: Result, name: str) -> float | None:
    """Return how much flash was written for each byte, on average over a volume's drives; None where nothing was."""
    found = [
        station["flash"]["write_amplification"]
        for key, station in result.summary["stations"].items()
        if "flash" in station and (key == name or key.startswith(f"{name}."))
    ]
    known = [one for one in found if one is not None]
    return sum(known) / len(known) if known else None
