"""``tiersim mrc``: what a cache of each size would miss."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.cli.import_trace import open_trace
from tiersim.cli.options import Force, Json
from tiersim.files import check_target
from tiersim.units import format_bytes

#: Signs of the longest bar of the sketch, and of a name; rows of the table when no sizes were asked for; curves of
#: parts, and their sizes.
_BAR, _NAME, _ROWS, _PARTS, _PART_SIZES = 40, 60, 24, 10, 6
#: How curves are made.
_METHODS = {
    "exact": "exact",
    "shards": "estimated from samples",
    "mini-simulation": "simulated on samples",
    "law": "from a fitted access distribution",
}
_BLOCKS = " ▏▎▍▌▋▊▉█"


def mrc(
    trace: Annotated[
        Path,
        typer.Argument(help="A trace (NAME.trace, from import or record), or a recorded file that tiersim can import."),
    ],
    policy: Annotated[
        str, typer.Option("--policy", help="Replacement policy of the cache; docs/policies.md lists them.")
    ] = "lru",
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample", help="Estimate from a sample of the pages: 0.01 takes 1 % of them. Faster, with an error."
        ),
    ] = None,
    sample_pages: Annotated[
        int | None,
        typer.Option(
            "--sample-pages", help="Estimate from a sample of at most N pages, such as 8192. Bounds the memory."
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", help="How many such samples. Their spread gives the error.", min=1, max=16)
    ] = 8,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes", help="Cache sizes: 1GiB..64GiB (each twice the last) or 4GiB,6GiB. Without it, all sizes."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Also print a curve for each relation, query or operation: --by relation. Repeat it for more.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random samples.")] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write the curve, such as prod.mrc.json.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every note.")] = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Show the miss ratio of a cache at each size: the share of page references that miss.

    Which cache this is depends on the recording. A recording of a server: its buffer pool. The pages are not recorded;
    an access distribution is fitted to the recorded misses. A block trace: an additional cache between the recorded
    server and its storage. A trace of page references: the only cache.

    The default policy, LRU, is computed for all sizes in one pass. Other policies are simulated at each size.

    Example: tiersim mrc prod.trace --sizes 1GiB..64GiB --by relation
    """
    if output is not None:
        check_target(output, force=force)
    from tiersim.scenarios.miss_ratios import Sampling, miss_ratios, parse_sizes

    asked = Sampling(
        policy=policy,
        rate=sample,
        most_pages=sample_pages,
        samples=samples,
        seed=seed,
        sizes_bytes=() if sizes is None else parse_sizes(sizes),
        **({"by": tuple(dict.fromkeys(by))} if by else {}),
        workers=os.cpu_count() or 1,
    )
    with open_trace(trace) as bundle, terminal.progress_bar("counting distances") as progress:
        document = miss_ratios(bundle, asked, progress)
    terminal.write_json(document, output, force=force)
    if json:
        terminal.print_json(document)
        return
    _show(document, all_rows=sizes is not None)
    for kind in by or ():
        _show_parts(document, kind)
    notes = [*map(terminal.as_sentence, (document["recorded"]["beyond"], *document["notes"]))]
    print(terminal.caption(notes, everything=everything))


def _show(document: dict[str, Any], *, all_rows: bool) -> None:
    points = document["points"] if all_rows else _thinned(document["points"])
    print(
        f"{document['trace']['name']}: {document['references']:,} references to {document['distinct_pages']:,} pages of"
        f" {format_bytes(document['page_bytes'])}, policy {document['policy']}, {_METHODS[document['method']]}"
    )
    sampled = any(point["error"] for point in document["points"])
    counted = document["compulsory_miss_ratio"] is not None
    columns = ["misses", *["±"] * sampled, *["capacity misses"] * counted, *["unadjusted"] * sampled]
    rows = []
    for point in points:
        row = [format_bytes(point["cache_bytes"]), _bar(point["miss_ratio"]), _ratio(point["miss_ratio"])]
        row += [_ratio(point["error"])] if sampled else []
        row += [_ratio(point["capacity_miss_ratio"])] if counted else []
        row += [_ratio(point["plain_miss_ratio"])] if sampled else []
        rows.append(row)
    terminal.show_table("", ["cache", "0 … 1", *columns], rows, words=2)
    if counted:
        compulsory = _ratio(document["compulsory_miss_ratio"])
        print(f"Compulsory misses (the first reference to each page; no cache avoids them): {compulsory}.")
    for knee in document["knees"]:
        size, ratio = format_bytes(knee["cache_bytes"]), _ratio(knee["miss_ratio"])
        print(f"Knee at {size}, miss ratio {ratio}: beyond it, more memory helps less.")


def _show_parts(document: dict[str, Any], kind: str) -> None:
    curves = [curve for curve in document["curves"] if curve["kind"] == kind]
    if not curves:
        print(f"by {kind}: the recording has none")
        return
    chosen = _thinned(curves[0]["points"], _PART_SIZES)
    sizes = [point["cache_bytes"] for point in chosen]
    rows = []
    for curve in curves[:_PARTS]:
        found = {point["cache_bytes"]: point["miss_ratio"] for point in curve["points"]}
        name = terminal.one_line(curve.get("text") or curve["name"], _NAME)
        rows.append([name, f"{curve['references']:,}", *(_ratio(found[size]) for size in sizes)])
    caption = f"{len(curves) - _PARTS} more: --json" if len(curves) > _PARTS else ""
    terminal.show_table(f"by {kind}", [kind, "references", *map(format_bytes, sizes)], rows, caption)


def _thinned(points: list[dict[str, Any]], most: int = _ROWS) -> list[dict[str, Any]]:
    """Return so many points at most, the last among them."""
    step = -(-len(points) // most)
    return points[::-1][:: max(step, 1)][::-1]


def _ratio(value: float | None) -> str:
    return "not known" if value is None else f"{value:.4f}"


def _bar(ratio: float | None) -> str:
    eighths = round((ratio or 0.0) * _BAR * 8)
    return "█" * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")
