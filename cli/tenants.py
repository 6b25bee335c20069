"""Replays of several recordings that share hardware, and their tables."""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiersim.cli import terminal, verdicts
from tiersim.cli.import_trace import open_trace
from tiersim.cli.verdicts import notes_of_rows, percent
from tiersim.errors import ScenarioError
from tiersim.files import check_target, make_folder
from tiersim.units import format_ns, format_per_s

if TYPE_CHECKING:
    from tiersim.scenarios.hardware import NamedScenario
    from tiersim.scenarios.sweeps.axes import Axis
    from tiersim.scenarios.tenants.shared_runs import Recordings, TenantResults
    from tiersim.simulator.result import Result


#: Of more tenants a short output has one table for all.
MOST_TABLES = 2
_ALONE = ".alone"


def replay_tenants(
    path: Path, scenarios: "Sequence[NamedScenario]", output: Path, *, force: bool
) -> "dict[str, list[Result]]":
    """Run the tenants of the file at *path* on every scenario; write two result bundles for each tenant, alone and
    together with the others; returns them by tenant.
    """
    from tempfile import TemporaryDirectory

    from tiersim.scenarios.tenants.model import read_tenants
    from tiersim.scenarios.tenants.shared_runs import run_tenants
    from tiersim.simulator.result import save_result

    model = read_tenants(path)
    targets = {
        (scenario.name, name, kind): output / f"{scenario.name}.{name}{kind}.result"
        for scenario in scenarios
        for name in model.tenants
        for kind in ("", ".alone")
    }
    for target in targets.values():
        check_target(target, force=force)
    began = time.time()
    workers = os.cpu_count() or 1
    with ExitStack() as stack:
        recordings = open_recordings(path, stack, Path(stack.enter_context(TemporaryDirectory(prefix="tiersim-"))))
        found: dict[str, list[TenantResults]] = {}
        for scenario in scenarios:
            with terminal.progress_bar(f"replaying on {scenario.name}") as progress:
                found[scenario.name] = run_tenants(recordings, scenario, workers=workers, progress=progress)
    facts = {"began_unix_s": began, "seconds": time.time() - began, "workers": workers}
    results: dict[str, list[Result]] = {name: [] for name in model.tenants}
    for name in model.tenants:
        for scenario in scenarios:
            shared = next(one for one in found[scenario.name] if one.name == name)
            for kind, result in ((".alone", shared.alone), ("", shared.together)):
                if kind and shared.alone is shared.together:  # there is one tenant
                    continue
                target = targets[scenario.name, name, kind]
                make_folder(target.parent)
                save_result(result, target, facts, force=force)
                results[name].append(result)
    return results


def sweep_tenants(path: Path, on: str, axes: "Sequence[Axis]", workers: int, *, json: bool) -> None:
    """Run the tenants of the file at *path* together, once for each combination of values; print what each gets."""
    from tempfile import TemporaryDirectory

    from tiersim.scenarios.tenants.variants import sweep_document

    with ExitStack() as stack:
        recordings = open_recordings(path, stack, Path(stack.enter_context(TemporaryDirectory(prefix="tiersim-"))))
        with terminal.progress_bar("running points") as progress:
            document = sweep_document(recordings, on, axes, workers=workers, progress=progress)
    if json:
        terminal.print_json(document)
    else:
        _show_sweep(document)


