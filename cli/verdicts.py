"""What is said of results: whether the load is carried, the busiest part, the error to expect, caveats."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tiersim.cli.terminal import as_sentence
from tiersim.scenarios.load_steps import whole_loads
from tiersim.units import format_ns, format_per_s, format_times

Summary = Mapping[str, Any]

#: How a query is called that the table gives no number.
_QUERY = re.compile("[0-9a-f]{16}")
_NOT_RESOLVED = "not resolved"
_EXPECTED = "Expected error"
#: Of what measurements the errors of calibrated results were learned.
_ONE_SERVER = " These limits come mostly from one server, on which only buffer pool and IOPS caps were changed."
#: The errors of results on other storage were learned from published figures of single systems.
_OTHER_CHECKS = " No check changed the kind of storage: if it changes, the error may be larger."
_NOT_NARROWED = "Calibration does not narrow this error, as the kind of storage changes. "
_OTHER_STORAGE = " No check changed the kind of storage: the error may be larger."
_DOUBT = " In doubt: the other verdict is possible."
_DOUBT_OF_CLIENTS = (
    " In doubt: the load needs {} transactions/s ({:.0f} % of the recorded rate); these lie inside the expected range."
)
_DOUBT_OF_SESSIONS = (
    " In doubt: the predicted transactions need {} sessions at a time, the recording shows at most {:,}. If clients"
    " wait for answers, fewer transactions end; import the load generator's output, too."
)
_DOUBT_UNKNOWN = " In doubt: whether the load is carried, as the expected error is unknown."
_ENGINE = "unknown for this engine (docs/innodb.md)"
_WAITS = (
    "unknown. Clients waited for the recorded WAL, or may have, and no counter says exactly how long: faster storage"
    " may give more transactions/s than predicted. "
)
_FLUSHES = (
    "unknown. Clients mostly wait for the WAL, and CPU that was not recorded decides how many commits share a flush:"
    " there may be more transactions/s than predicted. "
)
_ARRIVALS = (
    "unknown, as transactions start at a fixed rate. It was checked on one server, mostly idle: the measured mean was"
    " 0.7 to 1.8 times the predicted one (docs/reach.md). Idle storage answers late: measure yours at the recorded rate"
    " (fio --rate_iops)"
)
_PAUSES = (
    "unknown, as the clients' think times, which decide the rate, were not recorded. Set replay.think,"
    " or import the load generator's output"
)
_COMMITS = (
    "unknown, as changes commit by themselves and nobody saw how long they waited for the log: their CPU may be far"
    " less, and faster storage give more transactions/s than predicted. Sample the sessions (tiersim record mysql)"
)
_CONTRADICTED = (
    "unknown, as transactions take another time on the described hardware than they were recorded to take: correct that"
    " description"
)
_COARSE = "unknown, as the recording's clock is coarse: requests of one tick are sent at once, and wait for each other"
_VOLATILE = (
    "unknown, as writes that had to be on stable storage (FUA) are answered by a buffer that a loss of power empties:"
    " choose a drive with power-loss protection, or a controller with a battery"
)
_PARALLEL = (
    "unknown, as several processors worked on one query in the recording, and one does here: such queries take longer"
    " than they will"
)
_OF_A_SAMPLE = (
    "unknown, as this is a sample: contents of caches, and checkpoints, are those of a short run; wait for the whole"
)
_DESCRIBE = "Describe the recorded hardware (--recorded-on)"
_CLIENTS_HERE = 'Record what the clients print, with the clients on the server\'s host (host.clients = "here")'
_CALIBRATIONS = {
    "none": "Not calibrated: the recorded hardware is not described (--recorded-on).",
    "uncalibrated": "Calibration failed.",
    "calibrated": "Calibration passed.",
}
_NO_EFFECT = " has no effect here: "
#: Of a figure that is no prediction, or no more than a guide: nobody compared such figures with measurements.
ERROR_UNKNOWN = "error unknown"
WHY_UNKNOWN = (
    "Error unknown{}. For replays like this (another kind of storage, or not calibrated), no {} was ever compared with"
    " a measurement."
)
_BASES = {
    "calibrated": "calibrated",
    "extrapolated": "buffer pool larger, CPU busier or reads more than recorded",
    "assumed": "not calibrated",
    "storage": "storage of another kind than recorded",
    "clients": "not calibrated; CPU and clients decide",
    "counted": "not calibrated; CPU as it was counted",
    "innodb": "InnoDB",
}
#: Kinds of storage in words, as results name them.
_STORAGE = {"hdd": "disks", "flash": "flash", "token bucket": "a virtual volume"}
#: In what a result goes beyond its recording, by the first words of its reasons.
_BEYOND = {
    "a pool": "buffer pool larger than recorded",
    "processors": "CPU busier than recorded",
    "reads": "CPU limits, reads more than recorded",
}
_FIGURES = {
    "throughput": "throughput",
    "mean": "mean latency",
    "tail": "p95 and above",
    "count": "pages and bytes",
    "other": "other figures",
}
_NAMED = _FIGURES.keys() - {"other"}
#: When requests or transactions start, by the mode of the replay as a result has it.
_PACES = {
    "open": "requests at their recorded times (open)",
    "partly-open": "requests as sessions are answered and pause (partly open)",
    "closed": "requests as fast as sessions are answered (closed)",
    "rate": "transactions at the recorded rate",
    "clients": "transactions as fast as clients are answered",
}


def sentence(summary: Summary) -> str | None:
    """Return how far predictions like these lay from measured figures (see MEANING); None if the result does not
    say.
    """
    from tiersim.scenarios.caveats import in_doubt

    found = summary.get("model_error")
    if not found:
        return None
    if found["basis"] == "unknown":
        remedy = _DESCRIBE if summary["verdict"]["calibration"] == "none" else _CLIENTS_HERE
        waited = {"waits": _WAITS + remedy, "flushes": _FLUSHES + remedy}
        reasons = {
            **waited,
            "arrivals": _ARRIVALS,
            "pauses": _PAUSES,
            "commits": _COMMITS,
            "sample": _OF_A_SAMPLE,
            "contradicted": _CONTRADICTED,
            "clock": _COARSE,
            "reads": f"unknown, as {_said_of_reads(summary)}",
            "parallel": _PARALLEL,
            "volatile buffer": _VOLATILE,
        }
        return f"{_EXPECTED}: {reasons.get(summary['verdict'].get('error'), _ENGINE)}."
    figures = found["figures"]
    names = _FIGURES | ({"tail": "p95"} if summary.get("tails") else {})  # 99th percentiles have ranges of their own
    if are_paced([summary]) and summary["verdict"]["load"] == "steady" and not in_doubt(summary):
        names = {key: words for key, words in names.items() if key != "throughput"}  # it does what was recorded
    # nobody measured percentiles of them (docs/accuracy.md)
    without = found["basis"] in ("assumed", "clients", "counted", "storage")
    if without:
        names = names | {"other": "mean latency" if "throughput" in figures else "throughput and mean latency"}
    parts = [f"{words} {_reach(figures[key])}" for key, words in names.items() if key in figures]
    if "other" not in figures and not figures.keys() >= _NAMED:
        parts.append("unknown for other figures")
    if without:
        parts.append("unknown for percentiles")
    more = " A range holds that, and what the recording leaves open." if summary.get("range") else ""
    return f"{_EXPECTED} ({_basis(summary)}), measured against predicted: {', '.join(parts)}.{more}"


def incomparable(summary: Summary, baseline: Summary) -> str | None:
    """Return why no ratio of two results means anything, as their loads differ; None if one may.

    An open replay keeps the recorded rate: its queues grow without bound on slow storage. In a closed one clients wait
    for answers: they ask slow storage for less, and its queues are never longer than there are clients.
    """
    if summary["trace"]["hash"] != baseline["trace"]["hash"]:
        return (
            f"{summary['name']} and {baseline['name']} replayed different traces ({summary['trace']['name']} and "
            f"{baseline['trace']['name']}), so a ratio would compare the loads and not the storage"
        )
    own, other = (_pace(one) for one in (summary, baseline))
    if own is not None and other is not None and own != other:
        return (
            f"{summary['name']} ran {own} and {baseline['name']} {other}, so a ratio would compare two loads and not"
            " the storage"
        )
    levels = [str(one.get("level", "requests")) for one in (summary, baseline)]
    if levels[0] != levels[1]:
        return f"{summary['name']} ran {levels[0]} and {baseline['name']} {levels[1]}, which measure different things"
    loads = [load_asked(one) for one in (summary, baseline)]
    if loads[0] != loads[1]:
        return (
            f"{summary['name']} ran {loads[0]:g} times the recorded load and {baseline['name']} {loads[1]:g} times, so"
            " a ratio would compare the loads"
        )
    clients, others = (_clients(one) for one in (summary, baseline))
    if clients is not None and others is not None and clients != others:
        return (
            f"{summary['name']} ran {clients:,} clients and {baseline['name']} {others:,}, so a ratio would compare the"
            " loads"
        )
    return None


def said_load(summaries: Iterable[Summary]) -> str:
    """Return which multiples of the recorded load were asked for, to end a title; nothing where it is the load."""
    loads = list(dict.fromkeys(map(load_asked, summaries)))
    return "" if loads == [1.0] else f", run at {', '.join(f'{load:g}' for load in loads)} × the recorded load"


def load_asked(summary: Summary) -> float:
    """Return the multiple of the recorded load that was asked for."""
    return float((summary.get("replay") or {}).get("load", 1.0))


def _clients(summary: Summary) -> int | None:
    """Return how many ask as fast as they are answered; None where the rate is another's, or a result does not say."""
    from tiersim.scenarios.caveats import go_on_as_answered

    found: int | None = summary["replay"].get("sessions") if go_on_as_answered(summary) else None
    return found


