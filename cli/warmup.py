"""``tiersim warmup``: compile the kernels now; every other command that needs them does the same before it begins."""

from tiersim.cli import terminal

#: Uses every kernel, in `compile_for_commands` those that commands need.
_COMPILING = "tiersim.scenarios.warm"


def compile_if_cold() -> None:
    """Compile the kernels on the first run of this version, and say so.

    Here and not on their first use, where a worker's thread would have to be waited for after Ctrl-C.
    """
    from tiersim import kernel, kernel_cache

    if not kernel.jit_enabled() or kernel_cache.is_ready(_COMPILING):
        return
    if kernel_cache.folder is None:
        terminal.notice("no folder for compiled kernels can be written; each run compiles anew, some minutes")
        return
    from tiersim.scenarios.warm import compile_for_commands

    terminal.notice("compiling the kernels (some minutes, once for each version)")
    with terminal.progress_bar("compiling"):
        compile_for_commands()
    kernel_cache.mark_ready(_COMPILING)


def warmup() -> None:
    """Compile all kernels now, so that no later command has to wait for it.

    Example: tiersim warmup
    """
    from tiersim import kernel, kernel_cache
    from tiersim.scenarios.warm import compile_all

    with terminal.progress_bar("compiling"):
        compile_all()
    kernel_cache.mark_ready(_COMPILING)
    terminal.notice(f"{len(kernel.registry)} kernels ready")
