"""The faults of :mod:`tests.mutations` can be made, and the tests that have to notice them are there."""

import ast
from collections import Counter
from functools import cache

from tests.mutations.copy import copied
from tests.mutations.fault import ROOT
from tests.mutations.faults import AREAS

FAULTS = [fault for faults in AREAS.values() for fault in faults]


@cache
def functions_in(file: str) -> set[str]:
    return {node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)}


def test_the_old_text_of_every_fault_stands_once_in_its_file() -> None:
    assert [fault.name for fault in FAULTS if not fault.applies() or fault.new == fault.old] == []


def test_the_tests_that_are_named_are_there() -> None:
    named = {test.partition("::")[::2] for fault in FAULTS for test in fault.tests}
    assert [(file, test) for file, test in named if test not in functions_in(file) | {""}] == []
    assert all(fault.tests for fault in FAULTS)


def test_names_are_given_once() -> None:
    names = Counter([*AREAS, *(fault.name for fault in FAULTS)])
    assert [name for name, count in names.items() if count > 1] == []


def test_a_fault_is_made_in_a_copy_and_noticed_there() -> None:
    fault = next(fault for fault in FAULTS if fault.name == "checkpoint-distance")
    with copied(without_compiler=True) as copy:
        assert copy.test(fault.tests).passed
        fault.make(copy.root)
        outcome = copy.test(fault.tests)
    assert not outcome.passed
    assert outcome.first_failure is not None
    assert outcome.first_failure.startswith(fault.tests[0])
    assert fault.applies()
