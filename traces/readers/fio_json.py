"""fio's JSON (``--output-format=json`` or ``json+``), from fio 2.0 on: what each direction of each job measured.

Sources: ``stat.c`` of fio at several ages (no options in the oldest; ``io_bytes`` in KiB and ``clat`` in microseconds
up to 2.x; ``clat_ns`` from 3.0; ``N`` and ``bw_bytes`` from 3.2; ``job_runtime`` sums the jobs of a group), files of
fio 3.33. fio begins each document with ``"fio version"``, prints notes and errors before it and between its lines, and
with ``--status-interval`` prints documents of what was so far.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tiersim.errors import TraceError
from tiersim.traces.measurement import MeasuredPoint
from tiersim.traces.readers.fio_latency import latency, merged, number
from tiersim.traces.readers.fio_options import OPERATIONS, OPTIONS, JobOptions, Operation, OptionError, setting
from tiersim.units import NS_PER_S

_DOCUMENT = re.compile(r'\{\s*"fio version"')
_LIKELY = re.compile(r'"(?:fio version|jobs)"\s*:')
_NOTES = re.compile(r"(?m)^(?:fio|note): .*$")
_NO_NUMBER = re.compile(r"(?<=[:\s])-?(?:nan|inf)(?=\s*[,}\]])")
#: This many values take less than a gigabyte of memory; fio has some hundred a job, json+ some thousand.
_MOST_VALUES = 2_000_000
#: So many damaged documents are passed over; each may be as long as the file.
_MOST_DAMAGED = 8
#: Names and values are cut off at so many characters: fio's own are shorter.
_LONGEST_NAME = 128
_MS_PER_S = 1000
#: Documents are of one run when it began, by them, no more than this apart: fio's whole seconds are off by up to one.
_SAME_START_S = 1.5
_BLOCK_TOLERANCE = 0.01
#: Jobs ran at the same time if they did for more than this share of the shorter one: a job begins when another ends.
_OVERLAP = 0.05
_DEPTH_TOLERANCE = 1.2
_ALONE_PCT = 99.9


def looks_like_fio(text: str) -> bool:
    """Tell whether text holds fio's JSON."""
    return _LIKELY.search(text) is not None


def read_fio(text: str, file: str) -> list[MeasuredPoint]:
    """Return what *text*, of the file of that name, says of each direction that did anything.

    Jobs of one name, group and options (``numjobs`` without ``group_reporting``) are one. Raises TraceError when no
    document is whole, when a job is no one setting, or when nothing was measured.
    """
    documents, damage = _documents(text, file)
    found = [point for document in _final(documents) for point in _of_document(document, file, damage)]
    if not found:
        raise TraceError(f"{file}: fio measured no read and no write there; run the job again")
    return found


