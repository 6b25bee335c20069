"""What kernels are written in, one of each: operators on numbers of every kind, casts, loops, decisions. Run as a
module, it writes what comes of them, in the way that the environment chooses.
"""

import json
import linecache
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel

#: A number of each kind.
NUMBERS = np.dtype(
    [
        ("i8", np.int64),
        ("i4", np.int32),
        ("i1", np.int8),
        ("u4", np.uint32),
        ("u1", np.uint8),
        ("b", np.bool_),
        ("f8", np.float64),
    ],
    align=True,
)
_INTEGERS = ("i8", "i4", "i1", "u4", "u1", "b")
_OPERATORS = ("+", "-", "*", "//", "%", "&", "|", "^", "<", "<=", "==", "!=", ">", ">=")


def rows() -> NDArray[np.void]:
    """Return numbers to compute with: small ones of both signs, and the ends of each kind."""
    found = np.zeros(8, NUMBERS)
    found["i8"] = [0, 1, -1, 7, -7, 1 << 40, -(1 << 40), -(1 << 62)]
    found["i4"] = [0, -1, 3, -3, 2**31 - 1, -(2**31), 8, 1]
    found["i1"] = [3, 0, -1, 127, -128, 5, -5, 1]
    found["u4"] = [0, 1, 5, 2**32 - 1, 2**31, 3, 8, 1]
    found["u1"] = [2, 0, 255, 1, 7, 128, 3, 1]
    found["b"] = [0, 1, 1, 0, 1, 0, 1, 0]
    found["f8"] = [0.0, 1.5, -1.5, 1e18, -1e-9, 2.0**40, -0.0, 7.0]
    return found


def _made(name: str, parameters: str, lines: list[str]) -> Any:
    """Return a kernel of generated lines."""
    text = "\n".join([f"def {name}({parameters}):", *(f"    {line}" for line in lines)])
    place = f"<{name}>"
    linecache.cache[place] = len(text), None, text.splitlines(keepends=True), place
    names: dict[str, Any] = {"int64": np.int64, "float64": np.float64, "math": math, "np": np, "__name__": __name__}
    exec(compile(text, place, "exec"), names)  # noqa: S102, our own lines
    return kernel(names[name])


_READ = [
    "one, other = rows[a], rows[b]",
    *(f'{kind}, {kind}_ = one["{kind}"], other["{kind}"]' for kind in NUMBERS.names or ()),
]


def _pairs() -> list[str]:
    pairs = [f"int64({one} {operator} {other}_)" for operator in _OPERATORS for one in _INTEGERS for other in _INTEGERS]
    shifts = [
        f"int64({one} {way} ({other}_ & 31))" for way in ("<<", ">>") for one in _INTEGERS[:5] for other in ("i8", "u4")
    ]
    return pairs + shifts


def _floats() -> list[str]:
    pairs = [
        f"({one} {operator} {other}_)"
        for operator in "+-*/"
        for one, other in (("f8", "f8"), ("f8", "i4"), ("u4", "f8"))
    ]
    pairs += ["i8 / i4_", "u4 / u1_", "-f8", "abs(f8)", "max(f8, f8_)", "min(f8, f8_, 1)", "float(u4)", "np.ceil(f8)"]
    pairs += [
        "math.exp(f8 / 1e19)",
        "math.log(abs(f8) + 1)",
        "math.log1p(abs(f8))",
        "math.sqrt(abs(f8))",
        "float64(i1)",
    ]
    return [f"float64({one}).view(int64)" for one in pairs]


def _others() -> list[str]:
    found = [
        f"int64({operator}{kind})"
        for operator in ("-", "~", "not ")
        for kind in _INTEGERS
        if (operator, kind) != ("~", "b")
    ]
    found += [f"int64({name}({kind}))" for name in ("abs", "int", "bool", "float") for kind in _INTEGERS[:5]]
    found += [f"int64(np.{name}(i8))" for name in ("int32", "int8", "uint32", "uint8", "uint16")]
    found += ["int(f8 / 1e12)", "math.floor(f8)", "int64(f8 < i8_)", "int64(f8 != f8_)", "int64(bool(f8))"]
    found += ["int64(min(u4, i8_))", "int64(max(i1, u1_, i4))", "int64(u4 + u4_ > i4)", "int64(u4 - u4_ == i8)"]
    found += ["int64(i8 < i4_ < u4)", "int64(i8 in (0, 7, i8_))", "int64(i8 not in (0, 7))", "int64(u4 if b else i1)"]
    found += ["int64(i8 and u4_)", "int64(b or i1_)", "int64(b and b_ or i8 > 0)", "int64(not (b and i8 < 0))"]
    return found


