"""How many words of the documents are written by hand, and which are made by a program; ``python -m tests.documents``
prints both.
"""

from pathlib import Path

from tests import marked

DOCS = Path(__file__).parents[1] / "docs"
#: Pages that a program writes as a whole, and the program.
PAGES = {
    "accuracy.md": "tiersim validate --traces FOLDER --markdown docs/accuracy.md",
    "command-reference.md": "python -m tests.command_reference",
    "device-reference.md": "python -m tests.device_reference",
    "scenario-reference.md": "python -m tests.scenario_reference",
    "workload-reference.md": "python -m tests.workload_reference",
}
#: Parts of other pages that a program writes, and the program.
PARTS = {
    ("bundle.md", "requests"): "python -m tests.bundle_tables",
    ("bundle.md", "references"): "python -m tests.bundle_tables",
    ("bundle.md", "statements"): "python -m tests.bundle_tables",
    ("bundle.md", "queries"): "python -m tests.bundle_tables",
    ("bundle.md", "statistics"): "python -m tests.bundle_tables",
    ("hardening.md", "fuzzing"): "python -m tests.fuzz.table",
    ("performance.md", "load"): "python -m benchmarks.load --table",
    ("plots.md", "plots"): "python -m tests.plot_tables",
    ("result.md", "summary"): "python -m tests.result_tables",
    ("statistics.md", "words"): "python -m tests.statistics_tables",
    ("statistics.md", "views"): "python -m tests.statistics_tables",
    ("statistics.md", "sqlserver views"): "python -m tests.statistics_tables",
    ("statistics.md", "mysql views"): "python -m tests.statistics_tables",
}


def words(text: str) -> int:
    """Count the words of *text*: what stands between blanks and has a letter or a digit, code and tables included."""
    return sum(any(map(str.isalnum, word)) for word in text.split())


def written_by_hand() -> dict[str, int]:
    """Return the words of each page, without what a program writes."""
    pages = sorted(path for path in DOCS.glob("*.md") if path.name not in PAGES)
    return {path.name: words(marked.without(path.read_text(encoding="utf-8"))) for path in pages}


def main() -> None:
    """Print the words by page, and those of all pages."""
    by_page = written_by_hand()
    for name, count in by_page.items():
        print(f"{count:7,} {name}")
    print(f"{sum(by_page.values()):7,} written by hand")
    made = words("".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))) - sum(by_page.values())
    print(f"{made:7,} made by programs: {', '.join(sorted({*PAGES.values(), *PARTS.values()}))}")


if __name__ == "__main__":
    main()
