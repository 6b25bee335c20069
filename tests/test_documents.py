"""The documents stay short: what is written by hand has at most 40,000 words."""

from tests import bundle_tables, marked, result_tables
from tests.documents import DOCS, PAGES, PARTS, words, written_by_hand

_MOST_WORDS = 40_000


def test_documents_have_at_most_40_000_words_that_are_written_by_hand() -> None:
    assert sum(written_by_hand().values()) <= _MOST_WORDS


def test_every_part_that_is_not_counted_is_made_by_a_program_that_is_named() -> None:
    pages = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md") if path.name not in PAGES}
    assert {(page, name) for page, text in pages.items() for name in marked.names(text)} == set(PARTS)


def test_a_table_is_marked_as_a_whole_and_counts_nothing() -> None:
    text = "one two\n<!-- it: begin -->\n| three |\n|--:|\n<!-- it: end -->\nfour | 5\n"
    assert marked.names(text) == ["it"]
    assert marked.between(text, "it") == "| three |\n|--:|\n"
    assert marked.replaced(text, "it", "six\n") == "one two\n<!-- it: begin -->\nsix\n<!-- it: end -->\nfour | 5\n"
    assert words(marked.without(text)) == 4


def test_the_tables_of_a_bundle_are_those_of_the_schema() -> None:
    """If they are not: ``python -m tests.bundle_tables``."""
    text = bundle_tables.DOCUMENT.read_text(encoding="utf-8")
    assert {name: marked.between(text, name) for name in bundle_tables.TABLES} == bundle_tables.TABLES


def test_the_tables_of_a_result_are_those_of_the_schema() -> None:
    """If they are not: ``python -m tests.result_tables``."""
    text = result_tables.DOCUMENT.read_text(encoding="utf-8")
    assert marked.between(text, result_tables.NAME) == result_tables.part()
