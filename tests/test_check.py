"""``tiersim check``: every byte that changed is found, and nothing half written is called whole."""

import json
import random
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.recordings import rows_of, write_recording
from tiersim.cli.main import app
from tiersim.files import files_of, sealed, sealed_files, whole_folder
from tiersim.scenarios.check import check
from tiersim.scenarios.sweeps.axes import parse_axes
from tiersim.scenarios.sweeps.folder import open_folder
from tiersim.simulator.result import Result, load_result, save_result
from tiersim.traces.bundle import Bundle
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.statistics import PARTS, Snapshot

AXES = parse_axes(("replay.load=1,2",))


def bundle(folder: Path) -> Path:
    return write_recording(folder, rows_of(range(0, 9000, 1000), 10, offset_bytes=8192), streams=["a"])


def result(folder: Path, name: str = "a.result") -> Path:
    table = pa.table({"class": ["data read"], "count": [1]})
    summary = {"schema": "tiersim.result/1", "name": "a"}
    save_result(Result(summary, table, table, table, "[volumes]\n"), folder / name, {"seconds": 1.5})
    return folder / name


def sweep(folder: Path, *, finished: bool = True) -> Path:
    path = folder / "a.sweep"
    with open_folder(path, PLAN, force=False) as opened:
        for number in range(2):
            opened.write(row(number), load_result(result(folder, f"{number}.result")))
            shutil.rmtree(folder / f"{number}.result")
        if finished:
            opened.finish(2, AXES, {"seconds": 1})
    return path


PLAN = {
    "schema": "tiersim.sweep/1",
    "tool": "1",
    "trace": {},
    "scenario": "a",
    "scenario_hash": "0",
    "axes": [],
    "fixed": {},
    "replications": 1,
    "points": 2,
    "keep": True,
    "screen": None,
    "recorded_on": None,
}


def row(number: int) -> dict[str, object]:
    settings = {"replay.load": str(number + 1)}
    return {
        "point": number,
        "replication": 0,
        "settings": settings,
        "status": "failed",
        "error": "why",
        "summary": {},
    }


WRITERS = [bundle, result, sweep]


