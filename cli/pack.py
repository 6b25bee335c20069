"""``tiersim pack``: the cheapest arrays for several databases."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.cli.options import Force, Json, Settings
from tiersim.cli.size import candidates_of
from tiersim.cli.tenants import open_recordings
from tiersim.cli.verdicts import caveats
from tiersim.errors import ScenarioError
from tiersim.files import check_target

#: So many candidates, and placements that failed, are shown; the document has all.
_MOST_SHOWN = 12


def pack(
    tenants: Annotated[Path, typer.Argument(help="A .toml file with [tenants.NAME] for each database.")],
    candidates: Annotated[
        str, typer.Option("--candidates", help="Arrays: a .toml file (example: docs/sizing.md), or devices: NAME,NAME.")
    ],
    slo: Annotated[
        list[str] | None,
        typer.Option("--slo", help="A target of every tenant, besides its own: 'p99(data read) < 5 ms'. Repeat it."),
    ] = None,
    growth: Annotated[
        float, typer.Option("--growth", min=0, max=9, help="0.3: 30 % more load and data than now.")
    ] = 0.0,
    failed_drive: Annotated[
        bool, typer.Option("--failed-drive", help="Targets hold with a failed drive in each array, too.")
    ] = False,
    on: Annotated[
        str | None, typer.Option("--on", help="Scenario that candidates differ from, as in tiersim size.")
    ] = None,
    settings: Settings = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write the JSON document.")] = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Find the cheapest arrays that carry several databases and meet each one's targets.

    Each candidate can be bought several times. Every array of the answer is simulated with all its tenants. If nothing
    fits, the exit code is 0, too: "fits" is false in the JSON document.

    Example: tiersim pack databases.toml --candidates arrays.toml --slo 'p99(data read) < 10 ms' --growth 0.3
    """
    from tiersim.scenarios.library import is_tenants

    if not is_tenants(tenants):
        raise ScenarioError(f"{tenants}: has no [tenants.NAME]; write a table for each database (docs/tenants.md)")
    how = {"growth": growth, "failed_drive": failed_drive}
    document = find_arrays(tenants, slo or (), candidates, on, settings or (), output, force=force, **how)
    if json:
        terminal.print_json(document)
    else:
        _show(document, tenants.stem)


def find_arrays(
    tenants: Path,
    slo: Sequence[str],
    candidates: str,
    on: str | None,
    settings: Sequence[str],
    output: Path | None,
    *,
    force: bool,
    **how: Any,
) -> dict[str, Any]:
    """Return the document of the arrays that carry the tenants of a file, and write it to *output*, if it is given;
    *how* is as in :class:`tiersim.scenarios.packing.pack.PackingOptions`.
    """
    from tempfile import TemporaryDirectory

    from tiersim.scenarios.packing.pack import PackingOptions, pack_tenants
    from tiersim.scenarios.sizing.candidates import combinations
    from tiersim.scenarios.sizing.targets import parse_target

    if output is not None:
        check_target(output, force=force)
    targets = [parse_target(text) for text in slo]
    model, base = candidates_of(candidates, on)
    found = combinations(model, base, settings, Path(base).parent if base.endswith(".toml") else Path())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="tiersim-")))
        recordings = open_recordings(tenants, stack, folder)
        with terminal.progress_bar("trying each alone") as progress:
            document = pack_tenants(PackingOptions(recordings, targets, **how), found, progress)
    terminal.write_json(document, output, force=force)
    return document


def show_one_array(document: dict[str, Any], name: str) -> None:
    """Print the cheapest array that carries all tenants, and why each cheaper one does not."""
    currency = document["currency"]
    for one in document["arrays"]:
        rows = [[owner, f"{100 * target['used']:.0f} %" if target["used"] else "met", target["text"]]
                for owner, own in one["targets"].items() for target in own]  # fmt: skip
        title = f"{name}: all on {one['candidate']}, {one['cost']:,.0f} {currency} over {document['years']:g} years"
        terminal.show_table(title, ["tenant", "part of the limit", "target"], rows, _notes(document, [one]), words=3)
    if not document["fits"]:
        homeless = [one["tenant"] for one in document["does_not_fit"]]
        alone = f"; none carries {', '.join(homeless)} alone" if homeless else "; tiersim pack finds several arrays"
        terminal.notice(f"{name}: no candidate carries all tenants{alone}")
    rows = [[one["candidate"], one["why"]] for one in document["refused"]]
    if rows:
        terminal.show_table("cheaper, and why not", ["array", "why"], rows, words=2)
    _show_left_out(document)


