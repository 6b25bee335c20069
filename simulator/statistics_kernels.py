"""Station statistics, written by both engines."""

from tiersim.devices.tables import Plant
from tiersim.kernel import kernel


@kernel
def note_accepted(p: Plant, station: int, now: int) -> None:
    """A request entered the station."""
    s = p.stations[station]
    s["area_ns"] += s["outstanding"] * (now - s["changed_ns"])
    s["changed_ns"] = now
    s["outstanding"] += 1
    s["accepted"] += 1


@kernel
def note_finished(p: Plant, station: int, now: int, accepted_ns: int) -> None:
    """A request that entered at *accepted_ns* left the station, with everything it caused below."""
    s = p.stations[station]
    s["area_ns"] += s["outstanding"] * (now - s["changed_ns"])
    s["changed_ns"] = now
    s["outstanding"] -= 1
    s["finished"] += 1
    s["residence_ns"] += now - accepted_ns