def _pace(summary: Summary) -> str | None:
    """Return when the requests or transactions of a replay start; None where a result does not say."""
    replay = summary.get("replay") or {}
    return _PACES.get(replay.get("keeps") or replay.get("played") or replay.get("mode") or "")


def _said_of_reads(summary: Summary) -> str:
    """Return what a result says of the pages that its model reads; a row of a sweep does not say how many."""
    said = (one for one in summary.get("caveats", ()) if one.startswith("statements read "))
    return next(said, "the model reads another number of pages than the recorded statements did")


def _basis(summary: Summary) -> str:
    """Return what the error of a result was learned from; of one that goes beyond its recording, in what it does."""
    basis: str = summary["model_error"]["basis"]
    reasons = (summary.get("calibration") or {}).get("beyond", ()) if basis == "extrapolated" else ()
    told = [words for start, words in _BEYOND.items() if any(reason.startswith(start) for reason in reasons)]
    if basis == "storage":
        recorded = " and ".join(_STORAGE[kind] for kind in summary["verdict"].get("recorded_storage", ()))
        told = [
            f"recorded on {recorded}, predicted for another kind of storage" if recorded else _BASES[basis]
        ]  # older results do not say
    if summary["verdict"].get("transactions"):
        told.insert(0, "calibrated for transactions, not for each query")
    return ", ".join(told) or _BASES[basis]


