"""The generated tables of docs/statistics.md; ``python -m tests.statistics_tables`` writes them anew."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.marked import write
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.readers.mysql import views as mysql
from tiersim.traces.readers.postgres import views as postgres
from tiersim.traces.readers.sqlserver import views as sqlserver
from tiersim.traces.readers.views import View

DOCUMENT = Path(__file__).parents[1] / "docs" / "statistics.md"


def words() -> str:
    """One row for each subject."""
    head = "| subject | entity | counters | gauges | texts |\n|---|---|---|---|---|\n"
    rows = (
        f"| `{name}` | {subject.entity} | {_list(subject.counters)} | {_list(subject.gauges)} |"
        f" {_list(subject.texts)} |\n"
        for name, subject in SUBJECTS.items()
    )
    return head + "".join(rows)


def _list(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def views(known: tuple[View, ...]) -> str:
    """One row for each view and subject."""
    head = "| view | recognised by | subject | word ← columns |\n|---|---|---|---|\n"
    rows = []
    for view in known:
        told = " or ".join(" ".join(f"`{name}`" for name in names.split()) for names in view.told_by)
        for part in view.parts:
            said = [f"`{word}` ← {_formula(formula)}" for word, formula in {**part.numbers, **part.texts}.items()]
            rows.append(f"| `{view.name}` | {told} | `{part.subject}` `{part.entity}` | {', '.join(said)} |\n")
        if not view.parts:
            rows.append(f"| `{view.name}` | {told} | nothing is kept | |\n")
    return head + "".join(rows)


def _formula(formula: str) -> str:
    return " or ".join(part.strip().replace(" * ", " × ") for part in formula.split("|"))


#: What stands between the marks of each name.
TABLES: dict[str, Callable[[], str]] = {
    "words": words,
    "views": partial(views, postgres.VIEWS),
    "sqlserver views": partial(views, sqlserver.VIEWS),
    "mysql views": partial(views, (mysql.STATUS, mysql.VARIABLES, mysql.COUNTED, *mysql.VIEWS[2:])),
}


if __name__ == "__main__":
    write(DOCUMENT, {name: table() for name, table in TABLES.items()})
