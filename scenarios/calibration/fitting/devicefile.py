"""The device file of a fit: every key with where its number is from, and what a measurement left open."""

from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.calibration.fitting.fit import Fit
from tiersim.scenarios.calibration.fitting.model import PARAMETERS, UNIT_BYTES, Parameter, device_values
from tiersim.scenarios.calibration.fitting.residuals import said_of_errors
from tiersim.units import NS_PER_S, format_bytes, format_ns

_BY_DEPTH = "measure random reads of one size at depths 1 to 128"
_BY_SIZE = "measure random reads of 4 KiB to 1 MiB"
_MIX = "measure a 70:30 mix of random reads and writes at depths 1 to 128"
_FLUSHES = "measure writes with fdatasync=1, by one job and by sixteen"

#: What would tell a parameter.
WOULD_TELL = {
    **dict.fromkeys(("unloaded_read_ns", "sense_ns", "fast_page", "slow_page", "dies", "planes"), _BY_DEPTH),
    **dict.fromkeys(("transfer_ns", "page_units", "spread"), _BY_SIZE),
    "write_ns": "measure random writes at depth 1",
    **dict.fromkeys(("program_ns", "program_units"), _MIX),
    **dict.fromkeys(("flush_ns", "flush_interval_ns"), _FLUSHES),
    **dict.fromkeys(("link_bytes_per_s", "controller_iops", "buffer_units"), "the datasheet may say it"),
}

#: What the model takes for granted, and within what it lies in drives of the last fifteen years; see the catalogue.
_ASSUMED = {
    "unit": "assumed: 512 B .. 16 KiB",
    "erase": "assumed: 1 ms .. 20 ms",
    "over_provisioning": "assumed: 0.05 .. 0.5",
    "queue_depth": "assumed: 32 .. 65,536",
}


def interval(fit: Fit, name: str) -> tuple[float, float]:
    """Within what a parameter lies: what the measurement says, or what is assumed where it cannot tell."""
    parameter = PARAMETERS[name]
    if name in fit.unknown:
        return parameter.low, parameter.high
    found = fit.ranges[name]
    return max(found.low, parameter.low), min(found.high, parameter.high)


def text(name: str, value: float) -> str:
    """Write a parameter as its key of the device file is written."""
    if name == "transfer_ns":
        return f"{format_bytes(UNIT_BYTES * NS_PER_S / value)}/s"
    if name == "link_bytes_per_s":
        return f"{format_bytes(value)}/s"
    if name.endswith("_ns"):
        return format_ns(value)
    if name.endswith("_units"):
        return format_bytes(round(value) * UNIT_BYTES)
    if name == "controller_iops" or PARAMETERS[name].count:
        return f"{round(value):,}"
    return f"{value:.3g}"


def between(fit: Fit, name: str) -> tuple[str, str]:
    """The ends of a parameter's interval as texts, in the order of the key of the device file."""
    low, high = (text(name, value) for value in interval(fit, name))
    return (high, low) if name == "transfer_ns" else (low, high)  # the longer a transfer, the lower the rate


def device_file(fit: Fit, name: str, capacity_bytes: int, capacity_source: str, measured: str) -> dict[str, Any]:
    """Values of a device file, for :mod:`tomli_w`; *measured* says what was fitted to, and how many points it has."""
    keys = device_values(fit.values)
    sources = {"capacity": capacity_source} | {key: _source(key, fit, keys, measured) for key in keys if key != "kind"}
    return {
        "kind": keys["kind"],
        "name": name,
        "notes": _notes(fit, measured),
        "not_identified": list(dict.fromkeys(PARAMETERS[name].key for name in fit.unknown)),
        "capacity": f"{capacity_bytes} B",
        **{key: value for key, value in keys.items() if key != "kind"},
        "sources": sources,
    }


def what_is_open(fit: Fit) -> list[str]:
    """What could not be told, and what would tell it, a sentence for each such measurement."""
    open_by: dict[str, list[str]] = {}
    for name in fit.unknown:
        open_by.setdefault(WOULD_TELL[name], []).append(name)
    return [f"Not identified: {', '.join(names)}; {further}." for further, names in open_by.items()]


def _notes(fit: Fit, measured: str) -> str:
    notes = f"Fitted to {measured}; errors: {said_of_errors(fit.residuals)}."
    if fit.unknown:
        notes += f" Not identified by the measurement: {', '.join(fit.unknown)}."
    return f"{notes} It is fresh because the times of programs hold what collection took while it was measured."


def _source(key: str, fit: Fit, keys: Mapping[str, Any], measured: str) -> str:
    if key in _ASSUMED:
        return _ASSUMED[key]
    if key == "channels":
        return f"assumed: 1 .. {keys['dies']}"
    if key == "block":
        program_bytes = round(fit.values["program_units"]) * UNIT_BYTES
        return f"assumed: {format_bytes(64 * program_bytes)} .. {format_bytes(1024 * program_bytes)}"
    if key == "state":
        return "derived: program holds what collection took while it was measured"
    if key == "cell":
        return "assumed: slc .. qlc" if "sense_ns" in fit.unknown else "derived: from the time of a read"
    if key == "power_loss_protection":
        unknown = "flush_ns" in fit.unknown
        return (
            "assumed: false .. true"
            if unknown
            else f"derived: a flush takes {text('flush_ns', fit.values['flush_ns'])}"
        )
    if key == "read_latency":
        return _source_of_overhead(fit)
    if key == "read":
        return _source_of_read(fit, measured)
    [parameter] = (parameter for parameter in PARAMETERS.values() if parameter.key == key)
    return _source_of_parameter(parameter, fit, measured)


def _source_of_parameter(parameter: Parameter, fit: Fit, measured: str) -> str:
    low, high = between(fit, parameter.name)
    if parameter.name in fit.unknown:
        return f"assumed: {low} .. {high}"
    return f"fitted: {measured}; between {low} and {high}"


def _source_of_overhead(fit: Fit) -> str:
    """Of what is left of an unloaded read, which is what is fitted."""
    low, high = between(fit, "unloaded_read_ns")
    if "unloaded_read_ns" in fit.unknown:
        return f"assumed: 0 ns .. {high}"
    alone = text("unloaded_read_ns", fit.values["unloaded_read_ns"])
    return (
        f"derived: {alone} (fitted, between {low} and {high}) of a read alone, less sensing, channel, controller and"
        " link"
    )


def _source_of_read(fit: Fit, measured: str) -> str:
    """Of three pages of a cell: the middle one, and the others relative to it."""
    if "sense_ns" in fit.unknown:
        (low, high), fastest, slowest = (interval(fit, name) for name in ("sense_ns", "fast_page", "slow_page"))
        return f"assumed: {format_ns(low * fastest[0])} .. {format_ns(high * slowest[1])}"
    parts = [f"the middle one between {' and '.join(between(fit, 'sense_ns'))}"]
    for name in ("fast_page", "slow_page"):
        known = "assumed" if name in fit.unknown else "between"
        parts.append(f"the {name[:4]} one {known} {' and '.join(between(fit, name))} of it")
    return f"fitted: {measured}; {', '.join(parts)}"
