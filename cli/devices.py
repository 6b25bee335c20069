"""``tiersim devices``: the catalogue."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import fit, terminal
from tiersim.cli.import_trace import open_trace
from tiersim.cli.options import Force, Json
from tiersim.units import format_bytes, format_ns

app = typer.Typer(
    help="The catalogue of devices, every number with its source.\n\nExample: tiersim devices list",
    no_args_is_help=True,
)


class _Order(StrEnum):
    """What a list is sorted by."""

    ID = "id"
    CAPACITY = "capacity"
    LATENCY = "latency"
    READS = "reads"
    WRITES = "writes"
    PRICE = "price"
    RELEASED = "released"


_KEYS = {
    _Order.CAPACITY: "capacity_bytes",
    _Order.LATENCY: "random_read_ns",
    _Order.READS: "random_reads_per_s",
    _Order.WRITES: "sustained_random_writes_per_s",
    _Order.PRICE: "price",
    _Order.RELEASED: "released",
}


@app.command("list")
def list_devices(
    kind: Annotated[str | None, typer.Option("--kind", help="Only this kind, such as flash.")] = None,
    interface: Annotated[
        str | None, typer.Option("--interface", help="Only interfaces with this in their name, such as nvme.")
    ] = None,
    at_least_reads: Annotated[
        int, typer.Option("--at-least-reads", min=0, help="Only devices with at least so many random 8 KiB reads/s.")
    ] = 0,
    protected: Annotated[
        bool, typer.Option("--protected", help="Only drives whose write buffer survives a loss of power.")
    ] = False,
    sort: Annotated[
        _Order,
        typer.Option(
            "--sort",
            help=(
                "id, capacity, latency, reads, writes, price or released. Latency and price: lowest first; other"
                " figures: highest first."
            ),
        ),
    ] = _Order.ID,
    json: Json = False,
) -> None:
    """List the devices of the catalogue.

    Example: tiersim devices list --kind flash --interface nvme --protected --sort price
    """
    from tiersim.devices.catalogue import kinds, load_device, names
    from tiersim.errors import ScenarioError, did_you_mean

    if kind is not None and kind not in kinds():
        raise ScenarioError(f"--kind: {kind!r} is not one of {', '.join(kinds())}{did_you_mean(kind, kinds())}")
    known = {name: load_device(name) for name in names()}
    devices = [{"id": name, **figures_of(device)} for name, device in known.items()]
    chosen = [
        device
        for device in devices
        if (kind is None or device["kind"] == kind)
        and (interface is None or interface.lower() in (device["interface"] or "").lower())
        and max(device["random_reads_per_s"] or 0, getattr(known[device["id"]], "most_iops", 0) or 0) >= at_least_reads
        and (device["power_loss_protection"] is True or not protected)
    ]
    _sort(chosen, sort)
    if json:
        terminal.print_json({"schema": "tiersim.devices/1", "devices": chosen})
        return
    # a line has room for one figure beside the rate, in a terminal of 100 characters
    figure = {_Order.WRITES: "writes/s", _Order.PRICE: "price", _Order.RELEASED: "released"}.get(sort, "8 KiB read")
    columns = ["device", "kind", "interface", "capacity", figure, "reads/s"]
    rows = []
    for d in chosen:
        interface = (d["interface"] or "").replace("NVMe PCIe", "NVMe")
        size, reads = format_bytes(d["capacity_bytes"]), _count(d["random_reads_per_s"])
        rows.append([d["id"], d["kind"], interface, size, _figure(d, sort), reads])
    note = f"{len(chosen)} of {len(devices)}; random 8 KiB requests: one alone, and as many as the parts allow"
    more = [f"{d['id']} {most:,}" for d in chosen
            if (most := getattr(known[d["id"]], "most_iops", None) or 0) > (d["random_reads_per_s"] or 0)]  # fmt: skip
    if more:
        note += f"\nIOPS to order: {', '.join(more)}"
    terminal.show_table("catalogue", columns, rows, note, words=3)


@app.command("show")
def show_device(
    name: Annotated[
        str, typer.Argument(help="A device of the catalogue, a .toml file, or DiskSim's .parv or .diskspecs.")
    ],
    load: Annotated[
        bool, typer.Option("--load", help="Simulate it alone: latency of random 8 KiB requests against load.")
    ] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw it on a page (.html).")] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Show every number of a device with its source, and how it behaves under load.

    Example: tiersim devices show intel-p3700-800 --load --plot p3700.html
    """
    from tiersim.devices.catalogue import load_device
    from tiersim.errors import ScenarioError
    from tiersim.files import check_target, whole_file

    if plot is not None:
        if plot.suffix != ".html":
            raise ScenarioError(f"{plot}: a plot is a page; choose a name that ends in .html")
        check_target(plot, force=force)
    device = load_device(name)
    curves = _curves(device) if load or plot is not None else []
    if plot is not None:
        from tiersim.cli.page.load_figures import build_load_page

        with whole_file(plot, force=force) as place:
            place.write_text(build_load_page(curves, device.name), encoding="utf-8")
    if json:
        document = {
            "schema": "tiersim.device/1",
            "id": name,
            **figures_of(device),
            "parameters": device.model_dump(mode="json"),
        }
        if load:
            document["load"] = [asdict(curve) for curve in curves]
        terminal.print_json(document)
        return
    values = device.model_dump(exclude={"sources", "kind", "name", "notes"}, exclude_none=True)
    texts = {key: device.text_of(key) for key in values}
    rows = [[key, text, device.sources.get(key, "default")] for key, text in texts.items() if text]
    terminal.show_table(device.name, ["parameter", "value", "source"], rows, device.notes, words=3)
    if load:
        _show_load(curves)


