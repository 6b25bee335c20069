"""The document that shows experiments."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tiersim.scenarios.validation.claims import Claim, Experiment, HeatMap

#: Columns of words; the others hold figures.
_WORDS = ("id", "claim", "figure", "unit", "verdict")
_GOOD = ("exact", "holds", "qualitative holds")

_HEAD = """# Accuracy

Written by `tiersim validate --traces FOLDER --markdown docs/accuracy.md`; nothing here is typed in. Published is what somebody measured, or the
error of another simulator on the same requests; predicted is what tiersim says. A claim that a number of the model was fitted to, or that what is
assumed leaves open (*underdetermined*), is shown and not counted. A claim that fails stays in the table.
"""  # noqa: E501


def markdown(experiments: list[Experiment]) -> str:
    """The document of all experiments."""
    parts = [_HEAD]
    for found in experiments:
        parts.append(f"## {found.title}\n\n{origin(found)}\n")
        if found.missing:
            parts.append(f"Not tried: {found.missing}.\n")
            continue
        parts.append(f"{counted(found)}\n")
        columns, rows = table(found)
        ruled = ["---" if words else "--:" for words in (column in _WORDS for column in columns)]
        lines = [columns, None, *rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" if line else f"|{'|'.join(ruled)}|" for line in lines) + "\n")
        parts += [f"* {note}" for note in notes(found)]
        if notes(found):
            parts.append("")
        parts += [_map(one) for one in found.maps if not one.is_guess]
    return "\n".join(parts)


def _map(found: HeatMap) -> str:
    """Return a map as a table: the recorded cell in front, the predicted one above, how far off it is in percent."""
    lines = [
        ["recorded", *found.columns],
        ["---", *["--:"] * len(found.columns)],
        *([label, *map(off, row)] for label, row in zip(found.labels, found.off_pct, strict=True)),
    ]
    return "\n".join([f"{found.title}, off by %:", "", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def off(percent: float | None) -> str:
    """Return how far off a cell of a map is; nothing where it is of itself."""
    return "" if percent is None else f"{percent:+,.0f}"


def origin(found: Experiment) -> str:
    """Return where an experiment's figures come from, and what its predictions stand on."""
    said = [f"Published: {found.source}.", f"Fitted: {found.fitted}."]
    if found.assumed:
        said.append(f"Assumed: {'; '.join(found.assumed)}.")
    if found.maps or any(claim.figure for claim in found.claims):
        said.append(f"Basis: {found.basis}.")
    return " ".join(said)


def counted(found: Experiment) -> str:
    """How many claims hold, of those that count."""
    verdicts = [claim.verdict for claim in found.claims]
    count = sum(verdict != "underdetermined" for verdict in verdicts)
    hold = sum(verdict in _GOOD for verdict in verdicts)
    return f"{hold} of {count} claims hold."


def table(found: Experiment) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of an experiment; founding claims have their id, measured ones their kind, assumptions a range,
    where there are any.
    """
    has_id = any(claim.id for claim in found.claims)
    has_figure = any(claim.figure for claim in found.claims)
    has_range = any(claim.low is not None for claim in found.claims)
    columns = [
        *(["id"] if has_id else []),
        "claim",
        *(["figure"] if has_figure else []),
        "unit",
        "published",
        "predicted",
    ]
    ranged = "range over hardware" if found.hardware_range else "range"
    columns += [*([ranged] if has_range else []), "error", "tolerance", "verdict"]
    rows = []
    for claim in found.claims:
        row = [
            *([claim.id] if has_id else []),
            claim.what,
            *([claim.figure or ""] if has_figure else []),
            claim.unit,
            figure(claim.published),
            figure(claim.predicted),
        ]
        reach = "" if claim.low is None or claim.high is None else f"{figure(claim.low)} .. {figure(claim.high)}"
        rows.append(
            [*row, *([reach] if has_range else []), f"{claim.error_pct:+.1f} %", tolerance(claim), outcome(claim)]
        )
    return columns, rows


def notes(found: Experiment) -> list[str]:
    """Return what has to be said of single claims."""
    return [f"{claim.id or found.name}, {claim.what}: {claim.note}" for claim in found.claims if claim.note]


def outcome(claim: Claim) -> str:
    """Return the verdict, or that the claim was fitted to."""
    if claim.fitted:
        return "fitted"
    return f"**{claim.verdict}**" if claim.verdict.endswith("fails") else claim.verdict


def tolerance(claim: Claim) -> str:
    """How far it may be off."""
    if claim.within is not None:
        return f"{claim.within[0]:.4g} .. {claim.within[1]:.4g}"
    return "no more" if claim.at_most else f"±{claim.tolerance_pct:g} %"


def figure(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def document(experiments: Sequence[Experiment]) -> dict[str, Any]:
    """Everything as JSON has it: claims in one list, ``id`` that of the founding claim, or the experiment's name."""
    return {
        "schema": "tiersim.validate/1",
        "claims": [_claim(found, claim) for found in experiments for claim in found.claims],
        "experiments": [
            {
                "name": found.name,
                "title": found.title,
                "source": found.source,
                "fitted_on": found.fitted,
                "missing": found.missing,
                "assumed": None if found.assumed is None else list(found.assumed),
                "basis": found.basis,
                "maps": [asdict(one) for one in found.maps],
            }
            for found in experiments
        ],
    }


def _claim(found: Experiment, claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id or found.name,
        "experiment": found.name,
        "claim": claim.what,
        "figure": claim.figure,
        "unit": claim.unit,
        "published": claim.published,
        "predicted": claim.predicted,
        "low": claim.predicted if claim.kind == "arithmetic" else claim.low,
        "high": claim.predicted if claim.kind == "arithmetic" else claim.high,
        "error_pct": claim.error_pct,
        "tolerance_pct": None if claim.within is not None else claim.tolerance_pct,
        "within": None if claim.within is None else list(claim.within),
        "at_most": claim.at_most,
        "fitted_on": "this figure" if claim.fitted else found.fitted if found.fits else None,
        "fitted": found.fits,
        "assumed": None if found.assumed is None else len(found.assumed),
        "verdict": claim.verdict,
        "note": claim.note or None,
    }
