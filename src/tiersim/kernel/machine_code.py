"""LLVM: a module is optimised, becomes machine code for this processor or for a level of processors, and is loaded."""

import os
from functools import cache
from threading import RLock
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from tiersim.errors import TiersimError
from tiersim.kernel.store import Code

#: LLVM's level of optimisation, 1 to 3.
_LEVEL = 3
_loading = RLock()

_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
#: Levels of processors that code is shipped for, the best first, with what a processor must have for them: the
#: microarchitecture levels of the x86-64 psABI, under LLVM's names.
LEVELS = {"x86-64-v3": _V3, "x86-64-v2": _V2}
_SHIPPED_TRIPLE = "x86_64-unknown-linux-gnu"


class Translated(NamedTuple):
    """A module: its text, the name of its kernel there, what that returns, and whether it is optimised."""

    text: str
    symbol: str
    results: str  # see tiersim.kernel.store.Code
    is_optimised: bool


@cache
def level_wanted() -> str | None:
    """Return the level that code is made for (``TIERSIM_PROCESSOR``), None for this processor itself. Raises
    TiersimError for a level that there is not.
    """
    wanted = os.environ.get("TIERSIM_PROCESSOR") or None
    if wanted is not None and wanted not in LEVELS:
        raise TiersimError(f"TIERSIM_PROCESSOR is {wanted}; set it to {' or '.join(LEVELS)}, or to nothing")
    return wanted


@cache
def level_here() -> str | None:
    """Return the level that is wanted, or the best one that this machine has; None for other machines."""
    if level_wanted() is not None:
        return level_wanted()
    if llvm.get_process_triple() != _SHIPPED_TRIPLE:
        return None
    has = llvm.get_host_cpu_features()
    return next((level for level, needs in LEVELS.items() if all(has.get(one) for one in needs)), None)


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    processor, features = _processor()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=processor, features=features, opt=_LEVEL, reloc="static", codemodel="jitdefault", jit=True
    )


def _processor() -> tuple[str, str]:
    """Return the name and the features of the processor that code is made for."""
    level = level_wanted()
    return (level, "") if level else (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def target_text() -> str:
    """Return the processor that code is made for."""
    return " ".join((llvm.get_process_triple(), *_processor()))


def compiled(translated: Translated, symbol: str, *, vectorized: bool) -> Code:
    """Optimise a module and make machine code of it, in which the kernel is called *symbol*."""
    module = llvm.parse_assembly(translated.text)
    module.get_function(translated.symbol).name = symbol
    target = _target()
    if not translated.is_optimised:
        module.triple, module.data_layout = target.triple, str(target.target_data)
        options = llvm.create_pipeline_tuning_options(speed_level=_LEVEL)
        options.slp_vectorization = options.loop_vectorization = vectorized
        builder = llvm.create_pass_builder(target, options)
        builder.getModulePassManager().run(module, builder)
    module.verify()
    return Code(symbol, translated.results, target.emit_object(module))


@cache
def _engine() -> Any:
    # the target machine becomes the engine's own, so it has one to itself
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target.__wrapped__())


def load(code: Code) -> int:
    """Load machine code; returns the address of its kernel."""
    with _loading:
        engine = _engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code.machine_code))
        engine.finalize_object()
        address: int = engine.get_function_address(code.symbol)
    return address
