"""``tiersim warmup``: compile the kernels now; every other command that needs them does the same before it begins."""

from tiersim.cli import terminal

#: The kernel that the warm-up compiles last: when it is in the cache, so are the others.
_LAST_COMPILED = "count_durations"


def compile_if_cold() -> None:
    """Compile all kernels on the first run of this version, and say so.

    Here and not on their first use, where a worker's thread would have to be waited for after Ctrl-C.
    """
    from tiersim import kernel

    if not kernel.jit_enabled() or kernel.is_compiled(_LAST_COMPILED):
        return
    if kernel.cache_folder is None:
        terminal.notice("no folder for compiled kernels can be written; each run compiles anew, about half a minute")
        return
    terminal.notice("compiling the kernels (about half a minute, once for each version)")
    _compile()


def warmup() -> None:
    """Compile all kernels now, so that no later command has to wait for it.

    Example: tiersim warmup
    """
    from tiersim import kernel

    _compile()
    terminal.notice(f"{len(kernel.registry)} kernels ready")


def _compile() -> None:
    from tiersim.scenarios.warm import compile_all

    with terminal.progress_bar("compiling"):
        compile_all()
