"""Text in LLVM's language, line by line: blocks, casts, arithmetic, comparisons."""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tiersim.kernel.values import BOOL, FLOAT, INT, UNSIGNED, Number, Several, Value, both, constant, float_text

#: A line, or several that are known later.
Line = Any

_INT_NAMES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_FLOAT_NAMES = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_PREDICATES = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_FOLDED: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Pow: lambda a, b: a**b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_LEAST = -(1 << 63)


class Instructions:
    """Instructions of one function."""

    def __init__(self) -> None:
        """Begin with none."""
        self.lines: list[Line] = []
        self.block = "entry"
        self._names = 0

    def name(self) -> str:
        """Return a new name."""
        self._names += 1
        return f"v{self._names}"

    def op(self, text: str) -> str:
        """Add an operation; returns the name of its result."""
        self._names += 1
        name = f"%v{self._names}"
        self.lines.append(f"{name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def gap(self) -> list[Line]:
        """Leave room for lines that are known later."""
        room: list[Line] = []
        self.lines.append(room)
        return room

    @contextmanager
    def within(self, room: list[Line]) -> Iterator[None]:
        """Add lines there."""
        kept, self.lines = self.lines, room
        try:
            yield
        finally:
            self.lines = kept

    # casts

    def cast(self, value: Value, kind: Any) -> Value:
        """Return a value as another kind."""
        if value.kind is kind:
            return value
        if isinstance(kind, Several):
            return Value(kind, "", tuple(self.cast(*pair) for pair in zip(value.parts, kind.kinds, strict=True)))
        if not isinstance(kind, Number) or not isinstance(value.kind, Number):
            raise TypeError(f"{value.kind.name if value.kind else value.constant} is not {kind.name}")
        if value.constant is not None:
            return self._cast_constant(value.constant, kind)
        return Value(kind, self._cast(value.text, value.kind, kind))

    def _cast_constant(self, number: Any, kind: Number) -> Value:
        if kind is BOOL:
            return constant(bool(number))
        if kind is FLOAT:
            return constant(float(number))
        if kind.is_int and not isinstance(number, float):
            wrapped = int(number) & ((1 << kind.bits) - 1)
            if kind.signed and wrapped >> (kind.bits - 1):
                wrapped -= 1 << kind.bits
            return Value(kind, str(wrapped), (), wrapped)
        source, text = (FLOAT, float_text(number)) if isinstance(number, float) else (INT, str(int(number)))
        return Value(kind, self._cast(text, source, kind))

    def _cast(self, text: str, source: Number, kind: Number) -> str:
        if kind is BOOL:
            return self.op(
                f"fcmp une {source.llvm} {text}, 0.0" if source.is_float else f"icmp ne {source.llvm} {text}, 0"
            )
        if kind.is_int:
            if source.is_float:
                word = "fptosi" if kind.signed else "fptoui"
            elif source.bits == kind.bits:
                return text
            else:
                word = "trunc" if source.bits > kind.bits else "sext" if source.signed else "zext"
        elif source.is_float:
            word = "fptrunc" if source.bits > kind.bits else "fpext"
        else:
            word = "sitofp" if source.signed else "uitofp"
        return self.op(f"{word} {source.llvm} {text} to {kind.llvm}")

    def truth(self, value: Value) -> str:
        """Return whether a number is not zero."""
        return self.cast(value, BOOL).text

    # arithmetic

    def binary(self, operator: type[ast.operator], one: Value, other: Value) -> Value:
        """Return what an operator makes of two numbers."""
        a, b = one.kind, other.kind
        if not isinstance(a, Number) or not isinstance(b, Number):
            raise TypeError(f"{operator.__name__} needs numbers")
        if type(one.constant) is int and type(other.constant) is int and operator in _FOLDED:
            folded = _fold(operator, one.constant, other.constant)
            if folded is not None and {a, b} <= {INT, UNSIGNED}:
                return folded
        if operator is ast.Div or a.is_float or b.is_float:
            return self._binary_of_floats(operator, self.cast(one, FLOAT), self.cast(other, FLOAT))
        if operator in (ast.BitAnd, ast.BitOr, ast.BitXor) and a is BOOL and b is BOOL:
            return Value(BOOL, self.op(f"{_INT_NAMES[operator]} i1 {one.text}, {other.text}"))
        if operator in (ast.LShift, ast.RShift):
            kind = UNSIGNED if a.is_int and not a.signed else INT
        else:
            kind = UNSIGNED if all(side.is_int and not side.signed for side in (a, b)) else INT
        return self._binary_of_ints(operator, kind, self.cast(one, kind), self.cast(other, kind))

    def _binary_of_floats(self, operator: type[ast.operator], one: Value, other: Value) -> Value:
        name = _FLOAT_NAMES.get(operator)
        if name is None:
            raise TypeError(f"{operator.__name__} of floats")
        return Value(FLOAT, self.op(f"{name} double {one.text}, {other.text}"))

    def _binary_of_ints(self, operator: type[ast.operator], kind: Number, one: Value, other: Value) -> Value:
        x, y = one.text, other.text
        name = _INT_NAMES.get(operator)
        if name is not None:
            exact = " nsw" if kind.signed and name in ("add", "sub", "mul") else ""
            return Value(kind, self.op(f"{name}{exact} i64 {x}, {y}"))
        if operator is ast.LShift:
            return Value(kind, self.op(f"shl i64 {x}, {y}"))
        if operator is ast.RShift:
            return Value(kind, self.op(f"{'ashr' if kind.signed else 'lshr'} i64 {x}, {y}"))
        if operator is ast.FloorDiv or operator is ast.Mod:
            return Value(kind, self._divide(kind, one, other, operator is ast.Mod))
        raise TypeError(f"{operator.__name__} of integers")

    def _divide(self, kind: Number, one: Value, other: Value, rest: bool) -> str:
        """Return the quotient, rounded down, or the rest, which has the sign of the divisor."""
        x, y, divisor = one.text, other.text, other.constant
        if divisor is not None and divisor > 0:
            power = divisor.bit_length() - 1
            if divisor == 1 << power:
                if rest:
                    return self.op(f"and i64 {x}, {divisor - 1}")
                return self.op(f"{'ashr' if kind.signed else 'lshr'} i64 {x}, {power}")
            return self._divided(kind, x, y, rest)
        # no error: numba takes 0 for what cannot be divided
        wrong = self.op(f"icmp eq i64 {y}, 0")
        if kind.signed:
            least, minus = self.op(f"icmp eq i64 {x}, {_LEAST}"), self.op(f"icmp eq i64 {y}, -1")
            wrong = self.op(f"or i1 {wrong}, {self.op(f'and i1 {least}, {minus}')}")
        right, end, before = self.name(), self.name(), self.block
        self.lines.append(f"br i1 {wrong}, label %{end}, label %{right}, !prof !1")
        self.label(right)
        found = self._divided(kind, x, y, rest)
        self.lines.append(f"br label %{end}")
        self.label(end)
        return self.op(f"phi i64 [ 0, %{before} ], [ {found}, %{right} ]")

    def _divided(self, kind: Number, x: str, y: str, rest: bool) -> str:
        if not kind.signed:
            return self.op(f"{'urem' if rest else 'udiv'} i64 {x}, {y}")
        left = self.op(f"srem i64 {x}, {y}")
        some = self.op(f"icmp ne i64 {left}, 0")
        signs = self.op(f"icmp slt i64 {self.op(f'xor i64 {y}, {left}')}, 0")
        differ = self.op(f"and i1 {some}, {signs}")
        if rest:
            return self.op(f"select i1 {differ}, i64 {self.op(f'add i64 {left}, {y}')}, i64 {left}")
        quotient = self.op(f"sdiv i64 {x}, {y}")
        return self.op(f"select i1 {differ}, i64 {self.op(f'add i64 {quotient}, -1')}, i64 {quotient}")

    def unary(self, operator: type[ast.unaryop], one: Value) -> Value:
        """Return what an operator makes of a number."""
        kind = one.kind
        if operator is ast.Not:
            return Value(BOOL, self.op(f"xor i1 {self.truth(one)}, true"))
        if (
            operator is ast.USub
            and one.constant is not None
            and type(one.constant) in (int, float)
            and kind in (INT, FLOAT)
        ):
            return constant(-one.constant)
        if operator is ast.USub and kind is BOOL:
            one, kind = self.cast(one, INT), INT
        if not isinstance(kind, Number) or operator not in (ast.USub, ast.Invert):
            raise TypeError(f"{operator.__name__} needs a number")
        if kind.is_float:
            return Value(kind, self.op(f"fneg {kind.llvm} {one.text}"))
        name = "sub" if operator is ast.USub else "xor"
        sides = f"0, {one.text}" if operator is ast.USub else f"{one.text}, -1"
        made = Value(kind, self.op(f"{name} {kind.llvm} {sides}"))
        return made if kind is BOOL else self.cast(made, INT if kind.signed else UNSIGNED)

    def compare(self, operator: type[ast.cmpop], one: Value, other: Value) -> str:
        """Return whether it holds."""
        a, b, word = one.kind, other.kind, _PREDICATES[operator]
        if not isinstance(a, Number) or not isinstance(b, Number):
            raise TypeError(f"{operator.__name__} needs numbers")
        if a.is_float or b.is_float:
            x, y = self.cast(one, FLOAT).text, self.cast(other, FLOAT).text
            return self.op(f"fcmp {'une' if word == 'ne' else f'o{word}'} double {x}, {y}")
        if UNSIGNED in (a, b) and a.signed != b.signed and BOOL not in (a, b):
            return self._compare_signs(operator, one, other)
        kind = both(a, b)
        sign = "" if word in ("eq", "ne") else "s" if kind.signed else "u"
        return self.op(f"icmp {sign}{word} {kind.llvm} {self.cast(one, kind).text}, {self.cast(other, kind).text}")

    def _compare_signs(self, operator: type[ast.cmpop], one: Value, other: Value) -> str:
        """Compare 64 bits with and without a sign: what is negative is less."""
        word = _PREDICATES[operator]
        x, y = (self.cast(side, INT if side.kind.signed else UNSIGNED).text for side in (one, other))
        found = self.op(f"icmp {'' if word in ('eq', 'ne') else 'u'}{word} i64 {x}, {y}")
        signed = one if one.kind.signed else other
        if signed.constant is not None and signed.constant >= 0:
            return found
        negative = self.op(f"icmp slt i64 {x if signed is one else y}, 0")
        then = word == "ne" or ((word in ("lt", "le")) == (signed is one) and word != "eq")
        return self.op(f"select i1 {negative}, i1 {'true' if then else 'false'}, i1 {found}")

    def absolute(self, one: Value) -> Value:
        """Return a number without its sign."""
        kind = one.kind
        if kind.is_float:
            return Value(kind, self.op(f"call {kind.llvm} @llvm.fabs.f{kind.bits}({kind.llvm} {one.text})"))
        if not kind.signed:
            return one
        less, minus = self.op(f"icmp slt {kind.llvm} {one.text}, 0"), self.op(f"sub {kind.llvm} 0, {one.text}")
        return Value(kind, self.op(f"select i1 {less}, {kind.llvm} {minus}, {kind.llvm} {one.text}"))

    def extreme(self, operator: type[ast.cmpop], values: list[Value]) -> Value:
        """Return the first of the least or greatest numbers."""
        found, *others = values
        for value in others:
            kind = both(found.kind, value.kind)
            if kind is None:
                raise TypeError("min and max need numbers")
            found, one = self.cast(found, kind), self.cast(value, kind)
            chosen = self.compare(operator, one, found)
            found = Value(kind, self.op(f"select i1 {chosen}, {kind.llvm} {one.text}, {kind.llvm} {found.text}"))
        return found


def _fold(operator: type[ast.operator], one: int, other: int) -> Value | None:
    if operator in (ast.LShift, ast.RShift, ast.Pow) and not 0 <= other < 64:
        return None
    if operator in (ast.FloorDiv, ast.Mod) and other == 0:
        return None
    found = _FOLDED[operator](one, other)
    return constant(found) if _LEAST <= found < 1 << 64 else None
