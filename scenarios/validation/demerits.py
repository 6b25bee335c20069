"""Seven drives of DiskSim's validation suite against their measured response times, and DiskSim beside them.

The traces are not part of this project: give a folder that holds them somewhere, with the parameter files (``valid/``
of DiskSim 4.0).
"""

import tempfile
from pathlib import Path

from tiersim.devices.catalogue import load_device
from tiersim.scenarios.calibration.demerit import score
from tiersim.scenarios.survey import survey
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.think_times import import_with_waits_in_place
from tiersim.traces.bundle import Bundle

#: DiskSim 4.0's demerit in ms: of all requests, reads, writes; exact, from its response times of each request.
DISKSIM_MS = {
    "atlas_III": (0.3782, 0.4717, 0.0688),
    "barracuda": (0.3484, 0.4974, 0.2699),
    "cheetah4LP": (0.3182, 0.3569, 0.3287),
    "cheetah9LP": (0.1078, 0.1230, 0.1609),
    "hp_c2247a": (0.0939, 0.1489, 0.1244),
    "hp_c2490a": (0.2551, 0.8150, 1.4908),
    "hp_c3323a": (0.2886, 0.2456, 0.7743),
}

#: Times of both are rounded to this.
ROUNDED_MS = 0.001
SOURCE = (
    "measured on the drives: DiskSim 4.0, valid/*.trace, each think time where the platter says that it was;"
    " DiskSim's own figures from its response times on the same traces, with all of them after their requests"
)
MISSING = "the traces are not part of the project; give their folder as --traces"
#: The range of a demerit is that of seeds.
ASSUMED = ("the angle of the platters when a trace begins",)
_MEANS = {
    "cheetah4LP": (
        "request by request: seeks of 60 to 460 cylinders take 1 to 3 ms more than the extracted ones, which only the"
        " fastest meet (1.5 % of the mean); reads that continue or nearly do 0.3 ms more than the extracted overhead"
        " (1.2 %), writes after writes 0.37 ms (1.1 %); by DiskSim's rules the mean is 5.5 % short"
    )
}
_BY_WAITS = "DiskSim's is of waits that stand late; by its rules it is no less with each in its place"
_SETTLES = (
    "a head switch that settles makes its reads worse and all of its requests better; without departures they are as"
    " DiskSim's"
)
_DEMERITS = {
    "atlas_III, writes": _BY_WAITS,
    "cheetah4LP, writes": f"{_BY_WAITS}; an extracted overhead is 0.38 ms short",
    "cheetah9LP, reads": f"{_BY_WAITS}, 0.134 ms; read-ahead stops at the end of the track here, and not on the drive",
    "hp_c2247a, writes": "one of 9,999 requests loses a turn in DiskSim, as on the drive, and not here",
    "hp_c2490a, reads": _SETTLES,
    "hp_c3323a, reads": _SETTLES,
}


def experiment(folder: Path | None) -> Experiment:
    """Demerits, means and 99th percentiles; *folder* holds the traces and the parameters."""
    title = "Response times of seven drives (DiskSim's validation traces)"
    fitted = "nothing: the parameters are the published ones"
    place = folder_of(folder)
    if place is None:
        return Experiment("drives", title, SOURCE, fitted, missing=MISSING)
    claims = [claim for drive in DISKSIM_MS for claim in _claims(drive, place)]
    return Experiment("drives", title, SOURCE, fitted, tuple(claims), assumed=ASSUMED, basis="calibrated")


def folder_of(folder: Path | None) -> Path | None:
    """Where the traces are in or below a folder; None: they are not there."""
    places = [] if folder is None else sorted(folder.rglob("atlas_III.parv"))
    return places[0].parent if places else None


def _claims(drive: str, folder: Path) -> list[Claim]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        bundle = Path(place) / f"{drive}.trace"
        import_with_waits_in_place(folder / f"{drive}.trace", folder / f"{drive}.parv", bundle)
        found = score(survey(Bundle(bundle)), drive, load_device(str(folder / f"{drive}.parv")))
    groups = {"all": found, "reads": found["read"], "writes": found["write"]}
    claims = [
        Claim(
            f"{drive}, {group}: demerit, DiskSim's beside it",
            "ms",
            published,
            groups[group]["demerit_ms"],
            100 * ROUNDED_MS / published,
            at_most=True,
            low=groups[group]["demerit_least_ms"],
            high=groups[group]["demerit_most_ms"],
            note=_DEMERITS.get(f"{drive}, {group}", ""),
        )
        for group, published in zip(groups, DISKSIM_MS[drive], strict=True)
    ]
    mean, error = found["measured_mean_ms"], found["mean_error_pct"]
    note = _MEANS.get(drive, "")
    claims.append(Claim(f"{drive}, all: mean", "ms", mean, mean * (1 + error / 100), 2, figure="mean", note=note))
    p99, error = found["measured_p99_ms"], found["p99_error_pct"]
    claims.append(Claim(f"{drive}, all: p99", "ms", p99, p99 * (1 + error / 100), 4, figure="tail"))
    return claims
