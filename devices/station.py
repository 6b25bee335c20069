"""The kinds of station that devices have, with their four functions (``accept``, ``choose``, ``finish``, ``resume``),
and the kinds of device that files describe.

A device with a station of its own is a file with its settings, builder and functions; a number and a record in
:mod:`tiersim.devices.station_records`; and a line here, in STATIONS. What calls them is made of that table, in
:mod:`tiersim.simulator.station`.

Devices are passive: they have no clock and never wait. They write their own tables only; the engine owns the calendar,
the requests and the statistics. Both engines call these same four functions.
"""

import inspect
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np

from tiersim.devices.array.array_kernels import accept_array, finish_array
from tiersim.devices.array.neighbour_kernels import accept_neighbour, finish_neighbour
from tiersim.devices.array.parity_kernels import accept_parity, finish_parity, resume_parity
from tiersim.devices.array.rebuild_kernels import accept_rebuild, choose_rebuild, finish_rebuild, resume_rebuild
from tiersim.devices.array.shares import accept_shares, choose_shares, finish_shares, resume_shares
from tiersim.devices.array.stripes_kernels import accept_stripe, choose_stripe, finish_stripe, resume_stripe
from tiersim.devices.cloud.cloud_volume import CloudVolume
from tiersim.devices.cloud.token_bucket import TokenBucket, balances_of
from tiersim.devices.cloud.token_bucket_kernels import accept_bucket, choose_bucket, finish_bucket
from tiersim.devices.controller.route_kernels import accept_route, finish_route, resume_route
from tiersim.devices.controller.write_cache_kernels import (
    accept_write_cache,
    choose_write_cache,
    finish_write_cache,
    resume_write_cache,
)
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.hdd.hdd_buffer_kernels import choose_drive
from tiersim.devices.hdd.hdd_kernels import accept_drive, finish_drive
from tiersim.devices.hdd.hdd_measured import MeasuredDrive
from tiersim.devices.host.file_system import accept_files, choose_files, finish_files, resume_files
from tiersim.devices.host.gate import (
    accept_gate,
    accept_port,
    choose_gate,
    finish_gate,
    finish_port,
    resume_gate,
    resume_port,
)
from tiersim.devices.host.upkeep import accept_upkeep, finish_upkeep, resume_upkeep
from tiersim.devices.plant import Balance
from tiersim.devices.server import accept_server, choose_server, finish_server
from tiersim.devices.ssd.flash import Flash, flash_figures
from tiersim.devices.ssd.flash_kernels import accept_flash, choose_flash, finish_flash
from tiersim.devices.ssd.held_kernels import accept_held, choose_held, finish_held
from tiersim.devices.station_records import (
    ARRAY,
    BUCKET,
    DRIVE,
    FILES,
    FLASH,
    FLASH_CACHE,
    GATE,
    HELD_FLASH,
    NEIGHBOUR,
    PARITY,
    PORT,
    REBUILD,
    ROUTE,
    SERVER,
    SHARES,
    STRIPES,
    TIERS,
    UPKEEP,
    WRITE_CACHE,
    Plant,
)
from tiersim.devices.tiering.flash_cache import cache_figures
from tiersim.devices.tiering.flash_cache_kernels import accept_flash_cache, finish_flash_cache, resume_flash_cache
from tiersim.devices.tiering.tiers import accept_tiers, finish_tiers, resume_tiers, tiers_figures
from tiersim.kernel import Kernel, kernel

#: The devices that files describe, by their ``kind``. Each has ``add_to`` and ``describe``.
Device = Hdd | MeasuredDrive | Flash | TokenBucket | CloudVolume
DEVICES: dict[str, type[Device]] = {
    get_args(device.model_fields["kind"].annotation)[0]: device for device in get_args(Device)
}


@dataclass(frozen=True)
class StationKind:
    """The four functions of a kind of station, kernels; some have nothing to choose, or to go on with.

    * ``accept(now)``: hand the request in *slot* to *station*: returns when it will be done if it starts at once, or
      CALL, or WAIT. A station that makes nobody wait answers with a time > now; for the others a ``choose`` follows at
      this instant (CALL) or when a service ends there (WAIT).
    * ``choose(now)``: start one request, if the station can: returns (slot, done_ns, wake_ns). ``slot`` is NONE when
      nothing can start now; ``done_ns`` > now is when the chosen request ends; ``wake_ns`` > now is when to ask again
      although nothing arrived or ended, NEVER if that is not needed. It is asked until the slot is NONE.
    * ``finish``: end the service of *slot*: returns how many requests stand in ``children``; it ends when those of them
      have ended that are not background.
    * ``resume(now)``: go on with *slot*, whose children are all done: returns how many more stand in ``children``; with
      0 it leaves.

    Each takes what it needs of the plant ``p``, a database ``d``, ``station``, ``slot`` and ``now`` (``finish`` takes
    no ``now``). Any other name is the station's row in the table of its kind. ``figures`` says by a word what only this
    kind can say of a run.
    """

    accept: Callable[..., int]
    finish: Callable[..., int]
    choose: Callable[..., tuple[int, int, int]] | None = None
    resume: Callable[..., int] | None = None
    figures: tuple[str, Callable[[Plant, int], dict[str, Any]]] | None = None


