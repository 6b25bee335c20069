"""``tiersim validate``: published measurements against predictions."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tiersim.cli import terminal
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.files import check_target, whole_file


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
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the tables.")] = False,
) -> None:
    """Compare predictions with published measurements: claim, published, predicted, error, tolerance.

    Example: tiersim validate depth
    """
    from tiersim.scenarios.validation import report

    if name is not None and name not in report.NAMES:
        raise ScenarioError(
            f"{name!r} is not an experiment{did_you_mean(name, report.NAMES) or '; they are ' + ', '.join(report.NAMES)}"
        )
    if markdown is not None:
        check_target(markdown, force=True)
    names = report.NAMES if name is None else (name,)
    experiments = []
    with terminal.progress_bar("validating") as progress:
        for number, found in enumerate(report.run(names, traces), 1):
            experiments.append(found)
            if progress is not None:
                progress(number, len(names))
    if markdown is not None:
        with whole_file(markdown, force=True) as place:
            place.write_text(report.markdown(experiments), encoding="utf-8")
    if json:
        terminal.print_json(
            {
                "schema": "tiersim.validate/1",
                "experiments": [
                    {
                        **asdict(found),
                        "claims": [{**asdict(c), "error_pct": c.error_pct, "met": c.met} for c in found.claims],
                    }
                    for found in experiments
                ],
            }
        )
        return
    columns = ["claim", "unit", "published", "predicted", "error", "tolerance", ""]
    for found in experiments:
        rows = [
            [
                claim.what,
                claim.unit,
                report.figure(claim.published),
                report.figure(claim.predicted),
                f"{claim.error_pct:+.1f} %",
                report.tolerance(claim),
                report.outcome(claim).strip("*"),
            ]
            for claim in found.claims
        ]
        note = (
            f"Not tried: {found.missing}." if found.missing else f"Published: {found.source}. Fitted: {found.fitted}."
        )
        terminal.show_table(found.title, columns, rows, note, words=2)
