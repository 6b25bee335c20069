"""LLVM: a module is optimised, becomes machine code for this processor, and is loaded."""

from functools import cache
from threading import RLock
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from tiersim.kernel.store import Code

#: LLVM's level of optimisation, 1 to 3.
_LEVEL = 3
_loading = RLock()


class Translated(NamedTuple):
    """A module: its text, modules of numba's own that it calls, the name of its kernel there, what that returns, and
    whether it is optimised.
    """

    text: str
    libraries: list[str]
    symbol: str
    results: str  # see tiersim.kernel.store.Code
    is_optimised: bool


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features(), opt=_LEVEL, reloc="static", codemodel="jitdefault", jit=True
    )


def _features() -> str:
    features: str = llvm.get_host_cpu_features().flatten()
    return features


@cache
def target_text() -> str:
    """Return the processor that code is made for."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {_features()}"


def compiled(translated: Translated, symbol: str, *, vectorized: bool) -> Code:
    """Optimise a module and make machine code of it, in which the kernel is called *symbol*."""
    module = llvm.parse_assembly(translated.text)
    for library in translated.libraries:
        module.link_in(llvm.parse_assembly(library))
    for one in (*module.functions, *module.global_variables):
        if one.name == translated.symbol:
            one.name = symbol
        elif not one.is_declaration:
            one.linkage = "internal"
    target = _target()
    if not translated.is_optimised:
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
