"""The comparison of two trees: what it takes for the same, and what not."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.same.compare import compare
from tests.same.leaves import leaves
from tests.same.lines import ROOT, kernel_lines, missed
from tests.same.names import read_names
from tests.same.tests import run_tests


def named(value: object) -> dict[str, str]:
    return dict(leaves(value, "x"))


def test_every_number_has_a_name_and_no_text_has() -> None:
    table = np.zeros(2, [("a", np.int64), ("b", np.int32)])
    found = named({"n": 1, "text": "one", "rows": table, "none": None, "list": [1.5, 2.5], "deep": [{"k": True}]})
    assert set(found) == {"x.n", "x.rows.a.0", "x.rows.a.1", "x.rows.b.0", "x.rows.b.1", "x.list", "x.deep.0.k"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(40), np.arange(40, dtype=np.int32)),
        (np.array([0.5], np.float32), [0.5]),
        (pa.table({"a": [1]}), pa.table({"a": pa.array([1], "int8")})),
    ],
)
def test_the_width_of_a_number_does_not_matter(one: object, other: object) -> None:
    assert list(named(one).values()) == list(named(other).values())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(40), np.arange(40) + (np.arange(40) == 39)),
        ({"a": 0.1 + 0.2}, {"a": 0.3}),
        (pa.table({"a": [None, 0]}), pa.table({"a": [0, None]})),
        (pa.table({"a": [2**40]}), pa.table({"a": [2**40 + 1]})),
    ],
)
def test_the_last_bit_does(one: object, other: object) -> None:
    assert named(one) != named(other)


def test_names_of_the_base_become_those_of_here(tmp_path: Path) -> None:
    path = tmp_path / "renamed.toml"
    path.write_text(
        'gone = ["run\\\\.old\\\\..*"]\nnew = ["run\\\\.own"]\n[renamed]\n"run\\\\.pool\\\\.(\\\\d+)" ='
        ' "run.frames.\\\\1"\n'
    )
    names = read_names(path)
    assert names.of_base("run.pool.3") == "run.frames.3"
    assert names.of_base("run.old.field") is None
    assert names.of_base("run.log") == "run.log"
    assert names.of_here("run.own") is None


def test_what_differs_is_named() -> None:
    base = {"t": {"run 0": {"a": "1", "b": "2"}, "outcome": "passed"}, "old": {}}
    here = {"t": {"run 0": {"a": "1", "b": "3"}, "outcome": "passed", "run 1": "4"}, "added": {}}
    found = compare(base, here)
    assert found.different == ("t: run 0: b", "t: run 1: only here")
    assert (found.same, found.tests, found.only_base, found.only_here) == (1, 1, ("old",), ("added",))


def test_what_a_clock_decides_is_not_compared() -> None:
    test = "test_record_mysql::test_a_server"
    found = compare({test: {"table 0": "1"}, "t": {}}, {test: {"table 0": "2"}, "t": {}})
    assert (found.different, found.tests) == ((), 1)


def test_lines_of_kernels_are_those_of_their_statements(tmp_path: Path) -> None:
    (tmp_path / "devices").mkdir()
    path = tmp_path / "devices" / "one.py"
    path.write_text(
        'def plain():\n    return 1\n\n\n@kernel\ndef of_tables(a):\n    """Say."""\n    if a:\n        return 1\n   '
        " return 2\n"
    )
    lines = kernel_lines(tmp_path)
    assert lines == {path: {8, 9, 10}}
    (tmp_path / "gw0.lines").write_text(f"{path}\t8 9")
    assert missed(lines, tmp_path) == {path: [10]}


def test_a_test_ends_when_it_runs_no_new_line_of_a_kernel_and_so_does_its_file(tmp_path: Path) -> None:
    path = tmp_path / "test_endless.py"
    path.write_text(
        "import pytest\n\n\ndef test_wrong():\n    assert False\n\n\n@pytest.mark.parametrize('time', range(9))\n"
        "def test_endless(time):\n    while True:\n        pass\n\n\ndef test_left_out():\n    assert False\n"
    )
    more = {"TIERSIM_LINES_OUT": str(tmp_path), "TIERSIM_LINES_SECONDS": "0.1", "NUMBA_DISABLE_JIT": "1"}
    said = run_tests(ROOT, "lines_plugin", [str(path), "--numprocesses=0"], more)
    assert said.startswith("1 failed, ")
    assert " passed, " in said
    assert " skipped in " in said
