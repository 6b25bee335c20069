"""``tiersim load``: latency against load, the knee, and the largest load that is sustained."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiersim.cli import terminal, verdicts
from tiersim.cli.import_trace import open_subject
from tiersim.cli.options import Force, Json, RecordedOn, Settings
from tiersim.files import check_target
from tiersim.scenarios.load_steps import whole_loads
from tiersim.units import format_per_s

if TYPE_CHECKING:
    from tiersim.scenarios.sizing.subject import SizingSubject
    from tiersim.scenarios.sizing.targets import Target
    from tiersim.scenarios.sweeps.rows import Row
    from tiersim.scenarios.sweeps.sources import Note


def load(
    trace: Annotated[
        Path,
        typer.Argument(
            help=(
                "A trace (NAME.trace, from import or record), a recorded file that tiersim can import, or a"
                " workload file (.toml)."
            )
        ),
    ],
    on: Annotated[str, typer.Option("--on", help="A scenario: a .toml file, a ready one, or a catalogue device.")],
    slo: Annotated[
        list[str] | None,
        typer.Option("--slo", help="A target that a sustained load meets: 'mean(query) < 20 ms'. Repeat it."),
    ] = None,
    settings: Settings = None,
    recorded_on: RecordedOn = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the JSON document (.load.json).")
    ] = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Run a trace at 0.25 to 4 times its load. Find the knee, the largest sustained load, and what limits it.

    Only whole sessions are cloned or left out, so the load that ran differs a little: the table shows it.

    Example: tiersim load prod.trace --on 15k-raid10
    """
    from tiersim.scenarios.sizing import load_limit as sizing
    from tiersim.scenarios.sizing.targets import parse_target

    targets = [parse_target(text) for text in slo or ()]
    if output is not None:
        check_target(output, force=force)
    with open_subject(trace, on, settings or (), recorded_on) as subject:
        sizing.check_load_targets(targets, subject)
        with terminal.progress_bar("running loads") as progress:
            curve = sizing.load_curve(
                lambda multiple, note: row_at(subject, on, settings or [], multiple, note),
                subject.counted, targets, paced=subject.paced, reached=subject.steps().at, progress=progress,
            )  # fmt: skip
        document = sizing.document(curve, subject.facts, Path(on).name.removesuffix(".toml"), targets)
        terminal.write_json(document, output, force=force)
        if json:
            terminal.print_json(document)
        else:
            _show(document, subject, curve.loads, targets)


def row_at(subject: "SizingSubject", on: str, settings: list[str], multiple: float, note: "Note") -> "Row":
    """Run *subject* on a scenario at a multiple of its load."""
    from tiersim.scenarios.library import load_scenario
    from tiersim.scenarios.sweeps.rows import row_of

    own = subject.settings_at(multiple)
    scenario = load_scenario(on, [*settings, *(f"{key}={value}" for key, value in own.items())])
    return row_of(subject.run(scenario, multiple, note), settings={"replay.load": f"{multiple:g}"})


def _show(
    document: dict[str, Any], subject: "SizingSubject", loads: "tuple[float, ...]", targets: "list[Target]"
) -> None:
    rows = [_cells(load, row, subject.counted) for load, row in zip(loads, document["points"], strict=True)]
    classes = _classes(document["points"])
    columns = [
        "load",
        f"{subject.counted}/s",
        *(f"{name} {key}" for name, key in classes),
        "busiest part",
        "carries the load",
    ]
    table = [
        [
            *cells,
            *(terminal.figure_text(_figure(row, name, key)) for name, key in classes),
            verdicts.busiest(row["summary"]),
            verdicts.carries(row["summary"]),
        ]
        for cells, row in zip(rows, document["points"], strict=True)
    ]
    title = f"{subject.name} on {document['scenario']}"
    notes = [
        *_notes(document, subject, targets),
        # which loads did not run is said of all of them
        *verdicts.notes_of_rows({**row["summary"], "load_not_run": None} for row in document["points"]),
    ]
    terminal.show_table(title, columns, table, "\n".join(notes))


def _cells(load: float, row: "Row", counted: str) -> list[str]:
    rate = row["summary"]["throughput_per_s"][counted]["value"]
    return [f"{load:.4g} ×", format_per_s(rate)]


def _classes(rows: "list[Row]") -> list[tuple[str, str]]:
    """Return the latencies that are shown: of transactions and commits, or of the two kinds of request that there are
    most of.
    """
    tables = [row["summary"]["latency_ns"] for row in rows]
    names = [name for name in ("transaction", "commit") if any(name in table for table in tables)]
    if not names:
        counts: dict[str, int] = {}
        for table in tables:
            for name in terminal.CLASS_ORDER:
                counts[name] = max(counts.get(name, 0), table.get(name, {}).get("count", 0))
        names = [name for name in sorted(counts, key=lambda name: -counts[name])[:2] if counts[name]]
    return [(name, key) for name in names for key in ("mean", "p99")]


def _figure(row: "Row", name: str, key: str) -> dict[str, Any] | None:
    found = row["summary"]["latency_ns"].get(name)
    return None if found is None else found[key]


def _notes(document: dict[str, Any], subject: "SizingSubject", targets: "list[Target]") -> list[str]:
    from tiersim.scenarios.sizing.load_limit import SPENT

    knee, largest = document["knee"], document["largest_sustainable"]
    notes = []
    if knee is None:
        notes.append("No knee: throughput ÷ mean latency is largest at an end of these loads.")
    else:
        notes.append(f"Knee: {knee['load']:.2f} × ({knee['low']:.4g} to {knee['high']:.4g}): {knee['basis']}.")
    fails = "the load is not carried, or a target is missed" if targets else "the load is not carried"
    if largest is None:
        notes.append(f"Clients of {subject.name} wait for answers: no load is too much for them.")
    elif largest["value"] is None:
        notes.append(f"Largest sustained load: {largest['basis']}.")
    else:
        spent = f" ({SPENT})" if largest["basis"].endswith(SPENT) else ""
        notes.append(f"Largest sustained load: {largest['value']:.4g} ×{spent}; at {largest['high']:.4g} × {fails}.")
    if document["limited_by"]:
        notes.append(f"Limited by {document['limited_by']}.")
    points = {f"{row['summary']['load_reached']:.4g} ×": row["summary"] for row in document["points"]}
    notes += verdicts.credits_last(points)
    if document["not_run"]:
        pairs = (f"{one['load']:g} × ran as {one['ran']:.4g} ×" for one in document["not_run"])
        notes.append(f"{whole_loads(subject.steps().whole, pairs).capitalize()}.")
    return notes