def meaning(summaries: Iterable[Summary]) -> str:
    """Return how often such limits held, and where they come from, where a result has any; and what is in doubt."""
    from tiersim.scenarios.caveats import in_doubt

    given = list(summaries)
    doubts = {_doubt(one) for one in given if in_doubt(one)}
    if not any(_known_error(summary, _unpaced(given)) for summary in given):
        return "".join(sorted(doubts)).lstrip()
    bases = {summary["model_error"]["basis"] for summary in given if summary.get("model_error")}
    return (
        f"{_NOT_NARROWED if 'storage' in bases else ''}"
        f"In checks{' without a calibration' if bases <= {'assumed', 'storage'} else ''},"
        f" {'3 of 4' if bases & {'clients', 'innodb'} else 'nearly 4 of 5'} measured figures lay within this error"
        " (docs/accuracy.md)."
        f"{_OTHER_STORAGE if 'storage' in bases else _OTHER_CHECKS if 'assumed' in bases else ''}"
        f"{_ONE_SERVER if bases & {'calibrated', 'clients', 'counted', 'extrapolated'} else ''}"
        f"{''.join(sorted(doubts))}"
    )


def _doubt(summary: Summary) -> str:
    from tiersim.scenarios.caveats import sessions_lacking
    from tiersim.simulator.verdict import BEHIND_THROUGHPUT

    if (lacking := sessions_lacking(summary)) is not None:
        needed, shown = lacking
        return _DOUBT_OF_SESSIONS.format(format_times(needed), shown)
    if not _known_error(summary, "throughput"):
        return _DOUBT_UNKNOWN
    rate = (summary.get("throughput_per_s") or {}).get("transactions")
    if (summary.get("replay") or {}).get("keeps") != "clients" or not rate:
        return _DOUBT
    recorded = rate["value"] / (1 - summary["throughput_shortfall_pct"] / 100)
    return _DOUBT_OF_CLIENTS.format(format_per_s(BEHIND_THROUGHPUT * recorded), 100 * BEHIND_THROUGHPUT)