def _show(document: dict[str, Any], name: str) -> None:
    currency = document["currency"]
    if document["fits"]:
        rows = [
            [
                one["candidate"],
                f"{one['cost']:,.0f}",
                f"{100 * one['busiest']:.0f} %",
                _tightest(one),
                ", ".join(one["tenants"]),
            ]
            for one in document["arrays"]
        ]
        columns = ["array", f"cost, {currency}", "busiest part, alone added up", "tightest target", "tenants"]
        arrays = f"{len(rows)} array{'s' if len(rows) > 1 else ''}"
        title = f"{name}: {document['cost']:,.0f} {currency} over {document['years']:g} years, {arrays}"
        terminal.show_table(title, columns, rows, _notes(document, document["arrays"]))
    else:
        for one in document["does_not_fit"]:
            rows = [[candidate, why] for candidate, why in one["why"].items()]
            terminal.show_table(
                f"{name}: {one['tenant']} does not fit on any candidate", ["candidate", "why"], rows, words=2
            )
    rows = [
        [one["name"], f"{one['cost']:,.0f}", str(one["chosen"]), _why(one)]
        for one in document["candidates"][:_MOST_SHOWN]
    ]
    terminal.show_table("candidates", ["candidate", f"cost, {currency}", "bought", "why not more"], rows)
    rows = [[one["candidate"], ", ".join(one["tenants"]), one["why"]] for one in document["refused"][:_MOST_SHOWN]]
    if rows:
        columns = ["array", "tenants", "why they cannot share it"]
        terminal.show_table("placements that were simulated and failed", columns, rows, words=3)
    _show_left_out(document)


def _show_left_out(document: dict[str, Any]) -> None:
    for one in document["left_out"]:
        terminal.notice(f"{one['name']} is left out: {one['why']}")


def _notes(document: dict[str, Any], arrays: Sequence[dict[str, Any]]) -> str:
    """Say how the targets of arrays may be missed, what is known to be wrong, and what the search assumes."""
    doubts: dict[str, list[str]] = {}
    for one in arrays:
        for doubt in one["doubts"]:
            doubts.setdefault(doubt["why"], []).extend(doubt["tenants"])
    said = [f"In doubt (docs/accuracy.md): {', '.join(owners)}: {why}." for why, owners in doubts.items()]
    if document["loads"]:
        loads = ", ".join(f"{name} {load:.3g} ×" for name, load in document["loads"].items())
        said.append(f"Load: {loads} the recorded one.")
    lacking = dict.fromkeys(what for one in arrays for what in one["unknown"])
    if lacking:
        said.append(f"Reckoned without {', '.join(lacking)}, which is not known.")
    bound = document["at_least"]
    if bound is not None:
        said.append(
            f"No placement costs less than {bound:,.0f} {document['currency']}, if sorting at most doubles what a disk"
            " serves."
        )
    return "\n".join([*said, *caveats(arrays), f"Assumed: {document['assumed']}."])


def _tightest(one: dict[str, Any]) -> str:
    """Say which target is nearest to its limit."""
    found = [(target["used"], name, target["text"]) for name, own in one["targets"].items() for target in own]
    used, name, text = max(found)
    return f"{name}: {text}" + (f" at {100 * used:.0f} %" if used else "")


def _why(candidate: dict[str, Any]) -> str:
    """Say who has no place on a candidate."""
    if not candidate["not_alone"]:
        return "" if candidate["chosen"] else "dearer for what it holds"
    name, why = next(iter(candidate["not_alone"].items()))
    more = len(candidate["not_alone"]) - 1
    return f"{name}, alone: {why}" + (f"; and {more} more tenant{'s' if more > 1 else ''}" if more else "")
