"""From a kernel and the kinds of its arguments to a module in LLVM's language: numba does it.

Left alone, numba optimises each kernel, with all that it calls inlined, and generates machine code for it, though only
kernels call it. Here a kernel is translated once, by a pass that gives numba a library which only keeps the text. The
kernel that Python calls takes the texts of all that it reaches into one module, which is optimised once
(:mod:`tiersim.kernel.machine_code`).

Versions of numba that were not tried (:mod:`tiersim.kernel.versions`) take plain numba, which compiles four times as
long, with the same results.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar

import numba
import numpy as np
from numba import types
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import CodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.extending import typeof_impl

from tiersim.kernel import Kernel
from tiersim.kernel.blocks import Kind
from tiersim.kernel.machine_code import Translated
from tiersim.kernel.reach import own_digest
from tiersim.kernel.types import WORD, TableSet, TableType, type_of
from tiersim.kernel.versions import plain_numba


@contextmanager
def _few_collections() -> Iterator[None]:
    """Look for garbage less often. Most of what numba makes stays, so looking through it again and again is in vain."""
    usual = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@_few_collections()
def translate(kernel: Kernel, kinds: tuple[Kind, ...], *, checked: bool) -> Translated:
    """Translate a kernel and all that it calls."""
    arguments = tuple(type_of(kind, checked=checked) for kind in kinds)
    returned = _compile(kernel, arguments).signature.return_type
    results, entry = _entry(kernel, len(kinds), returned)
    signature = (types.CPointer(types.int64), *arguments)
    whole = _compile(entry, signature)
    if plain_numba():
        text = _dispatcher(entry).inspect_llvm(signature)
        return Translated(text, [], whole.fndesc.llvm_func_name, results, is_optimised=True)
    functions, libraries = _linked(whole.library)
    shared, symbol = _Texts.module, whole.fndesc.llvm_func_name
    for variable in shared.global_values:
        if getattr(variable, "initializer", None) is not None:
            variable.linkage = "internal"
    declared = [str(value) for name, value in shared.globals.items() if name not in _Texts.translated]
    head = [f'target triple = "{shared.triple}"', f'target datalayout = "{shared.data_layout}"']
    functions[symbol] = functions[symbol].replace(_DEFINE_INTERNAL, "define ", 1)
    text = "\n".join([*head, *declared, *functions.values(), *map(str, shared.metadata)])
    return Translated(text, libraries, symbol, results, is_optimised=False)


_DEFINE_INTERNAL = "define internal "
#: Python's own 700 take 5 s more of 61 s for all kernels; 20,000 to 100,000 take the same time and memory.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def _compile(kernel: Kernel, signature: tuple[Any, ...]) -> Any:
    """Return what numba says of a kernel for arguments of these types."""
    dispatcher = _dispatcher(kernel)
    dispatcher.compile(signature)
    return dispatcher.overloads[signature]


def _entry(kernel: Kernel, arguments: int, returned: Any) -> tuple[str, Kernel]:
    """Return what a kernel returns, and one that writes it as words."""
    is_tuple = isinstance(returned, types.BaseTuple)
    parts = list(returned) if is_tuple else [] if returned is types.none else [returned]
    letters = "".join("b" if p is types.boolean else "f" if isinstance(p, types.Float) else "i" for p in parts)
    names = ", ".join(f"a{place}" for place in range(arguments))
    lines = [f"def entry(words, {names}):", f"    result = kernel({names})"]
    for place, letter in enumerate(letters):
        value = f"result[{place}]" if is_tuple else "result"
        lines.append(
            f"    words[{place}] = " + (f"float64({value}).view(int64)" if letter == "f" else f"int64({value})")
        )
    scope: dict[str, Any] = {"kernel": kernel, "float64": np.float64, "int64": np.int64}
    # numba compiles functions, not texts, and its tuples of arguments have no names; nothing foreign is in these lines
    exec("\n".join(lines), scope)  # noqa: S102
    return "(" * is_tuple + letters, Kernel(scope["entry"], hot=False, checked=False, vectorized=False)


def _linked(whole: "_Texts") -> tuple[dict[str, str], list[str]]:
    """Return the texts of all functions that one reaches, by name, and numba's own modules that it needs."""
    functions: dict[str, str] = {}
    others: list[Any] = []
    seen: set[Any] = set()
    left: list[Any] = [whole]
    while left:
        library = left.pop()
        if library in seen:
            continue
        seen.add(library)
        if isinstance(library, _Texts):
            functions |= library.functions
            left += library.called
        else:
            others.append(library)
    return functions, [library.get_llvm_str() for library in others]


