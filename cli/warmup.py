"""``tiersim warmup``: compile the kernels now; every other command that needs them does the same before it begins."""

from tiersim.cli import terminal

#: The kernel that ``compile_for_commands`` compiles last: when it is in the cache, so are the others.
_LAST_COMPILED = "deal"


def compile_if_cold() -> None:
    """Compile the kernels on the first run of this version, and say so.

    Here and not on their first use, where a worker's thread would have to be waited for after Ctrl-C.
    """
    from tiersim import kernel

    if not kernel.jit_enabled() or kernel.is_compiled(_LAST_COMPILED):
        return
    if kernel.cache_folder is None:
        terminal.notice("no folder for compiled kernels can be written; each run compiles anew, some minutes")
        return
    from tiersim.scenarios.warm import compile_for_commands

    terminal.notice("compiling the kernels (some minutes, once for each version)")
    with terminal.progress_bar("compiling"):
        compile_for_commands()


def warmup() -> None:
    """Compile all kernels now, so that no later command has to wait for it.

    Example: tiersim warmup
    """
    from tiersim import kernel
    from tiersim.scenarios.warm import compile_all

    with terminal.progress_bar("compiling"):
        compile_all()
    terminal.notice(f"{len(kernel.registry)} kernels ready")
