"""Where things are: the answers to a newcomer's questions are true."""

import ast
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.house.class_names import named_twice
from tests.house.rooms import SHORT, Rooms, look
from tests.house.settings import KEPT, carried, written_twice

ROOT = Path(__file__).parents[1]
QUESTIONS = tomllib.loads((ROOT / "tests" / "house" / "questions.toml").read_text(encoding="utf-8"))["questions"]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["ask"])
def test_the_file_that_answers_a_question_has_what_it_asks_for(question: dict[str, str]) -> None:
    assert question["has"] in (ROOT / question["file"]).read_text(encoding="utf-8")


def test_there_are_forty_questions_and_none_twice() -> None:
    assert Counter(question["ask"] for question in QUESTIONS).most_common(1)[0][1] == 1
    assert len(QUESTIONS) == 40


@pytest.fixture(scope="module")
def rooms() -> Rooms:
    return look()


def test_each_field_is_written_from_one_folder(rooms: Rooms) -> None:
    assert rooms.shared() == {}


def test_kernels_take_sets_that_they_touch_and_few_parameters_beside(rooms: Rooms) -> None:
    assert rooms.unused() == {}
    assert rooms.wide() == {}


def test_no_module_is_long_and_short_ones_have_a_reason(rooms: Rooms) -> None:
    assert rooms.long() == set()
    assert rooms.short() == set(SHORT)


def test_a_write_is_seen_by_whatever_name(tmp_path: Path) -> None:
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "some.py").write_text("""
@table_set
class Inner(NamedTuple):
    count: NDArray[Any]

@table_set
class Outer(NamedTuple):
    inner: Inner
    rows: NDArray[Any]
    plain: NDArray[Any]

@kernel
def put(table: NDArray[Any], value: int) -> None:
    table[0] = value

@kernel
def write(o: Outer, i: Inner) -> None:
    row, other = o.rows[0], 1
    row["a"] = other
    o.rows[1]["b"], o.inner.count[0] = 1, 2
    put(o.plain, 1)
""")
    found = look(tmp_path)
    assert set(found.writers) == {"Outer.rows.a", "Outer.rows.b", "Inner.count", "Outer.plain"}
    assert found.unused() == {"devices/some.py:write": {"Inner"}}


def test_settings_are_carried_by_hand_where_there_is_a_reason() -> None:
    assert set(written_twice()) == set(KEPT)


def test_a_field_is_carried_under_its_own_name() -> None:
    tree = ast.parse("""
def row(s):
    return make({"a": s.a, "b": int(s.b), "c": s.c or 0, "d": s.other}, e=s.part.e, f=f)
""")
    assert carried(tree) == {"row from s": ["a", "b", "c"], "row from s.part": ["e"]}


def test_no_name_of_a_public_class_stands_twice() -> None:
    assert named_twice() == {}


def test_a_class_of_the_same_name_is_found(tmp_path: Path) -> None:
    for folder, text in (("cli", "class Part: ...\nclass _Own: ..."), ("traces", "class Part: ...\nclass _Own: ...")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "some.py").write_text(text)
    assert named_twice(tmp_path) == {"Part": ["cli/some.py", "traces/some.py"]}
