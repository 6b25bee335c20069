"""Why a latency is what it is: where its time goes, what bounds it, what would change it, what to measure.

Every sentence is computed from figures of the result: shares of the time that the simulation itself
divided, Little's law (time at a station = number there ÷ arrivals a second), the utilisation law (what is busy for a
share u of the time carries at most 1/u of this load), and Amdahl's bound (without a part that is a share s of the time,
what is left is at least a share 1 - s of it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiersim.cli.queries import known_parts, time_of_transaction
from tiersim.cli.statements import is_unknown
from tiersim.cli.tenants import volume_of
from tiersim.cli.verdicts import Summary, sentence
from tiersim.errors import TraceError, did_you_mean
from tiersim.scenarios.caveats import BEYOND, OTHER_STORAGE, share_with_load, tail_of
from tiersim.simulator.categories import STATISTICS, WAIT_NAMES
from tiersim.simulator.verdict import explain_credits, limits
from tiersim.units import NS_PER_S

#: Smaller parts are not worth a statement.
LEAST_SHARE = 0.02
#: Stations that are listed: the busiest ones.
MOST_STATIONS = 5
#: The class of whole transactions.
_WHOLE = "transaction"
#: Parts that more or faster processors shorten.
_OF_PROCESSORS = frozenset({"cpu", "cpu queue"})
#: Resources that serve one request at a time: what is there and not served waits.
_ONE_AT_A_TIME = frozenset({"actuator"})

#: What takes a part off, where the simulation says that this is where the time goes.
_CHANGES = {
    "cpu": (
        "faster cores",
        "CPU time; neither storage nor more cores shorten it",
    ),
    "cpu queue": ("more cores", "wait for a core"),
    "data read": (
        "a larger buffer pool, or faster reads from storage",
        "wait for pages that missed the buffer pool",
    ),
    "eviction": (
        "a larger buffer pool, or earlier background writes of dirty pages",
        "wait for dirty pages that are written before their frames are used again",
    ),
    "log": ("a faster log device", "wait until the log is durable"),
    "lock": (
        "shorter transactions, or a faster log device",
        "wait for row locks, which are held until the commit is durable",
    ),
    "temp": (
        "more memory for sorting and hashing, or faster storage for temporary files",
        "reads and writes of temporary files",
    ),
    "copy": (
        "storage that reads and writes large requests faster",
        "reads and writes of backups and restores",
    ),
}

#: What would tell more about a part, were it measured.
_MEASUREMENTS = {
    "cpu": (
        "processor time by query on the recorded server: task clocks of its sessions, or the host's counters beside the"
        " statistics"
    ),
    "cpu queue": "the host's processor counters (run queue and utilisation) over the time of the recording",
    "data read": (
        "random reads of the page size on the device of the recorded server at several queue depths (a fio job, then"
        " `tiersim devices fit`)"
    ),
    "eviction": "pages written by sessions and by the background writer, from the server's statistics",
    "log": (
        "small synchronous writes on the log device of the recorded server (a fio job with fdatasync, then `tiersim"
        " devices fit`)"
    ),
    "lock": "waits for locks, as the server's wait statistics or its log have them",
    "temp": (
        "sequential reads and writes on the device of temporary files of the recorded server (a fio job, then `tiersim"
        " devices fit`)"
    ),
    "copy": (
        "sequential reads and writes on the devices of data and backups of the recorded server (a fio job, then"
        " `tiersim devices fit`)"
    ),
}


#: Parts that a measurement of a device explains.
_OF_DEVICES = ("data read", "log", "temp", "copy")
#: The same of a calibrated result that goes beyond its recording.
_BEYOND: dict[str, Any] = {
    "what": "a recording with a pool and a load nearer to those that you ask for",
    "why": "this result goes beyond its recording, and nobody measured how far latencies are off there",
    "assumed_parameters": [],
    "furthest_off": None,
    "and_then": "replay it with `--recorded-on`",
}


def explanation(summary: Summary, query: str | None) -> dict[str, Any]:
    """Return the document ``tiersim.explain/1`` of a result, or of one of its queries.

    Raises TraceError when there is no such query.
    """
    name, figures, parts_ns = _chosen(summary, query)
    saturated = summary["verdict"]["load"] == "saturated"
    total_ns = sum(parts_ns.values())
    parts = [
        {"part": part, "ns": ns, "share": ns / total_ns}
        for part, ns in sorted(parts_ns.items(), key=lambda one: (-one[1], one[0]))
        if total_ns and ns > 0
    ]
    parts = [] if saturated else parts
    stations = _stations(summary)
    return {
        "schema": "tiersim.explain/1",
        "name": summary["name"],
        "of": name,
        "text": figures.get("text"),
        "count": figures.get("count"),
        "latency_ns": {key: figures[key] for key in STATISTICS if key in figures},
        "p99_interval_ns": tail_of(summary, name),
        "p99_error_unknown": is_unknown(summary),
        "expected_error": sentence(summary),
        "verdict": summary["verdict"],
        "parts": parts,
        "no_parts": _no_parts(summary, parts),
        "reads": _reads(summary, figures, parts),
        "tenants": _tenants(summary),
        "stations": stations,
        "written_back": _written_back(summary, stations),
        "bound": _bound(summary),
        "cores": (cores := _cores(summary) if name == _WHOLE and parts else None),
        "changes": _changes(parts, figures, _least_ns(summary, figures) if name == _WHOLE else 0.0, cores),
        "measurement": _measurement(summary, parts, stations),
    }


def helpful(summary: Summary) -> list[dict[str, Any]]:
    """Return the two changes that would shorten the mean of transactions most, as ``changes`` of an explanation."""
    name, _, parts_ns = _chosen(summary, None)
    found = explanation(summary, None)["changes"] if name == _WHOLE and parts_ns else []
    return sorted(found, key=lambda one: -one["at_most_share"])[:2]


def _chosen(summary: Summary, query: str | None) -> tuple[str, Mapping[str, Any], dict[str, float]]:
    """Name, figures and divided mean of what is explained: a query, commits, transactions, or requests."""
    queries = summary.get("queries") or {}
    latencies = summary["latency_ns"]
    if query is not None and query != "commit":
        name = query.removeprefix("query ")
        if name not in queries:
            what = (
                f"has no query {name!r}{did_you_mean(name, queries)}"
                if queries
                else "is of requests and names no query"
            )
            raise TraceError(
                f"{summary['name']}: {what};"
                f" {'its queries are ' + ', '.join(list(queries)[:5]) if queries else 'leave --query out'}"
            )
        return f"query {name}", queries[name], known_parts(queries[name]["breakdown_ns"])
    if query == "commit" and "commit" in latencies:
        return "commit", latencies["commit"], known_parts(summary.get("commit_breakdown_ns") or {})
    if _WHOLE in latencies and queries:
        return _WHOLE, latencies[_WHOLE], time_of_transaction(summary)
    waited_for = next((one for one in ("log sync", "log write", "data read") if one in latencies), None)
    name = waited_for or next(iter(latencies), "")
    return name, latencies.get(name, {}), {}


def _no_parts(summary: Summary, parts: Sequence[Any]) -> str | None:
    if parts:
        return None
    if summary["verdict"]["load"] == "saturated":
        return "the run is saturated, so a mean has no steady parts"
    if not summary.get("queries"):
        return "not known of block requests; the busiest parts are listed instead"
    return "nothing was counted of it"


def _reads(summary: Summary, figures: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Pages read a call and the mean of a read, where reading is a part."""
    reading = next((part for part in parts if part["part"] == "data read"), None)
    if reading is None or reading["share"] < LEAST_SHARE:
        return None
    mean = (summary["latency_ns"].get("data read") or {}).get("mean") or {}
    return {
        "per_call": figures.get("physical_reads_per_call"),
        "mean_ns": mean.get("value"),
        "pool_hit_ratio": (summary.get("hit_ratio") or {}).get("pool"),
    }


