"""The translator of kernels: the same numbers as numba and as Python, and a sentence for what no kernel has."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.kernel_language import WAYS, rows
from tests.runs import needs_jit
from tiersim.kernel import kernel, stamps
from tiersim.kernel.versions import plain_numba

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [needs_jit, pytest.mark.skipif(plain_numba(), reason="numba compiles")]


@pytest.mark.parametrize(("way", "arguments"), WAYS, ids=[way.__name__.strip("_") for way, _ in WAYS])
def test_ways_through_a_function_are_those_of_python(way: Any, arguments: Any) -> None:
    for mine, pythons in zip(arguments(), arguments(), strict=True):
        assert way(*mine) == way.function(*pythons)
        for one, other in zip(mine, pythons, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.long
def test_numbers_are_those_of_numba(tmp_path: Path) -> None:
    """Operators on integers of all widths, with and without a sign, at the ends of their ranges, divided by zero."""
    found = []
    for more in ({}, {"TIERSIM_PLAIN_NUMBA": "1"}):
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)} | more
        done = subprocess.run(
            [sys.executable, "-m", "tests.kernel_language"], env=environment, capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout))
    here, numbas = found
    assert len(here) > 35_000
    assert {key: (value, numbas[key]) for key, value in here.items() if value != numbas[key]} == {}


@kernel
def _text(place: int) -> Any:
    return f"{place}"


@kernel
def _no_such_thing(numbers: NDArray[np.int64]) -> Any:
    return numbers.nothing  # type: ignore[attr-defined]


@kernel
def _now_one_now_another(place: int) -> Any:
    if place > 0:
        return place
    return None


@kernel
def _no_index(numbers: NDArray[np.int64], place: float) -> Any:
    return numbers[place]  # type: ignore[call-overload]


@kernel
def _over_a_table(numbers: NDArray[np.int64]) -> int:
    total = 0
    for number in numbers:
        total += number
    return total


@kernel
def _never_assigned(numbers: NDArray[np.int64]) -> Any:
    for place in range(3):
        if place > 1:
            found: Any = numbers
        else:
            found = place
            continue
    return found


@pytest.mark.parametrize(
    ("wrong", "arguments", "said"),
    [
        (_text, (1,), "a kernel has no JoinedStr"),
        (_no_such_thing, (np.zeros(1, np.int64),), "numbers.nothing is nothing that a kernel knows"),
        (_now_one_now_another, (1,), "_now_one_now_another returns now one kind, now another"),
        (_no_index, (np.zeros(1, np.int64), 1.0), "numbers\\[place\\]: an index is an integer"),
        (_over_a_table, (np.zeros(1, np.int64),), "a kernel loops over ranges only"),
        (_never_assigned, (np.zeros(1, np.int64),), "found may not have been assigned, or be of several kinds"),
    ],
)
def test_what_no_kernel_has_is_named_with_the_kernel(wrong: Any, arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(TypeError, match=f"{wrong.__name__}.*{said}|{said}"):
        wrong(*arguments)


def test_a_source_that_was_edited_since_it_was_loaded_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    @kernel
    def doubled(value: int) -> int:
        return 2 * value

    monkeypatch.setitem(stamps, __file__, (0, 0))
    with pytest.raises(RuntimeError, match="was edited since it was loaded; start anew to compile doubled"):
        doubled(1)
    assert rows().size == 8
