"""Which tables the texts of queries name, found word by word: neither tables nor texts are gone through once for each
of the others.
"""

import re
from collections.abc import Iterable

_WORDS = re.compile(r"\w+")


class NamedTables:
    """Tables that texts may name, as ``schema.table`` or by the name alone, in any case."""

    def __init__(self, tables: Iterable[str]) -> None:
        """Note *tables* under the first word of their names without a schema."""
        self._of_word: dict[str, list[tuple[str, re.Pattern[str] | None]]] = {}
        for table in tables:
            bare = table.rpartition(".")[2].lower()
            first = _WORDS.search(bare)
            # a name that is not one word has to stand in the text as it is
            whole = None if first and first[0] == bare else re.compile(rf"\b{re.escape(bare)}\b")
            self._of_word.setdefault(first[0] if first else "", []).append((table, whole))

    def within(self, text: str) -> list[str]:
        """Return the tables that *text* names, in no order that means anything.

        >>> NamedTables(["public.orders", "public.order-lines", "lines"]).within('SELECT * FROM "Order-Lines" JOIN
        orders')
        ['public.order-lines', 'public.orders']
        """
        text = text.lower()
        return [
            table
            for word in sorted({*_WORDS.findall(text), ""} & self._of_word.keys())
            for table, whole in self._of_word[word]
            if whole is None or whole.search(text)
        ]
