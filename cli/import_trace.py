"""``tiersim import``: recorded files become a trace bundle; and what other commands take for a trace."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiersim.cli import terminal
from tiersim.cli.options import Force, Json
from tiersim.cli.terminal import compile_if_cold
from tiersim.errors import ScenarioError, TraceError
from tiersim.files import check_target
from tiersim.units import format_ns

if TYPE_CHECKING:
    from tiersim.scenarios.hardware import NamedScenario
    from tiersim.scenarios.sizing.subject import SizingSubject
    from tiersim.traces.bundle import Bundle, Manifest


def import_trace(
    files: Annotated[
        list[Path],
        typer.Argument(
            help=(
                "Recorded files of one recording, or folders of them. For blktrace, name one file of each"
                " device (sdb.blktrace.0); the files of the other CPUs are found beside it. Texts may be compressed"
                " (gzip, bzip2, xz, Zstandard)."
            )
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The bundle, NAME.trace.")],
    format: Annotated[str | None, typer.Option("--format", help="Force a format instead of detecting it.")] = None,
    keep_literals: Annotated[
        bool,
        typer.Option(
            "--keep-literals",
            help="Keep the literals in query texts, which can be customers' data. Default: ? replaces them.",
        ),
    ] = False,
    json: Json = False,
    force: Force = False,
) -> None:
    r"""Import recorded files into a trace bundle. Prints what was found, dropped and inferred.

    PostgreSQL: statistics views (CSV, JSON, psql text), server log, pgbench logs.

    SQL Server: trace files (.trc, XML, tables), Extended Events (.xel, XML), views as CSV, perfmon logs.

    MySQL, MariaDB: tables (mysql -B, -t, \G, CSV, JSON), slow log.

    Block requests: blktrace, fio iologs, blkreplay, Windows disk usage (ETW), vSCSI, DiskSim, MQSim, published CSV
    traces (MSR Cambridge, SYSTOR '17, Alibaba, Tencent, SPC), Arrow and Parquet tables.

    Others: traces of page numbers for cache studies (formats of ARC, LIRS, libCacheSim), counters of the host (iostat,
    sar, CloudWatch ...). docs/formats.md lists what each format contains.

    Example: tiersim import sdb.blktrace.0 views-before/ views-after/ -o prod.trace
    """
    from tiersim.traces.readers import import_files, sort_files

    check_target(output, force=force)
    for file in files:
        _refuse_workload(file)
    found = sort_files(files, format)
    if found.requests:
        compile_if_cold()
    with terminal.progress_bar("importing") as progress:
        manifest = import_files(found, output, keep_literals=keep_literals, force=force, progress=progress)
    for sentence in manifest.warnings:
        terminal.notice(f"warning: {sentence}")
    if json:
        document = {
            "schema": "tiersim.import/1",
            "trace": str(output),
            "format": manifest.source_format,
            "requests": manifest.requests,
            "statements": manifest.statements,
            "snapshots": manifest.snapshots,
            "unmatched": manifest.unmatched,
            "dropped": dict(manifest.dropped),
            "inferred": list(manifest.inferred),
            "span_ns": manifest.span_ns,
            "warnings": list(manifest.warnings),
        }
        terminal.print_json(document)
        return
    print(f"{output}: {_found(manifest)} ({manifest.source_format})")
    if manifest.requests:
        print(f"  events without a partner: {manifest.unmatched:,}")
    for why, count in manifest.dropped.items():
        print(f"  not imported: {count:,} {why}")
    for sentence in manifest.inferred:
        print(f"  inferred: {sentence}")


def _found(manifest: "Manifest") -> str:
    """Say what a bundle holds, and how long a time it is of."""
    if manifest.references and not manifest.requests:
        return f"{manifest.references:,} page references and no requests, for cache studies"
    counts = (
        ("request{}", manifest.requests),
        ("statement{}", manifest.statements),
        ("snapshot{} of counters", manifest.snapshots),
    )
    said = [f"{count:,} {what.format('s' if count > 1 else '')}" for what, count in counts if count]
    found = ", ".join(said) or "0 requests"
    return f"{found} in {format_ns(manifest.span_ns)}" if manifest.span_ns else f"{found}, at times that are not known"


@contextmanager
def open_trace(path: Path) -> "Iterator[Bundle]":
    """Yield the bundle at *path*, or one that is imported from the file there and forgotten afterwards.

    What is known to be wrong with the recording is said on standard error. A TraceError about the bundle names *path*.
    """
    from tiersim.traces.bundle import Bundle

    _refuse_workload(path)
    if path.suffix == ".toml":
        from tiersim.scenarios.library import is_tenants

        if is_tenants(path):
            raise ScenarioError(
                f"{path}: names several recordings; give one of them (only replay, sweep, describe, size and pack take"
                " several)"
            )
    with nullcontext(path) if (path / "requests.parquet").exists() else _imported(path) as target:
        bundle = Bundle(target)
        if target is path and bundle.rows:
            compile_if_cold()
        for sentence in bundle.manifest.warnings:
            terminal.notice(f"warning: {sentence}")
        try:
            yield bundle
        except TraceError as error:
            raise TraceError(str(error).replace(str(target), str(path))) from error


def _refuse_workload(path: Path) -> None:
    if path.suffix == ".toml":
        from tiersim.scenarios.library import is_workload

        if is_workload(path):
            raise ScenarioError(
                f"{path}: describes a workload and is no recording; run it with tiersim replay {path} --on HARDWARE"
            )


@contextmanager
def _imported(path: Path) -> Iterator[Path]:
    """Yield a bundle that is imported from the file at *path*, and goes when the block ends."""
    import tempfile

    from tiersim.traces.readers import import_files, sort_files

    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        target = Path(folder) / f"{path.name}.trace"
        files = sort_files([path])
        if files.requests:
            compile_if_cold()
        with terminal.progress_bar(f"importing {path.name}") as progress:
            import_files(files, target, progress=progress)
        yield target


def workload_of(trace: Path, option: str | None) -> Path | None:
    """Return the file of a described workload that *trace* is, None if it is none; raises ScenarioError where *option*,
    which is of recordings, was given.
    """
    from tiersim.scenarios.library import find_workload

    workload = find_workload(trace)
    if workload is not None and option is not None:
        raise ScenarioError(f"{option}: belongs to recordings, and {workload} describes a workload; leave it out")
    return workload


@contextmanager
def open_subject(
    trace: Path, base: str, settings: Sequence[str], recorded_on: str | None
) -> "Iterator[SizingSubject]":  # fmt: skip
    """Yield what *trace* is, for scenarios like *base* with *settings*; *recorded_on* is a scenario of the recorded
    hardware.
    """
    from tiersim.cli.replay import recorded_hardware
    from tiersim.scenarios.library import load_scenario
    from tiersim.scenarios.sizing.subject import of_path

    scenario = load_scenario(base, settings)
    baseline = recorded_hardware(recorded_on, settings)
    workload = workload_of(trace, "--recorded-on" if baseline is not None else None)
    if workload is not None:
        compile_if_cold()
        yield _checked(of_path(workload, scenario), scenario)
        return
    with open_trace(trace) as bundle:
        compile_if_cold()
        yield _checked(of_path(bundle.path, scenario, baseline), scenario)


def _checked(subject: "SizingSubject", scenario: "NamedScenario") -> "SizingSubject":
    subject.refuse_load(scenario)
    return subject
