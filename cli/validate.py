"""``tiersim validate``: published measurements against predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiersim.cli import terminal
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.files import check_target, whole_file

if TYPE_CHECKING:
    from tiersim.scenarios.validation.claims import Experiment


def validate(
    name: Annotated[str | None, typer.Argument(help="One experiment, such as depth or mqsim; all without it.")] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            "--traces", help="Folder with recordings that are not part of this: DiskSim's validation traces, others."
        ),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the tables to this file, replacing it.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out what takes long and is no founding document's: under 10 minutes.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the tables.")] = False,
) -> None:
    """Compare predictions with published measurements: claim, published, predicted with its range, error, tolerance, verdict.

    Example: tiersim validate depth
    """
    from tiersim.scenarios.validation import report

    if name is not None and name not in report.NAMES:
        raise ScenarioError(
            f"{name!r} is not an experiment{did_you_mean(name, report.NAMES) or '; they are ' + ', '.join(report.NAMES)}"
        )
    if markdown is not None:
        check_target(markdown, force=True)
    names = (name,) if name is not None else report.quick_names() if quick else report.NAMES
    if len(names) > 1:
        terminal.notice(report.expected_time(names))
    experiments = []
    with terminal.progress_bar("validating") as progress:
        for found in report.run(names, traces):
            experiments.append(found)
            if progress is not None:
                progress(len(experiments), len(names))
    if markdown is not None:
        with whole_file(markdown, force=True) as place:
            place.write_text(report.markdown(experiments), encoding="utf-8")
    if json:
        terminal.print_json(report.document(experiments))
        return
    for found in experiments:
        columns, rows = report.table(found)
        rows = [[*row[:-1], row[-1].strip("*")] for row in rows]
        terminal.show_table(found.title, columns, rows, _said(found), words=3 if "id" in columns else 2)


def _said(found: "Experiment") -> str:
    """Return what stands below the table of an experiment."""
    from tiersim.scenarios.validation import report

    if found.missing:
        return f"Not tried: {found.missing}."
    lines = [report.counted(found), f"Published: {found.source}. Fitted: {found.fitted}."]
    if found.assumed:
        lines.append(f"Assumed: {'; '.join(found.assumed)}.")
    return "\n".join([*lines, *report.notes(found)])