def _tenants(summary: Summary) -> dict[str, Any] | None:
    """Whom the requests of a tenant wait for, and where, the longest first; and its mean latency without each other,
    the one first without whom it is shortest. Stations of one volume count as one.
    """
    shared = summary.get("shared")
    if shared is None:
        return None
    mean_ns, requests = shared["mean_latency_ns"], max(summary["commands"], 1)
    waits_ns: dict[tuple[str, str], float] = {}
    for station, behind in shared["waits_ns"].items():
        for other, wait_ns in behind.items():
            place = other, volume_of(station)
            waits_ns[place] = waits_ns.get(place, 0.0) + wait_ns
    without_ns = sorted(shared["without"].items(), key=lambda one: (one[1] is None, one[1], one[0]))
    return {
        "tenant": shared["tenant"],
        "mean_latency_ns": mean_ns,
        "alone_ns": shared["alone"]["mean_latency_ns"],
        "without": [
            {
                "tenant": other,
                "mean_latency_ns": ns,
                "saves_share": None if ns is None or mean_ns is None else 1 - ns / mean_ns if mean_ns else 0.0,
            }
            for other, ns in without_ns
        ],
        "waits": [
            {"behind": other, "at": place, "total_ns": ns, "per_request_ns": ns / requests}
            for (other, place), ns in sorted(waits_ns.items(), key=lambda one: (-one[1], one[0]))
        ],
    }


