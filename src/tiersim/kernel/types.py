"""What kernels see of tables: numba's types for an array and for a set of arrays, each a pointer to a block of words.

The block is described in :mod:`tiersim.kernel.blocks`. No word of it changes while a kernel runs, so words are loaded
as invariant: the compiler keeps an address in a register across stores, or loads it anew.

An index is never negative: ``table[-1]`` counts from the end when -1 is a constant, and is an error otherwise. A
variable index costs no test, unless checks are on: then an index outside the table ends the kernel with an IndexError.

These are numba's points of extension: https://numba.readthedocs.io/en/stable/extending/low-level.html.
"""

import operator
from typing import Any

from llvmlite import ir
from numba import from_dtype, types
from numba.core.typing.templates import AttributeTemplate, infer_getattr, signature
from numba.extending import lower_builtin, lower_getattr, lower_getattr_generic, models, register_model, type_callable

from tiersim.kernel import call_at, fetch
from tiersim.kernel.blocks import ArrayKind, Kind, SetKind

WORD = ir.IntType(64)


class TableType(types.Type):
    """An array. Its value is the address of its words in a block."""

    def __init__(self, kind: ArrayKind, *, checked: bool) -> None:
        """*checked*: an index outside it ends the kernel."""
        self.dtype, self.ndim = from_dtype(kind.dtype), kind.ndim
        self.contiguous, self.writable, self.checked, self.words = kind.contiguous, kind.writable, checked, kind.words
        super().__init__(name=f"Table.{kind.digest}{'.checked' * checked}")


class TableSet(types.Type):
    """A NamedTuple of arrays and of such NamedTuples. Its value is the address of its block."""

    def __init__(self, kind: SetKind, *, checked: bool) -> None:
        """*checked*: an index outside one of its tables ends the kernel."""
        self.words, self.checked = kind.words, checked
        self.fields = {name: (type_of(field, checked=checked), place) for name, field, place in kind.places()}
        super().__init__(name=f"{kind.name}.{kind.digest}{'.checked' * checked}")


def type_of(kind: Kind, *, checked: bool) -> Any:
    """Return numba's type of an argument; *checked*: an index outside a table ends the kernel."""
    if isinstance(kind, ArrayKind):
        return TableType(kind, checked=checked)
    if isinstance(kind, SetKind):
        return TableSet(kind, checked=checked)
    return {"int": types.int64, "bool": types.boolean, "float": types.float64}[kind]


