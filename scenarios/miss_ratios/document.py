"""The document ``tiersim.mrc/1``: the curve of a bundle, those of its parts, its knees, and which cache they are of."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError, TraceError
from tiersim.scenarios.miss_ratios.references import PageStream
from tiersim.scenarios.miss_ratios.sampling import KINDS, LRU, Sampling
from tiersim.simulator.miss_ratios import (
    Counts,
    ExactCurve,
    MissRatioCurve,
    Shards,
    Simulated,
    curve_of,
    knees,
    size_grid,
)
from tiersim.traces.bundle import Bundle
from tiersim.traces.references import NAME as REFERENCES
from tiersim.traces.schema import REFERENCE_KINDS
from tiersim.traces.statistics import has_statements
from tiersim.units import format_bytes

if TYPE_CHECKING:
    from tiersim.scenarios.miss_ratios.law import LawCurves

SCHEMA = "tiersim.mrc/1"
Progress = Callable[[int, int], None]
#: Pages are so large unless the trace says otherwise.
_PAGE_BYTES = 8192
#: Curves are shown from this part of all pages on, and at so many sizes in each doubling where each is simulated by
#: itself.
_SHOWN_FROM, _SIMULATED_FROM, _SIMULATED_STEPS = 1 << 12, 1 << 7, 4
#: A size at which a sample has fewer pages than this is not shown: it is resolved by single pages.
_FEWEST_SAMPLED = 4
#: Said of a recording that has queries and counters beside requests.
_REQUESTS_ALONE = (
    "pages are those of block requests: misses and writes of the server's pool; for a curve of the pool itself, import"
    " the counters of the same recording alone"
)
#: Doublings around the recorded pool that laws are asked for, and sizes in each.
_LAW_OCTAVES, _LAW_STEPS = 3, 4
#: Of each kind the curves of the parts with most references.
_MOST_CURVES = 100
#: Between fewer sizes, those that somebody asked for, knees would be where these are.
_FEWEST_FOR_KNEES = 16
#: Policies whose small simulations were more than 0.01 off, whatever the samples.
_NOT_OF_SCALE = ("sieve",)
#: Misses by the samples' own references that are so far off say that the adjustment matters.
_FAR_APART = 0.02


def miss_ratios(bundle: Bundle, asked: Sampling, progress: Progress | None = None) -> dict[str, Any]:
    """Return the curve of *bundle* as a document of schema ``tiersim.mrc/1``.

    *progress* is called with how much is done and how much there is. Raises TraceError or ScenarioError when the bundle
    has no curve, or not the one that was asked for.
    """
    if bundle.rows or (bundle.path / REFERENCES).exists():
        return _counted(bundle, asked, progress)
    return _by_law(bundle, asked)


def _counted(bundle: Bundle, asked: Sampling, progress: Progress | None) -> dict[str, Any]:
    page_bytes = _page_bytes(bundle)
    sizes = _pages_asked(asked, page_bytes)
    stream = PageStream(bundle, page_bytes, asked.by if asked.policy == LRU else ())
    if asked.policy == LRU:
        counts, method = _distances(stream, asked, sizes, progress)
    else:
        counts, method = _simulated(stream, asked, sizes, progress)
    total = curve_of(counts)
    if not total.references:
        raise TraceError(f"{bundle.path}: asks for no page; there is nothing to cache")
    shown = _shown(total, counts, sizes, asked, method)
    curves = _parts(stream, counts, shown, asked.by, page_bytes)
    said = [
        *stream.said,
        *_doubts(total, shown),
        *([_REQUESTS_ALONE] if bundle.rows and has_statements(bundle.path) else []),
    ]
    if method == "mini-simulation" and asked.policy in _NOT_OF_SCALE:
        said.append(
            f"samples do not suit {asked.policy}: misses of small caches may be predicted too low, and the error does"
            " not include that (docs/mrc.md); leave out --sample"
        )
    return {
        **_head(bundle, stream.content_hash, asked, method, page_bytes, said),
        "references": total.references,
        "distinct_pages": round(counts.pages),
        "compulsory_miss_ratio": total.compulsory,
        "points": _points(total, shown, page_bytes),
        "curves": curves,
        "knees": _knees(total, round(counts.pages), page_bytes),
        "recorded": _recorded(bundle, stream.above_the_cache),
    }


def _distances(
    stream: PageStream, asked: Sampling, sizes: tuple[int, ...], progress: Progress | None
) -> tuple[Counts, str]:
    grid = size_grid(sizes)
    sampled = asked.most_pages is not None or asked.rate not in (None, 1.0)
    curve: ExactCurve | Shards = ExactCurve(grid)
    if sampled:
        curve = Shards(
            grid,
            asked.rate,
            most_pages=asked.most_pages,
            samples=asked.samples,
            seed=asked.seed,
            workers=asked.workers,
        )
    for block in stream.blocks(progress):
        curve.add(*block)
    return curve.counts(), "shards" if sampled else "exact"


def _simulated(
    stream: PageStream, asked: Sampling, sizes: tuple[int, ...], progress: Progress | None
) -> tuple[Counts, str]:
    rate = 1.0 if asked.rate is None else asked.rate
    policy = Simulated(asked.policy, rate, samples=asked.samples, seed=asked.seed)
    for block in stream.blocks():
        policy.add(block.keys)
    pages = ceil(policy.pages)
    grid = np.array(sizes, np.int64)
    if not sizes and pages:
        grid = size_grid((pages,), steps=_SIMULATED_STEPS)
        least = max(pages // _SIMULATED_FROM, 1 if policy.is_exact else ceil(_FEWEST_SAMPLED / rate))
        grid = grid[((grid >= least) & (grid <= pages)) | (grid == pages)]
    if policy.is_exact and rate < 1:
        stream.said.append(
            f"all references were simulated: {asked.samples} samples of {rate:g} of the pages cover most of them"
        )
    return policy.counts(grid, workers=asked.workers, progress=progress), (
        "exact" if policy.is_exact else "mini-simulation"
    )


def _by_law(bundle: Bundle, asked: Sampling) -> dict[str, Any]:
    from tiersim.scenarios.miss_ratios.law import law_curves, load_and_frames
    from tiersim.scenarios.statements.error_reasons import other_reads

    if asked.policy != LRU or asked.rate is not None or asked.most_pages is not None:
        raise ScenarioError(
            f"{bundle.path}: has no pages, only counters and statements: its curve is that of the recorded pool's own"
            " policy, from laws that are fitted to it; leave out --policy and --sample"
        )
    load, frames = load_and_frames(bundle.path, asked.seed)
    if (why := other_reads(load)) is not None:  # not even at the size that was recorded is the curve right
        raise TraceError(
            f"{bundle.path}: its miss-ratio curve is not known: {why}; record longer, with a pool that is full, or page"
            " references"
        )
    page_bytes = _page_bytes(bundle)
    sizes = _pages_asked(asked, page_bytes)
    if not sizes:
        steps = np.arange(-_LAW_OCTAVES * _LAW_STEPS, _LAW_OCTAVES * _LAW_STEPS + 1) / _LAW_STEPS
        sizes = tuple(sorted({max(round(frames * 2**step), 1) for step in steps.tolist()}))
    found = law_curves(load, sizes)
    if not found.query_references.sum():
        raise TraceError(f"{bundle.path}: no query asks for a page; record the texts of queries, too")
    said = ["sizes above four times or below a quarter of the recorded one are extrapolated"]
    said = [
        *(said if any(found.extrapolated) else []),
        (
            "no page was recorded: an access distribution is fitted to the misses of the recorded pool (policy"
            f" {load.fitted.policy})"
        ),
        *load.inferred,
    ]
    return {
        **_head(bundle, None, asked, "law", page_bytes, said),
        "policy": str(load.fitted.policy),
        "references": round(float(found.query_references.sum())),
        "distinct_pages": sum(found.table_pages),
        "compulsory_miss_ratio": None,  # in the long run there are none
        "points": _law_points(found, found.miss_ratio, page_bytes),
        "curves": _law_parts(found, asked.by, page_bytes),
        "knees": _knees_of(np.array(found.frames), found.miss_ratio, page_bytes),
        "recorded": {
            "cache_bytes": frames * page_bytes,
            "beyond": _beside(load.pool_bytes - frames * page_bytes),
        },
    }


def _beside(more_bytes: int) -> str:
    """Say what a size is of, by how much more the recorded pool was than it held of these tables."""
    said = "a size is that of the part of the buffer pool that holds the tables of these queries"
    if more_bytes <= 0:
        return f"{said}; other relations need memory besides"
    more = format_bytes(more_bytes)
    return f"{said}; a pool (engine.buffer_pool) is {more} larger, for free frames and other relations"


def _head(
    bundle: Bundle, content_hash: str | None, asked: Sampling, method: str, page_bytes: int, said: Sequence[str]
) -> dict[str, Any]:
    sampled = method in ("shards", "mini-simulation")
    manifest = bundle.manifest
    return {
        "schema": SCHEMA,
        "trace": {
            "name": bundle.path.absolute().name.removesuffix(".trace"),
            "hash": content_hash,
            "requests": bundle.rows,
            "references": manifest.references,
            "statements": manifest.statements,
            "span_ns": manifest.span_ns,
            "source_format": manifest.source_format,
        },
        "policy": asked.policy,
        "method": method,
        "synthesised": method == "law",
        "sample": (
            {
                "rate": asked.rate if asked.most_pages is None else None,
                "most_pages": asked.most_pages,
                "samples": asked.samples,
                "seed": asked.seed,
            }
            if sampled
            else None
        ),
        "page_bytes": page_bytes,
        "notes": list(said),
    }


def _page_bytes(bundle: Bundle) -> int:
    found = bundle.manifest.host.get("page_bytes", _PAGE_BYTES)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise TraceError(
            f"{bundle.path / 'manifest.json'}: host.page_bytes: {found!r} is no size of a page; correct it"
        )
    return found


def _pages_asked(asked: Sampling, page_bytes: int) -> tuple[int, ...]:
    for size in asked.sizes_bytes:
        if size < page_bytes:
            raise ScenarioError(
                f"--sizes: a cache of {format_bytes(size)} holds no page of {format_bytes(page_bytes)}; give it one or"
                " more"
            )
    return tuple(sorted({size // page_bytes for size in asked.sizes_bytes}))


def _shown(
    total: MissRatioCurve, counts: Counts, sizes: tuple[int, ...], asked: Sampling, method: str
) -> NDArray[np.int64]:
    """Return which points are shown: those asked for, or from a small part of all pages to all of them."""
    grid = total.sizes
    if sizes or asked.policy != LRU:
        return np.flatnonzero(np.isin(grid, sizes)) if sizes else np.arange(len(grid))
    pages = counts.pages
    least = pages / _SHOWN_FROM
    if method == "shards":
        rate = asked.rate if asked.rate is not None else min((asked.most_pages or 1) / max(pages, 1), 1)
        least = max(least, _FEWEST_SAMPLED / rate)
    last = int(np.searchsorted(grid, ceil(pages)))
    first = min(int(np.searchsorted(grid, least)), last)
    return np.arange(first, last + 1)


def _points(curve: MissRatioCurve, shown: Iterable[int], page_bytes: int) -> list[dict[str, Any]]:
    return [
        {
            "cache_bytes": int(curve.sizes[one]) * page_bytes,
            "miss_ratio": _number(curve.miss_ratio[one]),
            "error": _number(curve.error[one]),
            "capacity_miss_ratio": _number(max(curve.miss_ratio[one] - curve.compulsory, 0.0)),
            "plain_miss_ratio": _number(curve.plain[one]),
        }
        for one in shown
    ]


def _number(value: float) -> float | None:
    return None if isnan(value) else float(value)


def _parts(
    stream: PageStream, counts: Counts, shown: Iterable[int], by: Sequence[str], page_bytes: int
) -> list[dict[str, Any]]:
    curves: list[dict[str, Any]] = []
    shown = list(shown)
    for place, kind in enumerate(KINDS):
        if kind not in by:
            continue
        members: dict[int, list[int]] = {}
        for code, member in enumerate(stream.classes.members):
            members.setdefault(member[place], []).append(code)
        found = [(code, curve_of(counts, classes)) for code, classes in members.items() if code >= 0]
        if len(members) < 2 and kind != "operation":  # that of all
            continue
        found.sort(key=lambda one: (-one[1].references, one[0]))
        for code, curve in found[:_MOST_CURVES]:
            name, text = _name(stream, kind, code)
            curves.append(
                {
                    "kind": kind,
                    "name": name,
                    **({"text": text} if kind == "query" else {}),
                    "references": curve.references,
                    "compulsory_miss_ratio": curve.compulsory,
                    "points": _points(curve, shown, page_bytes),
                }
            )
        if len(found) > _MOST_CURVES:
            stream.said.append(f"of {len(found):,} curves by {kind} the {_MOST_CURVES} with most references are listed")
    return curves


def _name(stream: PageStream, kind: str, code: int) -> tuple[str, str | None]:
    if kind == "relation":
        return stream.relation_names[code], None
    if kind == "operation":
        return REFERENCE_KINDS[code], None
    query = stream.query_ids[code]
    return query, stream.query_texts.get(query)


def _doubts(total: MissRatioCurve, shown: NDArray[np.int64]) -> Iterator[str]:
    apart = np.abs(total.miss_ratio - total.plain)[shown]
    if len(apart) and np.nanmax(apart) > _FAR_APART:
        yield (
            f"the adjustment of the samples changes the miss ratio by up to {np.nanmax(apart):.3f}; where all pages are"
            " equally hot, as in scans, the unadjusted column (plain_miss_ratio) is closer"
        )


def _knees(total: MissRatioCurve, pages: int, page_bytes: int) -> list[dict[str, Any]]:
    within = (total.sizes <= pages) & ~np.isnan(total.miss_ratio)
    sizes = np.concatenate([[0], total.sizes[within]])
    ratios = np.concatenate([[1.0], total.miss_ratio[within]])
    return _knees_of(sizes, ratios, page_bytes)


def _knees_of(sizes: NDArray[np.int64], ratios: NDArray[np.float64], page_bytes: int) -> list[dict[str, Any]]:
    if len(sizes) < _FEWEST_FOR_KNEES:
        return []
    return [
        {"cache_bytes": size * page_bytes, "miss_ratio": float(np.interp(size, sizes, ratios))}
        for size in knees(sizes, ratios)
    ]


def _recorded(bundle: Bundle, above_the_cache: bool) -> dict[str, Any]:
    if above_the_cache:
        return {
            "cache_bytes": None,
            "beyond": "references were recorded above any cache: a size is that of the whole cache",
        }
    known = bundle.manifest.buffer_pool_bytes
    below = "a cache whose size is not known" if known is None else f"a buffer pool of {format_bytes(known)}"
    return {
        "cache_bytes": known,
        "beyond": (
            f"the requests were recorded below {below}, whose hits are not in the recording; a size is that of a second"
            " cache behind it; the curve does not say how a smaller cache in its place would do"
        ),
    }


def _law_points(found: "LawCurves", ratios: Any, page_bytes: int) -> list[dict[str, Any]]:
    return [
        {"cache_bytes": frames * page_bytes, "miss_ratio": float(ratio), "error": None, "extrapolated": beyond}
        for frames, ratio, beyond in zip(found.frames, ratios.tolist(), found.extrapolated, strict=True)
    ]


def _law_parts(found: "LawCurves", by: Sequence[str], page_bytes: int) -> list[dict[str, Any]]:
    curves = []
    tables = [table.name for table in found.load.fitted.tables]
    kinds = {
        "relation": (tables, found.table_references, found.table_missed),
        "query": (found.load.queries, found.query_references, found.query_missed),
    }
    for kind, (names, references, missed) in kinds.items():
        if kind not in by:
            continue
        for place in np.argsort(-references, kind="stable").tolist()[:_MOST_CURVES]:
            if references[place] > 0:
                text = {"text": found.load.texts.get(names[place])} if kind == "query" else {}
                points = _law_points(found, missed[place] / references[place], page_bytes)
                curves.append(
                    {
                        "kind": kind,
                        "name": names[place],
                        **text,
                        "references": round(float(references[place])),
                        "points": points,
                    }
                )
    return curves
