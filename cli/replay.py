"""``tiersim replay``: one trace on several scenarios."""

import os
import time
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiersim.cli import terminal, verdicts
from tiersim.cli.import_trace import open_trace, workload_of
from tiersim.cli.options import Force, Json, RecordedOn, Settings
from tiersim.cli.statements import rows_of_rates, show_statements
from tiersim.cli.tenants import MOST_TABLES, replay_tenants, show_sharing, show_tenants_together, show_waits
from tiersim.cli.terminal import compile_if_cold
from tiersim.cli.workloads import show_workload
from tiersim.errors import ScenarioError, TraceError
from tiersim.files import check_target, make_folder
from tiersim.simulator.categories import STATISTICS, is_of_too_few
from tiersim.units import NS_PER_S, format_bytes, format_ns, format_per_s, format_times

if TYPE_CHECKING:
    from tiersim.scenarios.hardware import NamedScenario
    from tiersim.simulator.result import Result
    from tiersim.traces.bundle import Bundle

#: Classes of requests, those first that sessions wait for most.
_FIRST = (
    "data read",
    "log sync",
    "data write",
    "checkpoint write",
    "log write",
    "unknown",
    "temp",
    "backup",
    "log flush",
    "flush",
    "discard",
    "log sync on device",
)
#: A short table has so many classes, and these rows of each.
_MOST_CLASSES = 4
_SHORT = (", mean", ", relative", ", p99")
#: Of a percentile whose error nobody knows.
_UNCHECKED = f" ({verdicts.ERROR_UNKNOWN})"
#: Requests that take so many times as long as recorded are named.
_MUCH_SLOWER = 2


