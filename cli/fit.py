"""``tiersim devices fit``: a device file from what was measured of a drive."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.cli.import_trace import open_trace
from tiersim.cli.options import Force, Json
from tiersim.cli.terminal import compile_if_cold
from tiersim.errors import ScenarioError, TraceError, did_you_mean
from tiersim.files import check_target, whole_file
from tiersim.units import format_bytes, format_ns, parse_bytes

if TYPE_CHECKING:
    from tiersim.scenarios.calibration.fitting.fit import Fit
    from tiersim.scenarios.calibration.fitting.residuals import Residual

_GIB = 1 << 30
#: Files that are named in a device file; of more it says how many there are.
_MOST_NAMES = 3
#: Where the size of a drive is from when it was given.
_GIVEN = "document: as it was given for the fit"


@dataclass(frozen=True)
class _Fitted:
    """A fit, what it is of, and how large the drive is."""

    fit: "Fit"
    measured: str
    capacity_bytes: int
    capacity_source: str
    left_out: "list[str]"


def fit(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help=(
                "Measurements: fio's JSON, DiskSpd's XML, CSV of points. Or one recording with latencies: a bundle, or"
                " a file to import."
            ),
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Device file to write (.toml).")] = None,
    name: Annotated[str, typer.Option("--name", help="Name of the device.")] = "",
    capacity: Annotated[
        str,
        typer.Option(
            "--capacity", help="Size of the drive, such as '800 GB'. Default, of a recording: what it touches."
        ),
    ] = "",
    job: Annotated[
        str, typer.Option("--job", help="Print the job file that measures what a fit needs: fio or diskspd.")
    ] = "",
    force: Force = False,
    json: Json = False,
) -> None:
    """Fit the model of a flash drive to measurements, and write a device file.

    Prints the error of the fit, and which numbers the measurements leave open.

    --job prints a job file that measures all that a fit needs. Its comments say how to run it.

    Example: tiersim devices fit fit.json --capacity '800 GB' -o drive.toml
    """
    if job:
        print(_job(job), end="")
        return
    if not files:
        raise typer.BadParameter("give what was measured, or --job", param_hint="FILE...")
    if output is None:
        raise typer.BadParameter("say which device file is to be written", param_hint="--output")
    import tomli_w

    from tiersim.scenarios.calibration.fitting.devicefile import device_file

    check_target(output, force=force)
    fitted = _fit(files, _size(capacity) if capacity else None)
    values = device_file(
        fitted.fit, name or output.stem, fitted.capacity_bytes, fitted.capacity_source, fitted.measured
    )
    with whole_file(output, force=force) as place:
        place.write_text(tomli_w.dumps(values), encoding="utf-8")
    if json:
        terminal.print_json(_document(fitted, values))
    else:
        _show(fitted, values["name"])
    terminal.notice(f"wrote {output}: {format_bytes(fitted.capacity_bytes)} ({fitted.capacity_source})")


def _job(generator: str) -> str:
    from tiersim.scenarios import library

    if generator not in library.JOBS:
        raise ScenarioError(
            f"--job: {generator!r} is no load generator that there is a job file for"
            f"{did_you_mean(generator, library.JOBS) or '; there are ' + ', '.join(library.JOBS)}"
        )
    return library.job_of(generator)


def _size(capacity: str) -> int:
    try:
        found = parse_bytes(capacity)
    except ValueError as error:
        raise ScenarioError(f"--capacity: {error}") from None
    if not found:
        raise ScenarioError("--capacity: a drive of no bytes holds nothing; give its size, for example '800 GB'")
    return found


def _fit(files: Sequence[Path], capacity_bytes: int | None) -> _Fitted:
    """Fit to measurements, or to a recording, as the content of the files tells."""
    recordings = [path for path in files if _is_recording(path)]
    if not recordings:
        return _fit_measurements(files, capacity_bytes)
    if len(files) > 1:
        raise ScenarioError(f"{recordings[0]}: is no measurement; give measurements alone, or one recording")
    return _fit_recording(files[0], capacity_bytes)


def _is_recording(path: Path) -> bool:
    from tiersim.traces.readers import detect_format
    from tiersim.traces.readers.load_generators import looks_like_measurement

    if path.is_dir():
        return True
    try:
        return not looks_like_measurement(path) and bool(detect_format(path))
    except TraceError:
        return False  # neither: what reads measurements says what is wrong


def _fit_measurements(files: Sequence[Path], capacity_bytes: int | None) -> _Fitted:
    from tiersim.scenarios.calibration.fitting.fit import fit_loops
    from tiersim.scenarios.calibration.fitting.targets import targets
    from tiersim.traces.readers.load_generators import measurements

    points = [point for path in files for point in measurements(path)]
    if capacity_bytes is None:
        raise ScenarioError(
            "--capacity: a load generator does not say how large the drive is; give it, for example --capacity '800 GB'"
        )
    names = ", ".join(path.name for path in files[:_MOST_NAMES])
    if len(files) > _MOST_NAMES:
        names += f" and {len(files) - _MOST_NAMES} more"
    for sentence in dict.fromkeys(f"{point.file}, {point.job}: {text}" for point in points for text in point.warnings):
        terminal.notice(f"warning: {sentence}")
    try:
        found, left_out = targets(points)
    except ScenarioError as error:
        raise ScenarioError(f"{names}: {error}") from None
    compile_if_cold()
    with terminal.stages("fitting") as stage:
        fitted = fit_loops(found, stage)
    measured = f"{len(found)} settings, {sum(one.runs for one in found)} runs, of {names}"
    return _Fitted(fitted, measured, capacity_bytes, _GIVEN, left_out)


def _fit_recording(path: Path, capacity_bytes: int | None) -> _Fitted:
    from tiersim.scenarios.calibration.fitting.recording import Recording, fit_recording
    from tiersim.scenarios.survey import load_recorded

    with open_trace(path) as bundle:
        bundle.refuse_without_requests()
        if not bundle.rows:
            raise ScenarioError(f"{path}: holds no requests; give a recording that does")
        trace, files, streams = load_recorded(bundle), len(bundle.file_names), bundle.stream_names
    try:
        recording = Recording(trace, streams)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from None
    if capacity_bytes is not None and capacity_bytes < recording.span_bytes:
        raise ScenarioError(
            f"--capacity: {format_bytes(capacity_bytes)} is less than the {format_bytes(recording.span_bytes)} that"
            f" {path} touches; give the size of the drive"
        )
    with terminal.stages("fitting") as stage:
        fitted = fit_recording(recording, stage)
    source = _GIVEN
    if capacity_bytes is None:
        capacity_bytes = -(-recording.span_bytes // _GIB) * _GIB
        source = "derived: what the recording touches, rounded up to GiB"
    left_out = _left_out(len(trace), len(recording.trace), int(recording.measured.sum()), files)
    measured = f"{int(recording.fitted_to.sum()):,} requests of {path.absolute().name}"
    return _Fitted(fitted, measured, capacity_bytes, source, left_out)


def _left_out(requests: int, taken: int, measured: int, files: int) -> list[str]:
    """What of a recording was not fitted to, a sentence each."""
    sentences = []
    if taken < requests:
        sentences.append(f"{requests - taken:,} requests after the first {taken:,} were left out")
    if measured < taken:
        sentences.append(
            f"{taken - measured:,} requests without a latency, or that their host held back, only load the drive"
        )
    if files > 1:
        sentences.append(f"its {files} files were taken for one drive")
    return sentences


def _document(fitted: _Fitted, values: dict[str, Any]) -> dict[str, Any]:
    from tiersim.scenarios.calibration.fitting.devicefile import interval
    from tiersim.scenarios.calibration.fitting.model import PARAMETERS

    found = fitted.fit
    parameters = {}
    for name, parameter in PARAMETERS.items():
        low, high = interval(found, name)
        known = {"low": low, "high": high, "identified": name not in found.unknown, "key": parameter.key}
        parameters[name] = {"value": found.values[name], **known}
    return {
        "schema": "tiersim.fit/1",
        "parameters": parameters,
        "residuals": [asdict(one) | {"error_pct": one.error_pct} for one in found.residuals],
        "judged": [asdict(one) | {"error_pct": one.error_pct} for one in found.judged],
        "misfit": found.misfit,
        "left_out": fitted.left_out,
        "device": values,
    }


def _show(fitted: _Fitted, name: str) -> None:
    from tiersim.scenarios.calibration.fitting.devicefile import between, text, what_is_open
    from tiersim.scenarios.calibration.fitting.model import PARAMETERS
    from tiersim.scenarios.calibration.fitting.residuals import said_of_errors

    found = fitted.fit
    rows = [
        [key, parameter.key, text(key, found.values[key]), "–".join(between(found, key)), _told(found, key)]
        for key, parameter in PARAMETERS.items()
    ]
    columns = ["parameter", "key", "value", "between", "identified by the measurement"]
    terminal.show_table(f"{name}: fitted to {fitted.measured}", columns, rows, "\n".join(what_is_open(found)), words=2)
    errors = f"Errors of the {len(found.residuals)} figures above: {said_of_errors(found.residuals)}."
    notes = [errors, *(f"Left out: {sentence}." for sentence in fitted.left_out)]
    _show_residuals("measured, and what the fitted drive does", found.residuals, "\n".join(notes))
    if found.judged:
        _show_residuals("what it was not fitted to", found.judged)


def _told(found: "Fit", name: str) -> str:
    if name not in found.ranges:
        return "not measured"
    return "no" if name in found.unknown else "yes"


def _show_residuals(title: str, residuals: "Sequence[Residual]", caption: str = "") -> None:
    rows = [
        [one.what, f"{one.operation} {one.figure}".strip(), *_figures(one), f"{one.error_pct:+.1f} %"]
        for one in residuals
    ]
    terminal.show_table(title, ["setting", "figure", "measured", "fitted", "error"], rows, caption, words=2)


def _figures(one: "Residual") -> list[str]:
    rate = one.figure == "rate"
    return [f"{value:,.0f}/s" if rate else format_ns(value) for value in (one.measured, one.fitted)]