def expected_multiples(summary: Summary) -> dict[str, tuple[float, float]]:
    """Return ``low`` and ``high``, multiples of a predicted figure, between which 80 % of the measured ones are
    expected: of ``throughput``, ``mean`` latency, ``tail`` (percentiles), and ``transaction``, their mean, where a
    result has a range of it. A kind that nobody measured is left out; a range of a result whose error is unknown is
    none of that.
    """
    from tiersim.scenarios.caveats import multiples_of

    found = summary.get("model_error")
    if not found or found["basis"] == "unknown":
        return {}
    kinds = {kind: multiples_of(found, kind) for kind in ("throughput", "mean", "tail")}
    wide, rate = summary.get("range"), (summary.get("throughput_per_s") or {}).get("transactions")
    if wide and rate and rate["value"]:  # which holds that error, and more
        drawn = wide["transactions_per_s"]
        kinds["throughput"] = (drawn["low"] / rate["value"], drawn["high"] / rate["value"])
    own = (summary.get("latency_ns") or {}).get("transaction")  # a tenant's latencies are of its requests
    if wide and own and (drawn := wide.get("transaction_mean_ns")) and kinds["mean"] is not None:
        mean_ns = own["mean"]["value"]
        kinds["transaction"] = (drawn["low"] / mean_ns, drawn["high"] / mean_ns)
    return {kind: one for kind, one in kinds.items() if one is not None}


def undetermined(summary: Summary) -> str | None:
    """Say why a range is too wide to decide by, and what would narrow it; None where it is not."""
    found = summary.get("range")
    if not found or found["verdict"] != "underdetermined":
        return None
    low, high = (format_per_s(found["transactions_per_s"][end]) for end in ("low", "high"))
    return (
        f"underdetermined: the range of transactions/s ({low} – {high}) is too wide to decide by, mostly because of"
        f" {found['mostly']}; {found['remedy']}"
    )


def notes(summaries: Sequence[Summary]) -> list[str]:
    """Return that sentence for all results, each once and with the names of its results where they differ, after what
    became of their calibration: that none was made of one of them, or what holds for all, unless a result itself has
    its figures, which are shown elsewhere.
    """
    found = {one["verdict"]["calibration"] for one in summaries if "calibration" not in one}
    stamps = [said for of, said in _CALIBRATIONS.items() if found == {of} or (of == "none" and of in found)]
    whose: dict[str, list[str]] = {}
    for summary in summaries:
        said = sentence(summary)
        if said is not None:
            whose.setdefault(said, []).append(str(summary.get("name", "")))
    several = len(whose) > 1 and all(map(all, whose.values()))
    errors = [
        said.replace(_EXPECTED, f"{_EXPECTED} of {', '.join(names)}", 1) if several else said
        for said, names in whose.items()
    ]
    if not errors:
        return stamps
    return [" ".join([*stamps, errors[0], meaning(summaries)]).rstrip(), *errors[1:]]


def notes_of_rows(summaries: Iterable[Summary]) -> list[str]:
    """Return :func:`notes` and :func:`caveats` of rows of a sweep, a load or a search, whose summaries do not hold how
    far off models were.
    """
    from tiersim.scenarios.caveats import model_error_of

    done = [summary for summary in summaries if summary]
    errors = notes(
        [
            {"verdict": one["verdict"], "model_error": model_error_of(one["verdict"]), "in_doubt": one.get("in_doubt")}
            for one in done
        ]
    )
    return [*errors, *caveats(done)]