def replay(
    trace: Annotated[
        Path,
        typer.Argument(
            help=(
                "A trace (NAME.trace, from import or record), or a recorded file that tiersim can import. Or a .toml"
                " file: a workload, or several traces on shared hardware (docs/tenants.md)."
            )
        ),
    ],
    on: Annotated[
        list[str],
        typer.Option(
            "--on",
            help=(
                "Scenario, the hardware to replay on: a .toml file, a name (15k-raid10, pcie-flash, aws-gp3 ...), or a"
                " device of the catalogue (tiersim devices list). Repeat it for more."
            ),
        ),
    ],
    settings: Settings = None,
    recorded_on: RecordedOn = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path(),
    requests: Annotated[
        bool, typer.Option("--requests", help="Also store the completion time of each block request.")
    ] = False,
    waits: Annotated[
        bool,
        typer.Option(
            "--waits",
            help=(
                "Also print which requests wait behind which: in each part, how long data reads wait behind checkpoint"
                " writes, and so on."
            ),
        ),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Print every row and every note.")] = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Predict how a recorded load runs on other hardware. Writes one result for each scenario.

    tiersim replays the queries of a server recording, and the block requests of a block trace. If a trace has both
    (blktrace beside the server's recording), it replays the block requests; with
    --set engine.kind=postgresql it replays the queries instead.

    Example: tiersim replay prod.trace --on 15k-raid10 --on pcie-flash
    """
    from tiersim.scenarios.library import is_tenants, load_scenario

    scenarios = [load_scenario(name, settings or ()) for name in on]
    baseline = recorded_hardware(recorded_on, settings or ())
    _refuse_same_names(scenarios)
    given = {"--requests": requests, "--waits": waits, "--recorded-on": recorded_on is not None}
    option = next((name for name, is_given in given.items() if is_given), None)
    if is_tenants(trace):
        if option is not None:
            raise ScenarioError(f"{option}: belongs to one recording, and {trace} names several; leave it out")
        by_tenant = replay_tenants(trace, scenarios, output, force=force)
        if json:
            return _print([one for results in by_tenant.values() for one in results], everything=everything, json=json)
        return _show_tenants(by_tenant, everything)
    targets = [output / f"{scenario.name}.result" for scenario in scenarios]
    for target in targets:
        check_target(target, force=force)
    workload = workload_of(trace, option)
    if workload is not None:
        results = run_described(workload, scenarios, targets, force=force)
        return _print(results, everything=everything, json=json)
    with open_trace(trace) as bundle:
        results = run_all(bundle, scenarios, targets, requests=requests, waits=waits, force=force, baseline=baseline)
    _print(results, everything=everything, json=json)


def _print(results: "list[Result]", *, everything: bool, json: bool) -> None:
    if json:
        terminal.print_json({"schema": results[0].summary["schema"], "scenarios": [r.summary for r in results]})
    else:
        show(results, everything=everything)


def run_described(
    workload: Path, scenarios: "list[NamedScenario]", targets: list[Path], *, force: bool
) -> "list[Result]":
    """Run a described workload on every scenario and write its result bundle."""
    from tiersim.scenarios.workloads.replay import load_workload, run_workload_all

    began = time.time()
    described = load_workload(workload)
    compile_if_cold()
    with terminal.progress_bar("running statements") as progress:
        results = run_workload_all(described, scenarios, progress)
    _save(results, targets, {"began_unix_s": began, "seconds": time.time() - began, "workers": 1}, force=force)
    return results


def run_all(
    bundle: "Bundle",
    scenarios: "list[NamedScenario]",
    targets: list[Path],
    *,
    requests: bool,
    force: bool,
    waits: bool = False,
    baseline: "NamedScenario | None" = None,
    ranges: bool = True,
    progress: terminal.Progress | None = None,
) -> "list[Result]":
    """Run every scenario and write its result bundle.

    *baseline* is the scenario of the recorded hardware, for calibration; *ranges*: also compute how far calibrated
    results may be off. Scenarios with an engine run statements; of a trace without block requests, all do. *progress*
    is called while they run; without it progress bars are shown.
    """
    from tiersim.scenarios.library import refuse_keys_of_statements, runs_statements

    began = time.time()
    workers = min(len(scenarios), os.cpu_count() or 1)
    above = [scenario for scenario in scenarios if runs_statements(bundle, scenario)]
    below = [scenario for scenario in scenarios if scenario not in above]
    if above and requests:
        raise ScenarioError(f"--requests: {above[0].name} runs statements, whose requests are not kept; leave it out")
    if above and waits:
        raise ScenarioError(f"--waits: {above[0].name} runs statements, whose requests have no classes; leave it out")
    found = _run_statements(bundle, above, baseline, ranges, progress) if above else []
    if below:
        for scenario in below:
            refuse_keys_of_statements(scenario)
        found += _replay_requests(
            bundle, below, baseline, workers=workers, keep=requests, waits=waits, progress=progress
        )
    made = {result.summary["name"]: result for result in found}
    results = [made[scenario.name] for scenario in scenarios]
    _save(results, targets, {"began_unix_s": began, "seconds": time.time() - began, "workers": workers}, force=force)
    return results


def _run_statements(
    bundle: "Bundle",
    scenarios: "list[NamedScenario]",
    baseline: "NamedScenario | None",
    ranges: bool,
    progress: terminal.Progress | None,
) -> "list[Result]":
    from tiersim.cli.counted_tables import why_no_load
    from tiersim.scenarios.statements.replay import replay_statements_all
    from tiersim.traces.description.counters import counted

    compile_if_cold()
    try:
        with nullcontext(progress) if progress else terminal.progress_bar("running statements") as told:
            return replay_statements_all(bundle, scenarios, recorded_on=baseline, ranges=ranges, progress=told)
    except TraceError:
        document = counted(bundle)
        what = document and why_no_load(document)
        if not what:
            raise
        raise TraceError(f"{bundle.path}: {what}") from None


def _replay_requests(
    bundle: "Bundle",
    scenarios: "list[NamedScenario]",
    baseline: "NamedScenario | None",
    *,
    workers: int,
    keep: bool,
    waits: bool,
    progress: terminal.Progress | None,
) -> "list[Result]":
    from tiersim.scenarios.calibration.self_replay import calibrate
    from tiersim.scenarios.replay import replay_all, survey_to_play

    played = scenarios if baseline is None else [*scenarios, baseline]
    with nullcontext() if progress else terminal.progress_bar("surveying") as told:
        playback = survey_to_play(bundle, played, progress=told)
    with nullcontext(progress) if progress else terminal.progress_bar("replaying") as told:
        replayed = replay_all(
            playback.found,
            played,
            workers=workers,
            keep_requests=keep,
            waits=waits,
            progress=told,
            playback=playback,
        )
    return replayed if baseline is None else calibrate(replayed[:-1], replayed[-1])


def _save(results: "list[Result]", targets: list[Path], facts: dict[str, Any], *, force: bool) -> None:
    from tiersim.simulator.result import save_result

    for result, target in zip(results, targets, strict=True):
        make_folder(target.parent)
        save_result(result, target, facts, force=force)


def recorded_hardware(name: str | None, settings: Iterable[str]) -> "NamedScenario | None":
    """Return the scenario of --recorded-on, with those *settings* that apply to it, too: how the recording is played,
    and what it does not say; raises ScenarioError when it is the recording and no model.
    """
    from tiersim.scenarios.library import load_scenario

    if name is None:
        return None
    shared = [one for one in settings if one.startswith(("replay.", "engine.os_cache"))]
    # the recorded load is what it is compared with, whatever load is asked for, and for however long
    asked = ("replay.load", "replay.duration")
    scenario = load_scenario(name, [one for one in shared if one.partition("=")[0].strip() not in asked])
    if scenario.is_recording:
        raise ScenarioError(
            f"--recorded-on {scenario.name}: that is the recording itself, which agrees with itself; give a scenario of"
            " the recorded hardware, with devices of the catalogue or your own"
        )
    return scenario


def _refuse_same_names(scenarios: "list[NamedScenario]") -> None:
    names = [scenario.name for scenario in scenarios]
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError(
                f"two scenarios are called {name!r}, and their results would replace each other; rename one of the"
                " files"
            )


def show(results: "list[Result]", *, everything: bool) -> None:
    """Print the tables of latencies: what ran statements, then what replayed requests; *everything*, or what matters
    most.
    """
    summaries = [result.summary for result in results]
    for level, print_table in (
        ("workload", show_workload),
        ("statements", show_statements),
        ("requests", _show_requests),
    ):
        of_level = [summary for summary in summaries if _level(summary) == level]
        if of_level:
            print_table(of_level, everything)


def _show_tenants(by_tenant: "dict[str, list[Result]]", everything: bool) -> None:
    """Print a table for each tenant, of many one for all, then who slows whom."""
    few = everything or len(by_tenant) <= MOST_TABLES
    if not few:
        show_tenants_together({name: [one.summary for one in results] for name, results in by_tenant.items()})
    for name, results in by_tenant.items() if few else ():
        if _level(results[0].summary) == "statements":  # one that has the hardware to itself
            show_statements([result.summary for result in results], everything)
        else:
            _show_requests([result.summary for result in results], everything, of=name)
    show_sharing([result.summary for results in by_tenant.values() for result in results], everything)


def _level(summary: dict[str, Any]) -> str:
    """What a summary is of: requests, statements, or a described workload."""
    return "workload" if "streams" in summary else str(summary.get("level", "requests"))


def _show_requests(summaries: list[dict[str, Any]], everything: bool, of: str = "") -> None:
    """Print the table of latencies, one column for each scenario, the recorded hardware first; *of* one tenant."""
    measured, trace = summaries[0]["measured_latency_ns"], summaries[0]["trace"]
    transactions = rows_of_rates(summaries) if trace.get("transactions") else []
    labels = _labels(summaries)
    latencies = {name: _rows_of_class(name, summaries, labels) for name in _classes(summaries)}
    rate = ["requests/s", *(format_per_s(s["throughput_per_s"]["requests"]["value"]) for s in summaries)]
    busiest = ["busiest part", *map(verdicts.busiest, summaries)]
    carries = ["carries the load", *map(verdicts.carries, summaries)]
    rows = [*transactions, *(row for of_class in latencies.values() for row in of_class), rate, busiest]
    if any(s["verdict"]["load"] != "steady" for s in summaries) and not transactions:
        rows.append(["in the same time", *map(_against_recorded, summaries)])
    of_what, errors = verdicts.error_row(summaries)
    last = [] if transactions[1:] else [[of_what, *errors]]
    rows += [carries, *last]
    shown = rows
    if not everything:
        first = sorted(latencies, key=_FIRST.index)[:_MOST_CLASSES]
        classes = [row for name in latencies if name in first for row in latencies[name]]
        short = [row for row in classes if row[0].removesuffix(_UNCHECKED).endswith(_SHORT)]
        shown = [carries, *transactions, rate, *short, busiest, *last]
    what = f"{trace['name']}, block trace: {trace['requests']:,} requests{_merged(summaries[0])}"
    if transactions:
        what = f"{trace['name']}: {trace['transactions']:,} transactions"
    title = f"{f'{of}, ' if of else ''}{what} in {format_ns(trace['span_ns'])}"
    title += f", {format_ns(trace['quiet_ns'])} of it without any" if "quiet_ns" in trace else ""
    title += verdicts.said_load(summaries)
    title += "; requests are those of a run of them" if transactions else ""
    title += "; log sync: from the start of a WAL write to the end of its flush" if "log sync" in latencies else ""
    notes = _notes(summaries, shown)
    left = max(len(rows) - len(shown), 0)
    columns = ["figure", *(summary["name"] for summary in summaries)]
    if measured or transactions:
        columns, shown = terminal.beside_recorded(columns, shown, _recorded(summaries[0], list(latencies), labels))
    terminal.show_table(title, columns, shown, terminal.caption(notes, everything=everything, left=left))
    if any("waits_ns" in summary for summary in summaries):
        show_waits(summaries, everything)


def _merged(summary: dict[str, Any]) -> str:
    """Return how many requests reached the recorded device, where the kernel had merged some: rates and latencies are
    those of these. Nothing at a part of the load, which some of them ran.
    """
    load = summary["replay"].get("load_reached", 1.0)
    reached = summary["commands"] / load
    return (
        "" if load % 1 or reached == summary["trace"]["requests"] else f" ({reached:,.0f} after merges by the kernel)"
    )


def _recorded_figure(known: dict[str, float], key: str) -> str:
    return "too few" if is_of_too_few(key, int(known["count"])) else format_ns(known[key])


def _classes(summaries: list[dict[str, Any]]) -> list[str]:
    return [name for name in terminal.CLASS_ORDER if any(name in summary["latency_ns"] for summary in summaries)]


def _labels(summaries: list[dict[str, Any]]) -> dict[str, str]:
    """Return what statistics are called in the names of rows: percentiles whose error nobody knows say so."""
    known_tails = all("tail" in verdicts.expected_multiples(summary) for summary in summaries)
    unchecked = "" if known_tails else _UNCHECKED
    return {"mean": "mean"} | {key: f"{STATISTICS[key]}{unchecked}" for key in ("p50", "p99", "p999")}


def _rows_of_class(name: str, summaries: list[dict[str, Any]], labels: dict[str, str]) -> list[list[str]]:
    """Return the rows of one class of requests: mean and percentiles."""
    rows = []
    for key, label in labels.items():
        figures = [summary["latency_ns"].get(name, {}).get(key) for summary in summaries]
        rows.append([f"{name}, {label}", *map(terminal.figure_text, figures)])
    if any(summary["verdict"]["calibration"] == "calibrated" for summary in summaries):
        relative = [summary.get("relative_latency_ns", {}).get(name, {}).get("mean") for summary in summaries]
        if any(relative):  # of requests of a server whose statements are calibrated there is none
            rows.insert(1, [f"{name}, relative", *map(terminal.figure_text, relative)])
    return rows


def _recorded(summary: dict[str, Any], classes: list[str], labels: dict[str, str]) -> dict[str, str]:
    """Return what was recorded, by the name of its row."""
    from tiersim.scenarios.tenants.transactions import recorded_per_s

    measured, trace = summary["measured_latency_ns"], summary["trace"]
    found = {
        f"{name}, {label}": _recorded_figure(measured[name], key)
        for name in classes
        for key, label in labels.items()
        if measured.get(name)
    }
    if measured and trace["span_ns"]:
        # rows of the recording that went to the device as one request are one here, too
        commands = summary["commands"] / summary["replay"].get("load_reached", 1.0)
        found["requests/s"] = format_per_s(commands / trace["span_ns"] * NS_PER_S)
    if trace.get("transactions"):
        found["transactions/s"] = format_per_s(recorded_per_s(trace) or 0.0)
    return found


def _notes(summaries: list[dict[str, Any]], rows: list[list[str]]) -> list[str]:
    """Return what everybody who reads the *rows* has to know, the most important first."""
    notes = [
        f"{s['name']}: {s['load']['explanation']}."
        for s in summaries
        if verdicts.load_of(s) != "steady"
        or s["replay"].get("late_sessions")
        or s["load"].keys() & {"burst", "grows_from_ns"}
    ]
    notes += _slowness(summaries)
    if "calibration" in summaries[0]:
        notes.append(verdicts.calibration_note(summaries[0]["calibration"]))
    notes += verdicts.notes(summaries)
    notes += _percentiles(rows)
    notes += verdicts.caveats(summaries)
    notes += [note for summary in summaries for note in _caches_and_tiers(summary)]
    played = summaries[0]["replay"]
    late = any(summary["replay"].get("late_sessions") for summary in summaries)  # whose explanation says it
    if played["mode"] == "partly-open" and "played" not in played and not late:
        notes.append(
            "In a session, the recorded pause between the end of a request and the start of the next is kept. After a"
            " recorded pause of over 100 ms (replay.dependency_window), the next starts at its recorded time."
        )
    if "why" in played:
        notes.append(f"Requests are issued at their recorded times: {played['why']}.")
    return notes


def _percentiles(rows: list[list[str]]) -> list[str]:
    """Say what percentiles are worth that nobody checked, and what stands in place of one value."""
    said = []
    if any(row[0].endswith(_UNCHECKED) for row in rows):
        said.append(verdicts.WHY_UNKNOWN.format(": a guide only", "percentile"))
    if any("–" in cell or ">" in cell for row in rows for cell in row[1:]):
        said.append(
            "A range or a bound (>) in place of one value: slow requests of this run are too few, or too different, for"
            " one. The error of the model is not in it."
        )
    return [" ".join(said)] if said else []


def _slowness(summaries: list[dict[str, Any]]) -> list[str]:
    """Say which requests take much longer than recorded though the load is carried, the slowest of each result."""
    found = []
    for summary in summaries:
        means = {name: figures["mean"]["value"] for name, figures in summary["latency_ns"].items()}
        times = {
            name: mean / recorded["mean"]
            for name, recorded in summary["measured_latency_ns"].items()
            if (mean := means.get(name)) and recorded["mean"]
        }
        slowest = max(times, key=lambda name: times[name], default=None)
        if verdicts.load_of(summary) == "steady" and slowest and times[slowest] > _MUCH_SLOWER:
            found.append(
                f"on {summary['name']}, the mean {slowest} takes {format_times(times[slowest])} times as long as"
                " recorded"
            )
    return [f"Carried, but slow: {'; '.join(found)}."] if found else []


def _caches_and_tiers(summary: dict[str, Any]) -> list[str]:
    """Say what share flash caches and fast tiers take, a sentence for each."""
    notes = []
    for name, station in summary["stations"].items():
        cache, tiers = station.get("cache"), station.get("tiers")
        head = f"{summary['name']}: {name}"
        if cache and cache["read_hit_ratio"] is not None:
            full_ns, since = cache["filled_ns"], cache["read_hit_ratio_since_full"]
            when = "is never full" if full_ns is None else f"is full after {format_ns(full_ns)}"
            then = "" if since is None else f", and answers {100 * since:.0f} % from then on"
            hits = 100 * cache["read_hit_ratio"]
            notes.append(
                f"{head}: the flash cache answers {hits:.0f} % of the bytes read; it starts empty and {when}{then}."
            )
        if tiers and tiers["fast_share"] is not None:
            share, moved = 100 * tiers["fast_share"], format_bytes(tiers["moved_bytes"])
            notes.append(f"{head}: the fast tier serves {share:.0f} % of the bytes; {moved} move between the tiers.")
    return notes


def _against_recorded(summary: dict[str, Any]) -> str:
    return f"{-summary['throughput_shortfall_pct']:+.0f} % requests"
