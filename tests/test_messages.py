"""Sentences that users see: a refusal says what to do, and none has the words that the field does not use."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("cli", "devices", "scenarios", "simulator", "traces")
_ERRORS = ("TraceError", "ScenarioError", "RecordingError", "OutputError", "TiersimError")
#: How a refusal says what to do: behind a semicolon, as a question, by an example, by what can be chosen instead, or in
#: the sentence of another error that it passes on.
_REMEDY = re.compile(
    r";|\?|such as |hint|remedy|did_you_mean|known are|error(\.message)?\)?\}|\{min\(errors\)\}|_why|\{what\}$|: give "
)
#: Refusals whose remedy stands elsewhere in the sentence.
_OTHERWISE = (
    "a point needs block size, depth",  # which says what to measure
    "the server ended the connection",  # a sentence goes on behind it
    "and {bundle.folder} holds it",  # nothing is lost
    "{subject.name}: {what}{known}",  # what is known follows
)
#: Words that were used, and the plain ones in their place.
_OLD = {
    r"\b(is|are) taken (for|as)\b": "is assumed to be, counts as",
    r"\bforetold\b": "predicted",
    r"\bmakes? room\b|\bmaking room\b": "eviction",
    r"\bwho (finds|waits|wants)\b": "a request, a session",
    r"\ball the same\b": "",
    r"\bmakes? no difference here\b": "has no effect here",
    r"\bprocessor time of\b": "CPU time of",
}


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
        for part in node.values
        if isinstance(part, ast.Constant | ast.FormattedValue)
    )


def _trees(folder: str) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


def _sentences(tree: ast.Module) -> Iterator[str]:
    """Yield texts of five words and more that are no docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        said = None if id(node) in docs or (id(node) in inner and isinstance(node, ast.Constant)) else _text(node)
        if said is not None and len(said.split()) >= 5:
            yield said


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_refusal_says_what_to_do(folder: str) -> None:
    lacking, seen = [], 0
    for path, tree in _trees(folder):
        for node in ast.walk(tree):
            call = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in _ERRORS and call.args:
                said = _text(call.args[0])
                seen += said is not None
                if said and not _REMEDY.search(said) and not any(one in said for one in _OTHERWISE):
                    lacking.append(f"{path}:{call.lineno}: {said}")
    assert lacking == []
    assert seen > 0


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_sentence_has_a_word_that_the_field_does_not_use(folder: str) -> None:
    found = [
        f"{path}: {said} ({plain or 'leave it out'})"
        for path, tree in _trees(folder)
        for said in _sentences(tree)
        for old, plain in _OLD.items()
        if re.search(old, said)
    ]
    assert found == []
