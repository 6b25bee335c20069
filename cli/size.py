"""``tiersim size``: the cheapest hardware that meets targets."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiersim.cli import terminal, verdicts
from tiersim.cli.import_trace import open_subject
from tiersim.cli.options import Force, Json, RecordedOn, Settings
from tiersim.errors import ScenarioError
from tiersim.files import check_target
from tiersim.scenarios.load_steps import whole_loads
from tiersim.units import format_bytes

if TYPE_CHECKING:
    from tiersim.scenarios.sizing.candidates import CandidatesModel

#: So many of those that fail are shown besides what meets the targets; the document has all.
_MOST_SHOWN = 12
_RUNNERS_UP = 2
#: Reasons why candidates have no price that are shown.
_MOST_UNPRICED = 3


def size(
    trace: Annotated[
        Path,
        typer.Argument(
            help=(
                "A trace (NAME.trace, from import or record), a recorded file that tiersim can import, or a .toml"
                " file: a workload, or several databases that are to share one array (docs/tenants.md)."
            )
        ),
    ],
    slo: Annotated[
        list[str],
        typer.Option(
            "--slo",
            help=(
                "A target: 'mean(query) < 20 ms', 'throughput >= 1.5x', 'capacity growth 40%/year for 3 years',"
                " 'survives drive failure'. Repeat it."
            ),
        ),
    ],
    candidates: Annotated[
        str,
        typer.Option("--candidates", help="A .toml file (example: docs/sizing.md), or devices of the catalogue: A,B."),
    ],
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            help=(
                "Base scenario. Each candidate replaces its devices. Default: the key 'on' of the candidates file."
                " Without that: a scenario of one volume."
            ),
        ),
    ] = None,
    settings: Settings = None,
    recorded_on: RecordedOn = None,
    best_value: Annotated[
        bool,
        typer.Option(
            "--best-value",
            help=(
                "Choose the most throughput for the cost instead of the lowest cost. Runs every candidate that"
                " arithmetic does not exclude."
            ),
        ),
    ] = False,
    runners_up: Annotated[
        int,
        typer.Option(
            "--runners-up", min=0, help="Number of runners-up. Each has devices of another kind than the choice."
        ),
    ] = _RUNNERS_UP,
    exhaustive: Annotated[
        bool,
        typer.Option(
            "--exhaustive",
            help="Run every candidate that arithmetic does not exclude, also those that cost more than the choice.",
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the JSON document to this file (.size.json).")
    ] = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Find the cheapest hardware that meets every target.

    Also names the next cheapest candidates (runners-up), and says why each cheaper candidate fails. A simulation
    decides whether a candidate meets the targets, unless arithmetic excludes it. A target that is met, but not over the
    whole expected range, is met in doubt. If no candidate meets the targets, the exit code is 0, too: "chosen" is null
    in the JSON document.

    Example: tiersim size prod.trace --slo 'mean(transaction) < 5 ms' --candidates candidates.toml
    """
    from tiersim.scenarios.library import is_tenants
    from tiersim.scenarios.sizing.candidates import combinations
    from tiersim.scenarios.sizing.size import Request
    from tiersim.scenarios.sizing.size import size as find
    from tiersim.scenarios.sizing.targets import parse_target

    if is_tenants(trace):
        if recorded_on is not None or best_value or exhaustive or runners_up != _RUNNERS_UP:
            raise ScenarioError(
                f"{trace}: names several databases, of which --recorded-on, --best-value, --exhaustive and --runners-up"
                " say nothing; leave them out"
            )
        from tiersim.cli.pack import find_arrays, show_one_array

        how = {"growth": 0.0, "failed_drive": False, "one_array": True}
        document = find_arrays(trace, slo, candidates, on, settings or (), output, force=force, **how)
        if json:
            terminal.print_json(document)
        else:
            show_one_array(document, trace.stem)
        return
    targets = tuple(parse_target(text) for text in slo)
    if output is not None:
        check_target(output, force=force)
    model, base = candidates_of(candidates, on)
    beside = Path(base).parent if base.endswith(".toml") else Path()
    found = combinations(model, base, settings or (), beside)
    with open_subject(trace, base, settings or (), recorded_on) as subject:
        request = Request(subject, base, tuple(settings or ()), targets, model)
        with terminal.progress_bar("trying candidates") as progress:
            document = find(
                request, found, runners_up=runners_up, exhaustive=exhaustive, best_value=best_value, progress=progress
            )
    terminal.write_json(document, output, force=force)
    if json:
        terminal.print_json(document)
    else:
        _show(document, subject.name)


