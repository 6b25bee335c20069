"""What the benchmark of import and replay writes is the same trace in every format."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.ingest.made import FORMATS, requests
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_holds_the_same_requests(form: str, tmp_path: Path) -> None:
    made = requests(3000, 20_000.0)
    write, recorded = FORMATS[form]
    write(made, tmp_path)
    path = tmp_path / "requests.trace"
    if recorded:
        manifest = import_trace([tmp_path / recorded], path)
        assert manifest.source_format == form
        assert not manifest.dropped
        assert not manifest.unmatched
    found = Bundle(path).requests()
    for name in ("time_ns", "op", "offset_bytes", "length_bytes"):
        assert np.array_equal(getattr(found, name), getattr(made, name)), name
    if form != "disksim":
        assert np.array_equal(found.latency_ns, made.latency_ns)
        assert np.array_equal(found.issue_ns, made.issue_ns)