def _kernel(name: str, values: list[str]) -> Any:
    return _made(
        name, "rows, a, b, found", [*_READ, *(f"found[{place}] = {value}" for place, value in enumerate(values))]
    )


class Pair(NamedTuple):
    """Two numbers."""

    first: int
    second: float


@kernel
def _pair(place: int, scale: float) -> Pair:
    return Pair(place + 1, place * scale)


@kernel
def _wider(numbers: NDArray[np.uint32], count: int) -> float:
    """A variable begins as an integer, and goes on as another kind, in a loop within a loop."""
    total = 0
    last = numbers[0]
    for outer in range(count):
        for inner in range(outer, 0, -1):
            total = total + numbers[inner] * 0.5
            last = outer - inner
        if last > 2:
            continue
        total += last
    return float(total)


@kernel
def _first_over(numbers: NDArray[np.uint32], limit: int) -> tuple[int, bool]:
    """A variable is assigned in a branch only, and read where it has been."""
    found = False
    for place in range(len(numbers)):
        if numbers[place] > limit:
            where = place
            found = True
            break
    if found:
        return where, True
    return -1, False


@kernel
def _last_of_loop(count: int, step: int) -> int:
    """What a loop goes over is there behind it."""
    seen = 0
    for number in range(3, count, step):
        seen = (seen * 3 + number) % 10_007
    while True:
        seen -= 1000
        if seen < 0:
            break
    return seen * 1000 + number


@kernel
def _several(count: int) -> tuple[int, float, bool]:
    """Pairs go through variables, decisions and calls."""
    pair = _pair(count, 0.25)
    if count > 3:
        pair = _pair(count, 2.0)
    first, second = pair if count != 5 else _pair(0, 1.0)
    return first + pair[0], second, first > 2 and not second < 1.0


@kernel
def _copied(rows: NDArray[np.void], numbers: NDArray[np.uint32]) -> int:
    """A row is copied, fields are changed in place, two items change places."""
    rows[1] = rows[2]
    row = rows[1]
    row["i8"] -= 5
    row["u1"] -= 3
    row["b"] = row["i8"]
    numbers[0], numbers[-1] = numbers[-1], numbers[0]
    return int(row["i8"] * 1000 + np.int64(row["u1"]) * 10 + np.int64(row["b"]))


#: Kernels of ways through a function, each with arguments.
WAYS: list[tuple[Callable[..., Any], Callable[[], list[tuple[Any, ...]]]]] = [
    (_wider, lambda: [(np.arange(1, 9, dtype=np.uint32), count) for count in range(8)]),
    (_first_over, lambda: [(np.arange(1, 9, dtype=np.uint32), limit) for limit in (0, 5, 8, 100)]),
    (_last_of_loop, lambda: [(count, step) for count in (4, 9, 30) for step in (1, 4)] + [(-9, -2), (2, -1)]),
    (_several, lambda: [(count,) for count in range(8)]),
    (_copied, lambda: [(rows(), np.arange(4, dtype=np.uint32))]),
]


def results() -> dict[str, Any]:
    """Return what comes of all of them."""
    found: dict[str, Any] = {}
    table = rows()
    for name, values in (("pairs", _pairs()), ("floats", _floats()), ("others", _others())):
        run, out = _kernel(name, values), np.zeros(len(values), np.int64)
        for a in range(len(table)):
            for b in range(len(table)):
                run(table, a, b, out)
                for value, word in zip(values, out.tolist(), strict=True):
                    found[f"{value} of {a} and {b}"] = word
    for way, arguments in WAYS:
        found[way.__name__] = [way(*given) for given in arguments()]
    return found


if __name__ == "__main__":
    json.dump(results(), sys.stdout)
