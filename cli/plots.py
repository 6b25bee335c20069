"""Plots of results and of traces for notebooks: every function returns a plotly figure (``docs/plots.md``).

The numbers are those of ``tiersim report`` and ``tiersim describe -o``. plotly is imported when a plot is made.
"""

from tiersim.cli.page.database_figures import database_over_time
from tiersim.cli.page.load_figures import load_latency
from tiersim.cli.page.query_figures import latency_by_pool, query_breakdown, query_latency
from tiersim.cli.page.result_figures import (
    comparison,
    latency_over_time,
    latency_percentiles,
    throughput,
    utilisation,
)
from tiersim.cli.page.trace_figures import (
    burstiness,
    depth,
    depth_over_time,
    latency_by_size,
    latency_cdf,
    rates,
    re_reference,
    sizes,
    working_set,
)

__all__ = [
    "burstiness",
    "comparison",
    "database_over_time",
    "depth",
    "depth_over_time",
    "latency_by_pool",
    "latency_by_size",
    "latency_cdf",
    "latency_over_time",
    "latency_percentiles",
    "load_latency",
    "query_breakdown",
    "query_latency",
    "rates",
    "re_reference",
    "sizes",
    "throughput",
    "utilisation",
    "working_set",
]
