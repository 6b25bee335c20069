"""Relations that one file names with their schema and another without it."""

from collections.abc import Mapping
from decimal import Decimal

from tiersim.traces.readers.recorded import Key, Piece, Recorded, spread


def complete_names(recorded: Recorded) -> None:
    """Give the schema that other files tell to relations that a file names without; where several have the name, to none."""
    schemas: dict[str, set[str]] = {}
    for piece in recorded.pieces:
        for subject, entity in piece.values:
            schema, dot, name = entity.partition(".")
            if subject == "relation" and dot:
                schemas.setdefault(name, set()).add(schema)
    full = {name: f"{min(found)}.{name}" for name, found in schemas.items() if len(found) == 1}
    changed: set[str] = set()
    for place, piece in enumerate(recorded.pieces):
        recorded.pieces[place] = Piece(piece.moment, piece.unix_ns, _renamed(piece.values, full, changed))
    if changed:
        recorded.inferred.append(
            f"{len(changed):,} relations that a file names without their schema are taken for those that others name with it, "
            f"such as {full[min(changed)]}"
        )


def _renamed(
    values: Mapping[Key, Mapping[str, Decimal | str]], full: Mapping[str, str], changed: set[str]
) -> Mapping[Key, Mapping[str, Decimal | str]]:
    rows = []
    for (subject, entity), said in values.items():
        name, slash, rest = entity.partition("/") if subject == "pool" else (entity, "", "")
        if subject in ("relation", "pool") and name in full:
            changed.add(name)
            entity = f"{full[name]}{slash}{rest}"
        rows.append(((subject, entity), said))
    return spread(rows)
