"""``tiersim explain``: why a latency is what it is."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import terminal, verdicts
from tiersim.cli.options import Json
from tiersim.cli.tenants import mean_text, note_of_parts
from tiersim.simulator.categories import WAIT_NAMES
from tiersim.units import format_ns, format_times

#: A wait for a core that is a smaller share of the time there is not said.
_LEAST_WAIT = 0.1
#: So many assumed parameters are named.
_MOST_ASSUMED = 4


def explain(
    result: Annotated[Path, typer.Argument(help="A result bundle, as replay writes it.")],
    query: Annotated[
        str | None,
        typer.Option(
            help="Explain one query (its id, as replay --all prints it), or commit. Default: transactions, or requests."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Explain a latency: where its time goes, what bounds it, what would shorten it, and what to measure.

    Every sentence is computed from the figures of the result.

    Example: tiersim explain pcie-flash.result --query 7123
    """
    from tiersim.cli.explanation import explanation
    from tiersim.simulator.result import load_result

    document = explanation(load_result(result).summary, query)
    if json:
        terminal.print_json(document)
        return
    _show(document)


def _show(document: dict[str, Any]) -> None:
    from tiersim.cli.statements import range_of_tail

    mean = terminal.figure_text(document["latency_ns"].get("mean"))
    p99 = range_of_tail(document["p99_interval_ns"]) or terminal.figure_text(document["latency_ns"].get("p99"))
    if document["p99_error_unknown"] and (document["latency_ns"].get("p99") or {}).get("low") is not None:
        p99 += f" ({verdicts.ERROR_UNKNOWN})"
    text = terminal.one_line(document["text"] or "", 100)
    print(f"{document['of']} on {document['name']}: mean {mean or 'not known'}, p99 {p99 or 'not known'}")
    if text:
        print(text)
    if document["parts"]:
        rows = [[WAIT_NAMES[part["part"]], format_ns(part["ns"]), f"{part['share']:.1%}"] for part in document["parts"]]
        terminal.show_table("where the mean goes", ["part", "time", "share"], rows)
    else:
        print(f"Where the time goes: {document['no_parts']}.")
    _show_cores(document)
    if document["expected_error"]:
        print(document["expected_error"])
    if document["reads"] is not None:
        print(_reads(document["reads"]))
    if document["tenants"] is not None:
        _show_tenants(document["tenants"])
    _show_stations(document)
    print(bound_text(document["bound"]))
    _show_changes(document["changes"])
    if document["measurement"] is not None:
        _show_measurement(document["measurement"], document["verdict"]["calibration"])


def _show_cores(document: dict[str, Any]) -> None:
    cores = document["cores"]
    if cores is None or cores["waiting_ns"] <= _LEAST_WAIT * cores["time_ns"]:
        return
    waiting, running = (format_ns(ns) for ns in (cores["waiting_ns"], cores["time_ns"] - cores["waiting_ns"]))
    queries = next((format_ns(one["ns"]) for one in document["parts"] if one["part"] == "cpu queue"), "none")
    print(
        f"Cores: a transaction runs on them for {running} and waits for one for {waiting} (Little's law), {queries}"
        " of it in queries (the row 'waiting for a core'), the rest in the rows of the client, reads and the WAL."
    )


def _show_stations(document: dict[str, Any]) -> None:
    from tiersim.simulator.verdict import part_name

    if document["stations"]:
        rows = [
            [
                part_name(one["station"], one["resource"]),
                f"{one['utilisation']:.1%}",
                "" if one["queue_mean"] is None else format_times(one["queue_mean"]),
                "" if one["time_there_ns"] is None else format_ns(one["time_there_ns"]),
                "" if one["waiting_share"] is None else f"{one['waiting_share']:.0%}",
            ]
            for one in document["stations"]
        ]
        columns = ["part", "busy", "mean requests there", "time of each request", "of it waiting"]
        terminal.show_table("busiest parts", columns, rows)
    if document["written_back"]:
        print(
            "Requests of a drive include what the write cache of the controller writes back. Nobody waits for that, so"
            " a read can take less than the mean request there."
        )


def _show_changes(changes: list[dict[str, Any]]) -> None:
    rows = []
    for change in changes:
        best = "" if change["mean_at_best_ns"] is None else format_ns(change["mean_at_best_ns"])
        full = " (after that, the CPU is the limit)" if change["then_full"] else ""
        rows.append([change["change"], best, f"{change['at_most_share']:.0%}{full}"])
    if rows:
        terminal.show_table("what would shorten the mean, at best", ["change", "mean then", "saves"], rows)


