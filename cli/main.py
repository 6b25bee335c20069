"""The console entry point: one module a command, errors as one sentence, nothing half written on Ctrl-C.

``tiersim warmup`` compiles the kernels now; every other command that needs them does the same before it begins.
``--memory``, which every command takes: how much it may have, and what is said when that was not enough.
"""

import atexit
import functools
import gc
import inspect
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from tiersim import __version__
from tiersim.cli import (
    check,
    compare,
    demo,
    describe,
    devices,
    explain,
    explore,
    import_trace,
    load_curve,
    mrc,
    pack,
    page,
    record,
    replay,
    size,
    sweep,
    validate,
)
from tiersim.cli.terminal import notice, progress_bar
from tiersim.errors import TiersimError, reason
from tiersim.files import terminate_as_interrupt
from tiersim.operating_system import limit_memory, memory_limit_bytes
from tiersim.units import format_bytes, parse_bytes

INTERRUPTED = 130
#: Garbage is looked for after so many new objects, and not after 700: libraries make a hundred thousand when they are
#: loaded, and keep them.
_COLLECT_AFTER = 200_000
#: Of libraries, unless somebody says otherwise: numpy's threads of linear algebra wait for work at full speed from the
#: start on, and pydantic reads what every installed package says of plugins.
_SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "1"}

_Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        help=("Memory limit, such as '2 GiB' (Linux only). A command that needs more stops with an error."),
        show_default=False,
    ),
]
_NAME = "memory"
#: A replay of 1,000 requests takes 348 MiB: libraries (numpy, pyarrow, numba) and the code of kernels. Those end the
#: process where they get no more.
_LEAST_BYTES = 512 << 20
_LESS = "ask for less at a time: fewer --workers, a shorter recording, --set replay.mode=open, which holds no causes"


def warmup() -> None:
    """Compile the simulator now, so that later commands need not wait.

    Example: tiersim warmup
    """
    from tiersim import kernel
    from tiersim.kernel import store
    from tiersim.scenarios.warm import compile_all

    with progress_bar("compiling") as progress:
        compile_all(progress)
    store.mark_ready()
    notice(f"{len(kernel.registry)} kernels ready")


def offer(app: typer.Typer) -> None:
    """Give every command of *app* the option."""
    for command in app.registered_commands:
        assert command.callback is not None
        command.callback = _bounded(command.callback)
    for group in app.registered_groups:
        assert group.typer_instance is not None
        offer(group.typer_instance)


def not_enough() -> str:
    """Say that memory did not suffice, and what to do; the limit is lifted, so that there is some for saying it."""
    limit_bytes = memory_limit_bytes()
    if limit_bytes is None:
        return f"the memory of this machine does not suffice; {_LESS}"
    limit_memory(None)
    return f"the {format_bytes(limit_bytes)} of --memory do not suffice; allow more, or {_LESS}"


def _bounded(command: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(command)
    def run(*arguments: Any, memory: str | None = None, **options: Any) -> Any:
        if memory is not None:
            _limit(memory)
        return command(*arguments, **options)

    # typer makes the options of a command of its signature; functions have no such attribute for mypy
    signature = inspect.signature(command)
    option = inspect.Parameter(_NAME, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Memory)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, _NAME: _Memory}
    return run


def _limit(text: str) -> None:
    """Let the system give this process no more memory than *text* says: whatever asks for more raises MemoryError.

    The limit is on memory that is asked for, used or not. Raises BadParameter when so little cannot be, or the system
    knows no such limit.
    """
    try:
        most_bytes = parse_bytes(text)
        if most_bytes < _LEAST_BYTES:
            raise ValueError(
                f"{format_bytes(most_bytes)} are not enough to begin with; give {format_bytes(_LEAST_BYTES)} or more"
            )
        limit_memory(most_bytes)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--memory'") from None
    # its own pool asks for 1 GiB at once, and uses what it needs
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


app = typer.Typer(
    name="tiersim",
    help="Predict what a database would do on storage that has not been bought yet.\n\nExample: tiersim demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help takes half the time without it, and words in brackets are no markup
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("import")(import_trace.import_trace)
app.add_typer(record.app, name="record")
app.command("describe")(describe.describe)
app.command("mrc")(mrc.mrc)
app.command("replay")(replay.replay)
app.command("sweep")(sweep.sweep)
app.command("load")(load_curve.load)
app.command("size")(size.size)
app.command("pack")(pack.pack)
app.command("explore")(explore.explore)
app.command("compare")(compare.compare)
app.command("explain")(explain.explain)
app.command("report")(page.report)
app.add_typer(devices.app, name="devices")
app.command("check")(check.check)
app.command("validate")(validate.validate)
app.command("warmup")(warmup)
offer(app)
for group in (app, record.app, devices.app):
    for command in group.registered_commands:
        # else the first sentence ends in dots where it is longer than a line
        command.short_help = (inspect.getdoc(command.callback) or "").partition("\n\n")[0]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tiersim {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before the command."""


def main() -> None:
    """Run the command line; exit 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    gc.set_threshold(_COLLECT_AFTER)
    atexit.register(gc.freeze)  # else it is looked for once more at the end, a fifth of what a small replay takes
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no µ still gets the table
    try:
        with terminate_as_interrupt():
            app()
    except TiersimError as error:
        notice(str(error))
        sys.exit(1)
    except MemoryError:
        notice(not_enough())
        sys.exit(1)
    except RuntimeError as error:
        if "can't start new thread" not in str(error):  # there is no memory for its stack
            raise
        notice(not_enough())
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        notice(f"{where}{reason(error)}; check the name, the permissions and the free space")
        sys.exit(1)
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        notice("interrupted; nothing was left half written")
        sys.exit(INTERRUPTED)
