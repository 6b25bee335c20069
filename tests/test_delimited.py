"""Delimited text: the fast way and the slow way read the same, whatever stands in the lines."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tiersim.traces.readers import delimited
from tiersim.traces.readers.delimited import (
    DECIMAL,
    HEX,
    MISSING,
    WHOLE,
    Delimited,
    Field,
    Lines,
    chunks,
    single_blanks,
    without_blanks,
)
from tiersim.traces.readers.opened import Opened

LAYOUT = Delimited(
    (Field("time", DECIMAL, 1000, optional=True), Field(), Field("op"), Field("at", HEX), Field("size", WHOLE)),
    skips=lambda line: line.startswith(b"#"),
)


def parse(text: bytes, first_line: int) -> Lines:
    """Parse a text that is parsed in one go."""
    (lines,) = LAYOUT.parse(text, first_line)
    return lines


def plain(lines: Lines) -> list[tuple[object, ...]]:
    """Return the rows as tuples."""
    op = lines.words["op"]
    words = [op.words[code] for code in op.codes]
    numbers = [lines.numbers[name].tolist() for name in ("time", "at", "size")]
    return list(zip(lines.line.tolist(), words, *numbers, strict=True))


def test_each_kind_of_column() -> None:
    text = b"1.5,x,R,0xFFFFFFFFFFFFFFFF,-3\n,y,W,0x10,9223372036854775807\n"
    lines = parse(text, 1)
    assert plain(lines) == [(1, b"R", 1500, -1, -3), (2, b"W", MISSING, 16, 2**63 - 1)]
    assert lines.damaged == []


def test_a_damaged_line_costs_only_itself() -> None:
    text = (
        b"1,x,R,0x1,1\n1,x,R,0x1\n1,x,R,0x1,1,1\n1,x,R,g,1\nz,x,R,1,1\n1,x,R,1,99999999999999999999\n#\n\n2,x,R,0x2,2\n"
    )
    lines = parse(text, 11)
    assert plain(lines) == [(11, b"R", 1000, 1, 1), (19, b"R", 2000, 2, 2)]
    assert lines.damaged == [12, 13, 14, 15, 16]


def test_more_digits_than_the_unit_has_are_rounded_half_up() -> None:
    text = b"0.0004999,x,R,1,1\n0.0005,x,R,1,1\n-0.0005,x,R,1,1\n1e-3,x,R,1,1\n"
    assert parse(text, 1).numbers["time"].tolist() == [0, 1, -1, 1]


cells = st.one_of(
    st.integers(-(2**64), 2**64).map(str),
    st.decimals(-(10**12), 10**12, allow_nan=False, places=4).map(str),
    st.sampled_from(
        [
            "",
            "R",
            "W",
            "0x10",
            "0xFFFFFFFFFFFFFFFF",
            " 5",
            "1e3",
            ".5",
            "5.",
            "007",
            '"1"',
            "-0",
            "1e999",
            "é",
            "nan",
            "1_0",
        ]
    ),
    st.text(alphabet='R1 .x,#"é\r\t', max_size=4),
)
good = st.tuples(
    st.decimals(0, 10**9, places=3).map(str),
    st.just("a"),
    st.sampled_from("RW"),
    st.integers(0, 2**40).map(str),
    st.integers(0, 2**60).map(str),
)
some_lines = st.lists(st.one_of(good, good, good, st.tuples(cells, cells, cells, cells, cells)), max_size=6)


@settings(max_examples=examples(300), deadline=None)
@given(some_lines, st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans())
def test_both_ways_read_the_same(rows: list[tuple[str, ...]], ends: str, ended: bool) -> None:
    text = (ends.join(",".join(row) for row in rows) + (ends if ended else "")).encode()
    fast, slow = parse(text, 1), LAYOUT.parse_slowly(text)
    assert plain(fast) == plain(slow)
    assert fast.damaged == slow.damaged


def test_only_what_is_around_a_damaged_line_is_parsed_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "SLOW_BYTES", 100)
    rows = [f"{n},x,R,{n},{n}\n".encode() for n in range(1000)]
    rows[300] = rows[301] = b"damaged\n"
    found = list(LAYOUT.parse(b"".join(rows), 1))
    assert len(found) > 3
    assert [row[0] for lines in found for row in plain(lines)] == [*range(1, 301), *range(303, 1001)]
    assert [number for lines in found for number in lines.damaged] == [301, 302]
    assert sum(len(lines) for lines in found if lines.damaged) < 20


@pytest.mark.parametrize("text", [b"1,x,R,1,1\n" + b"x" * 300 + b"\n", b"x" * 300 + b"\n", b"x" * 300, b"\n" * 300])
def test_a_long_damaged_line_ends(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(delimited, "SLOW_BYTES", 100)
    found = list(LAYOUT.parse(text, 1))
    assert sum(len(lines.damaged) for lines in found) == (b"x" * 300 in text)


def test_the_fast_way_is_taken() -> None:
    text = b"# heading\n" + b"1.5,x,R,0x10,7\n" * 3
    assert LAYOUT._at_once(text[10:], 2) is not None
    assert plain(parse(text, 1)) == [(n, b"R", 1500, 16, 7) for n in (2, 3, 4)]


def test_blanks() -> None:
    assert without_blanks(b" 1 ;\t2 ; 3\n") == b"1;2;3\n"
    assert single_blanks(b"  1   2\t3 \r\n4 5\n 6 7 \n") == b"1 2 3\r\n4 5\n6 7\n"
    assert single_blanks(b"1 2\n") == b"1 2\n"


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_chunks_are_whole_lines_and_know_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(delimited, "CHUNK_BYTES", size)
    monkeypatch.setattr("tiersim.traces.readers.opened.PIECE_BYTES", 16)
    lines = [b"x" * int(n) + b"\n" for n in np.random.default_rng(2).integers(0, 40, 60)]
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbf" + b"".join(lines) + b"end")
    with Opened(tmp_path / "text") as source:
        found = list(chunks(source))
    assert b"".join(text for text, _ in found) == b"".join(lines) + b"end"
    number = 1
    for text, first in found:
        assert first == number
        assert text.endswith((b"\n", b"end"))
        number += text.count(b"\n")


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 100)
    monkeypatch.setattr(delimited, "LONGEST_LINE_BYTES", 1000)
    monkeypatch.setattr("tiersim.traces.readers.opened.PIECE_BYTES", 64)
    (tmp_path / "text").write_bytes(b"x" * 10_000)
    with Opened(tmp_path / "text") as source:
        assert max(len(text) for text, _ in chunks(source)) < 1100