def candidates_of(text: str, on: str | None) -> "tuple[CandidatesModel, str]":
    """Return the candidates and the scenario that they differ from; a file's own is relative to it. Raises
    ScenarioError.
    """
    from tiersim.scenarios.sizing.candidates import of_names, read_candidates

    if not text.endswith(".toml"):
        names = [name.strip() for name in text.split(",") if name.strip()]
        if not names:
            raise ScenarioError("--candidates: names no device; write names of the catalogue, or a .toml file")
        return of_names(names), on or names[0]
    model = read_candidates(Path(text))
    if on is None and model.on is not None:
        own = model.on
        return model, str(Path(text).parent / own) if own.endswith(".toml") else own
    named = next((name for one in model.candidates for name in one.device if not name.endswith(".toml")), None)
    if on is None and named is None:
        raise ScenarioError(
            f"{text}: its devices are files; say which scenario they go into: --on, or on = in the file"
        )
    return model, on or str(named)


def _show(document: dict[str, Any], name: str) -> None:
    entries = document["candidates"]
    good = [one for one in entries if one["status"] in ("chosen", "meets")]
    failed = [one for one in entries if one["status"] == "fails"]
    before = [one for one in _cheaper(document) if one["cost"] is not None and one["cost"]["total"] is not None]
    shown = [one for one in entries if one in good or one in before[-_MOST_SHOWN:]]
    columns = ["candidate", "outcome", "capital", "a month", _over_years(entries), "power", "endurance", "capacity"]
    table = [
        [one["name"], _outcome(one, document), *_money(one), _power(one), _years(one), _capacity(one)] for one in shown
    ]
    left_out = len(entries) - len(shown)
    targets = ", ".join(target["text"] for target in document["targets"])
    title = f"{name}: {targets}" + (f", at {document['load']:.3g} × the recorded load" if document["load"] != 1 else "")
    errors = verdicts.notes_of_rows(one["row"]["summary"] for one in entries if one["row"])
    notes = [
        _answer(document),
        *_doubts(document),
        *_whys(before),
        *_unpriced(entries),
        *_dates(shown),
        *_rented(shown),
        *errors,
    ]
    if document["load"] != document["load_asked"]:
        whole = whole_loads(document["load_in_whole"], [f"{document['load_asked']:.4g} × was asked for"])
        notes.append(f"{whole.capitalize()}.")
    if left_out:
        notes.append(f"{left_out} more candidates are in the document (--json, -o): {len(failed)} of all fail.")
    terminal.show_table(title, columns, table, "\n".join(notes), words=2)


