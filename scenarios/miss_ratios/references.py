"""A bundle as a stream of page references: those that were recorded, or the pages of its requests."""

import hashlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle, Requests
from tiersim.traces.references import NAME, ReferenceTable
from tiersim.traces.schema import LOG_WRITE, OPERATIONS, READ, REFERENCE_KINDS, WRITE
from tiersim.traces.statistics import read_statements, texts_of_queries
from tiersim.units import format_bytes

Codes = NDArray[np.int32]

#: Pages of relations and files are told apart by the bits above these: offsets are below 2^60 bytes.
_PAGE_BITS = 47
_MOST_RELATIONS = 1 << (63 - _PAGE_BITS)
#: Requests become so many references at a time.
_AT_A_TIME = 1 << 20
#: Longer requests are mistakes: Linux keeps the length of one in 32 bits.
_LONGEST_BYTES = 1 << 32
#: Combinations of relations, queries and operations that there may be, which a table is kept of, and that there are,
#: each with its histograms.
_MOST_COMBINATIONS, _MOST_CLASSES = 1 << 26, 1 << 14
_OPERATIONS = 3  # read, write, not known


class ReferenceBlock(NamedTuple):
    """References in their order."""

    keys: NDArray[np.int64]  # which name pages
    classes: Codes  # codes of who asks for them


class Classes:
    """Who asks for pages: codes of combinations of relation, query and operation, as they come; only what curves are
    told apart by.
    """

    def __init__(self, by: tuple[str, ...], queries: int) -> None:
        """Prepare for so many *queries*; relations may grow."""
        #: By code: relation, query, operation; -1 where not known or not told apart.
        self.members: list[tuple[int, int, int]] = []
        self._by, self._queries = by, queries
        self._code_of = np.full(_OPERATIONS, -1, np.int32)

    def codes(self, relation: Codes, query: Codes, operation: Codes) -> Codes:
        """Return the codes of references; raises TraceError when there are too many combinations to tell apart."""
        packed = np.zeros(len(relation), np.int64)
        if "relation" in self._by:
            packed += relation
            packed += 1
        packed *= self._queries + 1
        if "query" in self._by:
            packed += query
            packed += 1
        packed *= _OPERATIONS
        if "operation" in self._by:
            packed += operation
            packed += 1
        most = int(packed.max(initial=0)) + 1
        _refuse(most, _MOST_COMBINATIONS)
        if most > len(self._code_of):
            more = np.full(max(most, 2 * len(self._code_of)) - len(self._code_of), -1, np.int32)
            self._code_of = np.concatenate([self._code_of, more])
        codes = self._code_of[packed]
        if codes.min(initial=0) < 0:
            for new in np.unique(packed[codes < 0]).tolist():
                self._code_of[new] = len(self.members)
                rest, of_operation = divmod(new, _OPERATIONS)
                of_relation, of_query = divmod(rest, self._queries + 1)
                self.members.append((of_relation - 1, of_query - 1, of_operation - 1))
            _refuse(len(self.members), _MOST_CLASSES)
            codes = self._code_of[packed]
        return codes


def _refuse(combinations: int, most: int) -> None:
    if combinations > most:
        raise TraceError(
            f"{combinations:,} combinations of relations, queries and operations are too many to tell apart; name one"
            " of them with --by"
        )


