"""DiskSpd's results as XML (``-Rxml``, with ``-L`` for latencies): what each direction of each time span measured.

Sources for names and units: ``XmlResultParser/xmlresultparser.cpp``, ``Common/Common.cpp`` (``Target::GetXml``,
``TimeSpan::GetXml``) and ``UnitTests/XmlResultParser/XmlResultParser.UnitTests.cpp`` of microsoft/diskspd, of several
ages: ``Results`` holds ``System``, ``Profile/TimeSpans/TimeSpan/Targets/Target`` (what was asked for) and a
``TimeSpan`` of results for each of those. ``Latency`` is of the whole time span, in milliseconds with three decimals,
from before a request is submitted to its completion; its ``Bucket`` of percentile 0 is the least, that of 100 the most.
``RequestCount`` is ``-o``, of a thread and target, or ``-O``, of a thread; ``Throughput`` (``-g``) is of a thread and
target, in bytes a millisecond unless its unit says IOPS. ``DisableAllCache`` is what older versions call
``DisableOSCache`` with ``WriteThrough``. PowerShell saves it as UTF-16.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from tiersim.errors import TraceError
from tiersim.traces.measurement import MeasuredPoint
from tiersim.units import NS_PER_MS

_BEGIN, _END = "<Results>", "</Results>"
#: So many elements and attributes take less than a gigabyte of memory; DiskSpd has a thousand a time span, and with -D
#: one more for each thread and second.
_MOST_PARTS = 4_000_000
_MOST = 2.0**53
_MS_PER_S = 1000
_OPERATIONS: tuple[Literal["read", "write"], ...] = ("read", "write")


def looks_like_diskspd(text: str) -> bool:
    """Tell whether text holds DiskSpd's results."""
    return _BEGIN in text


def read_diskspd(text: str, file: str) -> list[MeasuredPoint]:
    """Return what *text*, of the file of that name, says of each direction that did anything.

    Raises TraceError when it is no XML, when targets of a time span differ in what was asked of them, or when nothing
    was measured.
    """
    if text.count("<") + text.count("=") > _MOST_PARTS:
        raise TraceError(f"{file}: has more than {_MOST_PARTS:,} elements; give one run a file, without -D")
    points: list[MeasuredPoint] = []
    for document in _documents(text):
        results = _parse(document, file)
        asked, spans = results.findall("Profile/TimeSpans/TimeSpan"), results.findall("TimeSpan")
        if len(asked) != len(spans):
            raise TraceError(
                f"{file}: has results of {len(spans)} time spans and the profiles of {len(asked)}; give all that -Rxml"
                " wrote"
            )
        for number, (profile, span) in enumerate(zip(asked, spans, strict=True), 1):
            points += _of_span(profile, span, file, f"time span {number}")
    if not points:
        raise TraceError(f"{file}: DiskSpd measured no read and no write there; run it again")
    return points


def _documents(text: str) -> Iterator[str]:
    """Yield each document, without what is printed around it."""
    text = text.lstrip()
    begin = 0 if text.startswith("<") else text.find(_BEGIN)
    while begin >= 0:
        end = text.find(_END, begin)
        stop = len(text) if end < 0 else end + len(_END)
        yield text[begin:stop]
        begin = text.find(_BEGIN, stop)


def _parse(document: str, file: str) -> Element:
    try:
        results: Element = fromstring(document, forbid_dtd=True)
    except DefusedXmlException:
        raise TraceError(
            f"{file}: declares a document type or entities, which DiskSpd does not; give what -Rxml wrote"
        ) from None
    except (ParseError, ValueError) as error:
        raise TraceError(f"{file}: is damaged or cut off ({error}); give the whole of what -Rxml wrote") from None
    if results.tag != "Results":
        raise TraceError(f"{file}: its XML is {results.tag[:20]!r}, not 'Results'; give what -Rxml wrote")
    return results


class _Asked(NamedTuple):
    """What all targets of a time span have in common."""

    block_bytes: int
    pattern: Literal["random", "sequential"] | None
    writes_pct: float
    direct: bool
    write_through: bool
    bytes_per_ms: float  # of a thread and target; 0 is no limit
    per_s: float


def _asked(target: Element) -> _Asked | None:
    block_bytes, writes_pct = _number(target, "BlockSize"), _number(target, "WriteRatio")
    if block_bytes is None or block_bytes < 1 or writes_pct is None or writes_pct > 100:
        return None
    is_random = target.find("Random") is not None
    ratio = _number(target, "RandomRatio")
    all_off = _is(target, "DisableAllCache")
    throughput = target.find("Throughput")
    rate = _number(target, "Throughput") or 0
    in_iops = throughput is not None and throughput.get("unit") == "IOPS"
    return _Asked(
        block_bytes=round(block_bytes),
        pattern=None if is_random and ratio not in (None, 100) else "random" if is_random else "sequential",
        writes_pct=writes_pct,
        direct=all_off or _is(target, "DisableOSCache"),
        write_through=writes_pct > 0 and (all_off or _is(target, "WriteThrough")),
        bytes_per_ms=0 if in_iops else rate,
        per_s=rate if in_iops else 0,
    )


