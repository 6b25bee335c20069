"""What whoever reads a result must know beside its figures: what of the hardware is assumed or wrong, keys of the
scenario that make no difference to the run (each is named, since whoever wrote it expects one), and the error of the
models, which no interval of a result holds: how far what somebody measured lay from what was predicted of it, learned
by ``tiersim validate`` (:mod:`tiersim.scenarios.validation.intervals`) and shipped as ``validation/model_error.toml``;
and where a result has the interval of a 99th percentile (:mod:`tiersim.scenarios.tails` makes it).
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from tiersim.devices.hdd.disk_drive import Drive
from tiersim.devices.measured import Measured
from tiersim.devices.ssd.flash import Flash
from tiersim.devices.station_records import BUCKET, DRIVE, FLASH, KIND_NAMES, PASS_ON_NS
from tiersim.scenarios.hardware import NamedScenario, volume_of
from tiersim.scenarios.model import Scenario
from tiersim.scenarios.survey import FileUse
from tiersim.simulator.verdict import BEHIND_THROUGHPUT
from tiersim.units import NS_PER_S, format_bytes, format_ns

#: Where the time of a command in a controller is from, and what else it is.
_OVERHEAD = "scenario, not checked; behind a write cache with a battery a flush takes this time and writes nothing"

#: Disks hold little if they hold less than this share: between random places arms cross a third of what is used, here
#: a thirtieth of the disk at most. The share is a choice.
_LITTLE = 0.1

#: What a result's verdict says of its ``reach`` when it goes beyond its recording; and when it does so with costs that
#: nothing told, whose errors are those of guesses.
WITHIN = "within the recording"
BEYOND, BEYOND_BY_GUESS = "beyond the recording", "beyond the recording, with assumed costs"

#: What a result's verdict says of its ``storage`` if it has drives of a kind that the recorded hardware has not.
OTHER_STORAGE = "of another kind"

#: What a result's verdict says of ``transactions`` that take as long as recorded where single queries do not.
MET = "as recorded"

#: What a result's verdict says of its ``error`` when its engine has errors of its own, whatever the calibration.
INNODB = "innodb"

#: The same where pauses of clients may hold waits of the recorded storage.
WAITS = "waits"

#: The same where commits that share flushes of the log decide, and CPU that nobody recorded decides how many do.
FLUSHES = "flushes"

#: The same where statements of counters come by the clock: nobody showed how far latencies are off on busy servers, and
#: on idle ones they are far off, since storage and processors that sleep in between answer late.
ARRIVALS = "arrivals"

#: The same where clients ask as they are answered, and nobody saw how long they pause between.
PAUSES = "pauses"

#: The same of InnoDB where changes commit by themselves, and nobody saw how long they waited for the log.
COMMITS = "commits"

#: The same where transactions take another time on the described hardware than on the recorded one.
CONTRADICTED = "contradicted"
#: The clock of requests that come by it is so coarse that many come at once.
COARSE = "clock"

#: Writes that had to be on stable storage when they ended are answered by a buffer that a loss of power empties.
VOLATILE = "volatile buffer"

#: The same where the model misses clearly more or fewer pages than the recorded statements read.
OTHER_READS = "reads"

#: The same where queries took more CPU than time when they were recorded: several processors worked on each, and one
#: does in a run.
PARALLEL = "parallel"

#: The same of the first statements of a load: pools, write caches and checkpoints are those of a short run.
SAMPLE = "sample"

#: The same where CPU and clients decide that nobody recorded; such results have errors of their own.
CLIENTS = "clients"

#: The same where these decide, or waits for the WAL did, and it was counted what the recorded processors did.
COUNTED = "counted"

#: Those whose error nobody knows; the first is that of older results.
_UNKNOWN = (
    "unknown",
    WAITS,
    FLUSHES,
    ARRIVALS,
    PAUSES,
    COMMITS,
    SAMPLE,
    CONTRADICTED,
    OTHER_READS,
    PARALLEL,
    COARSE,
    VOLATILE,
)


def model_error_of(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return between which multiples (``low``, ``high``) of a predicted figure 80 % of the measured ones lay, by kind
    of figure, and of how many.

    *verdict* is that of a result. A failed calibration has the errors of none; if it failed for single queries alone,
    throughput keeps those of a passed one. What goes beyond its recording has errors of its own; so has InnoDB. Nobody
    measured what a calibration is worth on storage of another kind: such a result has the errors of none. So has one
    with counted CPU: its own errors are smaller, but were measured on one server. ``basis`` says what the hardware of
    those predictions was taken from; ``other`` stands for each figure that is not named. Where nothing was measured, a
    basis has no ``other``, and where it is ``unknown`` there are no figures.
    """
    if verdict.get("error") in _UNKNOWN:
        return {"basis": "unknown", "figures": {}}
    if (own := verdict.get("error")) in (INNODB, CLIENTS):
        return {"basis": own, "figures": _learned()[own]}
    if own == COUNTED:
        return {"basis": COUNTED, "figures": _learned()["assumed"]}
    is_calibrated = verdict["calibration"] == "calibrated"
    if not is_calibrated and verdict.get("transactions") != MET:
        return {"basis": "assumed", "figures": _learned()["assumed"]}
    if verdict.get("storage") == OTHER_STORAGE:
        return {"basis": "storage", "figures": _learned()["assumed"]}
    if verdict.get("reach") == BEYOND:
        return {"basis": "extrapolated", "figures": _learned()["extrapolated"]}
    known = _learned()["calibrated"]
    figures = known if is_calibrated else {"throughput": known["throughput"], "mean": _learned()["assumed"]["other"]}
    return {"basis": "calibrated", "figures": figures}


