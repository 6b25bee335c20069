"""``tiersim pack``: the cheapest arrays for several databases."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.cli.size import candidates_of
from tiersim.cli.tenants import open_recordings
from tiersim.errors import ScenarioError
from tiersim.files import check_target

#: So many candidates, and placements that failed, are shown; the document has all.
_MOST_SHOWN = 12


def pack(
    tenants: Annotated[Path, typer.Argument(help="A .toml file with [tenants.NAME] for each database.")],
    candidates: Annotated[
        str, typer.Option("--candidates", help="Arrays: a .toml file of candidates, or devices: NAME,NAME.")
    ],
    slo: Annotated[
        list[str] | None,
        typer.Option("--slo", help="A target of every tenant, besides its own: 'p99(data read) < 5 ms'. Repeat it."),
    ] = None,
    growth: Annotated[
        float, typer.Option("--growth", min=0, max=9, help="More load and data than now, as a share: 0.3.")
    ] = 0.0,
    failed_drive: Annotated[
        bool, typer.Option("--failed-drive", help="Targets hold with a failed drive in each array, too.")
    ] = False,
    on: Annotated[
        str | None, typer.Option("--on", help="Scenario that candidates differ from, as in tiersim size.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change a key of every candidate: --set replay.mode=open.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Also write the JSON document.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the tables.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an output that is already there.")] = False,
) -> None:
    """Find the cheapest arrays that carry several databases and meet each one's targets.

    Each candidate can be bought several times. Every array of the answer is simulated with all its tenants.

    Example: tiersim pack databases.toml --candidates arrays.toml --slo 'p99(data read) < 10 ms' --growth 0.3
    """
    from tiersim.scenarios.library import is_tenants
    from tiersim.scenarios.packing.pack import PackingOptions, pack_tenants
    from tiersim.scenarios.sizing.candidates import combinations
    from tiersim.scenarios.sizing.targets import parse_target

    if output is not None:
        check_target(output, force=force)
    if not is_tenants(tenants):
        raise ScenarioError(f"{tenants}: has no [tenants.NAME]; write a table for each database (docs/tenants.md)")
    targets = [parse_target(text) for text in slo or ()]
    model, base = candidates_of(candidates, on)
    found = combinations(model, base, settings or (), Path(base).parent if base.endswith(".toml") else Path())
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="tiersim-")))
        recordings = open_recordings(tenants, stack, folder)
        with terminal.progress_bar("trying each alone") as progress:
            document = pack_tenants(PackingOptions(recordings, targets, growth, failed_drive), found, progress)
    if output is not None:
        terminal.write_json(document, output, force=force)
    if json:
        terminal.print_json(document)
    else:
        _show(document, tenants.stem)


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
        title = f"{name}: {document['cost']:,.0f} {currency}, {len(rows)} arrays"
        terminal.show_table(title, columns, rows, f"Assumed: {document['assumed']}.")
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
    for one in document["left_out"]:
        terminal.notice(f"{one['name']} is left out: {one['why']}")


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
    return f"{name}, alone: {why}" + (f"; and {more} more tenants" if more else "")
