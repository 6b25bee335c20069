"""A workload as people write it: relations, statements made of steps, streams that run them."""

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from tiersim.errors import did_you_mean
from tiersim.scenarios.workloads.steps import VERBS, Change, Lookup, Scan, Step, Write, verb_of
from tiersim.simulator.popularity import Hot
from tiersim.toml_files import Bytes, Nanoseconds, StrictModel, read_model
from tiersim.traces.counters import INNODB_ENGINES
from tiersim.traces.readers.mysql.settings import KEPT, PAGE_CLEANER_SECOND
from tiersim.units import parse_bytes

#: Steps that name a relation, and the key that does.
_OF_RELATIONS: tuple[tuple[type[StrictModel], str], ...] = (
    (Scan, "scan"),
    (Lookup, "lookup"),
    (Change, "change"),
    (Write, "write"),
)
#: Shares of levels, or that of one.
_Shares = Annotated[
    list[Annotated[float, Field(gt=0, le=1)]],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
]
#: By how much shares may be more than 1 together, as they are written in so many digits.
_ROUNDED = 1e-4


class DatabaseModel(StrictModel):
    """``[workload]``: the engine, and what a scenario need not say."""

    description: str = Field(default="", description="For people.")
    engine: Literal["postgresql", "sqlserver", "mysql", "mariadb"] = Field(
        description="Whose rules, and whose table of CPU costs."
    )
    version: int | Annotated[str, Field(pattern=r"^\d{1,3}(\.\d{1,3}){0,2}$")] | None = Field(
        default=None,
        description='Version of the engine, of MySQL in two parts ("8.0"); left out: one of today.',
    )
    variables: dict[str, str] = Field(
        default={}, description="MySQL, MariaDB: variables by name, with the texts of SHOW GLOBAL VARIABLES."
    )
    buffer_pool: Bytes = Field(gt=0, description="Size of the buffer pool, for scenarios that do not set it.")
    cores: int | None = Field(
        default=None, ge=1, le=4096, description="Cores, for scenarios that do not set them; left out: 8."
    )
    page: Bytes = Field(
        default=parse_bytes("8 KiB"), ge=512, description="Size of a page; left out, of MySQL and MariaDB: 16 KiB."
    )
    cache: Literal["warm", "cold"] = Field(
        default="warm",
        description=(
            "warm: the pool as these statements leave it in the long run; cold: empty. "
            "replay.cache_state of a scenario goes before it."
        ),
    )
    duration: Nanoseconds | None = Field(
        default=None,
        gt=0,
        description=(
            "Streams without a count repeat until then, behind replay.warmup; left out: each stream has a count."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _pages_of_innodb_are_larger(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("engine") in INNODB_ENGINES:
            return {"page": "16 KiB", **values}
        return values

    @model_validator(mode="after")
    def _variables_are_of_mysql(self) -> "DatabaseModel":
        if self.variables and self.engine not in INNODB_ENGINES:
            raise ValueError("variables: are of mysql and mariadb; write keys under [engine] of the scenario")
        unknown = next((name for name in self.variables if name not in KEPT | {PAGE_CLEANER_SECOND}), None)
        if unknown is not None:
            raise ValueError(f"variables: {unknown!r} decides nothing{did_you_mean(unknown, KEPT)}; leave it out")
        return self


class RelationModel(StrictModel):
    """``[relations.NAME]``: a table with the index that its rows are looked up by; its size is said in one way."""

    rows: int | None = Field(
        default=None, ge=1, description="How many rows there are; needed where rows are looked up."
    )
    rows_per_page: int | None = Field(
        default=None, ge=1, description="Rows on a page; gives the size together with rows."
    )
    pages: int | None = Field(default=None, ge=1, description="Size in pages.")
    size: Bytes | None = Field(default=None, gt=0, description="Size in bytes.")
    index: Bytes | None = Field(
        default=None,
        gt=0,
        description=("Size of the lowest index level; inner levels follow. Left out: rows are found without an index."),
    )
    exponent: float = Field(default=0.0, ge=0, le=10, description="Skew: exponent of Zipf's law; 0: all rows alike.")
    hot: _Shares = Field(
        default=[],
        description="Share of the rows that get hot_share of the accesses; a list: of each level, the hottest first.",
    )
    hot_share: _Shares = Field(
        default=[], description="Share of the accesses that goes to the hot rows, or to each level of them."
    )
    recent: bool = Field(default=False, description="The hottest rows are the last ones, as where rows are inserted.")
    temp: bool = Field(default=False, description="A table of tempdb: it lies there, and no backup has it.")
    ordered: bool = Field(default=False, description="Rows lie in the order of the index.")
    file: str | None = Field(
        default=None,
        description=(
            'File or filegroup, for "file:NAME" in the placement. MySQL, MariaDB: what lies in the same file is flushed'
            " together, such as a table and its indexes; left out: a file of its own."
        ),
    )
    tables: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="So many tables used alike that it stands for; MySQL and MariaDB flush each as a file.",
    )

    @model_validator(mode="after")
    def _has_one_size(self) -> "RelationModel":
        given = [key for key in ("rows_per_page", "pages", "size") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(
                f"{given[1] if given else 'pages'}: how large the relation is has to be said once; write pages, size,"
                " or rows with rows_per_page"
            )
        if given == ["rows_per_page"] and self.rows is None:
            raise ValueError("rows: is needed with rows_per_page; write how many rows there are")
        if len(self.hot) != len(self.hot_share):
            raise ValueError("hot: goes with hot_share: which part of the rows gets which part of the accesses")
        for key in ("hot", "hot_share"):
            if sum(getattr(self, key)) > 1 + _ROUNDED:
                raise ValueError(f"{key}: is {sum(getattr(self, key)):.4g} in all; write shares of 1 at most together")
        return self

    def levels(self, rows: int) -> Hot:
        """Return the hot levels of so many rows: the first has at least one, others without one are part of the level
        before.
        """
        whole = max(sum(self.hot_share), 1.0)  # as they are written in so many digits
        found: list[tuple[int, float]] = []
        begin = 0
        for end, share in zip(accumulate(part * rows for part in self.hot), self.hot_share, strict=True):
            last = min(max(round(end), 1), rows)
            count, before = (last - begin, 0.0) if last > begin else found.pop()
            found.append((count, before + share / whole))
            begin = last
        return tuple(found)

    def heap_pages(self, page_bytes: int) -> int:
        """Return how many pages its rows take."""
        if self.rows_per_page is not None:
            return -(-(self.rows or 0) // self.rows_per_page)
        return self.pages or -(-(self.size or 0) // page_bytes)


class StatementModel(StrictModel):
    """``[statements.NAME]``: what one execution does, step by step."""

    text: str | None = Field(default=None, description="For people; left out: the steps.")
    via: Literal["language", "rpc"] = Field(
        default="language", description="How it comes to SQL Server, which prefetches rows of language events alone."
    )
    does: list[Step] = Field(min_length=1, description="Steps, one after the other.")

    @model_validator(mode="before")
    @classmethod
    def _every_step_has_a_verb(cls, values: object) -> object:
        steps = values.get("does") if isinstance(values, dict) else None
        for number, step in enumerate(steps if isinstance(steps, list) else ()):
            if isinstance(step, dict) and verb_of(step) is None and step:
                first = next(iter(step))
                raise ValueError(
                    f"does: step {number + 1}: {first!r} is not {', '.join(VERBS)}{did_you_mean(first, VERBS)}"
                )
        return values


class StreamModel(StrictModel):
    """``[streams.NAME]``: clients that run statements one after the other, or arrivals by the clock."""

    statements: list[str] | None = Field(
        default=None, min_length=1, description="Names of statements in this order: one pass."
    )
    mix: dict[str, float] | None = Field(
        default=None,
        min_length=1,
        description="Names with shares in place of the list: each pass is one of them, drawn.",
    )
    order: Literal["written", "shuffled"] = Field(
        default="written", description="shuffled: every pass of every client in an order of its own."
    )
    transaction: bool = Field(default=False, description="A pass is one transaction; else each statement is.")
    clients: int | None = Field(
        default=None,
        ge=1,
        le=65_536,
        description="Clients that run passes, each one after the other (a closed loop); left out: 1.",
    )
    rate: float | None = Field(
        default=None,
        gt=0,
        le=1e6,
        description=(
            "Passes a second by the clock (an open loop, Poisson arrivals), each as a client of its "
            "own, until the duration is over."
        ),
    )
    count: int | None = Field(
        default=None, ge=1, description="Passes of each client; left out: until the duration is over."
    )
    think: Nanoseconds = Field(default=0, ge=0, description="Think time before each pass but the first.")
    phase: int = Field(
        default=1,
        ge=1,
        le=64,
        description=("A phase begins when all before it are over: a power run is 1, its throughput streams are 2."),
    )

    @model_validator(mode="after")
    def _says_what_runs(self) -> "StreamModel":
        if (self.statements is None) == (self.mix is None):
            raise ValueError("statements: a stream has either a list or a mix with shares; write only one of them")
        if self.rate is not None and (self.clients is not None or self.count is not None or self.think):
            raise ValueError(
                "rate: new clients arrive at a fixed rate until the duration is over; leave clients, count and think"
                " out"
            )
        if self.mix is not None and not all(share > 0 for share in self.mix.values()):
            raise ValueError("mix: shares are numbers above 0, such as { read = 80, write = 20 }")
        return self

    @property
    def names(self) -> list[str]:
        """Names of the statements, in the order in which they are written."""
        return list(self.mix) if self.mix is not None else self.statements or []

    @property
    def pass_statements(self) -> int:
        """How many statements a pass is."""
        return 1 if self.mix is not None else len(self.names)

    @property
    def pass_transactions(self) -> int:
        """How many transactions a pass is."""
        return 1 if self.transaction else self.pass_statements


class Workload(StrictModel):
    """A workload file."""

    workload: DatabaseModel = Field(description="The engine, and what a scenario need not say.")
    relations: dict[str, RelationModel] = Field(min_length=1, description="Tables by name.")
    statements: dict[str, StatementModel] = Field(min_length=1, description="Statements by name.")
    streams: dict[str, StreamModel] = Field(min_length=1, description="Who runs them, by name.")

    @model_validator(mode="after")
    def _steps_name_relations(self) -> "Workload":
        for name, statement in self.statements.items():
            for step in statement.does:
                for kind, key in _OF_RELATIONS:
                    relation = getattr(step, key) if isinstance(step, kind) else None
                    if relation is not None and relation not in self.relations:
                        hint = did_you_mean(relation, self.relations)
                        raise ValueError(
                            f"statements.{name}.does: {key} = {relation!r} is not one of the relations{hint}"
                        )
                    if isinstance(step, Lookup | Change) and relation and self.relations[relation].rows is None:
                        raise ValueError(
                            f"relations.{relation}.rows: rows of it are looked up; write how many there are"
                        )
        return self

    @model_validator(mode="after")
    def _streams_name_statements(self) -> "Workload":
        last = max(stream.phase for stream in self.streams.values())
        for name, stream in self.streams.items():
            for statement in stream.names:
                if statement not in self.statements:
                    hint = did_you_mean(statement, self.statements)
                    raise ValueError(f"streams.{name}.statements: {statement!r} is not one of the statements{hint}")
            if stream.count is None and self.workload.duration is None:
                raise ValueError(
                    f"streams.{name}.count: nothing ends the stream; write count here or duration under [workload]"
                )
            if stream.count is None and stream.phase < last:
                raise ValueError(
                    f"streams.{name}.count: streams of a later phase wait until this one is over; write how many passes"
                    " it makes"
                )
            if stream.rate is not None and stream.phase > 1:
                raise ValueError(f"streams.{name}.rate: clients arrive from the start on; leave phase out")
        return self

    def ordered_relations(self) -> dict[str, RelationModel]:
        """Return the relations, those of tempdb behind the others."""
        return dict(sorted(self.relations.items(), key=lambda item: item[1].temp))

    def ordered_streams(self) -> Iterator[tuple[str, StreamModel]]:
        """Yield the streams by phase."""
        yield from sorted(self.streams.items(), key=lambda item: item[1].phase)


def read_workload(path: Path) -> Workload:
    """Read and check a workload file; raises ScenarioError."""
    return read_model(Workload, path)