@cache
def _learned() -> dict[str, Any]:
    return tomllib.loads((files("tiersim.scenarios.validation") / "model_error.toml").read_text(encoding="utf-8"))


def multiples_of(error: Mapping[str, Any], figure: str) -> tuple[float, float] | None:
    """Return ``low`` and ``high`` of :func:`model_error_of` for a figure of a result: ``throughput``, or a statistic of
    a latency, such as ``p99``; None where nothing like it was measured, as no percentile of ``assumed`` ones.
    """
    kind = figure if figure in ("throughput", "mean") else "tail"
    without = kind == "tail" and error["basis"] in ("assumed", CLIENTS, COUNTED, "storage")
    other = None if without else error["figures"].get("other")
    found = error["figures"].get(kind) or other
    return None if found is None else (found["low"], found["high"])


def in_doubt(summary: Mapping[str, Any]) -> bool:
    """Tell whether the other verdict on load lies within the expected error of throughput. Of a row of a sweep, a load
    or a search, what it says.

    Of clients that go on as they are answered, transactions/s (or requests/s) are compared with the recorded ones; an
    unknown error is a doubt; described ones have no pace to keep. Else a load is carried as long as no part is full,
    and no more sessions are needed than were recorded; an unknown error is at least that without a calibration.
    """
    if "in_doubt" in summary:
        return bool(summary["in_doubt"])
    verdict, error, wide = summary["verdict"], summary.get("model_error"), summary.get("range")
    if not error or "load" not in verdict or has_no_pace(summary):
        return False
    found = multiples_of(error, "throughput")
    if not go_on_as_answered(summary):
        return sessions_lacking(summary) is not None or _may_be_full(
            summary, found or multiples_of(model_error_of({"calibration": "none"}), "throughput")
        )
    # a range holds the error of the models, and more; one of draws alone, which has a share, not where that is unknown
    whole = wide if wide and (found is not None or wide.get("share") is None) else None
    if whole and (rate := summary["throughput_per_s"]["transactions"]["value"]):
        found = whole["transactions_per_s"]["low"] / rate, whole["transactions_per_s"]["high"] / rate
    if found is None:
        return True
    low, high = found
    share = 1 - summary["throughput_shortfall_pct"] / 100  # of the recorded transactions/s
    return bool(share * low < BEHIND_THROUGHPUT if verdict["load"] == "steady" else share * high >= BEHIND_THROUGHPUT)


