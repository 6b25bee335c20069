"""Two passes over a trace, and the document that they make."""

from collections.abc import Callable
from typing import Any

from tiersim.traces.bundle import MOST, Bundle
from tiersim.traces.description.burstiness import Burstiness
from tiersim.traces.description.counters import counted
from tiersim.traces.description.depth import Depth
from tiersim.traces.description.groups import Groups
from tiersim.traces.description.survey import RequestSurvey, class_codes
from tiersim.traces.description.timeline import Timeline
from tiersim.traces.description.working_set import WorkingSet
from tiersim.units import NS_PER_S


def describe(bundle: Bundle, *, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Describe a trace (``tiersim.description/1``, see ``docs/description.md``) in memory that does not grow with its
    length.

    *progress* is called with the rows read and the rows to read; each is read twice. Without requests the keys that are
    of requests are not there. Raises TraceError for a bundle that cannot be read, or holds nothing but page references.
    """
    statements = counted(bundle)
    manifest = bundle.manifest
    document = {
        "schema": "tiersim.description/1",
        "trace": bundle.path.absolute().name,
        "format": manifest.source_format,
        "requests": bundle.rows,
        "span_ns": manifest.span_ns,
        "counted": statements,
        "inferred": list(manifest.inferred),
        "warnings": list(manifest.warnings),
    }
    if bundle.rows or statements is None:
        document |= _of_requests(bundle, progress)
    return document


def _of_requests(bundle: Bundle, progress: Callable[[int, int], None] | None) -> dict[str, Any]:
    """Describe the requests of a trace, the keys that only a trace with requests has."""
    bundle.refuse_without_requests()
    survey = RequestSurvey()
    rows = 0
    for block in bundle.blocks():
        survey.see(block, bundle)
        rows += len(block)
        if progress is not None:
            progress(rows, 2 * bundle.rows)
    span_ns = max(survey.end_ns, min(bundle.manifest.span_ns, MOST))  # which another tool may have left out

    groups, timeline, working_set = Groups(survey), Timeline(survey, span_ns), WorkingSet(survey, span_ns)
    depth, burstiness = Depth(), Burstiness(survey.resolution.tick_ns)
    for block in bundle.blocks():
        classes = class_codes(block)
        groups.add(block, classes)
        timeline.add(block, classes)
        depth.add(block)
        burstiness.add(block)
        working_set.add(block)
        rows += len(block)
        if progress is not None:
            progress(rows, 2 * bundle.rows)

    # requests come until the last was queued, and those of the last tick in all of it
    ticked_ns = survey.last_ns + survey.resolution.tick_ns
    rate_per_s = bundle.rows * NS_PER_S / ticked_ns if survey.last_ns >= NS_PER_S else None
    peak_per_s = survey.peak_rate_per_s
    return {
        "span_ns": span_ns,
        "rate_per_s": rate_per_s,
        "peak_rate_per_s": peak_per_s if peak_per_s >= (rate_per_s or 0) else None,
        "measured": survey.measured / survey.requests if survey.requests else None,
        "classes": groups.classes(),
        "files": groups.files(bundle.file_names),
        "streams": groups.streams(bundle.stream_names),
        "timeline": timeline.document(),
        "depth": depth.document(span_ns, groups.total_latency_ns()) if survey.measured else None,
        "burstiness": burstiness.document(),
        "working_set": working_set.document(),
        "re_reference": working_set.re_reference(),
        "latency": groups.latency(),
        "latency_by_size": groups.latency_by_size(),
    }
