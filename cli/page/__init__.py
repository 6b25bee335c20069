"""``tiersim report``: writes results and studies as one HTML page that needs no network and can be mailed.

Studies are sweeps, miss-ratio curves, load curves and searches for hardware; their schema tells them apart.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from tiersim.cli import terminal
from tiersim.cli.options import Force
from tiersim.errors import TraceError, reason
from tiersim.files import check_target, whole_file
from tiersim.simulator.categories import WAIT_NAMES

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tiersim.cli.page.study_models import LoadModel, MissRatiosModel, PackModel, RowModel, SizeModel, SweepModel
    from tiersim.simulator.result import Result


M = TypeVar("M", bound="BaseModel")


def report(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="What replay, sweep, mrc, load, size and pack write, in any mix: .result and .sweep folders,"
            " .mrc.json, .load.json, .size.json, .pack.json."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "",
    force: Force = False,
) -> None:
    """Write a page that works offline and can be mailed: latencies, rates, utilisation, one scenario against another.

    Sweeps, miss-ratio curves, load curves and searches for hardware have sliders that move all of their charts.

    Example: tiersim report shop.sweep shop.mrc.json shop.size.json -o report.html
    """
    write_page(inputs, output, title, force=force)
    terminal.notice(f"wrote {output}")


def write_page(inputs: list[Path], output: Path, title: str, *, force: bool) -> None:
    """Load results and studies, and write the page."""
    check_target(output, force=force)
    found = open_inputs(inputs)
    trace = found.results[0].summary["trace"]["name"] if found.results else found.studies.trace_name
    name = title or f"{trace or 'a trace'}: what if"
    with whole_file(output, force=force) as path:
        path.write_text(build_page(found.results, name, found.studies), encoding="utf-8")


@dataclass(frozen=True)
class WrittenSweep:
    """A sweep: its grid, a row for each point that is written, and the whole results of those that
    were kept, by point.
    """

    name: str
    sweep: "SweepModel"
    rows: "list[RowModel]"
    kept: "dict[int, Result]"


@dataclass
class Studies:
    """Everything that is no result of its own, with the name of its file."""

    sweeps: list[WrittenSweep] = field(default_factory=list)
    mrcs: "list[tuple[str, MissRatiosModel]]" = field(default_factory=list)
    loads: "list[tuple[str, LoadModel]]" = field(default_factory=list)
    sizes: "list[tuple[str, SizeModel]]" = field(default_factory=list)
    packs: "list[tuple[str, PackModel]]" = field(default_factory=list)

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self.sweeps or self.mrcs or self.loads or self.sizes or self.packs)

    @property
    def trace_name(self) -> str:
        """Name of the first trace, or of the first file of databases."""
        documents: list[SweepModel | MissRatiosModel | LoadModel | SizeModel] = [
            *(folder.sweep for folder in self.sweeps),
            *(document for _, document in self.mrcs),
            *(document for _, document in self.loads),
            *(document for _, document in self.sizes),
        ]
        names = [document.trace.name for document in documents if document.trace.name]
        return next(iter([*names, *(name for name, _ in self.packs)]), "")


@dataclass
class Inputs:
    """What a page is made of."""

    results: "list[Result]" = field(default_factory=list)
    studies: Studies = field(default_factory=Studies)


def open_inputs(paths: Sequence[Path]) -> Inputs:
    """Read all of *paths*; raises TraceError naming the file, the place in it and the remedy."""
    from tiersim.cli.page.study_models import LoadModel, MissRatiosModel, PackModel
    from tiersim.simulator.result import load_result

    found = Inputs()
    for path in paths:
        if path.is_dir() or path.suffix == ".result":
            if (path / "sweep.json").exists():
                found.studies.sweeps.append(_open_sweep(path))
            else:
                found.results.append(load_result(path))
            continue
        document = _open_document(path)
        name = path.name.removesuffix(".json").rsplit(".", 1)[0]
        if isinstance(document, MissRatiosModel):
            found.studies.mrcs.append((name, document))
        elif isinstance(document, LoadModel):
            found.studies.loads.append((name, document))
        elif isinstance(document, PackModel):
            found.studies.packs.append((name, document))
        else:
            found.studies.sizes.append((name, document))
    return found


def _open_document(path: Path) -> "MissRatiosModel | LoadModel | SizeModel | PackModel":
    from tiersim.cli.page.study_models import LoadModel, MissRatiosModel, PackModel, SizeModel

    models: dict[str, type[MissRatiosModel | LoadModel | SizeModel | PackModel]] = {
        "tiersim.mrc/1": MissRatiosModel,
        "tiersim.load/1": LoadModel,
        "tiersim.size/1": SizeModel,
        "tiersim.pack/1": PackModel,
    }
    values = _json(path)
    schema = values.get("schema")
    if not isinstance(schema, str) or schema not in models:
        known = ", ".join(map(repr, models))
        raise TraceError(
            f"{path}: its schema is {schema!r}, and a page is made of .result and .sweep folders and of files whose"
            f" schema is one of {known}; leave it out"
        )
    return _checked(models[schema], values, path)


def _open_sweep(path: Path) -> WrittenSweep:
    from tiersim.cli.page.study_models import RowModel, SweepModel

    sweep = _checked(SweepModel, _json(path / "sweep.json"), path / "sweep.json")
    for axis in sweep.axes:
        if axis.numbers is not None and len(axis.numbers) != len(axis.values):
            raise TraceError(
                f"{path / 'sweep.json'}: the axis {axis.key!r} has {len(axis.values)} values and {len(axis.numbers)}"
                " numbers; run the sweep again"
            )
    files = sorted((path / "points").glob("*.json")) if (path / "points").is_dir() else []
    rows = [_checked(RowModel, _json(file), file) for file in files]
    for row, file in zip(rows, files, strict=True):
        if (row.status == "done") != (row.summary is not None and bool(row.summary.latency_ns or row.summary.name)):
            raise TraceError(
                f"{file}: is {row.status!r} {'without' if row.status == 'done' else 'with'} a summary; run the sweep"
                " again"
            )
        for axis in sweep.axes:
            if row.settings.get(axis.key) not in axis.values:
                raise TraceError(
                    f"{file}: its {axis.key} is {row.settings.get(axis.key)!r}, which is not on the axis of sweep.json;"
                    " run the sweep again"
                )
    return WrittenSweep(path.name.removesuffix(".sweep"), sweep, rows, _kept(path))


def _kept(path: Path) -> "dict[int, Result]":
    """Whole results of points, where the sweep kept them: their names begin with the number of the point."""
    from tiersim.simulator.result import load_result

    folders = sorted((path / "results").glob("*.result")) if (path / "results").is_dir() else []
    kept: dict[int, Result] = {}
    for folder in folders:
        digits = folder.name.split(".")[0].split("-")[0]
        if digits.isdigit():
            kept.setdefault(int(digits), load_result(folder))
    return kept


def _json(path: Path) -> dict[str, object]:
    try:
        raw = path.read_bytes()
        values = json.loads(raw)
        if rb"\ud" in raw.lower():  # half a character, which no page can hold
            values = json.loads(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace"))
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is not JSON or damaged ({str(error).splitlines()[0]}); write it again") from None
    if not isinstance(values, dict):
        raise TraceError(
            f"{path}: is not a JSON object but {type(values).__name__}; a page is made of files that tiersim wrote"
        )
    return values


def _checked(model: type[M], values: dict[str, object], path: Path) -> M:
    from pydantic import ValidationError

    try:
        return model.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(map(str, problem["loc"])) or "the document"
        message = problem["msg"][0].lower() + problem["msg"][1:]
        raise TraceError(f"{path}: {place}: {message}; it is damaged or of another version, write it again") from None


#: What draws the charts: the part of plotly.js that has the kinds of charts of these pages, as its project publishes
#: it.
_LIBRARY = "plotly/plotly-cartesian.min.js"

#: Scripts of every page, and those of each; a page runs them as one, in this order.
_SHARED = ("words", "elements", "shell", "charts", "drawing", "figures", "latencies")
_REPORT = (
    "report_state",
    "report_head",
    "report_pools",
    "report_queries",
    "report_database",
    "report_tenants",
    "report_latency",
    "report_load",
    "report_pair",
    "report_known",
    "report",
)
_STUDIES = (
    "study_state",
    "study_tables",
    "study_controls",
    "study_head",
    "study_axes",
    "study_point",
    "study_mrc",
    "study_load",
    "study_size",
    "study_pack",
    "study",
)
_TRACE = ("trace",)


_EXPLORE = (*_REPORT, "study_tables", "explore_controls", "explore_catalogue", "explore_search", "explore")


class _Part(NamedTuple):
    """A part of a page: its HTML, and its scripts in their order."""

    body: str
    scripts: Sequence[str]


def build_page(results: "Sequence[Result]", title: str, studies: Studies | None = None) -> str:
    """Build the report of *results* and *studies* as text; byte for byte the same for the same ones."""
    from tiersim.cli.page.payload import SCHEMA, page_payload
    from tiersim.cli.page.studies import spoken, study_payload

    if not results and not studies:
        raise ValueError("a page needs at least one result or study")
    bare = {"schema": SCHEMA, "title": title, "wait_names": WAIT_NAMES}
    payload: dict[str, Any] = page_payload(results, title) if results else bare
    said = [(scenario["name"], _verdict(scenario)) for scenario in payload.get("scenarios", ())]
    parts = []
    if studies:
        payload["studies"] = study_payload(studies)
        said += spoken(payload["studies"])
        parts.append(_Part("studies.html", _STUDIES))
    if results:
        parts.append(_Part("report.html", _REPORT))
    words = {
        "kicker": "What if: storage, predicted by tiersim",
        "spoken_of": "In short" if studies else "The verdicts",
        "spoken": "".join(f"<li><b>{escape(name)}</b>: {escape(text)}</li>" for name, text in said),
    }
    return _page(parts, title, words, payload)


def build_trace_page(description: dict[str, Any], title: str) -> str:
    """Build the page of a trace from its description (``tiersim.description/1``); the same for the same description."""
    from tiersim.cli.page.trace_payload import trace_payload

    payload = trace_payload(description, title)
    spoken = "".join(f"<li><b>{escape(question)}</b> {escape(said)}</li>" for question, said in payload["lead"])
    words = {"kicker": "A trace, described by tiersim", "spoken_of": "In short", "spoken": spoken}
    return _page([_Part("trace.html", _TRACE)], title, words, payload)


def build_explore_page(explored: dict[str, Any], title: str) -> str:
    """Build the page of an exploration: the report, without results until its server sends some, and the controls;
    *explored* is what does not change meanwhile.
    """
    from tiersim.cli.page.payload import SCHEMA

    words = {
        "kicker": "Explore: storage, simulated by tiersim as you change it",
        "spoken_of": "To explore",
        "spoken": "<li>Switch scripts on: the page asks its server for each figure.</li>",
    }
    payload = {"schema": SCHEMA, "title": title, "explored": explored}
    parts = [_Part("explore.html", ()), _Part("report.html", _EXPLORE)]
    return _page(parts, title, words, payload, may_load="connect-src 'self'; ", style=asset("explore.css"))


def asset(name: str) -> str:
    """Return the text of a file of this folder."""
    from importlib.resources import files

    return files(__package__).joinpath(*name.split("/")).read_text(encoding="utf-8")


def head(title: str, *, may_load: str = "", style: str = "") -> str:
    """Return a page up to its body; *may_load* is what its policy allows beside styles of its own, *style* comes after
    those of every page.
    """
    return Template(asset("head.html")).substitute(
        title=escape(title), may_load=may_load, style=asset("page.css") + style
    )


def _page(
    parts: Sequence[_Part],
    title: str,
    words: dict[str, str],
    payload: dict[str, Any],
    *,
    may_load: str = "",
    style: str = "",
) -> str:
    """Put a page together; names of one part's scripts are not seen by another part's.

    Only the two scripts that it is built from may run: the policy in its head names them by hash, so that not even a
    name with HTML in it, had it slipped through the escaping, could do anything.
    """
    from tiersim.cli.page.payload import embedded_json
    from tiersim.cli.page.series import RANKS
    from tiersim.simulator.categories import STATISTICS

    named = f"const STATISTICS = {json.dumps(STATISTICS)};\nconst RANKS = {json.dumps(RANKS)};\n"
    blocks = ("{\n" + _scripts(part.scripts) + "}\n" for part in parts)
    own = "\n".join([named, _scripts(_SHARED), *blocks, _scripts(("open",))])
    library, script = _normalised(asset(_LIBRARY)), _normalised(f"'use strict';\n(() => {{\n{own}}})();\n")
    may_load += f"script-src {_csp_hash(library)} {_csp_hash(script)}; img-src data: blob:; "
    return Template(asset("shell.html")).substitute(
        title=escape(title),
        head=head(title, may_load=may_load, style=style),
        body="".join(asset(part.body) for part in parts),
        **words,
        data=embedded_json(payload),
        library=library,
        script=script,
    )


def _scripts(names: Sequence[str]) -> str:
    return "\n".join(asset(f"scripts/{name}.js") for name in names)


def _normalised(script: str) -> str:
    """A script as a browser will see it, which is what the hash is of."""
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _csp_hash(script: str) -> str:
    import base64
    import hashlib

    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _verdict(scenario: dict[str, Any]) -> str:
    """The verdict for readers whose browser runs no scripts."""
    load = scenario["verdict"]["load"].replace("steady", "carries the load")
    return f"{load}{', in doubt' if scenario['in_doubt'] else ''}. {scenario['load']['explanation']}"