def _cheaper(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return those that come before the one that was chosen; all, if none was."""
    entries = document["candidates"]
    place = next((place for place, one in enumerate(entries) if one["status"] == "chosen"), len(entries))
    return [one for one in entries[:place] if one["status"] != "meets"]


def _answer(document: dict[str, Any]) -> str:
    runs = f"{document['simulated']} of {len(document['candidates'])} candidates were simulated"
    if document["chosen"] is None:
        return f"No candidate meets all targets; {runs}."
    return f"Choose {document['chosen']}; {runs}."


def _doubts(document: dict[str, Any]) -> list[str]:
    """Return what speaks against the chosen one as far as models have been off, and which one is the cheapest without
    such doubts.
    """
    good = [one for one in document["candidates"] if one["status"] in ("chosen", "meets")]
    chosen = next((one for one in good if one["name"] == document["chosen"]), None)
    if chosen is None or not chosen["doubts"]:
        return []
    sure = next((one["name"] for one in good if not one["doubts"]), None)
    instead = (
        f"The cheapest simulated candidate without a doubt: {sure}"
        if sure
        else "No simulated candidate is without a doubt"
    )
    return [f"In doubt (docs/accuracy.md): {'; '.join(chosen['doubts'])}. {instead}."]


def _whys(cheaper: list[dict[str, Any]]) -> list[str]:
    """Return why the last of the cheaper ones fail, a line each."""
    return [f"{one['name']}: {'; '.join(one['why'])}." for one in cheaper[-_MOST_SHOWN:]]


def _over_years(entries: list[dict[str, Any]]) -> str:
    """Return the heading of what candidates are chosen by: all that is paid over their years of use."""
    years = next((one["cost"]["years"] for one in entries if one["cost"]), None)
    return "in all" if years is None else f"over {years:g} year{'s' if years != 1 else ''}"


def _dates(entries: list[dict[str, Any]]) -> list[str]:
    """Return when prices of those that are shown were asked for, and that those of several years do not compare."""
    named: dict[str, list[str]] = {}
    for one in entries:
        if (found := (one["cost"] or {}).get("price_date")) is not None:
            named.setdefault(found, []).append(one["name"])
    if len({year for date in named for year in re.findall(r"\d{4}", date)}) < 2:
        return [f"Prices are of {', '.join(sorted(named))}."] if named else []
    told = "; ".join(f"{date}: {names[0]}{_more(names)}" for date, names in sorted(named.items()))
    return [f"Prices are of several years ({told}), and do not compare: give those of one date under [prices]."]


def _unpriced(entries: list[dict[str, Any]]) -> list[str]:
    """Return which candidates have no price, so that nobody knows whether one of them is the cheapest, and why."""
    named: dict[str, list[str]] = {}
    for one in entries:
        if one["cost"] is None or one["cost"]["total"] is None:
            named.setdefault("; ".join(one["why"]), []).append(one["name"])
    return [f"{names[0]}{_more(names)}: {why}." for why, names in list(named.items())[:_MOST_UNPRICED]]


def _rented(entries: list[dict[str, Any]]) -> list[str]:
    """Return that cloud volumes are billed beside a server that is bought, if any is."""
    found = []
    for one in entries:
        parts = (one["cost"] or {}).get("parts", ())
        if any(part["what"].endswith(", GiB") and part["per"] == "month" for part in parts) and any(
            part["source"] == "[host]" for part in parts
        ):
            found.append(one["name"])
    if not found:
        return []
    said = (
        f"{found[0]}{_more(found)}: cloud volumes: their bill has the price of [host], not the rent of an instance."
        " Search for cloud volumes alone, with that rent over the years as the price under [host]."
    )
    return [said]


def _more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if names[1:] else ""


def _outcome(one: dict[str, Any], document: dict[str, Any]) -> str:
    return "chosen" if one["name"] == document["chosen"] else str(one["status"])


def _money(one: dict[str, Any]) -> list[str]:
    cost = one["cost"]
    if cost is None:
        return ["", "", ""]
    return [
        "price unknown" if amount is None else f"{_amount(amount)} {cost['currency']}"
        for amount in (cost["capex"], cost["monthly"], cost["total"])
    ]


def _amount(amount: float) -> str:
    """Write an amount of money, small ones with cents."""
    return f"{amount:,.0f}" if amount >= 100 or amount == int(amount) else f"{amount:,.2f}"


def _power(one: dict[str, Any]) -> str:
    return "" if one["power_w"] is None else f"{one['power_w']:,.0f} W"


def _years(one: dict[str, Any]) -> str:
    found = one["endurance_years"]
    if found is None or found["low"] is None:
        return ""
    return f"> {found['low']:,.0f} years" if found["low"] >= 100 else f"{found['low']:.2g} years"


def _capacity(one: dict[str, Any]) -> str:
    return "" if one["capacity_bytes"] is None else format_bytes(one["capacity_bytes"])
