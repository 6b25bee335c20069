"""``tiersim devices``: the catalogue."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tiersim.cli import fit, terminal
from tiersim.cli.traces import open_trace
from tiersim.units import format_bytes, format_ns

app = typer.Typer(
    help="The catalogue of devices, every number with its source.\n\nExample: tiersim devices list",
    no_args_is_help=True,
)

_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the table.")]


@app.command("list")
def list_devices(json: _Json = False) -> None:
    """List the devices of the catalogue.

    Example: tiersim devices list
    """
    from tiersim.devices.catalogue import load_device, names

    devices = [{"id": name, **_figures(load_device(name))} for name in names()]
    if json:
        terminal.print_json({"schema": "tiersim.devices/1", "devices": devices})
        return
    columns = ["device", "name", "kind", "capacity", "8 KiB random read alone", "random reads/s"]
    rows = [
        [d["id"], d["name"], d["kind"], format_bytes(d["capacity_bytes"]), format_ns(d["random_read_ns"]), f"{d['random_reads_per_s']:,}"]
        for d in devices
    ]  # fmt: skip
    terminal.show_table("catalogue", columns, rows, words=3)


@app.command("show")
def show_device(
    name: Annotated[
        str, typer.Argument(help="A device of the catalogue, a .toml file, or DiskSim's .parv or .diskspecs.")
    ],
    json: _Json = False,
) -> None:
    """Show every number of a device with its source.

    Example: tiersim devices show intel-p3700-800
    """
    from tiersim.devices.catalogue import load_device

    device = load_device(name)
    if json:
        document = {
            "schema": "tiersim.device/1",
            "id": name,
            **_figures(device),
            "parameters": device.model_dump(mode="json"),
        }
        terminal.print_json(document)
        return
    values = device.model_dump(exclude={"sources", "kind", "name", "notes"}, exclude_none=True)
    rows = [[key, device.text_of(key), device.sources[key]] for key in values]
    terminal.show_table(device.name, ["parameter", "value", "source"], rows, device.notes, words=3)


@app.command("import")
def import_device(
    file: Annotated[
        Path, typer.Argument(help="DiskSim's parameters: a .parv or .diskspecs file, the others beside it.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Device file to write (.toml).")],
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it is there.")] = False,
) -> None:
    """Make a device file of the parameters of a drive that was characterised for DiskSim.

    A scenario, and demerit, also take such a file as it is.

    Example: tiersim devices import cheetah9LP.parv -o cheetah9LP.toml
    """
    import tomli_w

    from tiersim.devices.disksim import drive_values, load_drive
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
    json: _Json = False,
) -> None:
    """Score a device against measured response times: replay the trace on it and compare the distributions.

    Example: tiersim devices demerit drive.trace --device seagate-cheetah-15k7-300
    """
    from tiersim.devices.catalogue import load_device
    from tiersim.scenarios.calibration.demerit import score
    from tiersim.scenarios.survey import survey

    model = load_device(device)
    with open_trace(trace) as bundle, terminal.progress_bar("replaying") as progress:
        document = score(survey(bundle), device, model, progress=progress)
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
    rows = [_score_row(name, found) for name, found in (("all", document), *_scored_apart(document))]
    note = f"Demerit: RMS distance of the sorted response times; means of {document['seeds']} runs with other seeds."
    terminal.show_table(f"{document['trace']} on {device}", columns, rows, note)


def _scored_apart(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(f"{key}s", document[key]) for key in ("read", "write") if key in document]


def _score_row(name: str, found: dict[str, Any]) -> list[str]:
    times = [format_ns(found[key] * 1e6) for key in ("measured_mean_ms", "simulated_mean_ms", "demerit_ms")]
    errors = [f"{found[key]:+.1f} %" for key in ("mean_error_pct", "p99_error_pct")]
    return [name, f"{found['requests']:,}", *times, f"{found['demerit_pct_of_mean']:.1f} %", *errors]


def _figures(device: Any) -> dict[str, Any]:
    from tiersim.devices.volume import describe

    return {"name": device.name, "kind": device.kind, "capacity_bytes": device.capacity, **describe(device)}
