"""``tiersim warmup``: compile the kernels now; every other command that needs them does the same before it begins.

``--memory``, which every command takes: how much it may have, and what is said when that was not enough.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from tiersim.cli import terminal
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
    from tiersim.scenarios.replay import lift

    limit_bytes = lift()
    if limit_bytes is None:
        return f"the memory of this machine does not suffice; {_LESS}"
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
    from tiersim.scenarios.replay import limit

    try:
        limit(parse_bytes(text))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--memory'") from None
