"""What every station of a device can do, whatever its kind: ``accept``, ``choose``, ``finish``, ``resume``; what only
some can say of a run; and the kinds of device that files describe.

A device with a station of its own is a file with its settings, builder and four functions; a number and a record in
:mod:`tiersim.devices.station_records`; and its name here, in Device and in the functions.

Devices are passive: they have no clock and never wait. They write their own tables only; the engine owns the calendar,
the requests and the statistics. Both engines call these same four functions.
"""

from collections.abc import Callable
from typing import Any, get_args

from tiersim.devices.array.array_kernels import accept_array, finish_array
from tiersim.devices.array.neighbour_kernels import accept_neighbour, finish_neighbour
from tiersim.devices.array.parity_kernels import accept_parity, finish_parity, resume_parity
from tiersim.devices.array.rebuild_kernels import accept_rebuild, choose_rebuild, finish_rebuild, resume_rebuild
from tiersim.devices.array.stripes_kernels import accept_stripe, choose_stripe, finish_stripe, resume_stripe
from tiersim.devices.cloud.cloud_volume import CloudVolume
from tiersim.devices.cloud.token_bucket import TokenBucket
from tiersim.devices.cloud.token_bucket_kernels import accept_bucket, choose_bucket, finish_bucket
from tiersim.devices.controller.route_kernels import accept_route, finish_route, resume_route
from tiersim.devices.controller.write_cache_kernels import (
    accept_write_cache,
    choose_write_cache,
    finish_write_cache,
    resume_write_cache,
)
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.hdd.hdd_buffer_kernels import choose_buffered
from tiersim.devices.hdd.hdd_kernels import accept_drive, choose_plain, finish_drive
from tiersim.devices.hdd.hdd_measured import MeasuredDrive
from tiersim.devices.host.file_system_kernels import accept_files, choose_files, finish_files, resume_files
from tiersim.devices.host.gate_kernels import accept_gate, choose_gate, finish_gate, resume_gate
from tiersim.devices.host.port_kernels import accept_port, finish_port, resume_port
from tiersim.devices.server_kernels import accept_server, choose_server, finish_server
from tiersim.devices.ssd.flash import Flash, flash_figures
from tiersim.devices.ssd.flash_held_kernels import accept_held, choose_held, finish_held
from tiersim.devices.ssd.flash_kernels import accept_flash, choose_flash, finish_flash
from tiersim.devices.station_records import (
    ARRAY,
    BUCKET,
    DRIVE,
    FILES,
    FLASH,
    FLASH_CACHE,
    GATE,
    NEIGHBOUR,
    PARITY,
    PORT,
    REBUILD,
    ROUTE,
    SERVER,
    STRIPES,
    TIERS,
    WRITE_CACHE,
    Plant,
)
from tiersim.devices.tiering.flash_cache import cache_figures
from tiersim.devices.tiering.flash_cache_kernels import accept_flash_cache, finish_flash_cache, resume_flash_cache
from tiersim.devices.tiering.tiers import tiers_figures
from tiersim.devices.tiering.tiers_kernels import accept_tiers, finish_tiers, resume_tiers
from tiersim.kernel import kernel

#: The devices that files describe, by their ``kind``. Each has ``add_to`` and ``describe``.
Device = Hdd | MeasuredDrive | Flash | TokenBucket | CloudVolume
DEVICES: dict[str, type[Device]] = {
    get_args(device.model_fields["kind"].annotation)[0]: device for device in get_args(Device)
}


@kernel
def accept(p: Plant, station: int, slot: int, now: int) -> int:
    """Hand the request in *slot* to *station*: returns when it will be done if it starts at once, or CALL, or WAIT.

    A station that makes nobody wait answers with a time > now; for the others a ``choose`` follows at this instant
    (CALL) or when a service ends there (WAIT).
    """
    kind = p.stations[station]["kind"]
    row = p.stations[station]["row"]
    if kind == DRIVE:
        return accept_drive(p, row, slot, now)
    if kind == ARRAY:
        return accept_array(p, row, now)
    if kind == FLASH:
        return accept_held(p, row, slot) if p.flashes[row]["held"] else accept_flash(p, row, slot)
    if kind == BUCKET:
        return accept_bucket(p, row, slot)
    if kind == PARITY:
        return accept_parity(p, row, now)
    if kind == STRIPES:
        return accept_stripe(p, station, row, slot, now)
    if kind == GATE:
        return accept_gate(p, station, row, slot, now)
    if kind == PORT:
        return accept_port(now)
    if kind == FILES:
        return accept_files(p, row, slot, now)
    if kind == FLASH_CACHE:
        return accept_flash_cache(now)
    if kind == TIERS:
        return accept_tiers(p, row, slot, now)
    if kind == NEIGHBOUR:
        return accept_neighbour(p, row, slot, now)
    if kind == REBUILD:
        return accept_rebuild(p, row, slot)
    if kind == ROUTE:
        return accept_route(p, row, now)
    if kind == WRITE_CACHE:
        return accept_write_cache(p, station, row, slot, now)
    return accept_server(p, row, slot)


