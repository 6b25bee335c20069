"""The command line in the hands of somebody who does everything wrong: exit codes, sentences, and
nothing left behind.
"""

import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.blktrace_records import C, D, Q, record
from tests.examples import first
from tests.runs import needs_jit
from tiersim.cli.main import main
from tiersim.cli.replay import recorded_hardware, show
from tiersim.cli.terminal import column_widths, compile_if_cold, show_table
from tiersim.devices.catalogue import kinds
from tiersim.scenarios.caveats import model_error_of
from tiersim.simulator.result import load_result
from tiersim.simulator.summary_model import Summary

DATA = Path(__file__).parent / "data"
CAPTURE = DATA / "vda.blktrace.0"
ROWS = 140  # of the capture, both files
COMMANDS = [
    "demo",
    "import",
    "describe",
    "mrc",
    "replay",
    "sweep",
    "load",
    "size",
    "compare",
    "explain",
    "explore",
    "report",
    "devices",
    "devices list",
    "devices show",
    "devices schema",
    "warmup",
]


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    compile_if_cold()


@dataclass(frozen=True)
class Said:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


class Shell:
    """Runs commands in a folder of their own; a command that fails must leave it, and the temporary folder, as they
    were.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.temporary = folder / "work", folder / "temporary"
        for made in (self.folder, self.temporary):
            made.mkdir()
        self._patch, self._capture = monkeypatch, capfd
        monkeypatch.chdir(self.folder)
        monkeypatch.setattr(tempfile, "tempdir", str(self.temporary))

    def __call__(self, *arguments: object) -> Said:
        before = self.listing()
        self._patch.setattr(sys, "argv", ["tiersim", *map(str, arguments)])
        self._capture.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        said = Said(code, *self._capture.readouterr())
        assert "Traceback" not in said.err
        assert list(self.temporary.iterdir()) == []
        assert not list(self.folder.rglob(".*"))
        if code:
            assert self.listing() == before
            assert said.out == ""
        return said

    def listing(self) -> dict[str, bytes | None]:
        return {str(p): p.read_bytes() if p.is_file() else None for p in sorted(self.folder.rglob("*"))}

    def fails(self, *arguments: object) -> str:
        """The one notice of a command that has to fail."""
        said = self(*arguments)
        assert said.code == 1, said
        assert said.err.startswith("tiersim: ")
        assert said.err.count("\n") == 1, said.err
        assert len(said.err) < 400
        return said.err.removeprefix("tiersim: ").strip()

    def file(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capfd)


def write_requests(path: Path, columns: Mapping[str, Any]) -> Path:
    """A bundle as pandas or DuckDB would write it: the table and nothing else."""
    path.mkdir()
    pq.write_table(pa.table(dict(columns)), path / "requests.parquet")
    return path


def plain(path: Path, rows: int = 300, length_bytes: int = 8192, gap_ns: int = 10_000_000) -> Path:
    number = np.arange(rows)
    return write_requests(
        path,
        {
            "time_ns": number * gap_ns,
            "op": ["read", "write"] * (rows // 2) + ["read"] * (rows % 2),
            "offset_bytes": number % 50 * length_bytes,
            "length_bytes": np.full(rows, length_bytes),
        },
    )


# What every command does when it is used as it should be.


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_names_an_example(shell: Shell, command: str) -> None:
    said = shell(*command.split(), "--help")
    assert said.code == 0
    assert said.err == ""
    assert "Example: tiersim " in said.out


def test_nothing_is_said_when_the_reader_has_gone() -> None:
    """As of ``tiersim … | head``."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "from tiersim.cli.main import main; main()", "devices", "list"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_version(shell: Shell) -> None:
    said = shell("--version")
    assert re.fullmatch(r"tiersim \d+\.\d+\.\d+\n", said.out)


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one tier and one size of the pool, and a tenth of what calibration runs; `make demo` makes it whole."""
    monkeypatch.setattr("tiersim.scenarios.statements.recorded_host._EXECUTIONS", 8_000)
    monkeypatch.setattr("tiersim.cli.demo._SCENARIOS", ("pcie-flash",))
    monkeypatch.setattr("tiersim.cli.demo._POOLS", ("256MiB",))


@pytest.mark.long
@pytest.mark.usefixtures("small_demo")
def test_the_demo_is_made_again_only_by_force(shell: Shell) -> None:
    (shell.folder / "demo").mkdir()
    plain(shell.folder / "demo/pgbench.trace")
    assert "demo/pgbench.trace: is already there; choose another name or add --force" in shell.fails("demo")
    said = shell("demo", "--force")
    assert said.code == 0
    for row in ("carries the load", "query 1, mean", "commit, mean", "commit, p99", "transactions/s in a checkpoint"):
        assert f" {row} " in said.out
    assert re.search(r" busiest part +flash dies of data: 2 % busy", said.out)
    assert re.search(r" busiest part +CPU: 98 % busy", said.out)
    assert max(len(line.rstrip()) for line in said.out.splitlines() if line.startswith(" ")) <= 80
    assert "--all prints " in said.out
    pages = "demo/report.html (block trace), demo/queries.html (updates) and demo/pools.html (reads, four sizes of the"
    assert said.err == f"tiersim: open {pages} pool) in a browser\n"
    made = {path.name for path in (shell.folder / "demo").iterdir()}
    assert made == {
        "pgbench.trace",
        "report.html",
        "pcie-flash.result",
        "updates.trace",
        "queries.html",
        "pcie-flash-updates.result",
        "reads.trace",
        "pools.html",
        "pcie-flash-256MiB.result",
    }


@pytest.mark.usefixtures("small_demo")
@pytest.mark.long
def test_a_second_demo_is_the_first_one(shell: Shell) -> None:
    said = shell("demo")
    first = shell.listing()
    again = shell("demo", "--force", "--all")
    for row in ("log flush, p99.9", "checkpoints", "checkpoint, writing", "query 1, reads a call", "pool hit ratio"):
        assert f" {row} " in again.out
        assert f" {row} " not in said.out
    assert "--all prints " not in again.out
    second = shell.listing()
    changed = {Path(path).name for path in first if first[path] != second[path]}
    assert changed <= {"run.json"}  # wall-clock facts


def test_import_says_what_it_found(shell: Shell) -> None:
    said = shell("import", CAPTURE, "-o", "prod.trace")
    assert said.out.startswith(f"prod.trace: {ROWS} requests in 645 ms (blktrace)\n")
    assert "inferred: " in said.out
    assert said.err == ""
    documented = shell("import", CAPTURE, "-o", "other", "--json")  # a name without .trace is a name
    document = documented.document()
    assert documented.err == ""
    assert document == {
        "schema": "tiersim.import/1",
        "trace": "other",
        "format": "blktrace",
        "requests": ROWS,
        "statements": 0,
        "snapshots": 0,
        "unmatched": 0,
        "dropped": {},
        "inferred": document["inferred"],
        "span_ns": document["span_ns"],
        "warnings": [],
    }


def test_several_files_of_one_recording_and_a_bundle_by_any_name(shell: Shell) -> None:
    both = shell("import", CAPTURE, DATA / "vda.blktrace.1", "-o", "both.trace", "--json").document()
    base = shell("import", DATA / "vda", "-o", "base", "--json").document()
    copy = shell("import", "base", "-o", "copy.trace", "--json").document()
    table = shell("import", "base/requests.parquet", "-o", "table.trace", "--json").document()
    assert both["requests"] == base["requests"] == copy["requests"] == table["requests"] == ROWS
    assert (copy["format"], table["format"]) == ("blktrace", "arrow")
    assert shell("import", "base", "-o", "base", "--force").code == 0  # onto itself


def test_describe_a_file_and_a_bundle(shell: Shell) -> None:
    said = shell("describe", CAPTURE)
    assert re.search(rf": {ROWS} requests in 645 ms *\n", said.out)
    assert re.search(r"data read +112 ", said.out)
    assert re.search(r"working set +4\.203 MiB in 4 KiB pages: 3\.691 MiB read, 524 KiB written", said.out)
    document = shell("describe", CAPTURE, "--json").document()
    assert document["schema"] == "tiersim.description/1"
    assert sum(group["count"] for group in document["classes"]) == ROWS
    assert document["rate_per_s"] is None  # of less than a second


def test_replay_of_a_bundle_and_of_the_recording_itself(shell: Shell) -> None:
    shell("import", CAPTURE, "-o", "prod.trace")
    scenarios = ["--on", "15k-raid10", "--on", "pcie-flash", "--on", "micron-p410m-400"]
    said = shell("replay", "prod.trace", *scenarios, "-o", "out/of/bundle", "--requests")
    header = said.out.splitlines()[2].split()
    assert header == ["figure", "recorded", "15k-raid10", "pcie-flash", "micron-p410m-400"]
    results = sorted((shell.folder / "out" / "of" / "bundle").iterdir())
    assert [path.name for path in results] == ["15k-raid10.result", "micron-p410m-400.result", "pcie-flash.result"]
    kept = pq.read_table(results[0] / "requests.parquet")
    assert (kept["done_ns"].to_numpy() > 0).all()
    assert said.out.count("Not calibrated") == 1
    assert said.out.count("Expected error") == 2
    assert "--all prints " in said.out
    everything = " ".join(shell("replay", "prod.trace", "--on", "pcie-flash", "-o", "all", "--all").out.split())
    waiting = (
        "In a session, the recorded pause between the end of a request and the start of the next is kept. After a"
        " recorded pause of over 100 ms (replay.dependency_window), the next starts at its recorded time."
    )
    assert everything.count(waiting) == 1

    document = shell("replay", CAPTURE, *scenarios, "-o", "raw", "--json").document()
    for summary in document["scenarios"]:
        Summary.model_validate(summary)
    assert [run["name"] for run in document["scenarios"]] == header[2:]
    for run in document["scenarios"]:
        kept_run = json.loads((shell.folder / "out/of/bundle" / f"{run['name']}.result" / "summary.json").read_bytes())
        assert run["latency_ns"] == kept_run["latency_ns"]
        assert set(run["verdict"]) >= {"load", "calibration", "cache", "arrivals", "locks"}
        assert run["model_error"] == kept_run["model_error"] == model_error_of({"calibration": "none"})
        assert {"bottleneck", "stations", "throughput_per_s", "throughput_shortfall_pct"} <= set(run)
        assert set(run["throughput_per_s"]["requests"]) == {"value", "low", "high", "resolved", "basis"}
        for latency in run["latency_ns"].values():
            assert set(latency) >= {"count", "mean", "p50", "p95", "p99", "p999"}
        assert all({"utilisation", "queue_mean"} <= set(station) for station in run["stations"].values())


def test_report(shell: Shell) -> None:
    shell("replay", CAPTURE, "--on", "pcie-flash")
    said = shell("report", "pcie-flash.result", "pcie-flash.result", "-o", "page.html", "--title", "ours")
    assert (said.out, said.err) == ("", "tiersim: wrote page.html\n")
    page = (shell.folder / "page.html").read_text(encoding="utf-8")
    assert "<title>ours" in page
    assert shell.fails("report", "pcie-flash.result", "-o", "page.html").startswith("page.html: is already there")
    assert shell("report", "pcie-flash.result", "-o", "page.html", "--force").code == 0


def test_devices(shell: Shell) -> None:
    said = shell("devices", "list")
    assert max(map(len, said.out.splitlines())) <= 100
    listed = shell("devices", "list", "--json").document()
    assert listed["schema"] == "tiersim.devices/1"
    for device in listed["devices"]:
        assert re.search(rf"^ {device['id']} +", said.out, re.MULTILINE)
        assert device["capacity_bytes"] > 0
    shown = shell("devices", "show", "micron-s650dc-800")
    assert "assumed: " in shown.out
    document = shell("devices", "show", "micron-s650dc-800", "--json").document()
    assert document["schema"] == "tiersim.device/1"
    assert document["parameters"]["channels"] == 8


def _listed(shell: Shell, *options: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell("devices", "list", *options, "--json").document()["devices"]
    assert found
    return found


def test_a_list_holds_what_was_asked_for(shell: Shell) -> None:
    assert {device["kind"] for device in _listed(shell, "--kind", "hdd")} == {"hdd"}
    assert all("NVMe" in device["interface"] for device in _listed(shell, "--interface", "nvme"))
    assert all(device["random_reads_per_s"] >= 200_000 for device in _listed(shell, "--at-least-reads", 200_000))
    offers = _listed(shell, "--kind", "cloud-volume", "--at-least-reads", 50_000)
    assert "aws-gp3" in {device["id"] for device in offers}  # 3,000 come with it, 80,000 can be ordered
    assert "aws-gp2" not in {device["id"] for device in offers}
    assert "IOPS to order: aws-gp3 80,000" in shell("devices", "list", "--kind", "cloud-volume").out
    protected = {device["id"] for device in _listed(shell, "--protected")}
    assert "samsung-pm9a3-7680" in protected
    assert not protected & {"crucial-t500-2000", "seagate-cheetah-15k7-300", "aws-gp3"}
    empty = shell("devices", "list", "--kind", "hdd", "--protected")
    assert (empty.code, "\n0 of " in empty.out) == (0, True)
    says = shell.fails("devices", "list", "--kind", "flsh")
    assert f"--kind: 'flsh' is not one of {', '.join(kinds())}; did you mean 'flash'?" in says


@pytest.mark.parametrize(
    ("order", "key", "sign"),
    [
        ("capacity", "capacity_bytes", -1), ("latency", "random_read_ns", 1), ("reads", "random_reads_per_s", -1),
        ("writes", "sustained_random_writes_per_s", -1), ("price", "price", 1), ("released", "released", -1),
    ],
)  # fmt: skip
def test_a_list_is_sorted(shell: Shell, order: str, key: str, sign: int) -> None:
    values = [device.get(key) for device in _listed(shell, "--sort", order)]
    known = [value for value in values if value is not None]
    assert known == sorted(known, key=lambda value: sign * value)
    assert values[len(known) :] == [None] * (len(values) - len(known))
    said = shell("devices", "list", "--sort", order)
    assert max(map(len, said.out.splitlines())) <= 100


@pytest.mark.long
def test_a_device_under_load(shell: Shell) -> None:
    said = shell("devices", "show", "aws-i3-local-1900", "--load", "--plot", "load.html")
    assert "\n 95% " in said.out
    page = (shell.folder / "load.html").read_text()
    assert "reads alone: p99" in page
    assert 'src="http' not in page
    assert "load.html: is already there" in shell.fails("devices", "show", "aws-i3-local-1900", "--plot", "load.html")
    again = ("devices", "show", "aws-i3-local-1900", "--load", "--plot", "load.html", "--force")
    document = shell(*again, "--json").document()
    assert (shell.folder / "load.html").read_text() == page
    assert [curve["read_share"] for curve in document["load"]] == [1.0, 0.7]
    assert [len(curve["points"]) for curve in document["load"]] == [11, 11]
    first = document["load"][0]["points"][0]["reads"]
    assert first["mean_ns"] == pytest.approx(document["random_read_ns"], rel=0.01)


def test_a_load_that_cannot_be_drawn(shell: Shell) -> None:
    says = shell.fails("devices", "show", "intel-p3700-800", "--plot", "load.png")
    assert "load.png: a plot is a page; choose a name that ends in .html" in says
    assert "a load curve needs limits" in shell.fails("devices", "show", "azure-ultra", "--load")


def test_the_schema_of_a_kind(shell: Shell) -> None:
    assert "streams" in shell("devices", "schema", "workload").document()["properties"]
    assert shell("devices", "schema", "flash").document()["properties"]["kind"]["const"] == "flash"
    assert "model_error" in shell("devices", "schema", "result").document()["required"]
    assert "'flsh' is not one of hdd, measured-hdd, flash" in shell.fails("devices", "schema", "flsh")


@pytest.mark.long
def test_warm_up(shell: Shell) -> None:
    assert re.fullmatch(r"tiersim: \d+ kernels ready\n", shell("warmup").err)


# Wrong usage.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("replay x", "Missing option '--on'"),
        ("replay --on pcie-flash", "Missing argument 'trace'"),
        ("import x", "Missing option '--output'"),
        ("import -o x.trace", "Missing argument 'files'"),
        ("report", "Missing argument 'inputs'"),
        ("describe", "Missing argument 'trace'"),
        ("devices show", "Missing argument 'name'"),
        ("simulate x", "No such command 'simulate'"),
        ("replay x --om pcie-flash", "No such option: --om"),
    ],
)
def test_wrong_usage(shell: Shell, arguments: str, says: str) -> None:
    said = shell(*arguments.split())
    assert said.code == 2
    assert says in said.err


# Wrong traces.

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100)
RANDOM = np.random.default_rng(1).bytes(5000)


@pytest.mark.parametrize("command", [["import", "-o", "out.trace"], ["describe"], ["replay", "--on", "pcie-flash"]])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nosuch.trace", "nosuch.trace: cannot be read (no such file or directory); give a file"),
        ("empty.blktrace.0", "empty.blktrace.0: is empty; record again"),
        ("random", "random: is of no known format: it begins with b"),
        (
            "photo.png",
            r"photo.png: is of no known format: it begins with b'\x89PNG\r\n\x1a\n'; known are blktrace",
        ),
        ("notes.txt", "notes.txt: is of no known format: it begins with b'Dear DBA'; known are"),
        ("other.parquet", "other.parquet: the column 'time_ns' is required and not there"),
        ("half.parquet", "half.parquet: is not a whole Parquet file; write or import it again"),
        ("notes.txt/x", "notes.txt/x: cannot be read (not a directory)"),
        ("folder", "folder: no file in it is of a known format; give the files"),
        ("pipe", "pipe: cannot be read twice, as an import must; save what comes from it as a file first"),
        ("x" * 300, "file name too long; check the name"),
    ],
)
def test_what_is_no_trace(shell: Shell, command: list[str], name: str, says: str) -> None:
    for file, content in {
        "empty.blktrace.0": b"",
        "random": RANDOM,
        "photo.png": PNG,
        "notes.txt": b"Dear DBA,\n",
        "half.parquet": b"PAR1x",
    }.items():
        shell.file(file, content)
    pq.write_table(pa.table({"price": [1.0]}), shell.folder / "other.parquet")
    (shell.folder / "folder").mkdir()
    if name == "pipe":  # not in the listing of the other cases, which reads everything
        os.mkfifo(shell.temporary.parent / "pipe")
        name = "../pipe"
    assert says in shell.fails(command[0], name, *command[1:])


def test_a_file_that_may_not_be_read(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.file("../secret.blktrace.0", CAPTURE.read_bytes())  # beside the folder whose files the shell compares
    really_open = Path.open

    def refuse(path: Path, *arguments: Any, **more: Any) -> Any:
        if path.name.startswith("secret"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return really_open(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", refuse)
    assert "secret.blktrace.0: cannot be read (permission denied)" in shell.fails("describe", "../secret.blktrace.0")


@pytest.mark.parametrize(
    ("file", "format", "says"),
    [
        (
            "notes.txt",
            "blktrace",
            "notes.txt: at byte 0 is b'Dear DBA', and no blktrace record follows; give the files",
        ),
        ("vda.blktrace.0", "arrow", "vda.blktrace.0: is not a whole Arrow file"),
        ("vda.blktrace.0", "blktrase", "the format 'blktrase' is not known; did you mean 'blktrace'?"),
        (".", "blktrace", "cannot be read (is a directory)"),
        (".", "arrow", "is not a trace bundle"),
    ],
)
def test_a_format_forced_wrong(shell: Shell, file: str, format: str, says: str) -> None:
    shell.file("notes.txt", "Dear DBA,\n")
    shell.file("vda.blktrace.0", CAPTURE.read_bytes())
    assert says in shell.fails("import", file, "-o", "out.trace", "--format", format)


def test_a_capture_cut_short_is_imported_with_the_loss_stated(shell: Shell) -> None:
    shell.file("cut.blktrace.0", CAPTURE.read_bytes()[:-20])
    said = shell("import", "cut.blktrace.0", "-o", "cut.trace", "--json")
    document = said.document()
    assert document["requests"] > 0
    assert document["dropped"]["bytes that are no records"] > 0
    warning = (
        "warning: cut.blktrace.0: 28 bytes at 1 places are no records and were left out; it ends within a record:"
        " give the whole file"
    )
    assert said.err == f"tiersim: {warning}\n"
    manifest = json.loads((shell.folder / "cut.trace" / "manifest.json").read_bytes())
    assert manifest["warnings"] == [warning.removeprefix("warning: ")]
    assert manifest["dropped"] == document["dropped"]
    for command in (["describe", "cut.trace"], ["describe", "cut.blktrace.0"]):
        assert shell(*command).err == f"tiersim: {warning}\n"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"time_ns": pa.array([0, 1], pa.timestamp("us"))}, "column 'time_ns', row 0: .* is a date; write the nanosec"),
        ({"time_ns": [1_790_000_000 * 10**9] * 2}, "row 0: .* is 36 years after the trace began; subtract the time"),
        ({"offset_bytes": [0, 2**63 - 4096]}, "column 'offset_bytes', row 1: .* is behind the end of any device"),
        ({"length_bytes": [2**62, 4096]}, "column 'length_bytes', row 0: .* is longer than any device"),
    ],
)
def test_values_that_cannot_be(shell: Shell, changed: dict[str, Any], says: str) -> None:
    columns = {"time_ns": [0, 1], "op": ["read"] * 2, "offset_bytes": [0, 0], "length_bytes": [4096] * 2} | changed
    write_requests(shell.folder / "x.trace", columns)
    assert re.search(says, shell.fails("describe", "x.trace"))
    assert re.search(says, shell.fails("replay", "x.trace", "--on", "pcie-flash"))


def test_a_manifest_by_hand(shell: Shell) -> None:
    bundle = plain(shell.folder / "x.trace")
    (bundle / "manifest.json").write_text('{"span_ns": "3 s"}')
    assert (
        shell.fails("describe", "x.trace")
        == "x.trace/manifest.json: span_ns: '3 s' is not a number; remove the key or the file"
    )


# Odd traces that are traces.


def test_the_four_required_columns_are_enough(shell: Shell) -> None:
    plain(shell.folder / "pandas.trace")
    document = shell("describe", "pandas.trace", "--json").document()
    assert document["span_ns"] == 299 * 10_000_000
    assert document["rate_per_s"] == pytest.approx(100, rel=0.01)
    said = shell("replay", "pandas.trace", "--on", "15k-raid10", "--on", "aws-gp3", "--all")
    assert said.out.splitlines()[2].split() == ["figure", "15k-raid10", "aws-gp3"]  # nothing was measured
    assert "warning" not in said.err
    assert "--all prints " not in said.out
    assert shell("report", "15k-raid10.result", "aws-gp3.result").code == 0
    assert (shell.folder / "report.html").stat().st_size > 1_000_000


@pytest.mark.long
@pytest.mark.parametrize("device", ["15k-raid10", "pcie-flash", "aws-gp3"])
@pytest.mark.parametrize(
    "columns",
    [
        {"time_ns": [0, 1], "op": ["read"] * 2, "offset_bytes": [8192] * 2, "length_bytes": [4096] * 2},
        {"time_ns": [0, 10**6, 10**9], "op": ["flush"] * 3, "offset_bytes": [0] * 3, "length_bytes": [0] * 3},
        {"time_ns": [5, 6], "op": ["discard"] * 2, "offset_bytes": [0, 0], "length_bytes": [1 << 30, 1 << 20]},
    ],
    ids=["two requests", "only flushes", "only discards"],
)
def test_traces_of_next_to_nothing(shell: Shell, columns: dict[str, Any], device: str) -> None:
    write_requests(shell.folder / "odd.trace", columns)
    assert shell("describe", "odd.trace").code == 0
    assert shell("describe", "odd.trace", "--json").document()["requests"] == len(columns["op"])
    document = shell("replay", "odd.trace", "--on", device, "--json").document()
    (latency,) = document["scenarios"][0]["latency_ns"].values()
    assert latency["count"] == len(columns["op"])
    assert all(document["scenarios"][0]["conservation"].values())
    assert shell("replay", "odd.trace", "--on", device, "--force").code == 0
    assert shell("report", f"{device}.result").code == 0


@pytest.mark.parametrize("count", [1, 2])
def test_a_trace_whose_requests_have_one_time_is_described_and_not_replayed(shell: Shell, count: int) -> None:
    columns = {"time_ns": [5] * count, "op": ["discard"] * count, "offset_bytes": [0] * count}
    write_requests(shell.folder / "odd.trace", columns | {"length_bytes": [1 << 20] * count})
    assert shell("describe", "odd.trace", "--json").document()["requests"] == count
    assert "have the same time" in shell.fails("replay", "odd.trace", "--on", "pcie-flash")


def test_a_trace_of_nothing(shell: Shell) -> None:
    columns = {name: pa.array([], pa.int64()) for name in ("time_ns", "offset_bytes", "length_bytes")}
    write_requests(shell.folder / "nothing.trace", columns | {"op": pa.array([], pa.string())})
    assert "0 requests" in shell("describe", "nothing.trace").out
    assert (
        shell.fails("replay", "nothing.trace", "--on", "pcie-flash")
        == "nothing.trace: holds no requests; import a recording that does"
    )


# Wrong scenarios and devices.


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '[volumes.data]\ndevice = "aws-gp3"\ndevise = ""',
            "s.toml:3: volumes.data.devise: unknown key 'devise'; did you mean 'device'?",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp4"',
            "s.toml:2: volumes.data.device: 'aws-gp4' is not a device of the catalogue; did you mean 'aws-gp3'?",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\nstripe = "64 KB/s"',
            "s.toml:3: volumes.data.stripe: '64 KB/s' is not a size; write for example '16 GiB'",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\nstripe = 64',
            "s.toml:3: volumes.data.stripe: 64 is a size without a unit",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\ncount = 3\nlayout = "raid10"',
            's.toml:1: volumes.data: layout = "raid10" needs an even count, not 3',
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\n[placement]\ndefault = "date"',
            "s.toml:4: placement.default: 'date' is not one of the volumes; did you mean 'data'?",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\n\n[placement]\nlogs = "data"',
            (
                "s.toml:5: placement.logs: is not default, log, temp, tempdb,"
                " backup, extension, doublewrite, binary_log, file:NAME or relation:NAME; did you mean 'log'?"
            ),
        ),
        (
            '[volumes.a]\ndevice = "aws-gp3"\n[volumes.b]\ndevice = "aws-gp3"',
            "s.toml:1: placement: several volumes and no",
        ),
        (
            '[volumes.data]\ndevice = "mine.toml"',
            "s.toml:2: volumes.data.device: mine.toml: cannot be read (no such file",
        ),
        ("[replay]\nseed = 1", "s.toml:1: volumes: the key 'volumes' is required and not there"),
        (
            '[volumes.data]\ndevice = "aws-gp3"\ncount = 2\nlayout = "raid5"',
            's.toml:1: volumes.data: layout = "raid5" needs a count of 3 or more, not 2',
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\nqueue_depth = 0',
            "s.toml:3: volumes.data.queue_depth: 0: input should be greater",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\ndrive_queue_depth = 4',
            "s.toml:3: volumes.data.drive_queue_depth: the volume is a single device; write queue_depth",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\nmax_request = "1000 B"',
            "s.toml:3: volumes.data.max_request: is not a positive multiple of 512 bytes",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\nmerge = true',
            (
                "s.toml:3: volumes.data.merge: joins requests that wait for a"
                " place in the queue, up to a length; write both, for example queue_depth = 128"
            ),
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\njournal = "orderd"',
            "s.toml:3: volumes.data.journal: 'orderd': input should be",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\n[queues.hba]\ndepth = 8\nvolumes = ["date"]',
            "s.toml:5: queues.hba.volumes: 'date' is not one of the volumes; did you mean 'data'?",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\n[queues.hba]\nvolumes = ["data"]',
            "s.toml:3: queues.hba.depth: the key 'depth' is",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\n[queues.hba]\ndepth = 8\nvolumes = []',
            "s.toml:5: queues.hba.volumes: []: list should",
        ),
        (
            '[volumes.data]\ndevice = "aws-gp3"\n[queues.data]\ndepth = 8',
            "s.toml:3: queues.data: is the name of a volume; choose",
        ),
        ("[volumes.data\n", "s.toml:1: is not valid TOML"),
        (
            'kind = "flash"\nname = "x"\nchannels = 8',
            's.toml: is a device file, not a scenario; write a scenario beside it: device = "s.toml" under',
        ),
        ('\ufeff[volumes.data]\ndevice = "aws-gp3"\ncuont = 1', "s.toml:3: volumes.data.cuont: unknown key"),
        (b"\xff\xfe", "s.toml: byte 0 is not UTF-8 text; save the file as UTF-8"),
    ],
)
def test_a_scenario_with_a_mistake(shell: Shell, text: str | bytes, says: str) -> None:
    plain(shell.folder / "x.trace", rows=2)
    shell.file("s.toml", text)
    assert says in shell.fails("replay", "x.trace", "--on", "s.toml")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("channels = 8", "chanels = 8", "chanels: unknown key 'chanels'; did you mean 'channels'?"),
        (
            'read = "75 us"',
            'read = "75 GiB"',
            "d.toml:18: read.0: '75 GiB' is not a duration; write for example '3.4 ms'",
        ),
        ('page = "16 KiB"', 'page = "0 B"', "d.toml:15: page: 0: input should be greater than 0"),
        (
            'kind = "flash"',
            'kind = "flsh"',
            f"d.toml: kind: 'flsh' is not one of {', '.join(kinds())}; did you mean",
        ),
        (
            'queue_depth = "data',
            'queue = "data',
            "sources: 'queue_depth' has no source; say where its number comes from",
        ),
    ],
)
def test_a_device_with_a_mistake(shell: Shell, old: str, new: str, says: str) -> None:
    from tiersim.devices import catalogue

    text = (Path(catalogue.__file__).parent / "catalogue" / "micron-s650dc-800.toml").read_text()
    assert old in text
    shell.file("d.toml", text.replace(old, new))
    said = shell("devices", "show", "d.toml")
    assert said.code == 1
    assert said.err.startswith("tiersim: d.toml:")
    assert says in said.err.replace("d.toml:32: sources: ", "sources: ")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pcie-flsh", "'pcie-flsh' is not a scenario, a device, or a .toml file; did you mean 'pcie-flash'?"),
        (
            "zzzzz",
            "'zzzzz' is not a scenario, a device, or a .toml file; ready scenarios: 15k-raid10, 15k-raid10-bare, ",
        ),
        ("nosuch.toml", "nosuch.toml: cannot be read (no such file or directory); check the name"),
        ("", "'' is not a scenario"),
    ],
)
def test_an_unknown_scenario(shell: Shell, name: str, says: str) -> None:
    plain(shell.folder / "x.trace", rows=2)
    assert says in shell.fails("replay", "x.trace", "--on", name)


def test_an_unknown_device(shell: Shell) -> None:
    assert (
        shell.fails("devices", "show", "aws-gp4")
        == "'aws-gp4' is not a device of the catalogue; did you mean 'aws-gp3'?"
    )


def test_a_trace_larger_than_the_volume(shell: Shell) -> None:
    columns = {"time_ns": [0, 1], "op": ["read"] * 2, "offset_bytes": [1 << 50] * 2, "length_bytes": [4096] * 2}
    write_requests(shell.folder / "x.trace", columns)
    shell.file("big.toml", '[volumes.data]\ndevice = "aws-gp3"\ncount = 100\nlayout = "raid0"\n')
    says = shell.fails("replay", "x.trace", "--on", "big.toml", "--on", "pcie-flash")
    assert says.startswith("pcie-flash: volume 'data' holds 800 GB, the trace needs 1024 TiB; write addresses = ")


def test_two_scenarios_of_one_name(shell: Shell) -> None:
    plain(shell.folder / "x.trace", rows=2)
    shell.file("pcie-flash.toml", '[volumes.data]\ndevice = "aws-gp3"\n')
    assert (
        shell.fails("replay", "x.trace", "--on", "pcie-flash", "--on", "pcie-flash.toml")
        == "two scenarios are called 'pcie-flash', and their results would replace each other; rename one of the files"
    )


# Wrong places to write to, and wrong results.


@pytest.mark.parametrize(
    "command",
    [
        ["import", str(CAPTURE), "-o"],
        ["replay", "x.trace", "--on", "pcie-flash", "-o"],
        ["report", "r/pcie-flash.result", "-o"],
        ["demo", "-o"],
    ],
)
def test_places_that_cannot_be_written(shell: Shell, command: list[str]) -> None:
    plain(shell.folder / "x.trace", rows=2)
    shell("replay", "x.trace", "--on", "pcie-flash", "-o", "r")
    shell.file("file", "precious")
    assert re.search(r"file is not a folder that can be written to; choose a place", shell.fails(*command, "file/x"))
    assert re.match(r"/proc/x.*: cannot be written \(no such file", shell.fails(*command, "/proc/x"))


def test_what_is_there_stays(shell: Shell) -> None:
    bundle = plain(shell.folder / "x.trace", rows=2)
    shell("replay", "x.trace", "--on", "pcie-flash")
    replay = ("replay", "x.trace", "--on", "pcie-flash")
    assert "pcie-flash.result: is already there" in shell.fails(*replay)
    assert "x.trace: is already there" in shell.fails("import", CAPTURE, "-o", "x.trace")
    # a slip with --force replaces a result by a result and a trace by a trace, and never a folder of something else
    precious = shell.file("precious", "1")
    for target in (".", "precious", bundle / "requests.parquet"):
        assert "that tiersim did not write; choose another name" in shell.fails(
            "import", CAPTURE, "-o", target, "--force"
        )
    assert "that tiersim did not write; choose another name" in shell.fails(
        "report", "pcie-flash.result", "-o", "x.trace", "--force"
    )
    assert precious.read_text() == "1"
    assert shell(*replay, "--force", "--requests").code == 0
    assert shell(*replay, "--force").code == 0


def _truncate(name: str) -> Callable[[Path], object]:
    return lambda result: (result / name).write_bytes((result / name).read_bytes()[:-30])


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_truncate("summary.json"), "pcie-flash.result: is damaged"),
        (_truncate("latency.parquet"), "pcie-flash.result: is damaged"),
        (
            lambda result: (result / "timeline.parquet").unlink(),
            "pcie-flash.result: is not a result bundle (it has no timeline.parquet)",
        ),
        (lambda result: (result / "summary.json").write_text("{}"), "summary.json: schema is not 'tiersim.result/1'"),
        (lambda result: (result / "summary.json").write_text('{"schema": "tiersim.result/2"}'), "schema is not"),
        (lambda result: (result / "summary.json").write_text("[]"), "schema is not"),
    ],
)
def test_a_damaged_result(shell: Shell, damage: Callable[[Path], object], says: str) -> None:
    plain(shell.folder / "x.trace", rows=2)
    shell("replay", "x.trace", "--on", "pcie-flash")
    damage(shell.folder / "pcie-flash.result")
    assert says in shell.fails("report", "pcie-flash.result")


def test_a_report_of_what_is_no_result(shell: Shell) -> None:
    plain(shell.folder / "x.trace", rows=2)
    for name, why in (("nosuch.result", "no such file or directory"), ("x.trace", "it has no summary.json")):
        assert f"{name}: is not a result bundle ({why}); give a folder" in shell.fails("report", name)


def test_a_table_of_requests_says_how_many_the_kernel_left_of_them(shell: Shell) -> None:
    """Its rates are of those, and `describe` counts them all."""
    number = np.arange(40)
    columns = {
        "time_ns": number // 2 * 10_000_000,
        "op": ["read"] * 40,
        "offset_bytes": number * 8192,
        "length_bytes": np.full(40, 8192),
        "issue_ns": number // 2 * 10_000_000 + 10,
        "command": number // 2,
        "latency_ns": np.full(40, 100_000),
    }
    write_requests(shell.folder / "merged.trace", columns)
    plain(shell.folder / "plain.trace", rows=40)
    said = {
        name: shell("replay", f"{name}.trace", "--on", "pcie-flash", "-o", name).out for name in ("merged", "plain")
    }
    assert "block trace: 40 requests (20 after merges by the kernel) in " in said["merged"]
    assert "block trace: 40 requests in " in said["plain"]


@pytest.mark.long
def test_an_error_in_one_run_stops_the_others(shell: Shell, slow: Path) -> None:
    shell.file("small.toml", '[volumes.data]\ndevice = "pcie.toml"\n')
    from tiersim.devices import catalogue

    text = (Path(catalogue.__file__).parent / "catalogue" / "intel-p3700-800.toml").read_text()
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("endurance"))
    shell.file("pcie.toml", text.replace('capacity = "800 GB"', 'capacity = "48 MB"'))
    began = time.process_time()
    says = shell.fails("replay", slow, "--on", "sas-ssd-raid10", "--on", "small.toml")
    assert says.startswith("small: volume 'data' holds 48 MB, the trace needs 50 MiB; write addresses = ")
    assert time.process_time() - began < 4


# Interrupts, and the bar on a terminal.


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace whose replay takes seconds: each request is several of each drive."""
    return plain(tmp_path_factory.mktemp("slow") / "slow.trace", rows=2_000_000, length_bytes=1 << 20, gap_ns=5_000_000)