def _documents(text: str, file: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the whole documents in *text*, and a warning if there are others."""
    if text.count(",") > _MOST_VALUES:
        raise TraceError(f"{file}: holds more than {_MOST_VALUES:,} values; split it into one file a run")
    text = _NO_NUMBER.sub("null", _NOTES.sub("", text))
    decoder = json.JSONDecoder(parse_constant=lambda _name: None)
    marked = (match.start() for match in _DOCUMENT.finditer(text))
    starts = marked if _DOCUMENT.search(text) else iter([text.find("{")])
    documents, problem, damaged, end = [], "", 0, 0
    for start in starts:
        if damaged > _MOST_DAMAGED:
            break
        if start < end:
            continue
        try:
            document, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:  # ValueError: also a number of too many digits
            what = (
                f"{error.msg.lower()} at line {error.lineno}"
                if isinstance(error, json.JSONDecodeError)
                else "nested too deep"
            )
            problem = problem or f"is damaged or cut off ({what})"
            damaged += 1
            continue
        if isinstance(document, dict) and isinstance(document.get("jobs"), list):
            documents.append(document)
        else:
            problem = problem or "holds no jobs"
    if not documents:
        raise TraceError(
            f"{file}: its JSON {problem or 'has no beginning'}; give the whole of what fio --output-format=json wrote"
        )
    return documents, (f"a part of the file {problem} and was left out",) if problem else ()


def _final(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out documents of a run that a later one of the same run follows: what is in them is in it, too."""
    following = [*documents[1:], None]
    return [here for here, later in zip(documents, following, strict=True) if not later or not _goes_on(here, later)]


def _goes_on(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Tell whether a document is of the run of the one before: both say when it began, and no counter falls."""
    starts = _start_s(before), _start_s(after)
    if starts[0] is None or starts[1] is None or abs(starts[1] - starts[0]) > _SAME_START_S:
        return False
    return all(
        (number(old.get(operation), key) or 0) <= (number(new.get(operation), key) or 0)
        for old, new in zip(before["jobs"], after["jobs"], strict=False)
        for operation in OPERATIONS
        for key in ("total_ios", "runtime")
        if isinstance(old, dict) and isinstance(new, dict)
    )


def _start_s(document: Mapping[str, Any]) -> float | None:
    """Return when the run of a document began: whole seconds before its time stamp."""
    stamp_ms = number(document, "timestamp_ms")
    elapsed_s = next((number(job, "elapsed") for job in document["jobs"]), None)
    return None if stamp_ms is None or elapsed_s is None else stamp_ms / _MS_PER_S - elapsed_s


def _of_document(document: Mapping[str, Any], file: str, damage: tuple[str, ...]) -> Iterator[MeasuredPoint]:
    """Yield what each setting measured; entries of one name, group and options are the jobs of one setting."""
    common = _options(document.get("global options"))
    settings: dict[tuple[str, str, str], tuple[dict[str, str] | None, list[dict[str, Any]]]] = {}
    for entry in document["jobs"]:
        if not isinstance(entry, dict):
            raise TraceError(f"{file}: a job in its JSON is {str(entry)[:20]!r}, not an object; give what fio wrote")
        job, group = (str(entry.get(key, ""))[:_LONGEST_NAME] for key in ("jobname", "groupid"))
        own = _options(entry.get("job options"))
        options = None if own is common is None else {**(common or {}), **(own or {})}
        settings.setdefault((job, group, str(options)), (options, []))[1].append(entry)
    beside = _beside({key: entries for key, (_, entries) in settings.items()})
    for key, (options, entries) in settings.items():
        warnings = list(damage)
        if key in beside:
            warnings.append(f"{beside[key]} ran at the same time (jobs without stonewall)")
        if any(number(entry, "error") for entry in entries):
            warnings.append("the job ended with an error")
        job = key[0]
        yield from _of_setting(f"{file}: job {job!r}", _Job(file, job, options, entries, warnings, beside.get(key, "")))


#: A setting: name and group of its jobs, and their options.
_Key = tuple[str, str, str]


def _beside(settings: Mapping[_Key, Sequence[Mapping[str, Any]]]) -> Mapping[_Key, str]:
    """Return who ran at the same time as others, and which: jobs of one group, which no stonewall parts; and jobs of
    several, by when they began (fio 3.34 and later) and how long they ran.
    """
    found: dict[_Key, str] = {}
    names_of: defaultdict[str, set[str]] = defaultdict(set)
    for job, group, _ in settings:
        names_of[group].add(job)
    names = {group: sorted(jobs) for group, jobs in names_of.items() if group and len(jobs) > 1}
    for key in settings:
        job, group, _ = key
        if group in names:
            other = next(name for name in names[group] if name != job)
            more = f" and {len(names[group]) - 2:,} more" if len(names[group]) > 2 else ""
            found[key] = f"{other!r}{more}"
    longest: tuple[float, float, _Key] | None = None
    for start, end, key in sorted((*span, key) for key, entries in settings.items() if (span := _span_ms(entries))):
        if longest and min(end, longest[1]) - start > _OVERLAP * min(end - start, longest[1] - longest[0]):
            found.setdefault(key, repr(longest[2][0]))
            found.setdefault(longest[2], repr(key[0]))
        if longest is None or end > longest[1]:
            longest = (start, end, key)
    return found


def _span_ms(entries: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Return when the first of some jobs began and the last ended, without their ramp time; None where nobody says."""
    found = [
        (start, start + max(number(entry.get(operation), "runtime") or 0 for operation in OPERATIONS))
        for entry in entries
        if (start := number(entry, "job_start"))
    ]
    return (min(start for start, _ in found), max(end for _, end in found)) if found else None


def _options(values: Any) -> dict[str, str] | None:
    """Return the options that are understood; None when there are none at all."""
    if not isinstance(values, dict) or not values:
        return None
    return {key: str(values[key])[:_LONGEST_NAME] for key in values if key in OPTIONS}


class _Job(NamedTuple):
    """One setting: what was asked for, and an entry for each of its jobs, or one for all."""

    file: str
    name: str
    options: Mapping[str, str] | None  # None: the file says none
    entries: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]
    beside: str


def _of_setting(place: str, job: _Job) -> Iterator[MeasuredPoint]:
    try:
        wanted = None if job.options is None else setting(job.options)
    except OptionError as error:
        raise TraceError(f"{place}: {error}") from None
    if any(_did(entry, "trim") for entry in job.entries):
        raise TraceError(f"{place}: trims, which is not read; measure reads and writes without trims")
    done = [operation for operation in OPERATIONS if any(_did(entry, operation) for entry in job.entries)]
    if not done and any("mixed" in entry for entry in job.entries):
        raise TraceError(f"{place}: reads and writes are added up; run it again without unified_rw_reporting")
    for operation in done:
        yield _point(job, wanted, operation)


def _did(entry: Mapping[str, Any], name: str) -> bool:
    return any(number(entry.get(name), key) for key in ("total_ios", "io_bytes", "iops"))


def _point(job: _Job, wanted: JobOptions | None, operation: Operation) -> MeasuredPoint:
    """Return what one direction measured, of all the jobs together."""
    directions = [entry[operation] for entry in job.entries if _did(entry, operation)]
    requests = _sum(directions, "total_ios")
    runtime_ms = max(number(direction, "runtime") or 0 for direction in directions)
    iops = _iops(directions)
    warnings = [*job.warnings]
    known: dict[str, Any] = {}
    if wanted is None:
        warnings.append("the file holds no options (an old fio wrote it), so the setting is not known")
    else:
        known |= _asked(job, wanted, operation, runtime_ms, warnings)
        _check_sizes(directions, requests, known["block_bytes"], warnings)
    whole, submission, completion = (
        merged([latency(direction, name) for direction in directions]) for name in ("lat", "slat", "clat")
    )
    taken = whole if whole and (whole.percentiles or not completion) else completion
    if taken is None:
        warnings.append("latencies were not measured")
    else:
        known |= {
            "mean_ns": taken.mean_ns,
            "stddev_ns": taken.stddev_ns,
            "least_ns": taken.least_ns,
            "most_ns": taken.most_ns,
            "percentiles": taken.percentiles,
            "completion_only": taken is completion,
        }
        if not taken.exact:
            warnings.append(
                f"percentiles are means of those of {len(directions)} jobs, which is not exact; json+ or"
                " group_reporting is"
            )
        outstanding = (iops or 0) * taken.mean_ns / NS_PER_S  # Little's law
        if wanted and outstanding > _DEPTH_TOLERANCE * known["depth"]:
            warnings.append(
                f"{outstanding:,.1f} requests were outstanding on average (rate × latency), more than the depth of "
                f"{known['depth']}: jobs are added up that the options do not name"
            )
    if submission:
        known["submission_mean_ns"] = submission.mean_ns
    syncs = merged([latency(entry["sync"], "lat") for entry in job.entries if isinstance(entry.get("sync"), dict)])
    if syncs and operation == "write":
        known |= {"sync_mean_ns": syncs.mean_ns, "sync_percentiles": syncs.percentiles}
    return MeasuredPoint(
        file=job.file,
        job=job.name,
        operation=operation,
        beside=job.beside,
        iops=iops,
        requests=round(requests or 0) or None,
        seconds=runtime_ms / _MS_PER_S or None,
        warnings=tuple(warnings),
        **known,
    )


def _asked(
    job: _Job, wanted: JobOptions, operation: Operation, runtime_ms: float, warnings: list[str]
) -> dict[str, Any]:
    """Return what was asked of a direction, as fields of a point."""
    warnings += wanted.warnings
    jobs = len(job.entries)
    if jobs == 1:
        ran = round((number(job.entries[0], "job_runtime") or 0) / runtime_ms) if runtime_ms else 0
        jobs = max(wanted.jobs, ran)
        if ran > wanted.jobs:
            warnings.append(
                f"{ran} jobs are added up, of which the options name {wanted.jobs}; others may have other options"
            )
    per_job = wanted.depth_per_job
    direction = wanted.directions[operation]
    if per_job == wanted.iodepth > 1 and not direction.rate_limit_iops and all(map(_one_at_a_time, job.entries)):
        per_job = 1
    if per_job < wanted.iodepth:
        engine = f"{wanted.engine} is" if wanted.engine else "the engine, which is not named, was"
        warnings.append(f"{engine} synchronous: with iodepth={wanted.iodepth} each job has only 1 request outstanding")
    return {
        "pattern": wanted.pattern,
        "block_bytes": direction.block_bytes,
        "depth": per_job * jobs,
        "jobs": jobs,
        "read_share": wanted.read_share,
        "pauses": wanted.pauses,
        "sync_every": wanted.sync_every,
        "sync": wanted.sync,
        "rate_limit_iops": direction.rate_limit_iops and direction.rate_limit_iops * jobs,
        "direct": wanted.direct,
        "engine": wanted.engine,
    }


def _one_at_a_time(entry: Mapping[str, Any]) -> bool:
    """Tell whether fio counted never more than one request outstanding."""
    levels = entry.get("iodepth_level")
    return isinstance(levels, dict) and all(
        ((number(levels, level) or 0) >= _ALONE_PCT) == (level == "1") for level in ("1", *levels)
    )


def _check_sizes(
    directions: Sequence[Mapping[str, Any]], requests: float | None, block_bytes: int, warnings: list[str]
) -> None:
    """Warn if requests were not of the size that was asked for."""
    moved = _sum(directions, "io_bytes")
    if moved and requests:
        unit = 1 if "io_kbytes" in directions[0] else 1024
        mean_bytes = moved * unit / requests
        if abs(mean_bytes - block_bytes) * requests > max(
            _BLOCK_TOLERANCE * block_bytes * requests, unit * len(directions)
        ):
            warnings.append(f"requests had {mean_bytes:,.0f} bytes on average, not {block_bytes:,}")


def _iops(directions: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the sum of the jobs' rates; fio before 2.1 rounds what it prints of them down."""
    rates = []
    for direction in directions:
        requests, runtime_ms = number(direction, "total_ios"), number(direction, "runtime")
        rates.append(_MS_PER_S * requests / runtime_ms if requests and runtime_ms else number(direction, "iops"))
    return None if None in rates else math.fsum(rate for rate in rates if rate)


def _sum(objects: Sequence[Mapping[str, Any]], key: str) -> float | None:
    numbers = [number(values, key) for values in objects]
    return None if None in numbers else math.fsum(value for value in numbers if value)
