"""Columns of PostgreSQL's views by version, as ``select *`` gives them: what tests make files of."""

from pathlib import Path

_LINES = (Path(__file__).parent / "data" / "postgres" / "columns.txt").read_text(encoding="utf-8").splitlines()
_PARTS = [tuple(line.split(": ")) for line in _LINES if not line.startswith("#")]

#: View, as VIEWS calls it → what it looked like in some versions, and as people save parts of it.
COLUMNS: dict[str, list[str]] = {}
for _name, _, _columns in _PARTS:
    if _name != "-":
        COLUMNS.setdefault(_name, []).append(_columns)
#: Columns of pg_stat_statements by version of the server.
STATEMENTS = {
    version: columns for name, version, columns in _PARTS if name == "pg_stat_statements" and version != "by hand"
}
#: Views that must be taken for none of these.
OTHERS = {view: columns for name, view, columns in _PARTS if name == "-"}
