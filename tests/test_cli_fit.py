"""``tiersim devices fit``: what it writes and says, and how it refuses."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tests.load_generator import points, random_reads
from tests.recordings import closed_recording, recording_on, rows_of, write_recording
from tiersim.cli.main import app
from tiersim.devices.catalogue import read_device
from tiersim.errors import TiersimError
from tiersim.scenarios import library
from tiersim.scenarios.calibration.fitting import loops
from tiersim.scenarios.calibration.fitting.model import PARAMETERS, start
from tiersim.scenarios.library import load_scenario

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module", autouse=True)
def _short_runs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "simulate", partial(loops.simulate, commands=1_500))
        yield


@pytest.fixture(scope="module")
def table() -> str:
    return points(start(), [random_reads(4096, 1), random_reads(4096, 8)])


def fit(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["devices", "fit", *map(str, arguments)])


def refused(*arguments: object) -> str:
    """The one sentence of a fit that fails, and leaves nothing behind."""
    before = sorted(Path().iterdir())
    run = fit(*arguments)
    assert isinstance(run.exception, TiersimError), run.output
    assert run.stdout == ""
    assert sorted(Path().iterdir()) == before
    assert "\n" not in str(run.exception)
    return str(run.exception)


@pytest.mark.long
def test_a_fit_is_shown_and_its_file_is_a_device(table: str) -> None:
    Path("points.txt").write_text(table)  # the content tells, not the name
    run = fit("points.txt", "--capacity", "256 GB", "-o", "mine.toml", "--name", "Mine")
    assert run.exit_code == 0, run.output
    for part in (*PARAMETERS, "Mine: fitted to 2 settings, 2 runs, of points.txt", "read mean", "measured", "fitted"):
        assert part in run.stdout
    assert "Not identified: program_ns, program_units; " in run.stdout
    assert "wrote mine.toml: 256 GB" in run.stderr
    drive = read_device(Path("mine.toml"))
    assert (drive.name, drive.capacity) == ("Mine", 256 * 10**9)
    assert drive.sources["dies"].startswith("fitted: 2 settings, 2 runs, of points.txt; between ")
    assert drive.sources["program"] == "assumed: 20 µs .. 5 ms"
    assert "program_ns" in drive.notes
    shown = CliRunner().invoke(app, ["devices", "show", "mine.toml"])
    assert "fitted: 2 settings" in shown.stdout
    Path("scenario.toml").write_text('[volumes.data]\ndevice = "mine.toml"\n')
    assert load_scenario("scenario.toml").volumes["data"].device == drive


def test_the_same_input_gives_the_same_file_by_force_only_and_the_document_says_all(table: str) -> None:
    Path("points.csv").write_text(table)
    Path("contradicts.csv").write_text(table.replace("randread-4096-8,randread,4096,8", "seven,randread,4096,7"))
    arguments = ("points.csv", "contradicts.csv", "--capacity", "1 TiB", "-o", "mine.toml", "--name", "Same", "--json")
    assert fit(*arguments).exit_code == 0
    written = Path("mine.toml").read_bytes()
    assert read_device(Path("mine.toml")).kind == "flash"
    Path("mine.toml").write_text("mine")
    assert "is already there" in refused(*arguments)
    assert Path("mine.toml").read_text() == "mine"
    run = fit(*arguments, "--force")
    assert run.exit_code == 0, run.output
    assert Path("mine.toml").read_bytes() == written
    document = json.loads(run.stdout)
    assert document["schema"] == "tiersim.fit/1"
    assert document["parameters"].keys() == PARAMETERS.keys()
    for name, found in document["parameters"].items():
        assert found.keys() == {"value", "low", "high", "identified", "key"}
        assert found["low"] <= found["value"] <= found["high"]
        assert found["key"] in document["device"]
        assert found["key"] == PARAMETERS[name].key
    assert not document["parameters"]["program_ns"]["identified"]
    assert document["parameters"]["unloaded_read_ns"]["identified"]
    assert {(one["what"], one["figure"]) for one in document["residuals"]} >= {
        ("random reads, 4 KiB, depth 1", "mean"),
        ("random reads, 4 KiB, depth 8", "p99"),
    }
    assert all(abs(one["error_pct"]) < 30 for one in document["residuals"])
    assert document["judged"] == []
    assert 0 < document["misfit"] < 0.1
    [sentence] = document["left_out"]
    assert sentence.startswith("contradicts.csv, seven: rate x latency is 8.0, more than the 7")
    assert document["device"]["name"] == "Same"


@pytest.mark.long
def test_a_recording_is_judged_by_the_half_that_was_not_fitted_to(tmp_path: Path) -> None:
    trace = recording_on(tmp_path, "intel-p3700-800")
    run = fit(trace, "-o", "mine.toml")
    assert run.exit_code == 0, run.output
    assert "what it was not fitted to" in run.stdout
    assert "8 GiB (derived: what the recording touches, rounded up to GiB)" in run.stderr
    assert read_device(Path("mine.toml")).capacity == 8 * GIB
    means = re.findall(r"the other half +read mean .* ([+-]\d+\.\d) %", run.stdout)
    assert len(means) == 1
    assert abs(float(means[0])) < 3


def test_the_job_files_are_printed() -> None:
    assert fit("--job", "fio").stdout == library.path_of("fit").with_suffix(".fio").read_text()
    assert "THIS OVERWRITES" in fit("--job", "diskspd").stdout
    assert (
        refused("--job", "fo") == "--job: 'fo' is no load generator that there is a job file for; did you mean 'fio'?"
    )


def test_measurements_need_a_capacity(table: str) -> None:
    Path("points.csv").write_text(table)
    assert "--capacity: a load generator does not say" in refused("points.csv", "-o", "mine.toml")
    assert refused("points.csv", "-o", "mine.toml", "--capacity", "256").startswith("--capacity: '256' is not a size")
    assert "of no bytes" in refused("points.csv", "-o", "mine.toml", "--capacity", "0 B")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("these are\nno figures\n", "is no measurement that is known"),
        ('{"fio version": "fio-3.33", "jobs": []}', "fio measured no read and no write"),
        ("direction,rw,bs,iodepth,iops,mean_us\n", "has a heading and no row"),
        ("direction,rw,bs,iodepth,iops,mean_us\nread,randread,4k,1,,\n", "nothing that was measured can be repeated"),
        ("direction,rw,bs,iodepth,iops,mean_us\nread,randread,4k,1,-5,80\n", "iops is '-5'"),
    ],
)
def test_what_is_no_measurement(content: str, says: str) -> None:
    Path("wrong").write_text(content)
    sentence = refused("wrong", "-o", "mine.toml", "--capacity", "1 TiB")
    assert sentence.startswith("wrong:")
    assert says in sentence


def test_a_file_that_is_not_there_and_a_folder_that_is_no_bundle() -> None:
    assert "cannot be read" in refused("nothing", "-o", "mine.toml")
    Path("folder").mkdir()
    assert refused("folder", "-o", "mine.toml").startswith("folder")


def test_a_recording_that_cannot_be_fitted_to(table: str, tmp_path: Path) -> None:
    columns = closed_recording(1, 500, 100_000, 1000) | {"latency_ns": np.full(500, -1)}
    path = write_recording(tmp_path, rows_of(**columns), streams=["one"])
    Path("empty").mkdir()
    assert re.fullmatch(
        r".*made-up\.trace: 0 of its requests have a measured latency; a fit needs \d+ at least",
        refused(path, "-o", "x.toml"),
    )
    empty = write_recording(Path("empty"), rows_of([], []))
    assert refused(empty, "-o", "x.toml") == f"{empty}: holds no requests; give a recording that does"
    Path("points.csv").write_text(table)
    assert "is no measurement; give measurements alone, or one recording" in refused("points.csv", path, "-o", "x.toml")


def test_a_drive_that_is_smaller_than_what_was_touched(tmp_path: Path) -> None:
    columns = closed_recording(1, 500, 100_000, 1000) | {"offset_bytes": np.arange(500) * GIB}
    path = write_recording(tmp_path, rows_of(**columns), streams=["one"])
    assert "is less than the 499 GiB that" in refused(path, "-o", "x.toml", "--capacity", "100 GB")


@pytest.mark.parametrize("arguments", [(), ("points.csv",)])
def test_what_has_to_be_given(arguments: tuple[str, ...]) -> None:
    assert fit(*arguments).exit_code == 2


def test_help_has_an_example() -> None:
    assert "Example: tiersim devices fit fit.json --capacity '800 GB' -o drive.toml" in fit("--help").stdout