def go_on_as_answered(summary: Mapping[str, Any]) -> bool:
    """Tell whether clients ask again as soon as they are answered, so that hardware sets their rate."""
    replay = summary.get("replay") or {}
    return bool(replay["keeps"] == "clients" if "keeps" in replay else replay.get("mode") == "closed")


def has_no_pace(summary: Mapping[str, Any]) -> bool:
    """Tell whether clients of a described workload, none of which comes by the clock, go on as they are answered: no
    hardware is too slow for them.
    """
    keeps = (summary.get("replay") or {}).get("keeps")
    return summary["verdict"].get("arrivals") == "described" and keeps == "clients"


def sessions_lacking(summary: Mapping[str, Any]) -> tuple[float, int] | None:
    """Return how many sessions at a time the transactions of a run need that come by the clock (Little's law), and the
    most that the recording shows, where these are fewer: clients could not ask at the recorded rate.
    """
    replay, found = summary.get("replay") or {}, (summary.get("latency_ns") or {}).get("transaction")
    shown, mean_ns = replay.get("recorded_connections"), found and found["mean"]["value"]
    if replay.get("keeps") != "rate" or not shown or not mean_ns:
        return None
    needed = summary["throughput_per_s"]["transactions"]["value"] * mean_ns / NS_PER_S
    return (needed, shown) if needed > shown * replay["load"] else None


def share_with_load(summary: Mapping[str, Any]) -> float:
    """Return the share of the recording that is left without its holes, in which nothing came."""
    trace = summary.get("trace") or {}
    return 1 - trace["quiet_ns"] / trace["span_ns"] if "quiet_ns" in trace else 1.0


def _may_be_full(summary: Mapping[str, Any], multiples: tuple[float, float] | None) -> bool:
    """Tell whether a part that is not full may be, or the other way round, where throughput is *multiples* of what is
    predicted.
    """
    assert multiples is not None  # throughput without a calibration was measured
    low, high = multiples
    load = summary["verdict"]["load"]
    if load == "steady":
        busy = (summary.get("bottleneck") or {}).get("utilisation", 0.0)  # older results do not say
        return bool(busy > low * share_with_load(summary))
    carried: float = 1 - summary["throughput_shortfall_pct"] / 100
    if load == "saturated":
        carried = summary["load"]["sustainable_load"] or carried
    return carried * high >= BEHIND_THROUGHPUT


