"""What everybody who reads a table of runs of statements, recorded or described, has to know."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tiersim.cli import verdicts
from tiersim.cli.tails import notes_of_tails
from tiersim.cli.time_by_part import notes_of_rest
from tiersim.cli.verdicts import Summary


def notes_of(summaries: Sequence[Summary], queries: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return a sentence for each, the most important first; *queries* have names."""
    notes = [f"{s['name']}: {s['load']['explanation']}." for s in summaries if _says_more(s)]
    if "calibration" in summaries[0]:
        notes.append(verdicts.calibration_note(summaries[0]["calibration"], queries))
    notes += verdicts.notes(summaries)
    notes += notes_of_tails(summaries)
    notes += [f"{s['name']}: {said}." for s in summaries if (said := verdicts.undetermined(s))]
    notes += notes_of_rest(summaries)
    notes += verdicts.caveats(summaries)
    if any(s["verdict"]["arrivals"] == "synthetic" for s in summaries):
        notes.append(
            "The server counts totals, not single executions. Their order and overlap are simulated, so percentiles"
            " are less sure than means."
        )
    if summaries[0].get("in_transaction_ns") and "transaction" not in summaries[0]["recorded_mean_ns"]:
        notes.append(
            "The recorded mean of transactions: how long sessions were active or in a transaction, as the server counts"
            " it, divided by the transactions."
        )
    return [*notes, *_assumed(summaries)]


def _says_more(summary: Summary) -> bool:
    """Tell whether the verdict on load needs its reason."""
    return summary["verdict"]["load"] != "steady" or "grows_from_ns" in summary["load"]


def _assumed(summaries: Sequence[Summary]) -> list[str]:
    """Return what was taken by default: a sentence for each that has a reason, one for all others."""
    defaults = {
        key: basis.removeprefix("default").removeprefix(": ")
        for s in summaries
        for key, basis in s["settings_from"].items()
        if basis.startswith("default")
    }
    plain = [key for key, why in defaults.items() if not why]
    return [
        *(f"Assumed: {why} ({key})." for key, why in defaults.items() if why),
        *([f"Not recorded, so left at their defaults: {', '.join(plain)}."] if plain else []),
    ]
