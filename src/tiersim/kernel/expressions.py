"""Expressions of kernels in LLVM's language: names, tables, calls, decisions."""

import ast
import builtins
import hashlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tiersim.kernel import Kernel, call_at, fetch
from tiersim.kernel.arithmetic import Instructions, Line
from tiersim.kernel.values import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    UNSIGNED,
    Number,
    Row,
    Several,
    TableKind,
    TableSetKind,
    Value,
    as_argument,
    both,
    constant,
    flat,
    kind_of,
    leaves,
    together,
    whole,
)

_MATH = {
    math.exp: "llvm.exp.f64",
    math.log: "llvm.log.f64",
    math.sqrt: "llvm.sqrt.f64",
    math.floor: "llvm.floor.f64",
    math.log1p: "log1p",
    np.ceil: "llvm.ceil.f64",
}
#: What a module declares.
DECLARED = [
    "declare double @log1p(double) nounwind memory(none)",
    *[f"declare double @llvm.{name}.f64(double)" for name in ("exp", "log", "sqrt", "floor", "ceil", "fabs")],
    "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "!0 = !{}",
    '!1 = !{!"branch_weights", i32 1, i32 2000}',
]
_INVARIANT = ", !invariant.load !0"


class Function(NamedTuple):
    """A kernel for arguments of some kinds, translated."""

    symbol: str
    returned: Any
    text: str
    called: "dict[str, Function]"
    arrays: dict[str, str]  # constant tables, by name


def returned_type(returned: Any, checked: bool) -> str:
    """Return LLVM's type of what a kernel returns, behind whether it failed if that is *checked*."""
    types = ["i1"] * checked + [kind.llvm for kind in flat(returned)]
    return "void" if not types else types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"


def results_of(lines: Instructions, function: Function, arguments: str, checked: bool) -> list[str]:
    """Call a kernel; returns its results, behind whether it failed if that is *checked*."""
    count = len(flat(function.returned)) + checked
    kind = returned_type(function.returned, checked)
    text = f"call {kind} @{function.symbol}({arguments})"
    if count == 0:
        lines.lines.append(text)
        return []
    if count == 1:
        found = [lines.op(text)]
    else:
        made = lines.op(text)
        found = [lines.op(f"extractvalue {kind} {made}, {place}") for place in range(count)]
    return found


class _Place(NamedTuple):
    """Where an item or a field lies."""

    kind: Number | Row
    address: str
    align: int