def caveats(summaries: Iterable[Summary]) -> list[str]:
    """Return the caveats of all results as sentences, each once; keys without effect in one, that none be left out, and
    loads that were not run in one.
    """
    summaries = list(summaries)
    found = [*loads_not_run(summaries), *dict.fromkeys(one for all_ in summaries for one in all_.get("caveats", ()))]
    idle = [one for one in found if _NO_EFFECT in one]
    if len(idle) > 1:
        keys = (f"{key} ({why})" for key, _, why in (one.partition(_NO_EFFECT) for one in idle))
        place = found.index(idle[0])
        found = [one for one in found if one not in idle]
        found.insert(place, f"no effect here: {', '.join(keys)}")
    return [*map(as_sentence, found)]


def loads_not_run(summaries: Iterable[Summary]) -> list[str]:
    """Return which loads ran in place of others, in one sentence for all that have whole numbers of the same."""
    found: dict[str, dict[str, None]] = {}
    for one in filter(None, (summary.get("load_not_run") for summary in summaries)):
        said = f"{one['asked']:.4g} × the recorded load ran as {one['ran']:.4g} ×"
        found.setdefault(one["whole"], {})[said] = None
    return [whole_loads(whole, said) for whole, said in found.items()]


def calibration_note(found: Mapping[str, Any], queries: Mapping[str, str] = MappingProxyType({})) -> str:
    """Say what the run on the model of the recorded hardware gives; *queries* have names."""
    means, reads = list[str](), list[str]()
    nameless, nameless_reads = list[float | None](), list[float | None]()
    for name, figures in found["classes"].items():
        if not figures["decides"]:
            continue
        error_pct, shown = figures["error_pct"], queries.get(name, name)
        read_pct = figures.get("read_error_pct") if error_pct is not None else None
        if _QUERY.fullmatch(shown):  # an identifier tells a reader nothing
            nameless.append(error_pct)
            nameless_reads += [read_pct] if read_pct else []
            continue
        means.append(f"{shown} {_NOT_RESOLVED if error_pct is None else percent(error_pct)}")
        if read_pct:
            reads.append(f"{shown} {percent(read_pct, 1)}")
    means += _others(nameless, 0)
    reads += _others(nameless_reads, 1)
    if found.get("read_error_pct") is not None:
        reads.append(f"all statements {percent(found['read_error_pct'], 1)}")
    passed = "passed" if found["verdict"] == "calibrated" else "failed"
    limits = found["tolerance_pct"]
    sentences = [
        f"Calibration {passed} on scenario '{found['baseline']}' (the recorded hardware).",
        *(
            f"{reason}." if reason.startswith(found["baseline"]) else as_sentence(reason)
            for reason in found.get("reasons", ())
        ),
        f"Mean latency simulated on this scenario, against the recording: {', '.join(means) or 'nothing to compare'}"
        f" (allowed: ±{limits['mean']:.0f} %)"
        + (f"; pages read: {', '.join(reads)} (allowed: ±{limits['reads']:.0f} %)." if reads else "."),
    ]
    return " ".join(sentences)


def _others(errors: Sequence[float | None], digits: int) -> list[str]:
    """Return in one phrase how far queries without a name are off."""
    if not errors:
        return []
    resolved = [error for error in errors if error is not None]
    ends = [percent(pick(resolved), digits) for pick in (min, max)] if resolved else []
    said = [" to ".join(dict.fromkeys(ends))] if ends else []
    if missing := len(errors) - len(resolved):
        said.append(f"{missing} {_NOT_RESOLVED}" if resolved else _NOT_RESOLVED)
    return [f"{len(errors)} other quer{'ies' if len(errors) > 1 else 'y'} {', '.join(said)}"]


def _reach(multiples: Mapping[str, float]) -> str:
    """Return between how much less and more than the predicted figure the measured one is expected."""
    low, high = (100 * (multiples[end] - 1) for end in ("low", "high"))
    return f"{low:+.0f}/{high:+.0f} %"


def percent(error: float, digits: int = 0) -> str:
    """Return an error in percent with its sign; none of zero."""
    return f"{error:+.{digits}f} %" if round(error, digits) else "0 %"


#: Of clients that go on as they are answered, and were not recorded.
NO_PACE = "no pace to keep"
#: So many runs on credits are named.
_MOST_ON_CREDITS = 6
_CREDITS = {"falling": ", on credits", "ran out": ", credits ran out"}


