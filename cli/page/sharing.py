"""Results of tenants → what the page knows of who slows whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiersim.cli.tenants import volume_of

if TYPE_CHECKING:
    from tiersim.simulator.result import Result


def sharing_payload(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The runs in which recordings shared hardware: by run its tenants, in the order in which their results are given;
    of each its place among all *results*, and times in microseconds.
    """
    runs: dict[tuple[str, frozenset[str]], list[dict[str, Any]]] = {}
    for index, result in enumerate(results):
        shared = result.summary.get("shared")
        if shared is None:
            continue
        name = result.summary["name"].removesuffix(f".{shared['tenant']}")
        run = runs.setdefault((name, frozenset([shared["tenant"], *shared["with"]])), [])
        if all(one["name"] != shared["tenant"] for one in run):
            run.append(_tenant(index, shared, result.summary["commands"]))
    return [{"scenario": name, "tenants": tenants} for (name, _), tenants in runs.items()]


def _tenant(index: int, shared: dict[str, Any], requests: int) -> dict[str, Any]:
    minute = shared.get("worst_minute")
    return {
        "name": shared["tenant"],
        "index": index,
        "with": shared["with"],
        "start_s": shared["start_ns"] / 1e9,
        "together_us": _us(shared["mean_latency_ns"]),
        "alone_us": _us(shared["alone"]["mean_latency_ns"]),
        "without_us": {other: _us(mean_ns) for other, mean_ns in shared["without"].items()},
        "behind": _behind(shared["waits_ns"], requests),
        "share": shared.get("share"),
        "worst_minute": None if minute is None else _minute(minute),
    }


def _us(mean_ns: float | None) -> float | None:
    return None if mean_ns is None else mean_ns / 1e3  # of a saturated tenant there is none


def _behind(waits_ns: dict[str, dict[str, float]], requests: int) -> dict[str, dict[str, Any]]:
    """How long a request waits behind each other on average, and where most of that."""
    found: dict[str, dict[str, float]] = {}
    for station, behind in waits_ns.items():
        for other, wait_ns in behind.items():
            own = found.setdefault(other, {})
            own[volume_of(station)] = own.get(volume_of(station), 0.0) + wait_ns
    return {
        other: {"us": sum(own.values()) / 1e3 / max(requests, 1), "at": max(own, key=lambda one: own[one])}
        for other, own in found.items()
    }


def _minute(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "minute_s": found["minute_ns"] / 1e9,
        "within_s": found["within_ns"] / 1e9,
        "simulated": found["simulated"],
        **{f"{key}_us": found[key]["mean_latency_ns"] / 1e3 for key in ("alone", "aligned", "worst")},
        "from_s": max(found["worst"]["start_ns"], 0) / 1e9,
        "place": found["worst"]["place"],
        "shifts_s": {name: shift / 1e9 for name, shift in found["worst"]["shifts_ns"].items() if shift},
    }