def tail_of(summary: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return the interval of the 99th percentile of ``transaction``, ``commit`` or ``query NAME``; None without one."""
    found: Mapping[str, Any] | None = ((summary.get("tails") or {}).get("p99_ns") or {}).get(name)
    return found


def with_storage(verdict: Mapping[str, Any], summary: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[str, Any]:
    """Return a *verdict* that says if drives, or limits, of another kind serve a run than serve the one on the recorded
    hardware, by their summaries; and which these are.
    """
    recorded = _drives(baseline)
    if not _drives(summary) - recorded:
        return dict(verdict)
    return {**verdict, "storage": OTHER_STORAGE, "recorded_storage": sorted(recorded)}


def _drives(summary: Mapping[str, Any]) -> set[str]:
    """Return the kinds of drives, and limits, that requests went to."""
    kinds = {KIND_NAMES[kind] for kind in (DRIVE, FLASH, BUCKET)}
    return {one["kind"] for one in summary["stations"].values() if one.get("requests") != 0} & kinds


#: Keys of [replay] and of volumes that act on requests alone, and rules of [placement] for what recorded requests, and
#: statements, never touch.
_OF_REQUESTS = ("dependency_window", "writers", "commits", "addresses")
_ADDRESSES = ("offset", "used")
_NO_REQUESTS = ("temp", "tempdb", "backup", "extension")
_NO_STATEMENTS = ("temp", "tempdb", "backup")


#: The verdict on load takes a shorter lag for requests that happen to be in flight when a recording ends.
_LEAST_SPAN_NS = NS_PER_S


def too_short(span_ns: int) -> str | None:
    """Say of a recording of requests that lasts so long that it has no rate; None of a longer one."""
    if span_ns >= _LEAST_SPAN_NS:
        return None
    return (
        f"the recording lasts {format_ns(span_ns)}: below {format_ns(_LEAST_SPAN_NS)} neither its rate nor whether its"
        " load is carried can be told"
    )


def of_requests(scenario: NamedScenario, uses: Sequence[FileUse], *, clocked: bool) -> list[str]:
    """Return a sentence for each key that makes no difference to a replay of requests to the files *uses*; *clocked*
    ones wait for nothing.
    """
    model = scenario.model
    found = ["host: applies to statements; this run replays requests"] if model.host is not None else []
    return _said(
        [
            *found,
            *_waiting(model, clocked=clocked),
            *_unread_addresses(model),
            *_places_of_requests(model, uses),
            *_empty_volumes(model, {volume_of(scenario, use) for use in uses}),
        ]
    )


def of_statements(
    model: Scenario, volumes: Sequence[str], *, described: bool, engine: Mapping[str, Any], clients: str | None
) -> list[str]:
    """Return a sentence for each key that makes no difference to a run of statements that uses *volumes*.

    They are *described* in a workload, or were recorded, with *clients* ``here`` or ``elsewhere`` as ``--recorded-on``
    says; None without it. *engine* is what a summary shows of it.
    """
    keys = [f"replay.{key}" for key in _OF_REQUESTS if key in model.replay.model_fields_set]
    keys += [
        f"volumes.{name}.{key}"
        for name, volume in model.volumes.items()
        for key in _ADDRESSES
        if getattr(volume, key) is not None
    ]
    found = [f"{key}: applies to requests; this run is of statements" for key in keys]
    if not described:
        places = [key for key in model.placement if key in _NO_STATEMENTS or key.startswith("file:")]
        found += [f"placement.{key}: a recording of statements places nothing there" for key in places]
        asked = None if model.host is None or "clients" not in model.host.model_fields_set else model.host.clients
        if clients is None and asked == "here":
            found.append("host.clients: clients on the same host are used with --recorded-on alone")
        elif None not in (clients, asked) and asked != clients:
            found.append(f"host.clients: clients run {clients}, as the recorded ones did, or CPU of theirs is unknown")
    return _said([*found, *_of_engine(model, engine), *_empty_volumes(model, set(volumes))])


def _of_engine(model: Scenario, engine: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys that an *engine* has no use for, with its other settings, or at all."""
    places = {"extension": "extension_bytes", "doublewrite": "doublewrite", "binary_log": "binary_log"}
    for key in (key for key, there in places.items() if key in model.placement and not engine.get(there)):
        yield f"placement.{key}: this server writes no such file"
    by_time = engine.get("checkpoints") == "automatic" or "checkpoint_timeout_ns" in engine
    if model.replay.since_checkpoint and not by_time:
        yield "replay.since_checkpoint: this engine has no timed checkpoints"
    own = model.engine
    if own is None:
        return
    if own.os_cache and engine.get("direct_io"):
        yield "engine.os_cache: direct I/O (engine.direct_io) reads past it"
    if own.replica is not None and not engine.get("synchronous_commit"):
        yield "engine.replica: commits are asynchronous (engine.synchronous_commit)"
    if own.sync_binlog is not None and not engine.get("binary_log"):
        yield "engine.sync_binlog: this server has no binary log"
    if own.recovery_interval is not None and not by_time:
        yield "engine.recovery_interval: checkpoints are indirect (engine.target_recovery_time)"


def _waiting(model: Scenario, *, clocked: bool) -> Iterator[str]:
    given = model.replay.model_fields_set
    if clocked:
        for key in ("dependency_window", "writers", "commits", "clients"):
            if key in given:
                yield f"replay.{key}: requests come at their recorded times and wait for nothing"
    elif model.replay.mode == "closed" and "dependency_window" in given:
        yield 'replay.dependency_window: with mode = "closed" every request waits for the one before it'


def _unread_addresses(model: Scenario) -> Iterator[str]:
    for name, volume in model.volumes.items():
        if volume.used is not None and model.replay.addresses != "pack":
            yield f'volumes.{name}.used: goes with addresses = "pack" under [replay]'


def _places_of_requests(model: Scenario, uses: Sequence[FileUse]) -> Iterator[str]:
    names = {f"file:{use.name}" for use in uses}
    for key in model.placement:
        if key.startswith("relation:") or key in _NO_REQUESTS:
            yield f"placement.{key}: recorded requests have files, and rules for file:NAME or log place them"
        elif key.startswith("file:") and key not in names:
            yield f"placement.{key}: no request goes to a file of this name"
        elif key == "log" and not any(use.is_log for use in uses):
            yield "placement.log: no file of the recording was identified as a log"


def _empty_volumes(model: Scenario, used: set[str]) -> Iterator[str]:
    for name in model.homes:
        if name not in used:
            yield f"volumes.{name}: nothing of the recording lies on it"


def _said(found: Sequence[str]) -> list[str]:
    """Return sentences of *found*, a key and why it makes no difference each."""
    split = (one.partition(": ") for one in found)
    return [f"{key} has no effect here: {why}" for key, _, why in split]


def of_hardware(scenario: NamedScenario) -> list[str]:
    """What everybody who reads the result must know of the devices and controllers, once each."""
    devices = dict.fromkeys(text for volume in scenario.volumes.values() for text in volume.device.caveats)
    return [*scenario.defects, *_timeless_caches(scenario), *devices]


def empty_caches(scenario: NamedScenario, *, statements: bool) -> Iterator[str]:
    """Name the write caches whose start is counted: what comes first is written after the flush interval. Updates on 16
    disks were faster for twice the interval (simulated: 8 s of 4 s). *statements* can have a warm-up.
    """
    for name, controller in scenario.controllers.items():
        filling_ns = 2 * controller.flush_interval_ns
        if controller.cache_bytes is not None and scenario.model.replay.warmup < filling_ns:
            first = format_ns(filling_ns)
            remedy = (
                f"set replay.warmup = {first} to leave that time out"
                if statements
                else "a block trace has no warm-up: record longer"
            )
            yield (
                f"the write cache of controllers.{name} starts empty: writes are faster in the first {first}"
                f" (twice its flush interval) than later, and figures of a run include that time; {remedy}"
            )


def short_seeks(scenario: NamedScenario, used_bytes: Mapping[str, int]) -> Iterator[str]:
    """Name the volumes of disks that hold little; *used_bytes* is how much, by volume."""
    for name, used in used_bytes.items():
        volume = scenario.volumes.get(name)
        if volume is not None and isinstance(volume.device, Drive) and used < _LITTLE * volume.capacity_bytes:
            yield (
                f"the data takes {format_bytes(used)} of the {format_bytes(volume.capacity_bytes)} of volume"
                f" {name}: disk arms move little, and fuller disks are slower"
            )


#: How many times as many commands a second a disk does that chooses among 32 as one that takes them as they come: 952
#: and 358 random reads (Cheetah 15K.7, 4 KiB within 1 GiB, fio, published by xzpeter, 2013-02-08).
_CHOICE, _DEEP = 952 / 358, 32


def aged_queue(scenario: NamedScenario, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a result says otherwise where a disk limits a load that is not carried, and what waits there is older
    than it is assumed to let anything get: it takes commands as they come, fewer a second than out of a short queue. Or
    where the scenario lets so few wait there that it has little to choose from.
    """
    load = summary["load"]
    name = load["station"] or ""
    found = scenario.hardware.get(name) or scenario.hardware.get(name.rpartition(".")[0])
    if found is None or not isinstance(found.device, Drive):
        return {}
    drive, waits_ns = found.device, summary["stations"][name]["time_ns"] or 0.0
    source = drive.sources.get("age_limit", "")
    depth = "queue_depth" if found.layout == "single" else "drive_queue_depth"
    given = getattr(found.host, depth)
    if drive.scheduler != "fcfs" and given is not None and given < _DEEP:
        text = (
            f"{load['explanation']}. {depth} = {given:,} leaves the disk little to choose from: with more, such as"
            f" {_DEEP}, it may carry more"
        )
        return {"load": {**load, "explanation": text}}
    if waits_ns <= drive.age_limit or drive.scheduler == "fcfs" or not source.startswith("assumed"):
        return {}
    text = (
        f"{load['explanation']}. Commands are there for {format_ns(waits_ns)}, and beyond age_limit"
        f" ({format_ns(drive.age_limit)}, {source}) the disk takes them in order of arrival, which is slower: if host"
        f" or controller let fewer wait there, set {depth}, such as {_DEEP}"
    )
    carried = load["sustainable_load"] or 1 - summary["throughput_shortfall_pct"] / 100
    doubt = {"in_doubt": True} if carried * _CHOICE >= BEHIND_THROUGHPUT else {}
    return {"load": {**load, "explanation": text}, **doubt}


#: Fewer such writes, as a share of all requests, decide nothing.
_FEW_STABLE = 0.01


def volatile_buffers(
    scenario: NamedScenario, uses: Sequence[FileUse], stable_writes: Sequence[int], requests: int
) -> Iterator[str]:
    """Name the volumes whose drives answer writes from a buffer that a loss of power empties, though many of the
    *requests* were writes that had to be on stable storage when they ended (FUA); *stable_writes* are by file.
    """
    cached = {
        volume.name
        for name, controller in scenario.controllers.items()
        for volume in scenario.behind(name)
        if controller.cache_bytes is not None
    }
    counts: dict[str, int] = {}
    for use, count in zip(uses, stable_writes, strict=False):
        counts[volume_of(scenario, use)] = counts.get(volume_of(scenario, use), 0) + count
    for name, count in counts.items():
        device = None if name in cached else getattr(scenario.volumes.get(name), "device", None)
        if not isinstance(device, Flash) or not device.buffer or device.power_loss_protection:
            continue
        if count > _FEW_STABLE * requests:
            yield (
                f"{count:,} recorded writes to volume {name} had to be on stable storage when they ended (FUA); the"
                f" buffer of {device.name}, which a loss of power empties, answers them here: they take too short"
            )


def _timeless_caches(scenario: NamedScenario) -> Iterator[str]:
    """Yield a sentence for each volume whose writes a controller's cache takes in no time, or in that of their bytes
    alone, as nothing says how long a command takes.
    """
    for name, model in scenario.model.controllers.items():
        for volume in scenario.behind(name):
            if not model.has_cache or model.iops is not None or volume.controller_overhead_ns > PASS_ON_NS:
                continue
            overhead, how = f"volumes.{volume.name}.controller_overhead", "as long as their bytes take on its links"
            why, remedy = "how long a command takes there", f"{overhead} (15k-raid10 assumes 50 us)"
            if model.throughput is None and model.host_link is None:
                how, why, remedy = "0 ns", "how fast it is", f"controllers.{name}.host_link or {overhead}"
            yield (
                f"{volume.name}: writes that the cache of controller {name} takes last {how}, as nothing says {why};"
                f" write {remedy}"
            )


def parameters_assumed(scenario: NamedScenario) -> list[dict[str, str]]:
    """Every parameter that is assumed or fitted, and from what."""
    overheads_ns = {name: hardware.controller_overhead_ns for name, hardware in scenario.hardware.items()}
    found = [
        {"what": f"{name}: controller_overhead", "value": format_ns(passes_ns), "source": _OVERHEAD}
        for name, passes_ns in overheads_ns.items()
        if passes_ns > PASS_ON_NS
    ]
    found += [one for name, model in scenario.model.controllers.items() for one in model.assumed_defaults(name)]
    devices = {name: hardware.device for name, hardware in scenario.hardware.items()} | scenario.limits
    for name, device in devices.items():
        if isinstance(device, Measured):
            continue
        for key, source in sorted(device.sources.items()):
            if source.startswith(("assumed", "fitted")):
                what = f"{name}: {device.name}, {key}"
                found.append({"what": what, "value": device.text_of(key), "source": source})
    return found