def large(path: Path) -> Path:
    """A recording that takes half a minute to import: some requests, then a hole of zeros that is no records."""
    records = [record(action, 1000 * n + action, 8 * n, 4096) for n in range(1000) for action in (Q, D, C)]
    path.write_bytes(b"".join(records))
    os.truncate(path, 30 << 30)
    return path


@dataclass
class Terminal:
    """A command whose standard error is a terminal."""

    process: subprocess.Popen[bytes]
    screen: int
    seen: bytes = b""

    def read_until(self, pattern: bytes) -> None:
        while not re.search(pattern, self.seen):
            part = self._read()
            assert part, self.seen
            self.seen += part

    def end(self) -> int:
        while part := self._read():
            self.seen += part
        return self.process.wait(20)

    def _read(self) -> bytes:
        try:
            return os.read(self.screen, 1 << 16)
        except OSError:  # nobody has the other end open any more
            return b""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    started: list[Terminal] = []

    def start(folder: Path, *arguments: object) -> Terminal:
        screen, end = pty.openpty()
        code = "from tiersim.cli.main import main; main()"
        temporary = tmp_path / "temporary"
        temporary.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=end,
            env=os.environ | {"TERM": "xterm", "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
        os.close(end)
        started.append(Terminal(process, screen))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        os.close(one.screen)


#: Every command that is interrupted and ended: one of each way every day.
_INTERRUPTED = ["import", "describe", "replay one", "replay several"]


@pytest.mark.parametrize(
    ("command", "number"),
    first(
        2,
        ("import", signal.SIGINT),
        ("replay one", signal.SIGINT),
        ("replay several", signal.SIGTERM),
        *((command, signal.SIGINT) for command in ("describe", "replay several")),
        *((command, signal.SIGTERM) for command in _INTERRUPTED[:-1]),
    ),
)
def test_an_interrupt(
    tmp_path: Path, terminal: Callable[..., Terminal], slow: Path, command: str, number: signal.Signals
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    if command.startswith("replay"):
        twin = folder / "twin.toml"
        twin.write_text('[volumes.data]\ndevice = "micron-s650dc-800"\ncount = 4\nlayout = "raid10"\n')
        scenarios = ["--on", "sas-ssd-raid10", "--on", twin][: 2 if command == "replay one" else 4]
        running = terminal(folder, "replay", slow, *scenarios, "-o", "results")
        running.read_until(rb"replaying.*\D[1-9]\d?%")
    else:
        large(folder / "large.blktrace.0")
        output = ["-o", "out.trace"] if command == "import" else []
        running = terminal(folder, command, "large.blktrace.0", *output)
        running.read_until(rb"importing.*\D[1-9]\d?%")
    before = sorted(folder.iterdir())
    began = time.monotonic()
    for _ in range(3):  # somebody impatient
        running.process.send_signal(number)
        time.sleep(0.02)
    assert running.end() == 130
    assert time.monotonic() - began < 4
    assert running.seen.endswith(b"tiersim: interrupted; nothing was left half written\r\n")
    assert b"Traceback" not in running.seen
    left = [path.name for path in folder.iterdir()]
    assert left == [path.name for path in before if not path.name.startswith(".")]
    assert list((tmp_path / "temporary").iterdir()) == []


RECORDED = DATA / "recorded"


def test_counters_are_imported_and_described_without_compiling_anything(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise AssertionError("kernels are for requests")

    monkeypatch.setattr("tiersim.cli.import_trace.compile_if_cold", refuse)
    monkeypatch.setattr("tiersim.cli.import_trace.compile_if_cold", refuse)
    said = shell("import", RECORDED / "before", RECORDED / "after", "-o", "pg.trace")
    assert said.out.startswith("pg.trace: 2 snapshots of counters in ")
    said = shell("describe", "pg.trace", "-o", "pg.html")
    assert re.search(r"UPDATE pgbench_accounts SET… +2,828 ", said.out)
    assert "missing: " in said.out
    assert "--all prints " in said.out
    whole = shell("describe", "pg.trace", "--all").out
    assert re.search(r"UPDATE pgbench_accounts SET abalance = abalance \+ \? WHERE aid = \? +2,828 ", whole)
    assert "relations by pages read" in whole
    assert "By query" in (shell.folder / "pg.html").read_text(encoding="utf-8")
    document = shell("describe", "pg.trace", "--json").document()
    assert "classes" not in document
    (query,) = [q for q in document["counted"]["queries"] if (q["text"] or "").startswith("UPDATE pgbench_accounts")]
    assert (query["calls"], query["pages_read"], query["log_full_page_images"]) == (2828, 4765, 5070)


def _rows_and_notes(text: str) -> tuple[list[str], list[str]]:
    """The rows of a table, and the lines below it."""
    lines = [line.strip() for line in text.splitlines()]
    first = next(place for place, line in enumerate(lines) if line.startswith("──")) + 1
    end = lines.index("", first)
    return lines[first:end], lines[end + 1 :]


@needs_jit
@pytest.mark.long
def test_counters_give_latencies_of_queries(shell: Shell, capfd: pytest.CaptureFixture[str]) -> None:
    shell("import", RECORDED / "before", RECORDED / "after", "-o", "pg.trace")
    arguments = ("replay", "pg.trace", "--on", "pcie-flash", "--on", "15k-raid10", "--set", "host.cores=2")
    short = shell(*arguments)
    kept = [shell.folder / f"{name}.result" for name in ("pcie-flash", "15k-raid10")]
    flash, disks = [json.loads((one / "summary.json").read_bytes()) for one in kept]
    (query,) = [q for q in flash["queries"].values() if (q["text"] or "").startswith("UPDATE pgbench_accounts")]
    assert query["count"] == 2828
    assert query["physical_reads_per_call"] > 0
    assert flash["latency_ns"]["transaction"]["mean"]["high"] < disks["latency_ns"]["transaction"]["mean"]["low"]
    rows, notes = _rows_and_notes(short.out)
    assert len(rows) <= 15
    assert len(notes) == 5
    assert re.fullmatch(r"--all prints \d+ more rows and \d+ more notes?\.", notes[-1])
    for words in (
        "carries the load",
        "transactions/s",
        "transaction, p99",
        "query 1, mean",
        "busiest part",
        "error of the model, mean latency",
    ):
        assert f" {words} " in short.out
    show([load_result(one) for one in kept], everything=True)
    said = capfd.readouterr().out
    for words in (
        "transaction, p95",
        "query 1, time goes to",
        "pool hit ratio",
        "busiest part",
        "UPDATE pgbench_accounts",
    ):
        assert words in said
    shell("report", "pcie-flash.result", "15k-raid10.result", "-o", "report.html")
    assert "transaction" in (shell.folder / "report.html").read_text(encoding="utf-8")


def test_an_engine_needs_a_recording_of_statements(shell: Shell) -> None:
    shell("import", CAPTURE, "-o", "requests.trace")
    settings = ("replay", "requests.trace", "--on", "pcie-flash", "--set", "engine.buffer_pool=1GiB")
    assert "holds block requests and no queries, which an [engine] runs" in shell.fails(*settings)
    settings = ("replay", "requests.trace", "--on", "pcie-flash", "--set", "replay.cache_state=cold")
    assert "this one replays requests" in shell.fails(*settings)


def test_a_described_workload_is_no_recording(shell: Shell) -> None:
    (shell.folder / "mine.toml").write_text('[workload]\nengine = "postgresql"\n')
    for command in (("describe", "mine.toml"), ("import", "mine.toml", "-o", "mine.trace")):
        said = shell.fails(*command)
        assert "mine.toml: describes a workload and is no recording" in said
        assert "tiersim replay mine.toml --on HARDWARE" in said


def test_the_schema_of_scenarios(shell: Shell) -> None:
    assert "buffer_pool" in shell("devices", "schema", "scenario").document()["$defs"]["EngineModel"]["properties"]


def test_statements_and_requests_of_the_same_minutes_are_one_trace(shell: Shell) -> None:
    said = shell("import", CAPTURE, RECORDED / "checkpoints.log", "-o", "both.trace", "--json").document()
    assert said["requests"] == ROWS
    assert said["snapshots"] == 3  # the checkpoints that ended
    assert "blktrace, postgresql-log" in said["format"]
    assert shell("describe", "both.trace", "--json").document()["rate_per_s"] is None  # of the requests' 645 ms


def test_literals_stay_only_when_they_are_asked_for(shell: Shell) -> None:
    (shell.folder / "log").write_text(
        "2026-11-21 01:37:52.102 UTC [25230] LOG:  duration: 5.5 ms  statement: SELECT * FROM people WHERE name ="
        " 'Alice'\n"
    )
    for option, kept in (("--force", False), ("--keep-literals", True)):
        shell("import", "log", "-o", "log.trace", "--force", option)
        text = pq.read_table(shell.folder / "log.trace" / "queries.parquet")["text"][0].as_py()
        assert ("Alice" in text) == kept


@pytest.mark.parametrize(("available", "gap"), [(80, 3), (60, 3), (50, 3), (50, 2)])
def test_no_number_of_a_table_is_broken_in_a_narrow_terminal(available: int, gap: int) -> None:
    columns = ["figure", "recorded", "15k-raid10", "pcie-flash"]
    rows = [
        ["transactions/s", "328,147", "1,234,567", "2"],
        ["busiest part", "", "disk arm of data.8: 16 % busy", "CPU: 99 % busy"],
    ]
    widths = column_widths(columns, rows, available, gap)
    assert widths is not None
    assert sum(widths) + gap * len(widths) <= available
    assert widths[0] == len("transactions/s")
    for row in rows:
        for cell, width in zip(row[1:], widths[1:], strict=True):
            assert max(map(len, cell.split()), default=0) <= width


def test_a_table_that_has_no_room_for_its_numbers_is_left_to_wrap() -> None:
    assert column_widths(["figure", "value"], [["transactions/s", "1,234,567"]], 20, 2) is None


#: Three scenarios with the longest label that ``tiersim demo`` prints.
_THREE = ["figure", "recorded", "15k-raid10", "sas-ssd-raid10", "pcie-flash"]
_OF_THREE = [["expected error of throughput", "", *["0.83–1.20 ×"] * 3], ["requests/s", "1,264", *["1,264"] * 3]]


@pytest.mark.parametrize(("columns", "headings"), [(80, 2), (120, 1)])
def test_headings_and_ranges_of_three_scenarios_are_not_broken_in_mid_word(
    columns: int, headings: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show_table("three", _THREE, _OF_THREE)
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= columns
    rule = next(place for place, line in enumerate(lines) if "───" in line)
    head = lines[rule - headings : rule]
    assert not lines[rule - headings - 1].strip()
    words = set(" ".join(head).split())
    assert words == {"figure", "recorded", "15k-raid10", "pcie-flash"} | (
        {"sas-ssd-", "raid10"} if headings == 2 else {"sas-ssd-raid10"}
    )
    assert lines[rule + 1].count("0.83–1.20 ×") == 3


def test_what_is_piped_is_as_wide_as_it_has_to_be_and_has_no_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    show_table("three", _THREE, _OF_THREE, "a note")
    said = capsys.readouterr().out
    assert " ".join(_THREE) in " ".join(said.split())
    assert "\x1b" not in said


def test_the_recorded_hardware_is_played_as_asked_and_at_the_recorded_load() -> None:
    given = ["replay.load = 4", "replay.duration=1 h", "replay.seed=7", "engine.os_cache=1GiB", "host.cores=64"]
    found = recorded_hardware("pcie-flash", given)
    assert found is not None
    replay = found.model.replay
    assert (replay.load, replay.duration, replay.seed, found.model.host) == (1.0, None, 7, None)
    assert found.model.engine is not None
    assert found.model.engine.os_cache == 1 << 30
