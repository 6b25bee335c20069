"""``tiersim warmup``: compile the kernels now; every other command that needs them does the same before it begins.

``--memory``, which every command takes: how much it may have, and what is said when that was not enough.
"""

import functools
import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any

import typer

from tiersim.cli import terminal
from tiersim.operating_system import limit_memory, memory_limit_bytes
from tiersim.units import format_bytes, parse_bytes


def compile_if_cold() -> None:
    """Compile the kernels that most runs need on the first run of this version, and say so.

    Here and not on their first use, where a worker's thread would have to be waited for after Ctrl-C. Those that few
    runs need, such as a flash cache's, compile there.
    """
    from tiersim import kernel
    from tiersim.kernel import store

    if not kernel.jit_enabled() or store.is_ready():
        return
    if store.folder() is None:
        terminal.notice("no folder for compiled kernels can be written; each run compiles anew, some ten seconds")
        return
    from tiersim.scenarios.warm import compile_usual

    terminal.notice("compiling the simulator (some ten seconds, once for each version)")
    with terminal.progress_bar("compiling") as progress:
        compile_usual(progress)
    store.mark_ready()


def warmup() -> None:
    """Compile the simulator now, so that later commands need not wait.

    Example: tiersim warmup
    """
    from tiersim import kernel
    from tiersim.kernel import store
    from tiersim.scenarios.warm import compile_all

    with terminal.progress_bar("compiling") as progress:
        compile_all(progress)
    store.mark_ready()
    terminal.notice(f"{len(kernel.registry)} kernels ready")


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
