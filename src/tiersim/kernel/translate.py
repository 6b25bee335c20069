"""From a kernel and the kinds of its arguments to a module in LLVM's language.

A function is read once, statement by statement, as a syntax tree. Along the way goes what each variable is at this
point (``env``): a value, where it is assigned in one place only, else the kind that its place in memory holds now; LLVM
keeps such places in registers. Where ways meet, a variable becomes what holds all that may come; a loop whose variables
turn out to be wider than at its begin is read again.

Each kernel is translated once for each kinds of arguments. The kernel that Python calls takes the texts of all that it
reaches into one module, which is optimised once (:mod:`tiersim.kernel.machine_code`).
"""

import ast
import hashlib
import linecache
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tiersim.kernel import Kernel, stamp, stamps
from tiersim.kernel.arithmetic import Instructions, Line
from tiersim.kernel.blocks import Kind as BlockKind
from tiersim.kernel.expressions import DECLARED, Expressions, Function, results_of, returned_type
from tiersim.kernel.machine_code import Translated
from tiersim.kernel.reach import own_digest
from tiersim.kernel.values import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    UNSIGNED,
    Number,
    Several,
    TableKind,
    TableSetKind,
    Value,
    both,
    constant,
    flat,
    leaves,
    table_of,
    whole,
)

_known: dict[tuple[Kernel, tuple[Any, ...], bool], Function] = {}


def translate(kernel: Kernel, kinds: tuple[BlockKind, ...], *, checked: bool) -> Translated:
    """Translate a kernel and all that it calls."""
    numbers = {"int": INT, "bool": BOOL, "float": FLOAT}
    function = _function(
        kernel, tuple(numbers[kind] if isinstance(kind, str) else table_of(kind) for kind in kinds), checked
    )
    reached, arrays, left = {function.symbol: function}, dict(function.arrays), [function]
    while left:
        for symbol, one in left.pop().called.items():
            if symbol not in reached:
                reached[symbol] = one
                arrays |= one.arrays
                left.append(one)
    results, entry = _entry(function, kinds, checked)
    text = "\n".join([*DECLARED, *arrays.values(), *(one.text for one in reached.values()), entry])
    return Translated(text, "entry", results, is_optimised=False)


def _function(kernel: Kernel, kinds: tuple[Any, ...], checked: bool) -> Function:
    key = kernel, kinds, checked
    if key not in _known:
        once: set[str] = set()
        while True:
            body = _Body(kernel, kinds, checked, once)
            try:
                _known[key] = body.function()
                break
            except _Again as again:
                once.add(again.name)
    return _known[key]


def _entry(function: Function, kinds: tuple[BlockKind, ...], checked: bool) -> tuple[str, str]:
    """Return what a kernel returns (:class:`tiersim.kernel.store.Code`), and the function that Python calls."""
    lines, given, taken = Instructions(), ["ptr %error", "ptr %more", "ptr noalias %words"], []
    for place, kind in enumerate(kinds):
        if isinstance(kind, str):
            given.append(f"{'double' if kind == 'float' else 'i64'} %a{place}")
            word = lines.op(f"trunc i64 %a{place} to i1") if kind == "bool" else f"%a{place}"
            taken.append(f"{'double' if kind == 'float' else 'i1' if kind == 'bool' else 'i64'} {word}")
        else:
            given.append(f"{_pointer(table_of(kind))} %a{place}")
            taken.append(f"ptr %a{place}")
    returned = function.returned
    parts: list[Any] = list(returned.kinds) if isinstance(returned, Several) else flat(returned)
    if not all(isinstance(part, Number) for part in parts):
        raise TypeError(f"{function.symbol} returns {returned.name}; Python takes numbers")
    found = results_of(lines, function, ", ".join(taken), checked)
    if checked:
        lines.lines.append(f"br i1 {found.pop(0)}, label %wrong, label %right\nwrong:\nret i32 1\nright:")
    for place, (part, word) in enumerate(zip(parts, found, strict=True)):
        stored = "double" if part.is_float else "i64"
        value = lines.cast(Value(part, word), FLOAT if part.is_float else INT).text
        lines.lines.append(f"store {stored} {value}, ptr {lines.op(f'getelementptr i64, ptr %words, i64 {place}')}")
    letters = "".join("b" if part is BOOL else "f" if part.is_float else "i" for part in parts)
    text = "\n".join([f"define i32 @entry({', '.join(given)}) nounwind {{", *lines.lines, "ret i32 0", "}"])
    return "(" * isinstance(returned, Several) + letters, text


