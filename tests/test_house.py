"""Where things are: the answers to a newcomer's questions are true."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUESTIONS = tomllib.loads((ROOT / "tests" / "house" / "questions.toml").read_text(encoding="utf-8"))["questions"]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["ask"])
def test_the_file_that_answers_a_question_has_what_it_asks_for(question: dict[str, str]) -> None:
    assert question["has"] in (ROOT / question["file"]).read_text(encoding="utf-8")


def test_there_are_forty_questions_and_none_twice() -> None:
    assert Counter(question["ask"] for question in QUESTIONS).most_common(1)[0][1] == 1
    assert len(QUESTIONS) == 40
