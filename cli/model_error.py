"""What is said beside results: of the models' own error, and caveats."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Summary = Mapping[str, Any]

#: Where the figures come from.
_DOCUMENT = "docs/accuracy.md"
_BASES = {
    "calibrated": "measurements of the same hardware",
    "extrapolated": "recordings of smaller pools or idler processors",
    "assumed": "data sheets and assumptions",
}
_FIGURES = {
    "throughput": "throughput",
    "mean": "means",
    "tail": "percentiles from the 95th on",
    "count": "counts and volumes",
    "other": "other figures",
}


def sentence(summary: Summary) -> str | None:
    """Return how far off measured figures were from predictions like these; None of a result that does not say."""
    found = summary.get("model_error")
    if not found:
        return None
    figures = found["figures"]
    parts = [
        f"{_reach(figures[key])} from {words} (n = {figures[key]['measurements']})"
        for key, words in _FIGURES.items()
        if key in figures
    ]
    return f"Errors of the models come on top: where they stood on {_BASES[found['basis']]}, 80 % of what was measured lay {', '.join(parts)}; {_DOCUMENT}."


def notes(summaries: Sequence[Summary]) -> list[str]:
    """Return it for all results, each sentence once, after the stamp of those that nothing was compared with."""
    stamp = "Not calibrated: no run on a model of the recorded hardware was compared with the recording; `tiersim explain` says what to measure first."
    stamps = [stamp] if any(summary["verdict"]["calibration"] == "none" for summary in summaries) else []
    return [*stamps, *dict.fromkeys(said for said in map(sentence, summaries) if said is not None)]


def notes_of_rows(summaries: Iterable[Summary]) -> list[str]:
    """Return :func:`notes` and :func:`caveats` of rows of a sweep, a load or a search, whose summaries do not hold how far off models were."""
    from tiersim.scenarios.model_error import model_error_of

    done = [summary for summary in summaries if summary]
    errors = notes([{"verdict": one["verdict"], "model_error": model_error_of(one["verdict"])} for one in done])
    return [*errors, *caveats(done)]


def caveats(summaries: Iterable[Summary]) -> list[str]:
    """Return the caveats of all results as sentences, each once."""
    found = dict.fromkeys(caveat for summary in summaries for caveat in summary.get("caveats", ()))
    return [f"{caveat[0].upper()}{caveat[1:]}." for caveat in found]


def _reach(one: Mapping[str, Any]) -> str:
    return f"{100 * (one['low'] - 1):+.0f} to {100 * (one['high'] - 1):+.0f} %"
