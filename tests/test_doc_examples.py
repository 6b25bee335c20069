"""Commands and programs that README, docs/commands.md and docs/api.md show are run as they stand there, on recordings
of a fraction of a second.
"""

import doctest
import re
import runpy
import shlex
import shutil
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.blktrace_records import LOOP0, C, D, Q, record
from tiersim.cli.main import app

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "data" / "recorded"
REQUESTS = 300


def blocks(document: str, language: str = "") -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [content for of, content in found if of == language]


def modules_with_examples() -> list[str]:
    rooms = [ROOT / "src" / "tiersim" / name for name in ("cli", "scenarios", "simulator", "devices", "traces", "")]
    found = (path for room in rooms for path in room.glob("**/*.py"))  # through links, which ** does not follow
    shown = {path.relative_to(rooms[-1]) for path in found if ">>> " in path.read_text(encoding="utf-8")}
    return sorted(f"tiersim.{'.'.join(path.with_suffix('').parts)}" for path in shown)


def commands() -> list[str]:
    shown = [block for document in ("README.md", "docs/commands.md") for block in blocks(document)]
    found = [line for block in shown for line in block.splitlines() if line.startswith("tiersim ")]
    return [re.sub(r" +#.*", "", line) for line in found]


def recording(device: int) -> bytes:
    """Reads and writes of three processes, a tenth of a millisecond each."""
    parts = []
    for number in range(REQUESTS):
        time_ns, sector, rwbs = number * 300_000, 16 * (number * 37 % 1000), "WS" if number % 3 == 0 else "R"
        for action, after_ns in ((Q, 0), (D, 10_000), (C, 100_000)):
            parts.append(record(action, time_ns + after_ns, sector, 8192, rwbs, pid=100 + number % 3, device=device))
    return b"".join(parts)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands of the README find where they are given."""
    folder = tmp_path_factory.mktemp("machine")
    for number, name in enumerate(("sdb", "sdc")):
        (folder / f"{name}.blktrace.0").write_bytes(recording(LOOP0 + number))
    for name in ("before", "after"):
        shutil.copytree(RECORDED / name, folder / name)
    shutil.copy(RECORDED / "checkpoints.log", folder / "postgresql.log")
    recorded = [str(folder / f"{name}.blktrace.0") for name in ("sdb", "sdc")]
    imported = CliRunner().invoke(app, ["import", *recorded, "-o", str(folder / "prod.trace")])
    assert imported.exit_code == 0, imported.output
    (scenario,) = (block for block in blocks("README.md", "toml") if "[volumes.data]" in block)
    (folder / "mine.toml").write_text(scenario, encoding="utf-8")
    return folder


@pytest.mark.long
def test_the_commands_of_the_documents_run_one_after_the_other(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(machine)
    given = commands()
    assert len(given) > 8
    for command in given:
        _, *words = shlex.split(command)
        arguments = [
            path for word in words for path in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
        ]
        writes = words[0] in ("import", "replay", "sweep", "report")
        done = CliRunner().invoke(app, [*arguments, *(["--force"] if writes else [])])
        assert done.exit_code == 0, (command, done.output, done.exception)
    assert (machine / "report.html").stat().st_size > 10**6


def test_the_program_of_the_interface_runs(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(machine)
    for folder in machine.glob("*.result"):
        shutil.rmtree(folder)
    shutil.rmtree(machine / "prod.trace", ignore_errors=True)
    (program,) = blocks("docs/api.md", "python")
    Path("program.py").write_text(program, encoding="utf-8")
    runpy.run_path("program.py")
    value, low, high = map(float, capsys.readouterr().out.split())
    assert 0 < low <= value <= high


def test_every_name_of_the_interface_is_there_and_described() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"auto(?:function|class|exception):: ([\w.]+)", text)
    assert len(listed) > 12
    for name in listed:
        module, _, last = name.rpartition(".")
        assert getattr(import_module(module), last).__doc__, name


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