def _show_sweep(document: dict[str, Any]) -> None:
    """Print the mean latency of each tenant, its requests a second, and its worst minute over shifts, where they were
    searched, for each combination.
    """
    keys, names, rows = document["keys"], document["tenants"], document["rows"]
    columns = [key.removeprefix("tenants.") for key in keys]
    settings = [[row["settings"].get(key, "as the file says") for key in keys] for row in rows]
    first = rows[0]["tenants"]
    latencies, rates, minutes = [], [], []
    for said, row in zip(settings, rows, strict=True):
        own = row["tenants"]
        means_ns = {name: own[name]["mean_latency_ns"] for name in names}
        changes = {name: _change(means_ns[name], first[name]["mean_latency_ns"]) for name in names}
        behind = ", ".join(name for name in names if own[name]["load"] != "steady")
        cells = [mean_text(means_ns[name]) + (changes[name] if row is not rows[0] else "") for name in names]
        latencies.append([*said, *cells, behind])
        rates.append([*said, *(format_per_s(own[name]["throughput_per_s"]["requests"]["value"]) for name in names)])
        worst = [own[name]["worst_minute"]["worst"] for name in names if "worst_minute" in own[name]]
        cells = [f"{format_ns(one['mean_latency_ns'])}, {_beginnings(one['shifts_ns'])}" for one in worst]
        minutes.append([*said, *cells])
    title = f"{document['scenario']}: all tenants together"
    results = [(name, row["tenants"][name]) for row in rows for name in names]
    notes = [
        "In brackets: against the first row. Falls behind: who is served less than it asks for.",
        *dict.fromkeys(note for name, own in results for note in _notes_of_overlap(name, own["overlap"])),
        *notes_of_rows(own for _, own in results),
        *(f"Not modelled: {text}." for text in document["not_modelled"]),
    ]
    terminal.show_table(f"{title}: mean latency of a request", [*columns, *names, "falls behind"], latencies,
                        "\n".join(notes), words=len(columns))  # fmt: skip
    terminal.show_table(f"{title}: requests/s", [*columns, *names], rates, words=len(columns))
    searched = [own["worst_minute"] for _, own in results if "worst_minute" in own]
    if searched:
        title = f"{document['scenario']}: the worst minute if clocks shift"
        terminal.show_table(title, [*columns, *names], minutes, _note_of_minutes(searched), words=len(columns))


def open_recordings(path: Path, stack: ExitStack, folder: Path) -> "Recordings":
    """Open what the tenants file at *path* names, and keep it open as long as the *stack*; requests of servers of which
    none were recorded are derived in *folder*. Raises ScenarioError.
    """
    from tiersim.scenarios.tenants.model import read_tenants
    from tiersim.scenarios.tenants.shared_runs import Recordings

    model, bundles = read_tenants(path), {}
    for name, tenant in model.tenants.items():
        recording = path.parent / tenant.recording
        if not recording.exists():
            raise ScenarioError(f"{path}: tenants.{name}.recording: {recording} is not there; check the name")
        bundles[name] = stack.enter_context(open_trace(recording))
    with terminal.progress_bar("surveying"):
        return Recordings(path, model, bundles, folder)


def show_tenants_together(by_tenant: dict[str, list[dict[str, Any]]]) -> None:
    """Print for each scenario one table of all tenants: alone, and beside the others."""
    tables: dict[str, list[list[str]]] = {}
    for name, summaries in by_tenant.items():
        apart = {summary["name"]: summary for summary in summaries}
        for full, together in apart.items():
            alone = apart.get(f"{full}{_ALONE}")
            if alone is not None:
                tables.setdefault(full.removesuffix(f".{name}"), []).append(_side_by_side(name, alone, together))
    # without names: errors are listed once and not for each tenant
    errors = verdicts.notes([{**one, "name": ""} for summaries in by_tenant.values() for one in summaries])
    columns = [
        "tenant", "carried alone", "carried together", "rate of", "alone, /s", "together, /s", "mean of", "alone",
        "together",
    ]  # fmt: skip
    for place, (scenario, rows) in enumerate(tables.items(), 1):
        shown = errors if place == len(tables) else []
        left = len(by_tenant) if shown else 0
        note = terminal.caption(shown, everything=not shown, left=left, what="table")
        terminal.show_table(f"{scenario}: {len(rows)} tenants alone and together", columns, rows, note)


def _side_by_side(tenant: str, alone: dict[str, Any], together: dict[str, Any]) -> list[str]:
    """Return whether its load is carried, its rate, and a mean: of transactions, data reads, or its first class."""
    both = (alone, together)
    counted = "transactions" if all(one["throughput_per_s"].get("transactions") for one in both) else "requests"
    rates = [one["throughput_per_s"][counted] for one in both]
    known = (what for what in ("transaction", "data read") if all(one["latency_ns"].get(what) for one in both))
    what = next(known, next(iter(together["latency_ns"]), ""))
    means = [terminal.figure_text((one["latency_ns"].get(what) or {}).get("mean")) for one in both]
    shown = [format_per_s(rate["value"]) for rate in rates]
    return [tenant, *map(verdicts.carries, both), counted, *shown, what, *means]


