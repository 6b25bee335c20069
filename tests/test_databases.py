"""Sessions, processors and buffer pool: both engines equal, and as queueing theory and plain counting say."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.databases import DatabaseCase, database_cases
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.reference.engine import ReferenceEngine

pytestmark = pytest.mark.kernels


@settings(max_examples=100, deadline=None)
@given(database_cases)
def test_engines_agree_on_every_statement(case: DatabaseCase) -> None:
    builder, database, metrics = case.fresh()
    plant, outcome = engine.run_database(builder.build(4), database, metrics)
    builder, other, other_metrics = case.fresh()
    reference = ReferenceEngine(builder.build(4), [], other_metrics, database=other)
    expected = reference.run()
    np.testing.assert_array_equal(database.done_ns, other.done_ns)
    assert (outcome.end_ns, outcome.arrived, outcome.left, outcome.requests) == (
        expected.end_ns, expected.arrived, expected.left, expected.requests,
    )  # fmt: skip
    for name, left, right in zip(Metrics._fields, metrics, other_metrics, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)
    np.testing.assert_array_equal(plant.stations, reference.plant.stations)
    for name in ("page_of", "used", "dirty", "state", "pool_state", "sessions"):
        np.testing.assert_array_equal(getattr(database, name), getattr(other, name), err_msg=name)