def _stations(summary: Summary) -> list[dict[str, Any]]:
    """The busiest stations: utilisation, number there, and the mean time that a request spends there."""
    rows = []
    cores = (summary.get("host") or {}).get("cores")
    for name, station in (summary.get("stations") or {}).items():
        known = {one: share for one, share in station["utilisation"].items() if share is not None}
        if not known:
            continue
        resource = max(known, key=lambda one: known[one])
        queue = station.get("queue_mean")
        servers = 1 if resource in _ONE_AT_A_TIME else cores if resource == "cores" else None
        waiting = max(1 - known[resource] * servers / queue, 0.0) if queue and servers else None
        rows.append(
            {
                "station": name,
                "resource": resource,
                "utilisation": known[resource],
                "queue_mean": queue,
                "time_there_ns": station.get("time_ns"),
                "waiting_share": waiting,
            }
        )
    return sorted(rows, key=lambda row: -row["utilisation"])[:MOST_STATIONS]


def _written_back(summary: Summary, busiest: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a drive among the busiest parts is behind a write cache that wrote."""
    parts = summary.get("stations") or {}
    caches = [one for one in parts.values() if one.get("kind") == "write cache"]
    drives = [one for one in busiest if parts[one["station"]].get("kind") in ("hdd", "flash")]
    return bool(drives) and any(one.get("requests") for one in caches)


def _bound(summary: Summary) -> dict[str, Any] | None:
    """The busiest part, whether it is short of capacity, and the multiple of this load beyond which nothing goes."""
    found = summary.get("bottleneck") or {}
    load = summary["load"]
    credits = explain_credits(summary.get("credits", ()))
    busy = found.get("utilisation")
    if load.get("sustainable_load") is not None:
        part = load["station"] or found.get("station"), load["resource"] or found.get("resource")
        return {
            "station": part[0],
            "resource": part[1],
            # of the busiest part, which what is full need not be: a queue, or a pool
            "utilisation": busy if part == (found.get("station"), found.get("resource")) else None,
            "is_short": _is_short(summary),
            "ceiling": load["sustainable_load"],
            "basis": "this run: " + load["explanation"].partition(". ")[0],
            "credits": credits,
            "burst": None,
        }
    if not found.get("station") or not busy:
        return None
    # what is idle while nothing comes has no time left for that
    with_load = share_with_load(summary)
    of_time = f", without holes {min(busy / with_load, 1.0):.0%}" if with_load < 1 else ""
    return {
        "station": found["station"],
        "resource": found["resource"],
        "utilisation": busy,
        "is_short": _is_short(summary),
        "ceiling": max(with_load / busy, 1.0),
        "basis": (
            f"utilisation law: 1 ÷ its busy share{of_time}, if a request keeps it busy as long as now"
            f"{' and burst credits last' if summary.get('credits') else ''}"
        ),
        "peak": found.get("peak"),
        "credits": credits,
        "burst": load.get("burst"),
    }


def _is_short(summary: Summary) -> bool:
    busy = (summary.get("bottleneck") or {}).get("utilisation") or 0.0
    return summary["verdict"]["load"] == "saturated" or limits(busy, waits_known=bool(summary.get("queries")))


def _least_ns(summary: Summary, figures: Mapping[str, Any]) -> float:
    """The lowest mean of transactions of a fixed number of clients while the CPU time of each stays: there the
    processors are busy all the time (asymptotic bound: Lazowska, Zahorjan, Graham and
    Sevcik, "Quantitative system performance", 1984, chapter 5).
    """
    replay, busy = summary.get("replay") or {}, (summary.get("host") or {}).get("utilisation")
    rate = (summary["throughput_per_s"].get("transactions") or {}).get("value")
    mean = (figures.get("mean") or {}).get("value")
    if replay.get("keeps") != "clients" or not busy or not rate or mean is None:
        return 0.0
    cycle_ns = replay["sessions"] / rate * NS_PER_S  # by Little's law: a transaction, and the pause before the next
    return max(float(mean - (1 - busy) * cycle_ns), 0.0)


def _cores(summary: Summary) -> dict[str, float] | None:
    """CPU time and wait for a core of a transaction, and that wait alone, by Little's law. Both hold what the breakdown
    shows in other parts: of clients on the same cores, of data reads and of WAL writes.
    """
    host, station = summary.get("host") or {}, (summary.get("stations") or {}).get("processors") or {}
    rate = (summary["throughput_per_s"].get("transactions") or {}).get("value")
    there, busy = station.get("queue_mean"), station.get("utilisation", {}).get("cores")
    if not rate or there is None or busy is None or not host.get("cores"):
        return None
    waiting = max(there - busy * host["cores"], 0.0)
    return {"time_ns": there / rate * NS_PER_S, "waiting_ns": waiting / rate * NS_PER_S}


def _changes(
    parts: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Any],
    least_ns: float,
    cores: Mapping[str, float] | None,
) -> list[dict[str, Any]]:
    """What would take the largest parts off, and the mean that would be left at best: no less than *least_ns* unless
    the processors change. More *cores* take off all waits for one, faster ones all time there, in whatever part.
    """
    mean = (figures.get("mean") or {}).get("value")
    found = []
    of_cores = {} if cores is None else {"cpu": cores["time_ns"], "cpu queue": cores["waiting_ns"]}
    shares = {part["part"]: part["ns"] for part in parts}
    whole_ns = sum(shares.values())
    taken = {part: max(ns, of_cores.get(part, 0.0)) for part, ns in {**dict.fromkeys(of_cores, 0.0), **shares}.items()}
    for part, ns in sorted(taken.items(), key=lambda one: -one[1]):
        if part in _CHANGES and ns >= LEAST_SHARE * whole_ns > 0:
            change, why = _CHANGES[part]
            least = 0.0 if part in _OF_PROCESSORS else least_ns
            left = None if mean is None else min(max(mean - ns, least, 0.0), mean)
            found.append(
                {
                    "part": part,
                    "change": change,
                    "why": why,
                    "at_most_share": 1 - left / mean if mean and left is not None else min(ns / whole_ns, 1.0),
                    "mean_at_best_ns": left,
                    "then_full": "processors" if least > 0 and left == least else None,
                }
            )
    return found


_CALIBRATE = "calibrate: describe the recorded hardware in a scenario, and replay with `--recorded-on`"
_FIT = "replay on the fitted drive: the recording says nothing of this kind of storage"


def _measurement(
    summary: Summary, parts: Sequence[Mapping[str, Any]], stations: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """What to measure first, of a result that is not calibrated, goes beyond its recording or is of other storage."""
    verdict = summary["verdict"]
    is_calibrated, is_other = verdict.get("calibration") == "calibrated", verdict.get("storage") == OTHER_STORAGE
    if is_calibrated and not is_other:
        return _BEYOND if verdict.get("reach") == BEYOND else None
    measured = _OF_DEVICES if is_calibrated else _MEASUREMENTS.keys()
    first = next((part for part in parts if part["part"] in measured), None)
    if first is not None:
        what, why = _MEASUREMENTS[first["part"]], f"{WAIT_NAMES[first['part']]} is {first['share']:.0%} of the time"
    elif stations:
        what = _MEASUREMENTS["data read"].replace("random reads of the page size", "requests like the recorded ones")
        why = f"{stations[0]['station']} is the busiest part, {stations[0]['utilisation']:.0%} of the time"
    else:
        return None
    what = what.replace("the recorded server", summary["name"]) if is_calibrated else what
    off = None if is_calibrated else _furthest_off(summary)
    guessed = _assumed_of(summary, (summary.get("bottleneck") or {}).get("station"))
    return {
        "what": what,
        "why": why,
        "assumed_parameters": guessed,
        "furthest_off": off,
        "and_then": _FIT if is_calibrated else _CALIBRATE,
    }


def _furthest_off(summary: Summary) -> dict[str, Any] | None:
    """The class whose simulated mean is furthest from the recorded one, where the calibration failed."""
    classes = (summary.get("calibration") or {}).get("classes") or {}
    known = {name: one["error_pct"] for name, one in classes.items() if one["decides"] and one["error_pct"] is not None}
    if not known:
        return None
    name = max(known, key=lambda one: abs(known[one]))
    return {"class": name, "error_pct": known[name]}


def _assumed_of(summary: Summary, station: str | None) -> list[str]:
    """Assumed or fitted parameters of the volume that the station belongs to."""
    volume = (station or "").split(".")[0]
    return [one["what"] for one in summary.get("assumed") or () if one["what"].split(":")[0] == volume]
