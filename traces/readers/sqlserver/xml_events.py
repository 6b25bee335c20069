"""Events out of XML that may be gigabytes long, cut off, damaged, of the wrong encoding, or hostile.

What SQL Server's tools write as XML is a long list of small elements of one name. Each is found in the text by its tags
and parsed by itself, so that memory is that of a few, damage costs the event that it is in, and neither a root nor a
namespace has to be there. Document types are refused: no tool writes them, and entities can only be declared there.
Within an element there can be none.
"""

import codecs
import re
from collections.abc import Iterator
from functools import partial
from xml.etree.ElementTree import Element, ParseError, fromstring

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened

#: A longer element is none that means something, and is passed over.
LONGEST_ELEMENT = 4 << 20
#: So many characters are parsed at a time.
_BATCH = 1 << 16
#: Of what stands between events so many pieces are kept.
_MOST_OUTSIDE = 16
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}
_NO_MARKS = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
#: Characters that XML does not have, and that SQL Server writes nevertheless: texts of queries hold them.
_NO_CHARACTERS = re.compile(
    "&#(?:x0*(?:[0-8bcef]|1[0-9a-f]|fff[ef])|0*(?:[0-8]|1[124-9]|2\\d|3[01]));|[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]",
    re.IGNORECASE,
)
_DOCTYPE = re.compile(r"<!(?:DOCTYPE|ENTITY|ELEMENT)\b", re.IGNORECASE)
#: An element in a CSV, which doubles quotes within quotes.
_DOUBLED = re.compile(r'<\w+\s+\w+=""\w')


class XmlEvents:
    """The events of a file, one after the other.

    ``damaged`` counts those that cannot be read, ``cut`` tells whether the last does not end; ``outside`` is what
    stands between them at the beginning, where roots say something.
    """

    def __init__(self, source: Opened, element: str) -> None:
        """Read *source*, whose events are elements called *element*."""
        self.damaged = 0
        self.cut = False
        self.outside = ""
        self._source = source
        self._begin = re.compile(rf"<{element}(?=[\s>])")
        self._end = f"</{element}>"
        self._pieces_outside = 0

    def __iter__(self) -> Iterator[Element]:
        """Yield the events. Raises TraceError for a document type."""
        batch: list[str] = []
        size = 0
        for element in self._elements():
            batch.append(element)
            size += len(element)
            if size >= _BATCH:
                yield from self._parsed(batch)
                batch, size = [], 0
        yield from self._parsed(batch)

    def _elements(self) -> Iterator[str]:
        """Yield the texts of the elements."""
        text, place = "", 0
        for piece in _decoded(self._source):
            text, place = text[place:] + piece, 0
            while found := self._begin.search(text, place):
                self._see_outside(text[place : found.start()])
                end = text.find(self._end, found.end())
                if end < 0:
                    place = found.start()
                    if len(text) - place > LONGEST_ELEMENT:  # and none that begins behind it ends either
                        self.damaged += 1
                        text, place = "", 0
                    break
                place = end + len(self._end)
                yield text[found.start() : place]
            else:
                keep = max(place, len(text) - len(self._end))  # a tag may be cut between pieces
                self._see_outside(text[place:keep])
                place = keep
        self.cut = self._begin.match(text, place) is not None
        if not self.cut:
            self._see_outside(text[place:])

    def _see_outside(self, text: str) -> None:
        if not text or text.isspace():
            return
        if _DOCTYPE.search(text):
            raise TraceError(
                f"{self._source.path}: declares a document type, which no tool of SQL Server writes; export it again"
            )
        if self._pieces_outside < _MOST_OUTSIDE:
            self._pieces_outside += 1
            self.outside += text[:_BATCH]

    def _parsed(self, elements: list[str]) -> list[Element]:
        """Parse elements together, or one by one where any is damaged."""
        if not elements:
            return []
        joined = "".join(elements)
        if _DOUBLED.match(joined):
            joined = joined.replace('""', '"')
        for clean in (str, partial(_NO_CHARACTERS.sub, "?")):  # which are rare, and slow to look for
            try:
                return list(fromstring(f"<events>{clean(joined)}</events>"))
            except ParseError:
                continue
        if len(elements) == 1:
            self.damaged += 1
            return []
        return [event for element in elements for event in self._parsed([element])]


def _decoded(source: Opened) -> Iterator[str]:
    """Yield the text of a file by its mark of byte order, or its first characters; what it declares itself is often
    wrong.
    """
    decoder: codecs.IncrementalDecoder | None = None
    while piece := source.read():
        if decoder is None:
            name = next((name for mark, name in (_MARKS | _NO_MARKS).items() if piece.startswith(mark)), "utf-8")
            decoder = codecs.getincrementaldecoder(name)(errors="replace")
        yield decoder.decode(piece)
