"""Four drives of DiskSim's validation suite against their measured response times, and DiskSim beside them.

The traces are not part of this project: give a folder that holds them somewhere, with the parameter files (``valid/`` of
DiskSim 4.0).
"""

import tempfile
from pathlib import Path

from tiersim.devices.catalogue import load_device
from tiersim.scenarios.calibration.demerit import score
from tiersim.scenarios.survey import survey
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace

#: DiskSim 4.0's demerit in ms: of all requests, reads, writes; exact, from its response times of each request.
DISKSIM_MS = {
    "atlas_III": (0.3782, 0.4717, 0.0688),
    "barracuda": (0.3484, 0.4974, 0.2699),
    "cheetah4LP": (0.3182, 0.3569, 0.3287),
    "hp_c2490a": (0.2551, 0.8150, 1.4908),
}


def experiment(folder: Path | None) -> Experiment:
    """Demerits, means and 99th percentiles; *folder* holds the traces and the parameters."""
    title = "Response times of four drives (DiskSim's validation traces)"
    source = "measured on the drives: DiskSim 4.0, valid/*.trace; DiskSim's own figures from its response times on the same traces"
    fitted = "nothing: the parameters are the published ones"
    places = [] if folder is None else sorted(folder.rglob("atlas_III.parv"))
    if not places:
        return Experiment(
            "drives",
            title,
            source,
            fitted,
            missing="the traces are not part of the project; give their folder as --traces",
        )
    claims = [claim for drive in DISKSIM_MS for claim in _claims(drive, places[0].parent)]
    return Experiment("drives", title, source, fitted, tuple(claims), basis="calibrated")


def _claims(drive: str, folder: Path) -> list[Claim]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        bundle = Path(place) / f"{drive}.trace"
        import_trace([folder / f"{drive}.trace"], bundle, format="disksim-validate", force=False)
        found = score(survey(Bundle(bundle)), drive, load_device(str(folder / f"{drive}.parv")))
    groups = {"all": found, "reads": found["read"], "writes": found["write"]}
    claims = [
        Claim(
            f"{drive}, {group}: demerit, DiskSim's beside it",
            "ms",
            published,
            groups[group]["demerit_ms"],
            0,
            at_most=True,
        )
        for group, published in zip(groups, DISKSIM_MS[drive], strict=True)
    ]
    mean, error = found["measured_mean_ms"], found["mean_error_pct"]
    claims.append(Claim(f"{drive}, all: mean", "ms", mean, mean * (1 + error / 100), 2, figure="mean"))
    p99, error = found["measured_p99_ms"], found["p99_error_pct"]
    claims.append(Claim(f"{drive}, all: p99", "ms", p99, p99 * (1 + error / 100), 4, figure="tail"))
    return claims
