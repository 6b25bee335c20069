"""The console entry point: one module a command, errors as one sentence, nothing half written on Ctrl-C."""

import atexit
import gc
import os
import sys
from inspect import getdoc
from io import TextIOWrapper
from typing import Annotated

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
    resources,
    size,
    sweep,
    validate,
)
from tiersim.cli.terminal import notice
from tiersim.errors import TiersimError, reason
from tiersim.files import terminate_as_interrupt

INTERRUPTED = 130
#: Garbage is looked for after so many new objects, and not after 700: libraries make a hundred thousand when they are
#: loaded, and keep them.
_COLLECT_AFTER = 200_000
#: Of libraries, unless somebody says otherwise: numpy's threads of linear algebra wait for work at full speed from the
#: start on, and pydantic reads what every installed package says of plugins.
_SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "1"}

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
app.command("warmup")(resources.warmup)
resources.offer(app)
for group in (app, record.app, devices.app):
    for command in group.registered_commands:
        # else the first sentence ends in dots where it is longer than a line
        command.short_help = (getdoc(command.callback) or "").partition("\n\n")[0]


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
        notice(resources.not_enough())
        sys.exit(1)
    except RuntimeError as error:
        if "can't start new thread" not in str(error):  # there is no memory for its stack
            raise
        notice(resources.not_enough())
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
