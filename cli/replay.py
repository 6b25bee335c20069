"""``tiersim replay``: one trace on several scenarios."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.cli.traces import open_trace
from tiersim.errors import ScenarioError
from tiersim.files import check_target, make_folder
from tiersim.units import format_ns

if TYPE_CHECKING:
    from tiersim.scenarios.model import NamedScenario
    from tiersim.simulator.result import Result
    from tiersim.traces.bundle import Bundle


def replay(
    trace: Annotated[Path, typer.Argument(help="A trace bundle, or any file that can be imported.")],
    on: Annotated[
        list[str], typer.Option("--on", help="A scenario: a .toml file, a ready one, or a catalogue device. Repeat it.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the result bundles.")] = Path(),
    requests: Annotated[bool, typer.Option("--requests", help="Keep the completion of every command, too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the table.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace results that are already there.")] = False,
) -> None:
    """Replay a trace on hardware that was not bought: one result bundle and one column for each scenario.

    Example: tiersim replay prod.trace --on 15k-raid10 --on pcie-flash
    """
    from tiersim.scenarios.model import load_scenario

    scenarios = [load_scenario(name) for name in on]
    _refuse_same_names(scenarios)
    targets = [output / f"{scenario.name}.result" for scenario in scenarios]
    for target in targets:
        check_target(target, force=force)
    with open_trace(trace) as bundle:
        results = run_all(bundle, scenarios, targets, requests=requests, force=force)
    if json:
        terminal.print_json({"schema": results[0].summary["schema"], "scenarios": [r.summary for r in results]})
    else:
        show(results)


def run_all(
    bundle: "Bundle", scenarios: "list[NamedScenario]", targets: list[Path], *, requests: bool, force: bool
) -> "list[Result]":
    """Run every scenario and write its result bundle."""
    from tiersim.scenarios.replay import replay_all
    from tiersim.scenarios.survey import survey
    from tiersim.simulator.result import save_result

    began = time.time()
    workers = min(len(scenarios), os.cpu_count() or 1)
    with terminal.progress_bar("surveying") as progress:
        found = survey(bundle, progress=progress)
    with terminal.progress_bar("replaying") as progress:
        results = replay_all(found, scenarios, workers=workers, keep_requests=requests, progress=progress)
    facts = {"began_unix_s": began, "seconds": time.time() - began, "workers": workers}
    for result, target in zip(results, targets, strict=True):
        make_folder(target.parent)
        save_result(result, target, facts, force=force)
    return results


def _refuse_same_names(scenarios: "list[NamedScenario]") -> None:
    names = [scenario.name for scenario in scenarios]
    for name in names:
        if names.count(name) > 1:
            raise ScenarioError(
                f"two scenarios are called {name!r}, and their results would replace each other; rename one of the files"
            )


def show(results: "list[Result]") -> None:
    """Print the table of latencies, one column for each scenario, the recorded hardware first."""
    summaries = [result.summary for result in results]
    measured = summaries[0]["measured_latency_ns"]
    columns = ["latency", *(["recorded"] if measured else []), *(summary["name"] for summary in summaries)]
    rows = []
    for category in terminal.CLASS_ORDER:
        if not any(category in summary["latency_ns"] for summary in summaries):
            continue
        for key, label in (("mean", "mean"), ("p50", "p50"), ("p99", "p99"), ("p999", "p99.9")):
            row = [f"{category}, {label}"]
            if measured:
                known = measured.get(category)
                row.append(format_ns(known[key]) if known else "")
            row += [terminal.figure_text(s["latency_ns"].get(category, {}).get(key)) for s in summaries]
            rows.append(row)
    blank = [""] if measured else []
    rows.append(["requests/s", *blank, *(f"{s['throughput_per_s']['requests']['value']:,.0f}" for s in summaries)])
    rows.append(["busiest part", *blank, *(_bottleneck(s) for s in summaries)])
    rows.append(["load", *blank, *(s["verdict"]["load"] for s in summaries)])
    trace = summaries[0]["trace"]
    title = f"{trace['name']}: {trace['requests']:,} requests in {format_ns(trace['span_ns'])}"
    notes = [f"{s['name']}: {s['load']['explanation']}" for s in summaries if s["verdict"]["load"] != "steady"]
    if any("–" in cell or ">" in cell for row in rows for cell in row[1:]):
        notes.append("A range or a bound stands where this recording is too short, or too bursty, for one figure.")
    terminal.show_table(title, columns, rows, "\n".join(notes))


def _bottleneck(summary: dict[str, Any]) -> str:
    found = summary["bottleneck"]
    return f"{found['resource']} {100 * found['utilisation']:.0f} %"