@pytest.fixture(params=WRITERS, ids=["bundle", "result", "sweep"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    write: Callable[[Path], Path] = request.param
    return write(tmp_path)


def test_what_was_written_is_whole(written: Path) -> None:
    found = check(written)
    assert (found.verdict, found.found) == ("whole", [])
    assert found.files == len(list(files_of(written))) > 1
    assert found.bytes == sum(path.stat().st_size for path in files_of(written).values())


def test_a_byte_that_changed_is_found_wherever_it_is(written: Path) -> None:
    luck = random.Random(5)
    for name, file in files_of(written).items():
        before = file.read_bytes()
        for place in {0, len(before) - 1, *luck.choices(range(len(before)), k=8)}:
            changed = bytearray(before)
            changed[place] ^= 1 << luck.randrange(8)
            file.write_bytes(changed)
            found = check(written)
            assert found.verdict == "damaged", (name, place, changed[place - 20 : place + 20])
            assert len(found.found) == 1
            assert str(file) in found.found[0]
        file.write_bytes(before)
    assert check(written).verdict == "whole"


def test_every_bit_of_a_document_is_covered_by_its_own_checksum() -> None:
    text = sealed({"began": 1.5, "host": {"name": "ä"}}, {"a.parquet": "0" * 64})
    assert sealed_files(text) == {"a.parquet": "0" * 64}
    for place in range(len(text)):
        for bit in range(8):
            changed = bytearray(text)
            changed[place] ^= 1 << bit
            with pytest.raises(ValueError, match=r"is not|has no"):
                sealed_files(bytes(changed))


def test_a_file_that_was_cut_or_is_missing_is_found(written: Path) -> None:
    for file in files_of(written).values():
        before = file.read_bytes()
        for length in (0, 1, len(before) // 2, len(before) - 1):
            file.write_bytes(before[:length])
            found = check(written)
            assert found.verdict == "damaged"
            assert str(file) in found.found[0]
        file.unlink()
        found = check(written)
        assert found.verdict != "whole"
        assert str(file) in "".join(found.found) or found.verdict in ("unverified", "unfinished")
        file.write_bytes(before)


def test_a_file_that_was_added_is_found(written: Path) -> None:
    (written / "more.parquet").write_bytes(b"PAR1")
    (sentence,) = check(written).found
    assert "more.parquet: was not written with the" in sentence
    (written / "more.parquet").rename(written / ".nfs0001")  # hidden files are no part of it
    assert check(written).verdict == "whole"


def test_a_link_out_of_it_is_not_followed(written: Path, tmp_path: Path) -> None:
    name, file = next((name, file) for name, file in files_of(written).items() if name.endswith(".parquet"))
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    found = check(written)
    assert found.verdict == "damaged"
    assert f"{name}: is a link that leads out" in found.found[0]


def without_checksums(path: Path, document: str) -> None:
    """As an older tiersim wrote it."""
    values = json.loads((path / document).read_bytes())
    del values["checksums"]
    (path / document).write_text(json.dumps(values, indent=1, sort_keys=True) + "\n")


def test_older_ones_are_unverified_and_not_whole(written: Path) -> None:
    without_checksums(written, "manifest.json" if written.suffix == ".trace" else "run.json")
    assert check(written).verdict == "unverified"
    table = next(file for name, file in files_of(written).items() if name.endswith("s.parquet"))
    table.write_bytes(table.read_bytes()[:-9])
    found = check(written)
    assert found.verdict == "damaged"
    assert len(found.found) == 1


def test_a_bundle_of_another_tool_is_read_to_its_end(tmp_path: Path) -> None:
    columns = {"time_ns": [0, 5], "op": ["read", "read"], "offset_bytes": [0, 8192], "length_bytes": [512, 512]}
    (tmp_path / "own.trace").mkdir()
    table = tmp_path / "own.trace" / "requests.parquet"
    pq.write_table(pa.table(columns), table)
    assert check(tmp_path / "own.trace").verdict == "unverified"
    pq.write_table(pa.table(columns | {"time_ns": [5, 0]}), table)
    found = check(tmp_path / "own.trace")
    assert found.verdict == "damaged"
    assert "sort by time_ns" in found.found[0]


def test_a_sweep_that_was_not_ended_is_not_finished(tmp_path: Path) -> None:
    path = sweep(tmp_path, finished=False)
    (path / "points" / "000001.json").write_text("{")
    found = check(path)
    assert found.verdict == "unfinished"
    assert "1 of its points are done; the same command goes on" in found.found[0]


def test_killed_between_its_last_two_files_a_sweep_goes_on(tmp_path: Path) -> None:
    path = sweep(tmp_path)
    whole = {name: file.read_bytes() for name, file in files_of(path).items()}
    (path / "points.parquet").unlink()
    assert check(path).verdict == "unfinished"
    with open_folder(path, PLAN, force=False) as opened:
        opened.finish(2, AXES, {"seconds": 1})
    assert {name: file.read_bytes() for name, file in files_of(path).items()} == whole


def snapshot(time_ns: int) -> Snapshot:
    return Snapshot(time_ns, {("log", "log"): {"bytes": Decimal(1 + time_ns)}})


def test_a_recording_that_was_not_ended_is_not_finished_and_at_its_end_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "r.trace"
    growing = GrowingBundle(path, 0, {"source_format": "x"}, force=False)
    assert check(path).verdict == "unfinished"
    for time_ns in range(3):
        growing.add([snapshot(time_ns)])
        found = check(path)
        assert found.verdict == "unfinished"
        assert "the recording was not ended" in found.found[0]
    part = path / PARTS / "000001.parquet"
    before = part.read_bytes()
    part.write_bytes(before[:-20])
    assert check(path).verdict == "damaged"
    part.write_bytes(before)
    growing.end()
    assert check(path).verdict == "whole"
    assert not [said for said in Bundle(path).manifest.warnings if "not ended" in said]


def test_what_a_killed_command_left_is_not_whole(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    left = tmp_path / f".{path.name}.0123abcd.partial"
    shutil.copytree(path, left)
    assert check(left).verdict == "unfinished"
    found = check(path)
    assert found.verdict == "whole"
    assert f"{left}: lies beside it" in found.found[0]
    left.rename(tmp_path / f".{path.name}.0123abcd.old")
    shutil.rmtree(path)
    found = check(path)
    assert found.verdict == "unknown"
    assert "0123abcd.old is what it was: rename that" in found.found[0]


@pytest.mark.parametrize("name", ["nothing", "file", "empty"])
def test_what_is_none_of_them_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    found = check(tmp_path / name)
    assert (found.verdict, found.kind, len(found.found)) == ("unknown", None, 1)


def test_a_bundle_that_is_imported_again_has_its_own_checksums(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    with whole_folder(tmp_path / "copy.trace") as copy:
        shutil.copy(path / "requests.parquet", copy)
    assert check(tmp_path / "copy.trace").verdict == "unverified"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            app(["check", *map(str, arguments)])
        said = capsys.readouterr()
        return int(str(end.value.code)), said.out, said.err

    good, bad = bundle(tmp_path), result(tmp_path)
    code, out, err = run(good)
    assert (code, err) == (0, "")
    assert out.startswith(f"{good}: whole (trace bundle, 2 files, ")
    (bad / "latency.parquet").write_bytes(b"PAR1")
    code, out, err = run(good, bad, tmp_path / "nosuch")
    assert code == 1
    assert [line.split(": ")[1].split(" (")[0] for line in out.splitlines()] == [
        "whole",
        "damaged",
        "nothing that can be checked",
    ]
    assert err.splitlines() == [
        (
            f"tiersim: {bad / 'latency.parquet'}: is damaged (its checksum is not the one that was written); run the"
            " replay again"
        ),
        f"tiersim: {tmp_path / 'nosuch'}: is not there; give the folder of a trace bundle, a result or a sweep",
    ]
    code, out, _ = run(good, bad, "--json")
    document = json.loads(out)
    assert code == 1
    assert document["schema"] == "tiersim.check/1"
    assert [one["verdict"] for one in document["checked"]] == ["whole", "damaged"]
    assert list(document["checked"][0]) == ["files", "found", "kind", "path", "size_bytes", "verdict"]


def test_a_hostile_manifest_names_files_that_are_not_opened(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    (path / "manifest.json").write_bytes(sealed({}, {"../../etc/passwd": "0" * 64, "\x1b[31m": "x"}))
    found = check(path)
    assert found.verdict == "damaged"
    assert "passwd: is missing" in "".join(found.found)
    assert "\x1b" not in "".join(found.found)
    (path / "manifest.json").write_bytes(b'{"checksums": {"self": 5}}')
    assert check(path).verdict == "damaged"