def show_sharing(summaries: Sequence[dict[str, Any]], everything: bool) -> None:
    """Print who slows whom, and who waits for whom, of the *summaries* that are of tenants beside others."""
    shared = [summary for summary in summaries if "shared" in summary]
    by_scenario: dict[str, list[dict[str, Any]]] = {}
    for summary in shared:
        by_scenario.setdefault(summary["name"].removesuffix(f".{summary['shared']['tenant']}"), []).append(summary)
    for scenario, own in by_scenario.items():
        names = [summary["shared"]["tenant"] for summary in own]
        columns = ["tenant", "alone", "together", *(f"without {name}" for name in names)]
        rows = [_means(summary["shared"], names) for summary in own]
        terminal.show_table(f"{scenario}: mean latency of a request", columns, rows, _notes(own, everything))
        _show_worst_minutes(scenario, own)
        waits = [row for summary in own for row in _waits(summary, names, everything)]
        if waits:
            columns = ["requests of", "wait at", *(f"behind {name}" for name in names), "behind background work"]
            note = note_of_parts(row[1] for row in waits)
            terminal.show_table(f"{scenario}: waiting time, per request", columns, waits, note, words=2)


def _show_worst_minutes(scenario: str, summaries: Sequence[dict[str, Any]]) -> None:
    """Print the worst minute of each tenant over shifts, where they were searched."""
    found = {
        one["shared"]["tenant"]: one["shared"]["worst_minute"] for one in summaries if "worst_minute" in one["shared"]
    }
    if not found:
        return
    rows = [
        [
            name,
            *(format_ns(one[key]["mean_latency_ns"]) for key in ("alone", "aligned", "worst")),
            f"from {format_ns(max(one['worst']['start_ns'], 0))}",
            _beginnings(one["worst"]["shifts_ns"]),
            one["worst"]["place"] or "",
        ]
        for name, one in found.items()
    ]
    columns = ["tenant", "alone", "as aligned", "worst", "of its time", "begins", "where demands add up"]
    note = _note_of_minutes(list(found.values()))
    terminal.show_table(f"{scenario}: the worst minute if clocks shift", columns, rows, note, words=2)


def _note_of_minutes(minutes: Sequence[dict[str, Any]]) -> str:
    """Say what worst minutes are, and how many ways to begin were tried to find them."""
    any_of, tried = minutes[0], [one["simulated"] for one in minutes]
    counts = f"{min(tried)}" if min(tried) == max(tried) else f"{min(tried)} to {max(tried)}"
    return (
        f"Mean latency in the worst {format_ns(any_of['minute_ns'])} of each, or in all the time after the last"
        f" recording is over. Each may begin up to {format_ns(any_of['within_ns'])} sooner or later."
        f" Simulated: the ways to begin at which most is asked for ({counts}). A worse one may exist."
    )


def _beginnings(shifts_ns: dict[str, int]) -> str:
    """Say who begins when, against the one that begins soonest of all shifts."""
    if not any(shifts_ns.values()):
        return "as aligned"
    moved = [f"{name} {'+' if shift > 0 else '-'}{format_ns(abs(shift))}" for name, shift in shifts_ns.items() if shift]
    return ", ".join(moved)


def _means(shared: dict[str, Any], names: Sequence[str]) -> list[str]:
    alone, together = shared["alone"]["mean_latency_ns"], shared["mean_latency_ns"]
    cells = [
        ""
        if name == shared["tenant"]
        else mean_text(shared["without"][name]) + _change(shared["without"][name], together)
        for name in names
    ]
    return [shared["tenant"], mean_text(alone), mean_text(together) + _change(together, alone), *cells]


def mean_text(mean_ns: float | None) -> str:
    """Write the mean latency of a tenant, which has none where it is saturated."""
    return "saturated" if mean_ns is None else format_ns(mean_ns)


def _change(value: float | None, base: float | None) -> str:
    """Return in brackets how far *value* is from *base*; nothing where one of them is of a saturated tenant."""
    if value is None or base is None:
        return ""
    if not base:
        return " (?)"
    return f" ({percent(100 * (value / base - 1)) if value < 10 * base else f'× {value / base:,.0f}'})"