class Expressions(Instructions):
    """Instructions of one function, with its expressions."""

    def __init__(
        self, kernel: Kernel, checked: bool, translated: Callable[[Kernel, tuple[Any, ...], bool], Function]
    ) -> None:
        """*translated*: what gives a kernel that is called."""
        super().__init__()
        self.kernel, self.checked, self._translated = kernel, checked, translated
        self.called: dict[str, Function] = {}
        self.arrays: dict[str, str] = {}
        self.rooms: list[str] = []
        self.fails = False

    def variable(self, name: str) -> Value | None:
        """Return what a variable holds, None for a name that is none."""
        raise NotImplementedError

    # decisions

    def _decide(self, node: ast.expr, yes: str, no: str) -> None:
        """Go on at the one label or the other."""
        if isinstance(node, ast.BoolOp):
            for one in node.values[:-1]:
                following = self.name()
                self._decide(one, *((following, no) if isinstance(node.op, ast.And) else (yes, following)))
                self.label(following)
            self._decide(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._decide(node.operand, no, yes)
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            left = self.value(node.left)
            for operator, node_right in zip(node.ops, node.comparators, strict=True):
                right, following = self.value(node_right), self.name()
                last = node_right is node.comparators[-1]
                goes = yes if last else following
                self.lines.append(f"br i1 {self.compare(type(operator), left, right)}, label %{goes}, label %{no}")
                if not last:
                    self.label(following)
                left = right
        else:
            self.lines.append(f"br i1 {self.truth(self.value(node))}, label %{yes}, label %{no}")

    def _merge(self, ways: list[tuple[Value, list[Line], str]], label: str) -> Value:
        """Go on at a label with the value of the way that led there."""
        kind = ways[0][0].kind
        for value, _, _ in ways:
            kind = both(kind, value.kind)
        if kind is None:
            raise TypeError("an expression is now of one kind, now of another")
        cast = []
        for value, gap, block in ways:
            with self.within(gap):
                cast.append((leaves(self.cast(value, kind)), block))
        self.label(label)
        names = []
        for place, one in enumerate(flat(kind)):
            names.append(
                self.op(f"phi {one.llvm} {', '.join(f'[ {words[place].text}, %{block} ]' for words, block in cast)}")
            )
        return whole(kind, iter(names))

    # expressions

    def value(self, node: ast.expr) -> Value:
        """Translate an expression."""
        how = _EXPRESSIONS.get(type(node))
        if how is None:
            raise TypeError(f"{ast.unparse(node)}: a kernel has no {type(node).__name__}")
        return how(self, node)

    def _constant(self, node: ast.Constant) -> Value:
        return constant(node.value)

    def _name_of(self, node: ast.Name) -> Value:
        held = self.variable(node.id)
        return constant(_meaning(self.kernel.function, node.id)) if held is None else held

    def _tuple(self, node: ast.Tuple) -> Value:
        return together(self.value(one) for one in node.elts)

    def _unary_operation(self, node: ast.UnaryOp) -> Value:
        return self.unary(type(node.op), self.value(node.operand))

    def _operation(self, node: ast.BinOp) -> Value:
        one = self.value(node.left)
        return self.binary(type(node.op), one, self.value(node.right))

    def _and_or(self, node: ast.BoolOp) -> Value:
        end, ways = self.name(), []
        for one in node.values:
            value = self.value(one)
            truth = "" if one is node.values[-1] else self.truth(value)
            ways.append((value, self.gap(), self.block))
            if truth:
                following = self.name()
                yes, no = (following, end) if isinstance(node.op, ast.And) else (end, following)
                self.lines.append(f"br i1 {truth}, label %{yes}, label %{no}")
                self.label(following)
        self.lines.append(f"br label %{end}")
        return self._merge(ways, end)

    def _choice(self, node: ast.IfExp) -> Value:
        yes, no, end, ways = self.name(), self.name(), self.name(), []
        self._decide(node.test, yes, no)
        for label, one in ((yes, node.body), (no, node.orelse)):
            self.label(label)
            value = self.value(one)
            ways.append((value, self.gap(), self.block))
            self.lines.append(f"br label %{end}")
        return self._merge(ways, end)

    def _comparison(self, node: ast.Compare) -> Value:
        if len(node.ops) > 1:
            return self._decided(node)
        operator = type(node.ops[0])
        one, right = self.value(node.left), node.comparators[0]
        if operator in (ast.In, ast.NotIn):
            found = "false"
            for part in self.value(right).parts:
                equal = self.compare(ast.Eq, one, part)
                found = equal if found == "false" else self.op(f"or i1 {found}, {equal}")
            return Value(BOOL, found if operator is ast.In else self.op(f"xor i1 {found}, true"))
        return Value(BOOL, self.compare(operator, one, self.value(right)))

    def _decided(self, node: ast.expr) -> Value:
        yes, no, end = self.name(), self.name(), self.name()
        self._decide(node, yes, no)
        for label in (yes, no):
            self.label(label)
            self.lines.append(f"br label %{end}")
        self.label(end)
        return Value(BOOL, self.op(f"phi i1 [ true, %{yes} ], [ false, %{no} ]"))

    def _attribute(self, node: ast.Attribute) -> Value:
        one = self.value(node.value)
        kind = one.kind
        if isinstance(kind, TableSetKind):
            of, place = kind.fields[node.attr]
            return Value(of, self.op(f"getelementptr inbounds i64, ptr {one.text}, i64 {place}"))
        if isinstance(kind, TableKind) and node.attr == "size":
            size = self._length(one, 0)
            for axis in range(1, kind.ndim):
                size = self.op(f"mul i64 {size}, {self._length(one, axis)}")
            return Value(INT, size)
        if isinstance(kind, TableKind) and node.attr == "shape":
            return together(Value(INT, self._length(one, axis)) for axis in range(kind.ndim))
        if isinstance(kind, Several) and kind.names is not None:
            return one.parts[kind.names.index(node.attr)]
        if kind is None:
            return constant(getattr(one.constant, node.attr))
        raise TypeError(f"{ast.unparse(node)} is nothing that a kernel knows")

    def _subscript(self, node: ast.Subscript) -> Value:
        one = self.value(node.value)
        if isinstance(one.kind, Several):
            part: Value = one.parts[self.value(node.slice).constant]
            return part
        return self._load(self._place(node, of=one))

    # tables

    def _word(self, block: str, number: int, kind: str = "i64") -> str:
        place = self.op(f"getelementptr inbounds i64, ptr {block}, i64 {number}") if number else block
        return self.op(f"load {kind}, ptr {place}{_INVARIANT}")

    def _length(self, table: Value, axis: int) -> str:
        return self._word(table.text, 1 + axis)

    def _place(self, node: ast.Subscript, *, of: Value | None = None, writes: bool = False) -> _Place:
        """Return where an item of a table, or a field of a row, lies."""
        one = self.value(node.value) if of is None else of
        if isinstance(one.kind, Row):
            kind, offset = one.kind.fields[self.value(node.slice).constant]
            address = self.op(f"getelementptr inbounds i8, ptr {one.text}, i64 {offset}") if offset else one.text
            return _Place(kind, address, _align(one.kind.dtype, kind, offset))
        index = self.value(node.slice)
        indices = list(index.parts) if isinstance(index.kind, Several) else [index]
        if any(not isinstance(each.kind, Number) or not each.kind.is_int for each in indices):
            raise TypeError(f"{ast.unparse(node)}: an index is an integer")
        if isinstance(one.constant, np.ndarray):
            return self._place_in_constant(one.constant, indices)
        if not isinstance(one.kind, TableKind) or len(indices) != one.kind.ndim:
            raise TypeError(f"{ast.unparse(node)}: getitem of what has no such items")
        if writes and not one.kind.writable:
            raise TypeError(f"{ast.unparse(node)}: setitem of a table that cannot be written")
        return self._place_in_table(one, indices)

    def _place_in_table(self, table: Value, indices: list[Value]) -> _Place:
        kind, places = table.kind, []
        for axis, index in enumerate(indices):
            wide = self.cast(index, INT if index.kind.signed else UNSIGNED)
            text = wide.text
            if wide.constant is not None and wide.constant < 0:
                text = self.op(f"add i64 {text}, {self._length(table, axis)}")
            if self.checked:
                self._fail_if(self.op(f"icmp uge i64 {text}, {self._length(table, axis)}"))
            places.append(text)
        data = self._word(table.text, 0, "ptr")
        if kind.contiguous:
            offset = places[0]
            for axis, place in enumerate(places[1:], 1):
                offset = self.op(f"add i64 {self.op(f'mul i64 {offset}, {self._length(table, axis)}')}, {place}")
            item = kind.item.stored if isinstance(kind.item, Number) else f"[{kind.bytes} x i8]"
            address = self.op(f"getelementptr {item}, ptr {data}, i64 {offset}")
        else:
            address = data
            for axis, place in enumerate(places):
                far = self.op(f"mul i64 {place}, {self._word(table.text, 1 + kind.ndim + axis)}")
                address = self.op(f"getelementptr i8, ptr {address}, i64 {far}")
        return _Place(kind.item, address, _align(None, kind.item, 0))

    def _place_in_constant(self, array: np.ndarray[Any, Any], indices: list[Value]) -> _Place:
        kind = kind_of(array.dtype)
        if not isinstance(kind, Number) or len(indices) != array.ndim:
            raise TypeError("a constant table has numbers")
        digest = hashlib.blake2b(array.tobytes() + str((array.dtype, array.shape)).encode(), digest_size=8).hexdigest()
        size, stored = array.size, kind.stored
        items = ", ".join(
            f"{stored} {constant(one).text}" for one in (array.astype(np.uint8) if kind is BOOL else array).ravel()
        )
        self.arrays[digest] = f"@table.{digest} = internal unnamed_addr constant [{size} x {stored}] [{items}]"
        offset = self.cast(indices[0], INT).text
        for axis, index in enumerate(indices[1:], 1):
            wide = self.op(f"mul i64 {offset}, {array.shape[axis]}")
            offset = self.op(f"add i64 {wide}, {self.cast(index, INT).text}")
        return _Place(kind, self.op(f"getelementptr {stored}, ptr @table.{digest}, i64 {offset}"), kind.bytes)

    def _fail_if(self, wrong: str) -> None:
        following = self.name()
        self.fails = True
        self.lines.append(f"br i1 {wrong}, label %fails, label %{following}, !prof !1")
        self.label(following)

    def _load(self, place: _Place) -> Value:
        kind = place.kind
        if isinstance(kind, Row):
            return Value(kind, place.address)
        word = self.op(f"load {kind.stored}, ptr {place.address}, align {place.align}")
        return Value(kind, self.op(f"icmp ne i8 {word}, 0") if kind is BOOL else word)

    def _store(self, place: _Place, value: Value) -> None:
        kind = place.kind
        if isinstance(kind, Row):
            if value.kind is not kind:
                raise TypeError("a row is copied from one of its kind")
            size = kind.dtype.itemsize
            self.lines.append(
                f"call void @llvm.memcpy.p0.p0.i64(ptr {place.address}, ptr {value.text}, i64 {size}, i1 false)"
            )
            return
        text = self.cast(value, kind).text
        if kind is BOOL:
            text = self.op(f"zext i1 {text} to i8")
        self.lines.append(f"store {kind.stored} {text}, ptr {place.address}, align {place.align}")

    # calls

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "view":
            return self._view(node)
        if node.keywords:
            raise TypeError(f"{ast.unparse(node)}: a kernel does not name arguments")
        called = self.value(node.func).constant
        given = [self.value(one) for one in node.args]
        if isinstance(called, Kernel):
            return self._call_kernel(called, given)
        if called is call_at:
            return self._call_at(given)
        if called is fetch:
            return self._fetch(*given)
        if called in _MATH:
            return self._math(called, given[0])
        if called is len:
            return self._len(given[0])
        if called is abs:
            return self.absolute(given[0])
        if called is min or called is max:
            return self.extreme(ast.Lt if called is min else ast.Gt, given)
        if isinstance(called, type):
            return self._construct(called, given)
        raise TypeError(f"{ast.unparse(node)} calls what is no kernel")

    def _construct(self, called: type, given: list[Value]) -> Value:
        if called is int:
            kind = given[0].kind
            return given[0] if kind.is_int else self.cast(given[0], INT)
        if called is float or called is bool:
            return self.cast(given[0], FLOAT if called is float else BOOL)
        if issubclass(called, np.generic):
            return self.cast(given[0], kind_of(np.dtype(called)))
        if issubclass(called, tuple) and hasattr(called, "_fields"):
            return together(given, called._fields)
        raise TypeError(f"a kernel does not make a {called.__name__}")

    def _view(self, node: ast.Call) -> Value:
        assert isinstance(node.func, ast.Attribute)
        one, kind = self.value(node.func.value), kind_of(np.dtype(self.value(node.args[0]).constant))
        assert isinstance(kind, Number)
        if one.kind.bits != kind.bits:
            raise TypeError(f"{ast.unparse(node)}: a view has the same width")
        return Value(kind, self.op(f"bitcast {one.kind.llvm} {one.text} to {kind.llvm}"))

    def _math(self, function: Any, one: Value) -> Value:
        found = Value(FLOAT, self.op(f"call double @{_MATH[function]}(double {self.cast(one, FLOAT).text})"))
        return self.cast(found, INT) if function is math.floor else found

    def _len(self, one: Value) -> Value:
        if isinstance(one.kind, TableKind):
            return Value(INT, self._length(one, 0))
        return constant(len(one.parts) if isinstance(one.kind, Several) else len(one.constant))

    def _fetch(self, table: Value, index: Value) -> Value:
        kind = table.kind
        item = kind.item.stored if isinstance(kind.item, Number) else f"[{kind.bytes} x i8]"
        data = self._word(table.text, 0, "ptr")
        row = self.op(f"getelementptr {item}, ptr {data}, i64 {self.cast(index, INT).text}")
        self.lines.append(f"call void @llvm.prefetch.p0(ptr {row}, i32 0, i32 3, i32 1)")
        return Value(NOTHING)

    def _call_at(self, given: list[Value]) -> Value:
        # as tiersim.kernel.calls does: where a result and an error would go, where words go, and arguments
        own = f"%c{len(self.rooms)}"
        self.rooms += [f"{own}.results = alloca [3 x i64]", f"{own}.nowhere = alloca i64"]
        target = self.op(f"inttoptr i64 {self.cast(given[0], INT).text} to ptr")
        words = [f"ptr {own}.nowhere", f"ptr {own}.nowhere", f"ptr {own}.results"]
        for one in given[1:]:
            words.append(
                f"ptr {one.text}"
                if isinstance(one.kind, TableKind | TableSetKind)
                else f"i64 {self.cast(one, INT).text}"
            )
        status = self.op(f"call i32 {target}({', '.join(words)})")
        if self.checked:
            self._fail_if(self.op(f"icmp ne i32 {status}, 0"))
        places = [self.op(f"getelementptr i64, ptr {own}.results, i64 {place}") for place in range(3)]
        return together(Value(INT, self.op(f"load i64, ptr {place}")) for place in places)

    def _call_kernel(self, called: Kernel, given: list[Value]) -> Value:
        taken = [self.cast(one, as_argument(one.kind)) for one in given]
        function = self._translated(called, tuple(one.kind for one in taken), self.checked)
        self.called[function.symbol] = function
        arguments = ", ".join(f"{leaf.kind.llvm} {leaf.text}" for one in taken for leaf in leaves(one))
        found = results_of(self, function, arguments, self.checked)
        if self.checked:
            self._fail_if(found.pop(0))
        return whole(function.returned, iter(found))


_EXPRESSIONS: dict[type[ast.expr], Callable[[Expressions, Any], Value]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name_of,
    ast.Tuple: Expressions._tuple,
    ast.UnaryOp: Expressions._unary_operation,
    ast.BinOp: Expressions._operation,
    ast.BoolOp: Expressions._and_or,
    ast.IfExp: Expressions._choice,
    ast.Compare: Expressions._comparison,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Call: Expressions._call,
}


def _meaning(function: Callable[..., Any], name: str) -> Any:
    """Return what a name that is not a variable stands for in a function."""
    code = function.__code__
    if name in code.co_freevars:
        return (function.__closure__ or ())[code.co_freevars.index(name)].cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name)


def _align(row: np.dtype[Any] | None, kind: Number | Row, offset: int) -> int:
    """Return on how many bytes an item lies, or a field of a row."""
    if isinstance(kind, Row):
        return 1
    if row is None:
        return kind.bytes
    return kind.bytes if row.isalignedstruct and offset % kind.bytes == 0 else 1
