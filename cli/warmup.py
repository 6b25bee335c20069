"""``tiersim warmup``: compile the kernels now; every other command that needs them does the same before it begins."""

from tiersim.cli import terminal


def compile_if_cold() -> None:
    """Compile the kernels on the first run of this version, and say so.

    Here and not on their first use, where a worker's thread would have to be waited for after Ctrl-C.
    """
    from tiersim import kernel
    from tiersim.kernel import store

    if not kernel.jit_enabled() or store.is_ready():
        return
    if store.folder() is None:
        terminal.notice("no folder for compiled kernels can be written; each run compiles anew, about a minute")
        return
    from tiersim.scenarios.warm import compile_for_commands

    terminal.notice("compiling the kernels (about half a minute, once for each version)")
    with terminal.progress_bar("compiling") as progress:
        compile_for_commands(progress)
    store.mark_ready()


def warmup() -> None:
    """Compile all kernels now, so that no later command has to wait for it.

    Example: tiersim warmup
    """
    from tiersim import kernel
    from tiersim.kernel import store
    from tiersim.scenarios.warm import compile_all

    with terminal.progress_bar("compiling") as progress:
        compile_all(progress)
    store.mark_ready()
    terminal.notice(f"{len(kernel.registry)} kernels ready")