class _NoEngine:
    """Stands in for numba's code generator where there is no machine code whose variables could be set."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _Texts(CodeLibrary):
    """What one kernel was translated to, and the libraries of what it calls."""

    #: What all texts share: declarations, constants, metadata.
    module: Any = None
    #: Names of all functions that have a text.
    translated: ClassVar[set[str]] = set()

    def __init__(self, codegen: Any, name: str, *, hot: bool, arguments: tuple[Any, ...]) -> None:
        super().__init__(codegen, name)
        self.functions: dict[str, str] = {}
        self.called: list[Any] = []
        self._hot = hot
        self._pointers = [kind for kind in arguments if isinstance(kind, TableType | TableSet | types.CPointer)]

    @property
    def codegen(self) -> Any:
        return _NoEngine(self._codegen)

    def create_ir_module(self, name: str) -> Any:
        if _Texts.module is None:
            _Texts.module = super().create_ir_module("tiersim")
        return _Texts.module

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if function.blocks:
                self._describe(function)
                function.linkage = "internal"
                self.functions[function.name] = str(function)
                self.translated.add(function.name)
                function.blocks.clear()  # it is a declaration from here on

    def _describe(self, function: Any) -> None:
        """Tell LLVM what it cannot know."""
        if self._hot:
            function.attributes.add("alwaysinline")
        # the first two are where the result and an error go
        pointers = [argument for argument in function.args[2:] if argument.type == WORD.as_pointer()]
        for argument, kind in zip(pointers, self._pointers, strict=True):
            if not isinstance(kind, types.CPointer):
                for attribute in ("noalias", "nonnull", "noundef"):
                    argument.add_attribute(attribute)
                argument.attributes.dereferenceable = 8 * kind.words

    def add_linking_library(self, library: Any) -> None:
        self.called.append(library)

    def finalize(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    # numba demands the following three of a library, and asks them of one that is optimised or inspected, which this is
    # not

    def get_function(self, name: str) -> Any:
        raise NotImplementedError

    def get_llvm_str(self) -> str:
        raise NotImplementedError

    def get_asm_str(self) -> str:
        raise NotImplementedError


@cache
def _unique_name(kernel: Kernel) -> str:
    """Return what tells a kernel from others of its name in machine code, where numba has a count: the same code is
    the same bytes, whatever was compiled before.
    """
    digest = own_digest(kernel)
    _same[digest] = _same.get(digest, -1) + 1
    return f"{digest}.{_same[digest]}"


_same: dict[str, int] = {}


@register_pass(mutates_CFG=False, analysis_only=True)
class _KeepTexts(FunctionPass):
    """Gives numba the library that keeps texts."""

    _name = "tiersim_keep_texts"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        function = state.func_id
        kernel = function.func.kernel
        function.unique_id = _unique_name(kernel)
        state.library = _Texts(state.targetctx.codegen(), function.func_qualname, hot=kernel.hot, arguments=state.args)
        return False


class _Typing:
    """numba's typing context, which remembers what an operator or a builtin function is for which types: numba asks
    dozens of templates each time.
    """

    _known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        if kws or (isinstance(function, types.Type) and type(function) is not types.Function):
            return self._context.resolve_function_type(function, args, kws)
        key = function, tuple(args)
        if key not in self._known:
            typed = self._context.resolve_function_type(function, args, kws)
            if typed is None:
                return None
            self._known[key] = typed
        return self._known[key]


class _Compiler(CompilerBase):
    """numba's passes, without those for what kernels do not have: closures, ``with``, array expressions, reference
    counts.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.typingctx = _Typing(self.state.typingctx)

    def define_pipelines(self) -> Any:
        manager = PassManager("kernel")
        for made in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.GenericRewrites,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            _KeepTexts,
            typed_passes.NativeLowering,
            typed_passes.NoPythonBackend,
        ):
            manager.add_pass(made, made.__name__)
        manager.finalize()
        return [manager]


_dispatchers: dict[Kernel, Any] = {}


@typeof_impl.register(Kernel)
def _type_inside_kernels(made: Kernel, _: Any) -> Any:
    """Tell numba what a kernel is where another one calls it."""
    return types.Dispatcher(_dispatcher(made))


def _dispatcher(kernel: Kernel) -> Any:
    if kernel not in _dispatchers:
        kernel.function.kernel = kernel  # type: ignore[attr-defined]  # a function's own attribute, for `_KeepTexts`
        njit: Any = numba.njit  # its types do not know all options
        options = {"forceinline": True} if plain_numba() else {"pipeline_class": _Compiler}
        # Without numba's runtime no references to arrays are counted; a kernel cannot allocate then.
        made = njit(
            nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True, **options
        )(kernel.function)
        template = made.get_call_template
        made.get_call_template = lambda args, kws: template(
            tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()}
        )
        _dispatchers[kernel] = made
    return _dispatchers[kernel]


def _plain(kind: Any) -> Any:
    """Return the type that a kernel is compiled for where another one calls it with *kind*: int64 for integers of any
    width, and for constants.

    Otherwise numba compiles a kernel once for each mixture of integer widths. LLVM still propagates constants when it
    inlines.
    """
    plain = getattr(kind, "literal_type", kind)
    return types.int64 if isinstance(plain, types.Integer) and plain.maxval <= types.int64.maxval else plain