#: The stations of devices by kind.
STATIONS: dict[int, StationKind] = {
    DRIVE: StationKind(accept_drive, finish_drive, choose_drive),
    FLASH: StationKind(accept_flash, finish_flash, choose_flash, figures=("flash", flash_figures)),
    BUCKET: StationKind(accept_bucket, finish_bucket, choose_bucket),
    ARRAY: StationKind(accept_array, finish_array),
    SERVER: StationKind(accept_server, finish_server, choose_server),
    PARITY: StationKind(accept_parity, finish_parity, resume=resume_parity),
    STRIPES: StationKind(accept_stripe, finish_stripe, choose_stripe, resume_stripe),
    GATE: StationKind(accept_gate, finish_gate, choose_gate, resume_gate),
    PORT: StationKind(accept_port, finish_port, resume=resume_port),
    FILES: StationKind(accept_files, finish_files, choose_files, resume_files),
    NEIGHBOUR: StationKind(accept_neighbour, finish_neighbour),
    UPKEEP: StationKind(accept_upkeep, finish_upkeep, resume=resume_upkeep),
    REBUILD: StationKind(accept_rebuild, finish_rebuild, choose_rebuild, resume_rebuild),
    FLASH_CACHE: StationKind(
        accept_flash_cache, finish_flash_cache, resume=resume_flash_cache, figures=("cache", cache_figures)
    ),
    TIERS: StationKind(accept_tiers, finish_tiers, resume=resume_tiers, figures=("tiers", tiers_figures)),
    ROUTE: StationKind(accept_route, finish_route, resume=resume_route),
    WRITE_CACHE: StationKind(accept_write_cache, finish_write_cache, choose_write_cache, resume_write_cache),
    SHARES: StationKind(accept_shares, finish_shares, choose_shares, resume_shares),
    HELD_FLASH: StationKind(accept_held, finish_held, choose_held, figures=("flash", flash_figures)),
}


#: Which function of a station is called.
ACCEPT, CHOOSE, FINISH, RESUME = range(4)

_GIVEN = ("p", "d", "station", "slot", "now")

#: A function of a station as the event loop calls it; None: its kind has nothing to choose, or to go on with.
Called = Callable[[Plant, Any, int, int, int, int], tuple[int, int, int]] | None


def called(station: StationKind, module: str) -> tuple[Called, Called, Called, Called]:
    """Return four kernels of *module*, ACCEPT ...: each an object of machine code of its own, which the event loop
    calls by its address (:func:`tiersim.kernel.call_at`). Each takes ``(p, d, station, slot, now, 0)``.
    """
    return (
        _called(station.accept, module),
        None if station.choose is None else _called(station.choose, module),
        _called(station.finish, module),
        None if station.resume is None else _called(station.resume, module),
    )


def _called(function: Callable[..., Any], module: str) -> Called:
    own = function.function if isinstance(function, Kernel) else function
    takes = (one if one in _GIVEN else "row" for one in inspect.signature(own).parameters)
    names: dict[str, Any] = {"__name__": module, "function": function, "int64": np.int64}
    results = 3 if own.__name__.startswith("choose") else 1
    returned = [f"int64(done[{place}])" for place in range(3)] if results == 3 else ["int64(done)", "0", "0"]
    lines = [f"def {own.__name__}(p, d, station, slot, now, _):", '    row = p.stations[station]["row"]']
    lines += [f"    done = function({', '.join(takes)})", f"    return {', '.join(returned)}"]
    text, place = "\n".join(lines), f"<{module} {own.__module__}.{own.__name__}>"
    linecache.cache[place] = len(text), None, text.splitlines(keepends=True), place  # the compiler of kernels reads it
    exec(compile(text, place, "exec"), names)  # noqa: S102, its names alone: kernels differ in what they take
    return cast(Called, kernel(names[own.__name__]))


#: The functions of each kind of station.
KINDS = {kind: called(station, __name__) for kind, station in STATIONS.items()}


def own_figures(plant: Plant, station: int) -> dict[str, Any]:
    """Figures of one station by a word for its kind; empty for most."""
    kind, row = (int(plant.stations[station][key]) for key in ("kind", "row"))
    figures = STATIONS[kind].figures if kind in STATIONS else None
    return {} if figures is None else {figures[0]: figures[1](plant, row)}


def balances(plant: Plant, end_ns: int) -> Sequence[Balance]:
    """What is left of all credits in a plant after a run from 0 to *end_ns*."""
    buckets = (station for station, table in enumerate(plant.stations) if table["kind"] == BUCKET)
    return [one for station in buckets for one in balances_of(plant, station, end_ns)]