@kernel(hot=True)
def choose(p: Plant, station: int, now: int) -> tuple[int, int, int]:
    """Start one request, if the station can: returns (slot, done_ns, wake_ns).

    ``slot`` is NONE when nothing can start now; ``done_ns`` > now is when the chosen request ends; ``wake_ns`` > now is
    when to ask again although nothing arrived or ended, NEVER if that is not needed. Ask until the slot is NONE.
    Arrays are never asked: what they accept starts at once.
    """
    kind = p.stations[station]["kind"]
    row = p.stations[station]["row"]
    if kind == DRIVE:
        if p.drives[row]["segments"] > 0:
            return choose_buffered(p, station, row, now)
        return choose_plain(p, station, row, now)
    if kind == FLASH:
        held = p.flashes[row]["held"]
        return choose_held(p, station, row, now) if held else choose_flash(p, station, row, now)
    if kind == BUCKET:
        return choose_bucket(p, station, row, now)
    if kind == STRIPES:
        return choose_stripe(p, row, now)
    if kind == GATE:
        return choose_gate(p, station, row, now)
    if kind == FILES:
        return choose_files(p, row, now)
    if kind == REBUILD:
        return choose_rebuild(p, row, now)
    if kind == WRITE_CACHE:
        return choose_write_cache(p, station, row, now)
    return choose_server(p, station, row, now)


@kernel
def finish(p: Plant, station: int, slot: int) -> int:
    """End the service of *slot*: returns how many requests stand in ``children``; it ends when those of them have ended
    that are not background.
    """
    kind = p.stations[station]["kind"]
    row = p.stations[station]["row"]
    if kind == DRIVE:
        return finish_drive(p, row, slot)
    if kind == ARRAY:
        return finish_array(p, row, slot)
    if kind == FLASH:
        return finish_held(p, row, slot) if p.flashes[row]["held"] else finish_flash(p, row)
    if kind == BUCKET:
        return finish_bucket(p, row, slot)
    if kind == PARITY:
        return finish_parity(p, row, slot)
    if kind == STRIPES:
        return finish_stripe(p, row, slot)
    if kind == GATE:
        return finish_gate(p, row, slot)
    if kind == PORT:
        return finish_port(p, row, slot)
    if kind == FILES:
        return finish_files(p, row, slot)
    if kind == FLASH_CACHE:
        return finish_flash_cache(p, station, row, slot)
    if kind == TIERS:
        return finish_tiers(p, station, row, slot)
    if kind == NEIGHBOUR:
        return finish_neighbour(p, station, row, slot)
    if kind == REBUILD:
        return finish_rebuild(p, row, slot)
    if kind == ROUTE:
        return finish_route(p, row, slot)
    if kind == WRITE_CACHE:
        return finish_write_cache(p, station, row, slot)
    return finish_server(p, row)


@kernel
def resume(p: Plant, station: int, slot: int, now: int) -> int:
    """Go on with *slot*, whose children are all done: returns how many more stand in ``children``; 0: it leaves."""
    kind = p.stations[station]["kind"]
    if kind <= SERVER:  # the kinds that have nothing more to do
        return 0
    row = p.stations[station]["row"]
    if kind == PARITY:
        return resume_parity(p, row, slot)
    if kind == STRIPES:
        return resume_stripe(p, station, row, slot, now)
    if kind == GATE:
        return resume_gate(p, station, row, slot, now)
    if kind == FILES:
        return resume_files(p, row, slot)
    if kind == FLASH_CACHE:
        return resume_flash_cache(p, station, row, slot, now)
    if kind == TIERS:
        return resume_tiers(p, station, row, slot)
    if kind == NEIGHBOUR:
        return 0
    if kind == REBUILD:
        return resume_rebuild(p, station, row, slot)
    if kind == ROUTE:
        return resume_route(p, row, slot)
    if kind == WRITE_CACHE:
        return resume_write_cache(p, station, row, slot, now)
    return resume_port(p, row, slot)


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