def _show_measurement(measurement: dict[str, Any], calibration: str) -> None:
    print(f"Calibration: {calibration}. What to measure first: {measurement['what']}. Reason: {measurement['why']}.")
    off, assumed = measurement["furthest_off"], measurement["assumed_parameters"]
    if off is None:
        print(f"Then {measurement['and_then']}.")
    if assumed:
        more = f" and {len(assumed) - _MOST_ASSUMED} more" if len(assumed) > _MOST_ASSUMED else ""
        print(
            f"{len(assumed)} parameters of the busiest volume are assumed or fitted:"
            f" {'; '.join(assumed[:_MOST_ASSUMED])}{more}."
        )
    if off is not None:
        print(
            f"On the model of the recorded hardware the mean of {off['class']} is furthest off:"
            f" {off['error_pct']:+.0f} %."
        )


def _show_tenants(tenants: dict[str, Any]) -> None:
    """Print whom the requests of a tenant wait for, and who of the others slows it most."""
    own = tenants["tenant"]
    together, alone = mean_text(tenants["mean_latency_ns"]), mean_text(tenants["alone_ns"])
    print(f"Mean latency of all requests of {own}: {together} together, {alone} alone.")
    if tenants["waits"]:
        rows = [
            [
                "its own requests" if one["behind"] == own else one["behind"],
                one["at"],
                format_ns(one["per_request_ns"]),
                format_ns(one["total_ns"]),
            ]
            for one in tenants["waits"]
        ]
        note = note_of_parts(one["at"] for one in tenants["waits"])
        terminal.show_table("waiting time", ["behind", "wait at", "per request", "all requests"], rows, note, words=2)
    without = [
        f"{one['tenant']} {mean_text(one['mean_latency_ns'])}"
        + ("" if one["saves_share"] is None else f" ({verdicts.percent(-100 * one['saves_share'])})")
        for one in tenants["without"]
    ]
    if without:
        print(f"Mean without each other tenant, the one that slows it most first: {', '.join(without)}.")


def _reads(reads: dict[str, Any]) -> str:
    said = []
    if reads["per_call"] is not None:
        said.append(f"{format_times(reads['per_call'])} pages are read a call")
    if reads["mean_ns"] is not None:
        said.append(f"a read takes {format_ns(reads['mean_ns'])} on average")
    if reads["pool_hit_ratio"] is not None:
        said.append(f"pool hit ratio {reads['pool_hit_ratio']:.2%}")
    return f"Reads: {', '.join(said) or 'nothing more is known'}."


def bound_text(bound: dict[str, Any] | None) -> str:
    """Say what bounds a scenario, of the entry ``bound`` of an explanation."""

    from tiersim.simulator.verdict import explain_burst, part_name

    if bound is None:
        return "Bottleneck: none; no part is busy."
    part = part_name(bound["station"], bound["resource"])
    when = " in the whole run" if bound["burst"] else ""
    said = f"Bottleneck: {part}" if bound["is_short"] else f"No part is short of capacity{when}. Busiest: {part}"
    busy = "" if bound["utilisation"] is None else f", {bound['utilisation']:.0%} of the time"
    carried = "It is full at" if bound["basis"].startswith("utilisation law") else "The hardware carries at most"
    peak = bound.get("peak")
    if peak and 1 / peak["utilisation"] >= bound["ceiling"]:
        peak = None
    of_mean = " by its mean" if peak else ""
    ceiling = f"{carried} {format_times(bound['ceiling'])} × the load of this run{of_mean} ({bound['basis']})"
    if peak:
        ceiling += (
            f", but in the busiest {format_ns(peak['until_ns'] - peak['from_ns'])}, from {format_ns(peak['from_ns'])}"
            f" on, {part_name(peak['station'], peak['resource'])} is {peak['utilisation']:.0%} busy: full at"
            f" {format_times(1 / peak['utilisation'])} × the load"
        )
    if bound["burst"]:  # which fills the part at this load
        ceiling = explain_burst(bound["burst"])
    return f"{'; '.join([f'{said}{busy}. {ceiling}', *bound['credits']])}."


def change_text(change: dict[str, Any]) -> str:
    """Say what a change would do, of an entry of ``changes``."""
    best = "" if change["mean_at_best_ns"] is None else f", to no less than {format_ns(change['mean_at_best_ns'])}"
    return f"{change['change']}: shortens the mean by at most {change['at_most_share']:.0%}{best}: {change['why']}."