def _note_of_share(shared: dict[str, Any]) -> str:
    """Say what a tenant has a right to, and how often its minimum was what it got."""
    share = shared["share"]
    text = f"{shared['tenant']}: share {share['share']}"
    if share["minimum"] is None:
        return f"{text}."
    part = 100 * share["by_minimum"] / max(share["requests"], 1)
    return f"{text}, minimum {share['minimum']:,} requests/s, which let {part:.0f} % of its requests through."


#: Ends the name of all members of a volume.
_MEMBERS = ".*"
#: Stations of a short table, those that a tenant waits at most.
_MOST_STATIONS = 2


def _waits(summary: dict[str, Any], names: Sequence[str], everything: bool) -> list[list[str]]:
    """Return where requests of one tenant wait and behind whose, the longest first."""
    shared = summary["shared"]
    return _rows_of_waits(shared["tenant"], shared["waits_ns"], summary["commands"], names, everything)


def show_waits(summaries: Sequence[dict[str, Any]], everything: bool) -> None:
    """Print which class of requests waits behind which, of those *summaries* that say so."""
    for summary in summaries:
        waits = summary.get("waits_ns", {})
        if waits:
            names = [name for name in terminal.CLASS_ORDER if name in waits]
            rows = [
                row
                for name in names
                for row in _rows_of_waits(name, waits[name], summary["latency_ns"][name]["count"], names, everything)
            ]
            columns = ["class", "waits at", *(f"behind {name}" for name in names), "behind others"]
            note = note_of_parts(row[1] for row in rows)
            terminal.show_table(f"{summary['name']}: waiting time, per request", columns, rows, note, words=2)


def _rows_of_waits(
    owner: str, waits_ns: dict[str, dict[str, float]], requests: int, names: Sequence[str], everything: bool
) -> list[list[str]]:
    """Return a row for each place at which requests wait, stations of one volume together, the longest first."""
    by_place: dict[str, dict[str, float]] = {}
    for station, behind in waits_ns.items():
        found = by_place.setdefault(volume_of(station), {})
        for other, wait_ns in behind.items():
            found[other] = found.get(other, 0.0) + wait_ns
    longest = sorted(by_place, key=lambda place: -sum(by_place[place].values()))
    rows = []
    for place in longest if everything else longest[:_MOST_STATIONS]:
        each = {other: wait_ns / max(requests, 1) for other, wait_ns in by_place[place].items()}
        rest = sum(wait_ns for other, wait_ns in each.items() if other not in names)
        rows.append([owner, place, *(format_ns(each.get(name, 0.0)) for name in names), format_ns(rest)])
    return rows


def note_of_parts(places: Iterable[str]) -> str:
    """Say what waits at members of an array are, if any of *places* is one."""
    if not any(place.endswith(_MEMBERS) for place in places):
        return ""
    return (
        "Parts of a request wait at several drives at a time, and each counts: together they may wait longer than the"
        " request takes."
    )


def volume_of(station: str) -> str:
    """Return what members of one volume have in common: ``data.3`` is one of ``data.*``."""
    head, dot, number = station.rpartition(".")
    return f"{head}{_MEMBERS}" if dot and number.isdigit() else station


def _notes_of_overlap(tenant: str, overlap: dict[str, float]) -> list[str]:
    """Say whose times a tenant's hardly are."""
    from tiersim.scenarios.tenants.shared_runs import seldom_there

    return [f"{tenant}: {clause}." for clause in seldom_there(overlap)]


def _notes(summaries: Sequence[dict[str, Any]], everything: bool) -> str:
    """Say what the numbers of *without* are, whose times fall apart, and what is not modelled."""
    notes = ["In brackets: together against alone, and without a tenant against together."]
    for summary in summaries:
        notes += _notes_of_overlap(summary["shared"]["tenant"], summary["shared"]["overlap"])
    for summary in summaries:
        rates = summary["shared"].get("transactions_per_s")
        if rates is not None and rates["alone"] is not None:
            notes.append(
                f"{summary['shared']['tenant']}: {format_per_s(rates['alone'])} transactions/s alone, about"
                f" {format_per_s(rates['together'])} together ({rates['basis']})."
            )
    notes += [_note_of_share(summary["shared"]) for summary in summaries if "share" in summary["shared"]]
    missing = dict.fromkeys(text for summary in summaries for text in summary["shared"]["not_modelled"])
    notes += [f"Not modelled: {text}." for text in missing]
    return terminal.caption(notes, everything=everything)