def _pointer(kind: TableKind | TableSetKind) -> str:
    return f"ptr noalias nonnull noundef dereferenceable({8 * kind.words})"


class _Again(Exception):
    """A variable that was taken for a value needs a place: it is read where it may not have been assigned."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _Wider(Exception):
    """A variable of a loop holds more at its end than at its begin."""

    def __init__(self, loop: "_Loop", name: str, kind: Any) -> None:
        super().__init__(name)
        self.loop, self.name, self.kind = loop, name, kind


#: What variables are at a point of a function: a value, or the kind of what lies in their place.
_Env = dict[str, Any]


class _Meeting:
    """Where ways meet."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.ways: list[tuple[_Env, list[Line]]] = []


class _Loop(NamedTuple):
    begin: str
    env: _Env
    again: _Meeting  # continue
    after: _Meeting  # break


class _Body(Expressions):
    """One function."""

    def __init__(self, kernel: Kernel, kinds: tuple[Any, ...], checked: bool, placed: set[str]) -> None:
        super().__init__(kernel, checked, _function)
        self.kinds, self.placed = kinds, placed
        self.tree = _tree_of(kernel.function)
        self.places: dict[tuple[str, Any], list[str]] = {}
        self.returns: list[tuple[Value, list[Line]]] = []
        self.loops: list[_Loop] = []
        self.env: _Env | None = {}
        counts: dict[str, int] = {one.arg: 1 for one in self.tree.args.args}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                counts[node.id] = counts.get(node.id, 0) + 1
        self.variables = counts
        self.places_of = {name for name, count in counts.items() if count > 1} | placed

    # the whole

    def function(self) -> Function:
        """Translate it."""
        try:
            given = self._arguments()
            self._block(self.tree.body)
        except TypeError as error:
            raise TypeError(f"{self.kernel.__module__}.{self.kernel.__qualname__}: {error}") from error
        if self.env is not None:
            self.returns.append((Value(NOTHING), self.gap()))
        returned: Any = self.returns[0][0].kind
        for value, _ in self.returns:
            returned = both(returned, value.kind)
            if returned is None:
                raise TypeError(f"{self.kernel.__qualname__} returns now one kind, now another")
        kind = returned_type(returned, self.checked)
        for value, gap in self.returns:
            with self.within(gap):
                self._return(kind, returned, value)
        if self.fails:
            words = ", ".join(["i1 true", *(f"{one.llvm} undef" for one in flat(returned))])
            self.lines += ["fails:", f"ret {kind} true" if kind == "i1" else f"ret {kind} {{ {words} }}"]
        digest = f"{own_digest(self.kernel)} {self.checked} {[one.name for one in self.kinds]}"
        symbol = f"{self.kernel.__name__}.{hashlib.blake2b(digest.encode(), digest_size=8).hexdigest()}"
        head = f"define internal {kind} @{symbol}({', '.join(given)}) {'alwaysinline ' * self.kernel.hot}nounwind {{"
        places = [
            f"{name} = alloca {one.llvm}"
            for (_, of), names in self.places.items()
            for name, one in zip(names, flat(of), strict=True)
        ]
        text = "\n".join([head, "entry:", *places, *self.rooms, "br label %begin", "begin:", *_lines(self.lines), "}"])
        return Function(symbol, returned, text, self.called, self.arrays)

    def _arguments(self) -> list[str]:
        self.block = "begin"
        given: list[str] = []
        if len(self.tree.args.args) != len(self.kinds):
            raise TypeError(f"it takes {len(self.tree.args.args)} arguments, not {len(self.kinds)}")
        for argument, kind in zip(self.tree.args.args, self.kinds, strict=True):
            names = []
            for one in flat(kind):
                names.append(f"%a{len(given)}")
                given.append(f"{_pointer(one) if isinstance(one, TableKind | TableSetKind) else one.llvm} {names[-1]}")
            self._assign(argument.arg, whole(kind, iter(names)))
        return given

    def _return(self, kind: str, returned: Any, value: Value) -> None:
        words = [(one.kind.llvm, one.text) for one in leaves(self.cast(value, returned))]
        if self.checked:
            words.insert(0, ("i1", "false"))
        if len(words) < 2:
            self.lines.append(f"ret {kind} {words[0][1]}" if words else "ret void")
            return
        made = "undef"
        for place, (of, text) in enumerate(words):
            made = self.op(f"insertvalue {kind} {made}, {of} {text}, {place}")
        self.lines.append(f"ret {kind} {made}")

    # variables

    def _assign(self, name: str, value: Value) -> None:
        assert self.env is not None
        if value.kind is None or name not in self.places_of:
            self.env[name] = value
            return
        self.env[name] = value.kind
        self._store_variable(name, value)

    def _store_variable(self, name: str, value: Value) -> None:
        for one, place in zip(leaves(value), self._places(name, value.kind), strict=True):
            self.lines.append(f"store {one.kind.llvm} {one.text}, ptr {place}")

    def _places(self, name: str, kind: Any) -> list[str]:
        key = name, kind
        if key not in self.places:
            number = len(self.places)
            self.places[key] = [f"%p{number}.{place}" for place in range(len(flat(kind)))]
        return self.places[key]

    def _load_variable(self, name: str, kind: Any) -> Value:
        places = self._places(name, kind)
        names = [self.op(f"load {one.llvm}, ptr {place}") for one, place in zip(flat(kind), places, strict=True)]
        return whole(kind, iter(names))

    def _become(self, name: str, held: Any, kind: Any) -> None:
        """Let a variable hold another kind."""
        if held is not kind:
            self._store_variable(name, self.cast(self._load_variable(name, held), kind))

    def variable(self, name: str) -> Value | None:
        """Return what a variable holds, None for a name that is none."""
        if name not in self.variables:
            return None
        assert self.env is not None
        held = self.env.get(name)
        if held is None:
            if name in self.placed:
                raise TypeError(f"{name} may not have been assigned, or be of several kinds")
            raise _Again(name)
        return held if isinstance(held, Value) else self._load_variable(name, held)

    # ways through a function

    def _go(self, meeting: _Meeting) -> None:
        """Go to where ways meet."""
        assert self.env is not None
        meeting.ways.append((self.env, self.gap()))
        self.lines.append(f"br label %{meeting.label}")
        self.env = None

    def _meet(self, meeting: _Meeting) -> None:
        """Go on from where ways meet."""
        ways = meeting.ways
        if not ways:
            self.env = None
            return
        env = dict(ways[0][0])
        if len(ways) > 1:
            for name in [*env, *(name for name in self.placed if name not in env)]:
                self._meet_variable(env, name, ways)
        self.label(meeting.label)
        self.env = env

    def _meet_variable(self, env: _Env, name: str, ways: list[tuple[_Env, list[Line]]]) -> None:
        held = [one[name] for one, _ in ways if name in one]
        if not held:
            return
        if all(one is held[0] for one in held):
            if len(held) == len(ways) or name in self.placed:
                env[name] = held[0]
            else:
                env.pop(name, None)
            return
        kind = None
        if not any(isinstance(one, Value) for one in held) and (len(held) == len(ways) or name in self.placed):
            kind = held[0]
            for one in held:
                kind = both(kind, one)
        if kind is None:
            env.pop(name, None)
            return
        env[name] = kind
        for one, gap in ways:
            if name in one:
                with self.within(gap):
                    self._become(name, one[name], kind)

    def _again(self, loop: _Loop) -> None:
        """Go back to the begin of a loop."""
        assert self.env is not None
        for name, kind in loop.env.items():
            held = self.env.get(name)
            if held is kind:
                continue
            wide = None if held is None or isinstance(held, Value) or isinstance(kind, Value) else both(kind, held)
            if wide is not kind:
                raise _Wider(loop, name, wide)
            self._become(name, held, kind)
        for name in self.placed:
            if name in self.env and name not in loop.env:
                raise _Wider(loop, name, self.env[name])
        self.lines.append(f"br label %{loop.begin}")
        self.env = None

    def _loop(self, body: Callable[[_Loop], None]) -> None:
        """Translate a loop, again while a variable of it is found to be wider."""
        assert self.env is not None
        before, env, mark, returns, block = self.env, dict(self.env), len(self.lines), len(self.returns), self.block
        while True:
            loop = _Loop(self.name(), env, _Meeting(self.name()), _Meeting(self.name()))
            self.env = dict(before)
            for name, kind in env.items():
                if name in before and not isinstance(kind, Value):
                    self._become(name, before[name], kind)
            self.env = dict(env)
            self.loops.append(loop)
            try:
                body(loop)
            except _Wider as wider:
                if wider.loop is not loop:
                    raise
                del self.lines[mark:], self.returns[returns:]
                self.block = block
                env = {**env, wider.name: wider.kind}
                if wider.kind is None:
                    del env[wider.name]
                continue
            finally:
                self.loops.pop()
            self._meet(loop.after)
            return

    # statements

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.env is None:
                return
            how = _STATEMENTS.get(type(statement))
            if how is None:
                raise TypeError(f"{ast.unparse(statement)}: a kernel has no {type(statement).__name__}")
            how(self, statement)

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def _pass(self, _: ast.Pass) -> None:
        pass

    def _assignment(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._target(target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._target(node.target, self.value(node.value))

    def _target(self, node: ast.expr, value: Value) -> None:
        if isinstance(node, ast.Name):
            self._assign(node.id, value)
        elif isinstance(node, ast.Tuple):
            for one, part in zip(node.elts, value.parts, strict=True):
                self._target(one, part)
        elif isinstance(node, ast.Subscript):
            self._store(self._place(node, writes=True), value)
        else:
            raise TypeError(f"{ast.unparse(node)} cannot be assigned")

    def _augmented(self, node: ast.AugAssign) -> None:
        operator = type(node.op)
        if isinstance(node.target, ast.Name):
            name = ast.Name(node.target.id, ast.Load())
            one = self.value(name)
            self._assign(node.target.id, self.binary(operator, one, self.value(node.value)))
            return
        assert isinstance(node.target, ast.Subscript)
        place = self._place(node.target, writes=True)
        one = self._load(place)
        self._store(place, self.binary(operator, one, self.value(node.value)))

    def _return_of(self, node: ast.Return) -> None:
        value = Value(NOTHING) if node.value is None else self.value(node.value)
        self.returns.append((value, self.gap()))
        self.env = None

    def _if(self, node: ast.If) -> None:
        yes, no, after = self.name(), self.name(), _Meeting(self.name())
        self._decide(node.test, yes, no)
        before = self.env
        assert before is not None
        for label, statements in ((yes, node.body), (no, node.orelse)):
            self.label(label)
            self.env = dict(before)
            self._block(statements)
            if self.env is not None:
                self._go(after)
        self._meet(after)

    def _while(self, node: ast.While) -> None:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        if node.orelse:
            raise TypeError("a kernel has no else of loops")

        def body(loop: _Loop) -> None:
            self.lines.append(f"br label %{loop.begin}")
            self.label(loop.begin)
            if not endless:
                yes, no = self.name(), self.name()
                self._decide(node.test, yes, no)
                env = self.env
                assert env is not None
                self.label(no)
                self.env = dict(env)
                self._go(loop.after)
                self.label(yes)
                self.env = dict(env)
            self._block(node.body)
            if self.env is not None:
                self._go(loop.again)
            self._meet(loop.again)
            if self.env is not None:
                self._again(loop)

        self._loop(body)

    def _for(self, node: ast.For) -> None:
        call = node.iter
        if (
            not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range")
            or node.orelse
        ):
            raise TypeError("a kernel loops over ranges only")
        given = [self.value(one) for one in call.args]
        unsigned = all(one.kind.is_int and not one.kind.signed for one in given)
        kind = UNSIGNED if unsigned else INT
        bounds = [self.cast(one, kind) for one in given]
        first = constant(0) if len(bounds) == 1 else bounds[0]
        stop, step = bounds[min(len(bounds) - 1, 1)], bounds[2] if len(bounds) == 3 else constant(1)

        def body(loop: _Loop) -> None:
            number, following, inside, done = (self.name() for _ in range(4))
            before = self.block
            self.lines.append(f"br label %{loop.begin}")
            self.label(loop.begin)
            head = self.gap()
            if step.constant is None:
                ends = [self.op(f"icmp s{word} i64 %{number}, {stop.text}") for word in ("lt", "gt")]
                goes = self.op(f"select i1 {self.op(f'icmp sgt i64 {step.text}, 0')}, i1 {ends[0]}, i1 {ends[1]}")
            else:
                goes = self.op(f"icmp s{'lt' if step.constant > 0 else 'gt'} i64 %{number}, {stop.text}")
            self.lines.append(f"br i1 {goes}, label %{inside}, label %{done}")
            env = self.env
            assert env is not None
            self.label(done)
            self.env = dict(env)
            self._go(loop.after)
            self.label(inside)
            self.env = dict(env)
            self._target(node.target, Value(kind, f"%{number}"))
            self._block(node.body)
            if self.env is not None:
                self._go(loop.again)
            self._meet(loop.again)
            if self.env is None:
                head.append(f"%{number} = phi i64 [ {first.text}, %{before} ]")
                return
            self.lines.append(f"%{following} = add nsw i64 %{number}, {step.text}")
            self._again(loop)
            head.append(f"%{number} = phi i64 [ {first.text}, %{before} ], [ %{following}, %{self.block} ]")

        self._loop(body)

    def _break(self, _: ast.Break) -> None:
        self._go(self.loops[-1].after)

    def _continue(self, _: ast.Continue) -> None:
        self._go(self.loops[-1].again)


_STATEMENTS: dict[type[ast.stmt], Callable[[_Body, Any], None]] = {
    ast.Expr: _Body._expression,
    ast.Pass: _Body._pass,
    ast.Assign: _Body._assignment,
    ast.AnnAssign: _Body._annotated,
    ast.AugAssign: _Body._augmented,
    ast.Return: _Body._return_of,
    ast.If: _Body._if,
    ast.While: _Body._while,
    ast.For: _Body._for,
    ast.Break: _Body._break,
    ast.Continue: _Body._continue,
}


def _tree_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax tree of a function. Raises RuntimeError where its source was edited since it was loaded."""
    code = function.__code__
    file = code.co_filename
    if stamp(file) != stamps.get(file):
        raise RuntimeError(f"{file} was edited since it was loaded; start anew to compile {code.co_name}")
    lines = linecache.getlines(file, function.__globals__)
    first = code.co_firstlineno - 1
    last = max(end for _, end, _, _ in code.co_positions() if end is not None)
    while last < len(lines) and lines[last].lstrip().startswith(
        (")", "]")
    ):  # what code says of a bracket is its inside
        last += 1
    text = "".join(lines[first:last])
    module = ast.parse(f"if 1:\n{text}" if text[0].isspace() else text)
    tree = module.body[0].body[0] if isinstance(module.body[0], ast.If) else module.body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _lines(lines: list[Line]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, str):
            yield line
        else:
            yield from _lines(line)