class PageStream:
    """The references of a bundle; what is known of them after they were read is in its fields."""

    def __init__(self, bundle: Bundle, page_bytes: int, by: tuple[str, ...]) -> None:
        """Open *bundle*; raises TraceError when it holds neither references nor requests."""
        self.above_the_cache = (bundle.path / NAME).exists()
        if not self.above_the_cache:
            bundle.refuse_without_requests()
        self._bundle, self._page_bytes = bundle, page_bytes
        self._table = ReferenceTable(bundle.path) if self.above_the_cache else None
        queries = self._query_of_statement() if self.above_the_cache and "query" in by else None
        self._statement_query, self.query_ids, self.query_texts = queries or (np.zeros(0, np.int32), [], {})
        self.classes = Classes(by, len(self.query_ids))
        self.rows = bundle.rows if self._table is None else self._table.rows
        self.said: list[str] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self._log_writes = self._whole_objects = 0
        self._far, self._several = False, False

    @property
    def relation_names(self) -> list[str]:
        """Return relations or files by code."""
        return self._bundle.file_names if self._table is None else self._table.relation_names

    @property
    def content_hash(self) -> str:
        """Return a hash of the references that were read, and of nothing else."""
        return self._digest.hexdigest()

    def blocks(self, progress: Callable[[int, int], None] | None = None) -> Iterator[ReferenceBlock]:
        """Yield all references; raises TraceError naming what cannot be read. *progress* is called with the rows read
        and those there are.
        """
        done = 0
        for rows, keys, classes in self._of_requests() if self._table is None else self._of_references(self._table):
            self._digest.update(keys.tobytes())
            if len(keys):
                yield ReferenceBlock(keys, classes)
            done += rows
            if progress is not None:
                progress(done, self.rows)
        if self._log_writes:
            self.said.append(f"{self._log_writes:,} log writes are left out: the WAL bypasses the buffer pool")
        if self._whole_objects:
            self.said.append(
                f"{self._whole_objects:,} references are to objects of other sizes than"
                f" {format_bytes(self._page_bytes)}; each counts as one page"
            )

    def _of_references(self, table: ReferenceTable) -> Iterator[tuple[int, NDArray[np.int64], Codes]]:
        for block in table.blocks():
            known = (block.length_bytes >= 0) & (block.length_bytes != self._page_bytes)
            self._whole_objects += int(np.count_nonzero(known))
            query = np.full(len(block), -1, np.int32)
            if len(self._statement_query):
                there = (block.statement >= 0) & (block.statement < len(self._statement_query))
                query[there] = self._statement_query[block.statement[there]]
            keys = self._keys(block.relation, block.page)
            yield len(block), keys, self.classes.codes(block.relation, query, block.kind)

    def _of_requests(self) -> Iterator[tuple[int, NDArray[np.int64], Codes]]:
        kind_of = np.full(len(OPERATIONS), -1, np.int32)
        kind_of[READ], kind_of[WRITE] = REFERENCE_KINDS.index("read"), REFERENCE_KINDS.index("write")
        first_row = 0
        for block in self._bundle.blocks():
            rows, first, count = self._pages_of(block, first_row)
            ends = np.cumsum(count)
            begin = 0
            while begin < len(rows):  # long requests are many pages
                reached = int(ends[begin] - count[begin])
                end = max(int(np.searchsorted(ends, reached + _AT_A_TIME, "right")), begin + 1)
                each = count[begin:end]
                part = np.repeat(rows[begin:end], each)
                starts = np.repeat(first[begin:end] - (ends[begin:end] - each - reached), each)
                relation = block.file[part]
                keys = self._keys(relation, starts + np.arange(len(part)))
                unknown = np.full(len(part), -1, np.int32)
                yield 0, keys, self.classes.codes(relation, unknown, kind_of[block.op[part]])
                begin = end
            first_row += len(block)
            yield len(block), np.zeros(0, np.int64), np.zeros(0, np.int32)

    def _pages_of(
        self, block: Requests, first_row: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of a block that refer to pages, the first page of each, and how many pages."""
        moves = (block.op == READ) | (block.op == WRITE)
        log = moves & (block.purpose == LOG_WRITE)
        self._log_writes += int(np.count_nonzero(log))
        rows = np.flatnonzero(moves & ~log)
        offset, length = block.offset_bytes[rows], block.length_bytes[rows]
        long = np.flatnonzero(length > _LONGEST_BYTES)
        if len(long):
            row = int(long[0])
            raise TraceError(
                f"{self._bundle.path}: row {first_row + int(rows[row])}: a request of {format_bytes(int(length[row]))}"
                " is longer than any; check length_bytes"
            )
        first = offset // self._page_bytes
        return rows, first, (offset + length - 1) // self._page_bytes - first + 1

    def _keys(self, relation: Codes, page: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return numbers that name pages of all relations; raises TraceError where they cannot be told apart."""
        if not len(page):
            return page
        most = int(relation.max())
        self._several |= most > 0
        self._far |= int(page.min()) < 0 or int(page.max()) >> _PAGE_BITS > 0
        if (self._several and self._far) or most >= _MOST_RELATIONS:
            raise TraceError(
                f"{self._bundle.path}: has pages beyond number 2^{_PAGE_BITS}, or more than {_MOST_RELATIONS:,}"
                " relations, which are not told apart; number the pages of each relation from 0 on"
            )
        return page if most <= 0 else relation.astype(np.int64) << _PAGE_BITS | page

    def _query_of_statement(self) -> tuple[Codes, list[str], dict[str, str]]:
        """Return the code of each statement's query, the queries by code, and their texts."""
        statements = read_statements(self._bundle.path, ("query",))
        texts = texts_of_queries(self._bundle.path)
        return statements.columns["query"].astype(np.int32), list(statements.words["query"]), texts
