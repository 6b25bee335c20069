"""``tiersim warmup``: compile the kernels now, and say so when a command has to."""

from tiersim.cli.terminal import notice

#: The event loop: the kernel that takes longest to compile.
_ENTRY = "advance"


def announce_if_cold() -> None:
    """Tell the user when the first run of this version will compile."""
    from tiersim import kernel

    if kernel.jit_enabled() and kernel.cache_folder is None:
        notice("no folder for compiled kernels can be written; each run compiles anew, about 20 s")
    elif kernel.jit_enabled() and not kernel.is_compiled(_ENTRY):
        notice("compiling the kernels (about 20 s, once for each version); see tiersim warmup")


def warmup() -> None:
    """Compile all kernels now, so that no later command has to wait for it."""
    from tiersim import kernel
    from tiersim.scenarios.warm import compile_all

    announce_if_cold()
    compile_all()
    notice(f"{len(kernel.registry)} kernels ready")
