"""``tiersim validate``: published measurements against predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.options import Json
from tiersim.errors import ScenarioError, did_you_mean
from tiersim.files import check_target, whole_file

if TYPE_CHECKING:
    from tiersim.scenarios.validation.claims import Experiment


def validate(
    name: Annotated[str | None, typer.Argument(help="One experiment, such as depth or mqsim; all without it.")] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            "--traces",
            help="Folder with recordings that are not part of tiersim, such as DiskSim's validation traces.",
        ),
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the tables to this file, replacing it.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write a page with tables and heat maps to this file, replacing it.")
    ] = None,
    model_error: Annotated[
        Path | None,
        typer.Option(
            "--model-error", help="Write how far off predictions were, by kind of figure, to this file, replacing it."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out slow experiments, except founding claims: under 10 minutes.")
    ] = False,
    json: Json = False,
) -> None:
    """Compare predictions with published measurements: claim, published, predicted with its range, error, tolerance,
    verdict.

    Example: tiersim validate depth
    """
    from tiersim.scenarios.validation import interval_report, registry, report

    if model_error is not None and (name is not None or quick or traces is None):
        raise ScenarioError(
            "--model-error is learned from every experiment: give --traces, and neither a name nor --quick"
        )
    every = tuple(registry.EXPERIMENTS)
    if name is not None and name not in every:
        raise ScenarioError(
            f"{name!r} is not an experiment{did_you_mean(name, every) or '; they are ' + ', '.join(every)}"
        )
    for target in (markdown, page, model_error):
        if target is not None:
            check_target(target, force=True)
    names = (name,) if name is not None else registry.quick_names() if quick else every
    if len(names) > 1:
        terminal.notice(registry.expected_time(names))
    experiments = []
    with terminal.progress_bar("validating") as progress:
        for found in registry.run(names, traces):
            experiments.append(found)
            if progress is not None:
                progress(len(experiments), len(names))
    measurements = interval_report.measurements_of(experiments)
    if markdown is not None:
        section = "" if measurements is None else f"\n{interval_report.section(measurements)}"
        _write(markdown, report.markdown(experiments) + section)
    if page is not None:
        from tiersim.cli.page.validation import build_validation_page

        _write(page, build_validation_page(experiments))
    if model_error is not None:
        if measurements is None:
            untried = ", ".join(found.name for found in experiments if found.missing)
            raise ScenarioError(
                f"--model-error is learned from every experiment, and {traces} lacks what these need: {untried}; add it"
            )
        _write(model_error, interval_report.as_toml(measurements))
    if json:
        intervals = None if measurements is None else interval_report.document(measurements)
        terminal.print_json({**report.document(experiments), "intervals": intervals})
        return
    for found in experiments:
        columns, rows = report.table(found)
        rows = [[*row[:-1], row[-1].strip("*")] for row in rows]
        terminal.show_table(found.title, columns, rows, _said(found), words=columns.index("published"))
    if measurements is not None:
        for table in interval_report.tables(measurements):
            terminal.show_table(table.title, table.columns, table.rows, words=table.words)


def _write(target: Path, text: str) -> None:
    with whole_file(target, force=True) as place:
        place.write_text(text, encoding="utf-8")


def _said(found: "Experiment") -> str:
    """Return what stands below the table of an experiment."""
    from tiersim.scenarios.validation import report

    if found.missing:
        return f"Not tried: {found.missing}."
    return "\n".join([report.counted(found), report.origin(found), *report.notes(found)])