@app.command("schema")
def show_schema(
    kind: Annotated[
        str,
        typer.Argument(
            help="Kind of device: flash, hdd, measured-hdd, token-bucket, cloud-volume; or scenario, workload, result."
        ),
    ],
) -> None:
    """Print a JSON schema: of device files of one kind, of scenarios, of workloads, or of the summary of a result.

    Editors can check and complete such files with it.

    Example: tiersim devices schema flash
    """
    from pydantic import BaseModel

    from tiersim.devices.catalogue import schema
    from tiersim.scenarios.model import Scenario
    from tiersim.scenarios.workloads.model import Workload
    from tiersim.simulator.summary_model import Summary

    written: dict[str, type[BaseModel]] = {"scenario": Scenario, "workload": Workload, "result": Summary}
    terminal.print_json(written[kind].model_json_schema() if kind in written else schema(kind))


@app.command("import")
def import_device(
    file: Annotated[
        Path,
        typer.Argument(help="DiskSim's parameters: a .parv or .diskspecs file. The files that it names lie beside it."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Device file to write (.toml).")],
    force: Force = False,
) -> None:
    """Convert DiskSim's parameters of a drive into a device file.

    Scenarios and tiersim devices demerit read DiskSim's files, too.

    Example: tiersim devices import cheetah9LP.parv -o cheetah9LP.toml
    """
    import tomli_w

    from tiersim.devices.hdd.disksim import drive_values, load_drive
    from tiersim.files import check_target, whole_file

    check_target(output, force=force)
    drive = load_drive(file)
    with whole_file(output, force=force) as place:
        place.write_text(tomli_w.dumps(drive_values(file)), encoding="utf-8")
    runs = sum(len(zone.runs) for zone in drive.zones)
    terminal.notice(
        f"{output}: {drive.name}, {format_bytes(drive.capacity)}, {len(drive.zones)} zones, {runs:,} runs of sectors, "
        f"a seek curve of {len(drive.seek_curve)} points"
    )


app.command("fit")(fit.fit)


@app.command("demerit")
def demerit(
    trace: Annotated[Path, typer.Argument(help="A trace with measured latencies: a bundle, or a file to import.")],
    device: Annotated[
        str, typer.Option("--device", help="A device of the catalogue, a .toml file, or DiskSim's .parv or .diskspecs.")
    ],
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Number of runs. Each begins with another angle of the platters.")
    ] = 10,
    requests: Annotated[
        Path | None,
        typer.Option("--requests", help="Write each request's measured and simulated time to this file (.csv)."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Score a device against measured response times: replay the trace on it and compare the distributions.

    Example: tiersim devices demerit drive.trace --device seagate-cheetah-15k7-300 --seeds 3 --requests drive.csv
    """
    from tiersim.devices.catalogue import load_device
    from tiersim.files import check_target, whole_file
    from tiersim.scenarios.calibration.demerit import request_lines, respond, summary
    from tiersim.scenarios.survey import survey

    if requests is not None:
        check_target(requests, force=force)
    model = load_device(device)
    with open_trace(trace) as bundle, terminal.progress_bar("replaying") as progress:
        responses = respond(survey(bundle), device, model, seeds=seeds, progress=progress)
    document = summary(responses, device)
    if requests is not None:
        with whole_file(requests, force=force) as place, place.open("w", encoding="utf-8") as lines:
            lines.writelines(request_lines(responses))
    if json:
        terminal.print_json(document)
        return
    columns = [
        "requests",
        "count",
        "measured mean",
        "simulated mean",
        "demerit",
        "of the mean",
        "mean off by",
        "p99 off by",
    ]
    apart = [(f"{key}s", document[key]) for key in ("read", "write") if key in document]
    rows = [_score_row(name, found) for name, found in (("all", document), *apart)]
    note = f"Demerit: RMS distance of the sorted response times; means of {document['seeds']} runs with other seeds."
    terminal.show_table(f"{document['trace']} on {device}", columns, rows, note)


def _score_row(name: str, found: dict[str, Any]) -> list[str]:
    times = [format_ns(found[key] * 1e6) for key in ("measured_mean_ms", "simulated_mean_ms", "demerit_ms")]
    errors = [f"{found[key]:+.1f} %" for key in ("mean_error_pct", "p99_error_pct")]
    return [name, f"{found['requests']:,}", *times, f"{found['demerit_pct_of_mean']:.1f} %", *errors]


def figures_of(device: Any) -> dict[str, Any]:
    """Return what a list of devices shows of one."""
    sold = ("interface", "enclosure", "released", "price", "price_date", "power_loss_protection")
    known = {key: getattr(device, key, None) for key in sold}
    return {"name": device.name, "kind": device.kind, "capacity_bytes": device.capacity, **known, **device.describe()}


def _sort(devices: list[dict[str, Any]], order: _Order) -> None:
    """Sort by name, or by a figure, those that lack it last."""
    if order is _Order.ID:
        return
    key = _KEYS[order]
    sign = 1 if order in (_Order.LATENCY, _Order.PRICE) else -1
    devices.sort(key=lambda device: (device.get(key) is None, sign * (device.get(key) or 0)))


def _figure(device: dict[str, Any], order: _Order) -> str:
    """What a list shows beside the rate: what it is sorted by, or the time of a read."""
    if order is _Order.WRITES:
        return _count(device.get("sustained_random_writes_per_s"))
    if order is _Order.PRICE:
        return "" if device["price"] is None else f"{device['price']:,.0f} USD"
    if order is _Order.RELEASED:
        return str(device["released"] or "")
    return format_ns(device["random_read_ns"])


def _count(number: float | None) -> str:
    return "" if number is None else f"{number:,}"


def _curves(device: Any) -> list[Any]:
    from tiersim.scenarios.load_curve import MIXES, load_curve

    with terminal.progress_bar("simulating") as progress:
        return [load_curve(device, share, progress) for share in MIXES]


def _show_load(curves: list[Any]) -> None:
    from tiersim.scenarios.load_curve import title

    for curve in curves:
        names = ("read", "write") if curve.points[0].writes else ("read",)
        columns = ["load", "requests/s", *(f"{name} {what}" for name in names for what in ("mean", "p50", "p99"))]
        rows = []
        for point in curve.points:
            sides = [side for side in (point.reads, point.writes) if side is not None]
            times = [format_ns(ns) for side in sides for ns in (side.mean_ns, side.p50_ns, side.p99_ns)]
            rows.append([f"{point.load:.0%}", f"{point.per_s:,.0f}", *times])
        note = (
            f"Poisson arrivals; the load is of {curve.saturated_per_s:,.0f} a second, the highest rate that it keeps up"
            " with."
        )
        terminal.show_table(title(curve.read_share), columns, rows, note)