def load_of(summary: Summary) -> str:
    """Return the verdict on load, with what became of burst credits."""
    verdict = summary["verdict"]
    return f"{verdict['load']}{_CREDITS.get(verdict.get('credits', ''), '')}"


def credits_last(summaries: Mapping[str, Summary]) -> list[str]:
    """Return for how long burst credits carry runs, by their names, in one sentence: a table says that they do."""
    found = []
    for name, summary in summaries.items():
        spent = [one["ran_out_ns"] for one in summary.get("credits") or () if one["ran_out_ns"] is not None]
        falling = [one["lasts_ns"] for one in summary.get("credits") or () if one["lasts_ns"] is not None]
        if spent:
            found.append(f"{name} ran out after {format_ns(min(spent))}")
        elif falling:
            found.append(f"{name} lasts {format_ns(min(falling))} more at its load")
    if not found:
        return []
    more = f", and {len(found) - _MOST_ON_CREDITS} more" if len(found) > _MOST_ON_CREDITS else ""
    return [f"Burst credits: {', '.join(found[:_MOST_ON_CREDITS])}{more}; then the baseline limits."]


def carries(summary: Summary) -> str:
    """Return whether the hardware carries the load: yes, with the sessions that end late or a burst that does, or no
    and how it fails; of clients that have no pace to keep, that.
    """
    from tiersim.scenarios.caveats import has_no_pace, in_doubt

    load, doubt = load_of(summary), ", in doubt" if in_doubt(summary) else ""
    if has_no_pace(summary):
        return load.replace("steady", NO_PACE, 1)
    if not load.startswith("steady"):
        return f"no, {load}{doubt}"
    late = (summary.get("replay") or {}).get("late_sessions")
    ends = f" ({late} session{'s end' if late > 1 else ' ends'} late)" if late else ""
    ends += " (a burst ends late)" if summary.get("load", {}).get("burst") else ""
    return load.replace("steady", "yes", 1) + doubt + ends


def busiest(summary: Summary) -> str:
    """Return the busiest part and how busy it is; nothing if the result does not say."""
    found = summary.get("bottleneck")
    if not found or found.get("utilisation") is None:
        return ""
    return f"{busiest_name(summary)}: {100 * found['utilisation']:.0f} % busy"


def busiest_name(summary: Summary) -> str:
    """Return the busiest part."""
    from tiersim.simulator.verdict import part_name

    found = summary["bottleneck"]
    return part_name(found["station"], found["resource"])


def is_always_busy(summary: Summary) -> bool:
    """Tell whether the busiest part works all the time, so that nothing else limits the rate."""
    from tiersim.simulator.verdict import limits

    found = summary.get("bottleneck") or {}
    return limits(found.get("utilisation") or 0.0, waits_known=True)


def expected_error(summary: Summary, figure: str = "throughput") -> str:
    """Return the error of throughput to expect, or of the ``mean`` of latencies; nothing if the result does not say."""
    if not summary.get("model_error"):
        return ""
    known = _known_error(summary, figure)
    return "unknown" if known is None else _reach(known)


def _known_error(summary: Summary, figure: str) -> Mapping[str, float] | None:
    """Return between which multiples of a predicted figure measured ones are expected; None if nobody knows."""
    figures: Mapping[str, Mapping[str, float]] = (summary.get("model_error") or {}).get("figures", {})
    return figures.get(figure) or figures.get("other")


def error_row(summaries: Sequence[Summary]) -> tuple[str, list[str]]:
    """Return the error to expect of replays, and what it is of: of throughput where clients ask as fast as they are
    answered, else of the mean latency, for the recording sets the rate.
    """
    figure = _unpaced(summaries)
    what = "mean latency" if figure == "mean" else figure
    return f"error of the model, {what}", [expected_error(summary, figure) for summary in summaries]


def are_paced(summaries: Sequence[Summary]) -> bool:
    """Return whether the recording sets the rate of one of them."""
    replays = [summary["replay"] for summary in summaries if "replay" in summary]
    return any(one["keeps"] == "rate" if "keeps" in one else one.get("mode") != "closed" for one in replays)


def _unpaced(summaries: Sequence[Summary]) -> str:
    """Return the figure that the recording does not set by itself: ``mean`` where it sets the rate."""
    return "mean" if are_paced(summaries) else "throughput"
