"""Founding document 004: pages read a second with 256 and with 384 GB of memory, on storage that holds neither back.

It says that reads begin at 7,000 to 8,000 a second and drift down to 2,000 to 3,000 within the hour with 256 GB, and
are mostly 1,000 with 384 GB. The workload is not described. Here pages are asked for by Zipf's law at the first rate,
from an empty pool; how many pages there are is fitted to where 256 GB end, for each exponent of the law that is tried,
and what 384 GB read in the long run is predicted. Of pages, memory and requests a second a 400th is run, of the hour
all.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tiersim.scenarios import library
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.validation import ranges
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.ranges import Assumed
from tiersim.scenarios.workloads.replay import load_workload, run_workload

_FACTOR = 400
#: The pool has this part of the memory: assumed, as of the 144 GB of founding document 000.
_POOL = 0.9
_LESS, _MORE = (round(_POOL * size * 10**9) for size in (256, 384))
_FIRST_PER_S = 7500
#: Pages in millions by the law's exponent, each fitted to 2,500 reads a second at the end of the hour with 256 GB.
_PAGES = {0.0: 42.2, 0.6: 52.3, 0.8: 79.0}
_EXPONENT = Assumed("exponent", 0.0, 0.6, 0.8)


def reads_per_s(pool_bytes: int, cache: str, exponent: float, pages: float) -> tuple[float, float]:
    """Return reads a second of an hour, in its first minute and in its last ten; *pages* in millions."""
    found = load_workload(library.workload_path_of("warming"))
    model = found.model
    count = round(pages * 1e6 / _FACTOR)
    relation = model.relations["data"].model_copy(update={"rows": count, "pages": count, "exponent": exponent})
    stream = model.streams["users"].model_copy(update={"rate": _FIRST_PER_S / _FACTOR})
    workload = model.workload.model_copy(update={"buffer_pool": pool_bytes // _FACTOR, "cache": cache})
    changed = {"workload": workload, "relations": {"data": relation}, "streams": {"users": stream}}
    timeline = run_workload(
        replace(found, model=model.model_copy(update=changed)), load_scenario("violin")
    ).timeline.to_pylist()
    reads = [row for row in timeline if row["class"] == "data read"]

    def mean(from_s: int, to_s: int) -> float:
        counted: int = sum(row["completions"] for row in reads if from_s * 10**9 <= row["start_ns"] < to_s * 10**9)
        return _FACTOR * counted / (to_s - from_s)

    return mean(0, 60), mean(3000, 3600)


def _predict(values: Mapping[str, Any]) -> dict[str, float]:
    exponent = values[_EXPONENT.name]
    pages = _PAGES[exponent]
    first, last = reads_per_s(_LESS, "cold", exponent, pages)
    _, long = reads_per_s(_MORE, "warm", exponent, pages)
    return {"first": first, "last": last, "fall": last / first, "more": long}


def experiment() -> Experiment:
    """The fall is fitted; what more memory makes of it is predicted."""
    found = ranges.over([_EXPONENT], _predict)
    first, last, fall, more = (found[name] for name in ("first", "last", "fall", "more"))
    return Experiment(
        "warming",
        "Reads of a server with 256 GB and of one with 384 GB",
        "founding document 004, in words; its charts are lost",
        "pages asked for in a second, to the reads at first, and how many pages there are, to those at the end of an"
        " hour, both with 256 GB; the workload is assumed, by Zipf's law with an exponent of 0 to 0.8: beyond, the"
        " first reads are too few",
        (
            Claim(
                "256 GB: reads at first",
                "1/s",
                7500,
                first.predicted,
                30,
                fitted=True,
                id="G20",
                low=first.low,
                high=first.high,
            ),
            Claim(
                "256 GB: after an hour",
                "1/s",
                2500,
                last.predicted,
                20,
                fitted=True,
                id="G20",
                low=last.low,
                high=last.high,
            ),
            Claim(
                "256 GB: reads fall to a part of",
                "",
                0.5,
                fall.predicted,
                0,
                id="G20",
                kind="qualitative",
                at_most=True,
                low=fall.low,
                high=fall.high,
            ),
            Claim(
                "384 GB: reads",
                "1/s",
                1000,
                more.predicted,
                0,
                id="G20",
                within=(500, 2000),
                low=more.low,
                high=more.high,
                figure="count",
            ),
        ),
        fits=2,
        assumed=(str(_EXPONENT), "pool of the memory", "empty pool at first"),
    )