def _of_span(profile: Element, span: Element, file: str, job: str) -> Iterator[MeasuredPoint]:
    """Yield what each direction measured in a time span; nothing of one that was interrupted."""
    place = f"{file}: {job}"
    targets = profile.findall("Targets/Target")
    kinds = {_asked(target) for target in targets}
    if len(kinds) > 1:
        raise TraceError(f"{place}: its targets were asked for different things; measure them in a time span each")
    asked = next(iter(kinds), None)
    if asked is None:
        raise TraceError(f"{place}: its profile says no block size or write ratio; give all that -Rxml wrote")
    seconds = _number(span, "TestTimeSeconds")
    if not seconds:
        return
    threads = _threads(profile, targets)
    limit = (asked.per_s or asked.bytes_per_ms * _MS_PER_S / asked.block_bytes) * threads.pairs
    for operation in _OPERATIONS:
        name = operation.capitalize()
        requests = sum(_number(target, f"{name}Count") or 0 for target in span.findall("Thread/Target"))
        if not requests:
            continue
        share = asked.writes_pct / 100 if operation == "write" else 1 - asked.writes_pct / 100
        percentiles = _percentiles(span, f"{name}Milliseconds")
        mean_ns = _ns(_number(span, f"Latency/Average{name}Milliseconds"))
        yield MeasuredPoint(
            file=file,
            job=job,
            operation=operation,
            iops=requests / seconds,
            pattern=asked.pattern,
            block_bytes=asked.block_bytes,
            depth=threads.depth,
            jobs=threads.threads,
            read_share=1 - asked.writes_pct / 100,
            pauses=_pause(targets),
            sync_every=int(asked.write_through),
            sync="write-through" if asked.write_through else None,
            rate_limit_iops=limit * share or None,
            requests=round(requests),
            seconds=seconds,
            mean_ns=mean_ns,
            stddev_ns=_ns(_number(span, f"Latency/{name}LatencyStdev")),
            least_ns=percentiles.pop(0.0, None),
            most_ns=percentiles.pop(100.0, None),
            percentiles=tuple(sorted(percentiles.items())),
            completion_only=None if mean_ns is None else False,
            direct=asked.direct,
            engine="diskspd",
            warnings=tuple(_warnings(asked, targets, mean_ns)),
        )


class _Threads(NamedTuple):
    """How many there are, how many pairs of a thread and a target, and the requests that all may have outstanding."""

    threads: int
    pairs: int
    depth: int


def _threads(profile: Element, targets: Sequence[Element]) -> _Threads:
    shared = round(
        _number(profile, "ThreadCount") or 0
    )  # -F: these work on all targets; otherwise each target has its own
    own = [shared or round(_number(target, "ThreadsPerFile") or 1) for target in targets]
    outstanding = [round(_number(target, "RequestCount") or 1) for target in targets]
    depth = sum(threads * requests for threads, requests in zip(own, outstanding, strict=True))
    per_thread = round(_number(profile, "RequestCount") or 0)  # -O, with -F only
    return _Threads(shared or sum(own), sum(own), shared * per_thread or depth)


def _warnings(asked: _Asked, targets: Sequence[Element], mean_ns: float | None) -> Iterator[str]:
    if not asked.direct:
        yield (
            "requests went through the page cache (-Su, -Sh or -h is not set), so these are not the device's latencies"
        )
    if mean_ns is None:
        yield "latencies were not measured (-L is not set)"
    if asked.pattern is None:
        yield "addresses are neither random nor sequential (-rs)"
    if any(target.find("Distribution") is not None for target in targets):
        yield "addresses are not uniform (-rd)"
    if _pause(targets):
        yield "threads pause between requests (-i, -j), so fewer than the depth are outstanding"
    if asked.pattern == "sequential" and any(map(_same_sequence, targets)):
        yield "each thread goes through the same addresses (neither -T nor -si is set), so a cache may answer"


def _pause(targets: Sequence[Element]) -> bool:
    return any(_number(target, "ThinkTime") for target in targets)


def _same_sequence(target: Element) -> bool:
    several = (_number(target, "ThreadsPerFile") or 1) > 1
    return several and not _number(target, "ThreadStride") and not _is(target, "InterlockedSequential")


def _percentiles(span: Element, name: str) -> dict[float, int]:
    found = {}
    for bucket in span.findall("Latency/Bucket"):
        percent, value_ns = _number(bucket, "Percentile"), _ns(_number(bucket, name))
        if percent is not None and percent <= 100 and value_ns is not None:
            found[percent] = round(value_ns)
    return found


def _ns(value_ms: float | None) -> float | None:
    """Return milliseconds, of three decimals, as nanoseconds."""
    return None if value_ms is None else float(round(value_ms * NS_PER_MS))


def _is(element: Element, name: str) -> bool:
    return (element.findtext(name) or "").strip() == "true"


def _number(element: Element, path: str) -> float | None:
    """Return a number in an element; None when it is not there, or cannot be a count or a duration."""
    try:
        value = float(element.findtext(path) or "")
    except ValueError:
        return None
    return value if 0 <= value < _MOST else None
