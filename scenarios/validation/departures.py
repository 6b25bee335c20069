"""What is not taken at DiskSim's word of its drives, each family of drives left out in turn.

A departure may be taken when the mean demerit of families falls by it and no family gets worse. Of those that may be
taken, the one that goes least far from DiskSim's rule is: the first of `DEPARTURES` whose mean is within one standard
error, over families, of the lowest (Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984,
3.4.3). What is so chosen on all families is what we simulate; what is so chosen on three of them is scored on the
fourth, beside DiskSim.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np

from tiersim.devices.hdd.disksim import KEPT, Departure, load_drive
from tiersim.scenarios.calibration.demerit import demerits_ms, respond
from tiersim.scenarios.survey import TraceSurvey, survey
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.demerits import ASSUMED, DISKSIM_MS, MISSING, ROUNDED_MS, SOURCE, folder_of
from tiersim.scenarios.validation.think_times import import_with_waits_in_place
from tiersim.traces.bundle import Bundle

#: Drives of one maker's design, which were characterised alike.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "HP": ("hp_c2247a", "hp_c2490a", "hp_c3323a"),
    "Cheetah": ("cheetah4LP", "cheetah9LP"),
    "Atlas": ("atlas_III",),
    "Barracuda": ("barracuda",),
}
DEPARTURES: tuple[Departure, ...] = get_args(Departure)
#: A change of less is none.
LEAST = 0.01
_SEEDS = 4
#: Values of one parameter: who takes one does not take the other. A head that settles switches within the skew.
_ALTERNATIVES: frozenset[Departure] = frozenset({"switch settles", "switch is skew"})


class Demerits:
    """Demerits of the drives of a folder, in ms and by seed, by what is departed from; each is simulated once."""

    def __init__(self, folder: Path, place: Path) -> None:
        """Read the traces of *folder* into bundles in *place*."""
        self._folder, self._place = folder, place
        self.of = cache(self._of)
        self._survey = cache(self._read)

    def _read(self, drive: str) -> TraceSurvey:
        bundle = self._place / f"{drive}.trace"
        import_with_waits_in_place(self._folder / f"{drive}.trace", self._folder / f"{drive}.parv", bundle)
        return survey(Bundle(bundle))

    def _of(self, drive: str, departures: frozenset[Departure]) -> tuple[float, ...]:
        device = load_drive(self._folder / f"{drive}.parv", departures)
        return demerits_ms(respond(self._survey(drive), drive, device, seeds=_SEEDS))

    def share(
        self, family: str, departures: AbstractSet[Departure], than: AbstractSet[Departure] = frozenset()
    ) -> float:
        """Demerit of a family, as a share of that with other departures."""
        shares = [
            float(np.mean(self.of(one, frozenset(departures)))) / float(np.mean(self.of(one, frozenset(than))))
            for one in FAMILIES[family]
        ]
        return float(np.mean(shares))

    def chosen(self, families: Sequence[str]) -> frozenset[Departure]:
        """What is taken when these families are looked at."""
        taken: frozenset[Departure] = frozenset()
        while True:
            means: dict[Departure, float] = {}
            errors: dict[Departure, float] = {}
            for one in DEPARTURES:
                if one in taken or (one in _ALTERNATIVES and taken & _ALTERNATIVES):
                    continue
                shares = [self.share(family, taken | {one}, taken) for family in families]
                if max(shares) <= 1 + LEAST and np.mean(shares) <= 1 - LEAST:
                    means[one] = float(np.mean(shares))
                    errors[one] = float(np.std(shares, ddof=1)) / len(shares) ** 0.5
            if not means:
                return taken
            best = min(means, key=lambda one: means[one])
            taken |= {next(one for one in means if means[one] <= means[best] + errors[best])}


def experiment(folder: Path | None) -> Experiment:
    """Each departure on each family that it was not chosen on; *folder* holds the traces and the parameters."""
    title = "Departures from DiskSim's rules of a drive, each family of drives left out"
    fitted = "which departures are taken, to the other families"
    place = folder_of(folder)
    if place is None:
        return Experiment("departures", title, SOURCE, fitted, missing=MISSING)
    with tempfile.TemporaryDirectory(prefix="tiersim-") as bundles:
        demerits = Demerits(place, Path(bundles))
        claims = (*_alone(demerits), *_nested(demerits))
    return Experiment("departures", title, SOURCE, fitted, claims, assumed=ASSUMED)


def _alone(demerits: Demerits) -> Iterator[Claim]:
    for departure in DEPARTURES:
        kept = "kept" if departure in KEPT else "not kept"
        shares = {family: demerits.share(family, {departure}) for family in FAMILIES}
        for family, share in shares.items():
            if abs(share - 1) > LEAST:
                what = f"{departure} ({kept}), {family}: demerit with it alone, of that without"
                yield Claim(what, "", 1, share, 0, at_most=True)


def _nested(demerits: Demerits) -> Iterator[Claim]:
    for family, drives in FAMILIES.items():
        chosen = demerits.chosen([other for other in FAMILIES if other != family])
        for drive in drives:
            published, found = DISKSIM_MS[drive][0], demerits.of(drive, chosen)
            yield Claim(
                f"{drive}, with what is chosen on other families: demerit, DiskSim's beside it",
                "ms",
                published,
                float(np.mean(found)),
                100 * ROUNDED_MS / published,
                at_most=True,
                low=min(found),
                high=max(found),
                note=(
                    f"chosen: {', '.join(one for one in DEPARTURES if one in chosen) or 'nothing'}; by DiskSim's rules,"
                    f" with each wait in its place: {np.mean(demerits.of(drive, frozenset())):.3f} ms"
                ),
            )