class _Pointer(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


register_model(TableType)(_Pointer)
register_model(TableSet)(_Pointer)


@infer_getattr
class _SetAttributes(AttributeTemplate):
    key = TableSet

    # numba declares it as a constant, NotImplemented
    def generic_resolve(self, kind: TableSet, name: str) -> Any:  # type: ignore[override]
        return kind.fields[name][0] if name in kind.fields else None


@infer_getattr
class _TableAttributes(AttributeTemplate):
    key = TableType

    def resolve_size(self, _: TableType) -> Any:
        return types.intp

    def resolve_shape(self, table: TableType) -> Any:
        return types.UniTuple(types.intp, table.ndim)


@lower_getattr_generic(TableSet)
def _field(_: Any, builder: Any, kind: TableSet, block: Any, name: str) -> Any:
    return builder.gep(block, [WORD(kind.fields[name][1])], inbounds=True)


@lower_getattr(TableType, "size")
def _size(_: Any, builder: Any, table: TableType, block: Any) -> Any:
    items = _length(builder, block, 0)
    for axis in range(1, table.ndim):
        items = builder.mul(items, _length(builder, block, axis))
    return items


@lower_getattr(TableType, "shape")
def _shape(context: Any, builder: Any, table: TableType, block: Any) -> Any:
    lengths = [_length(builder, block, axis) for axis in range(table.ndim)]
    return context.make_tuple(builder, types.UniTuple(types.intp, table.ndim), lengths)


@type_callable(len)
def _type_len(_: Any) -> Any:
    return lambda table: types.intp if isinstance(table, TableType) else None


@lower_builtin(len, TableType)
def _len(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
    return _length(builder, arguments[0], 0)


def _kinds(index: Any) -> tuple[Any, ...]:
    # its tuples can be iterated, though their base does not say so
    return tuple(index) if isinstance(index, types.BaseTuple) else (index,)  # type: ignore[arg-type]


def _is_index(table: TableType, index: Any) -> bool:
    kinds = _kinds(index)
    return len(kinds) == table.ndim and all(isinstance(kind, types.Integer) for kind in kinds)


@type_callable(operator.getitem)
def _type_getitem(_: Any) -> Any:
    def typed(table: Any, index: Any) -> Any:
        if isinstance(table, TableType) and _is_index(table, index):
            return signature(table.dtype, table, index)
        return None

    return typed


@type_callable(operator.setitem)
def _type_setitem(_: Any) -> Any:
    def typed(table: Any, index: Any, value: Any) -> Any:
        if isinstance(table, TableType) and table.writable and _is_index(table, index):
            return signature(types.none, table, index, table.dtype)
        return None

    return typed


@lower_builtin(operator.getitem, TableType, types.Any)
def _getitem(context: Any, builder: Any, typed: Any, arguments: Any) -> Any:
    table, index = typed.args
    return context.unpack_value(builder, table.dtype, _item(context, builder, table, arguments[0], index, arguments[1]))


@lower_builtin(operator.setitem, TableType, types.Any, types.Any)
def _setitem(context: Any, builder: Any, typed: Any, arguments: Any) -> Any:
    table, index, kind = typed.args
    value = context.cast(builder, arguments[2], kind, table.dtype)
    place = _item(context, builder, table, arguments[0], index, arguments[1])
    context.pack_value(builder, table.dtype, value, place)
    return context.get_dummy_value()


@type_callable(fetch)
def _type_fetch(_: Any) -> Any:
    def typed(table: Any, index: Any) -> Any:
        return signature(types.none, table, types.int64)

    return typed


@lower_builtin(fetch, TableType, types.int64)
def _fetch(context: Any, builder: Any, typed: Any, arguments: Any) -> Any:
    kind = context.get_data_type(typed.args[0].dtype).as_pointer()
    row = builder.gep(builder.inttoptr(_word(builder, arguments[0], 0), kind), [arguments[1]])
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
    builder.call(function, [builder.bitcast(row, byte), number(0), number(3), number(1)])
    return context.get_dummy_value()


@type_callable(call_at)
def _type_call_at(_: Any) -> Any:
    def typed(address: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        given = [one if isinstance(one, TableType | TableSet) else types.int64 for one in (a, b, c, d, e, f)]
        return signature(types.UniTuple(types.int64, 3), types.int64, *given)

    return typed


@lower_builtin(call_at, types.int64, *[types.Any] * 6)
def _call_at(context: Any, builder: Any, typed: Any, arguments: Any) -> Any:
    with builder.goto_entry_block():
        results, nowhere = builder.alloca(ir.ArrayType(WORD, 3)), builder.alloca(WORD)
    # see tiersim.kernel.calls: where a result and an error would go, which nobody reads, where words go, and arguments
    places = [nowhere, nowhere, builder.bitcast(results, WORD.as_pointer())]
    words = [builder.ptrtoint(one, WORD) if isinstance(one.type, ir.PointerType) else one for one in arguments[1:]]
    function = ir.FunctionType(ir.IntType(32), [place.type for place in places] + [WORD] * len(words))
    status = builder.call(builder.inttoptr(arguments[0], function.as_pointer()), [*places, *words])
    if any(isinstance(one, TableType | TableSet) and one.checked for one in typed.args):
        with builder.if_then(builder.icmp_signed("!=", status, status.type(0)), likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("an index outside a table",))
    return builder.load(results)


def _word(builder: Any, block: Any, number: int) -> Any:
    loaded = builder.load(builder.gep(block, [WORD(number)], inbounds=True))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _length(builder: Any, block: Any, axis: int) -> Any:
    return _word(builder, block, 1 + axis)


def _item(context: Any, builder: Any, table: TableType, block: Any, kind: Any, index: Any) -> Any:
    """Return the address of an item."""
    kinds = _kinds(kind)
    indices = [builder.extract_value(index, axis) for axis in range(len(kinds))] if kind is not kinds[0] else [index]
    places = []
    for axis, (one, value) in enumerate(zip(kinds, indices, strict=True)):
        wide = types.intp if one.signed else types.uintp
        place = context.cast(builder, value, one, wide)
        if isinstance(place, ir.Constant) and one.signed and place.constant < 0:
            place = builder.add(place, _length(builder, block, axis))
        if table.checked:
            outside = builder.icmp_unsigned(">=", place, _length(builder, block, axis))
            with builder.if_then(outside, likely=False):
                context.call_conv.return_user_exc(builder, IndexError, ("an index outside a table",))
        places.append(place)
    data = _word(builder, block, 0)
    item = context.get_data_type(table.dtype).as_pointer()
    if table.contiguous:
        offset = places[0]
        for axis, place in enumerate(places[1:], 1):
            offset = builder.add(builder.mul(offset, _length(builder, block, axis)), place)
        return builder.gep(builder.inttoptr(data, item), [offset])
    for axis, place in enumerate(places):
        data = builder.add(data, builder.mul(place, _word(builder, block, 1 + table.ndim + axis)))
    return builder.inttoptr(data, item)
