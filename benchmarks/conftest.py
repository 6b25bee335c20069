"""Prints the figures of every benchmark below pytest-benchmark's table of times."""

from collections.abc import Iterator
from typing import Any

import pytest

_FIGURES = pytest.StashKey[list[tuple[str, dict[str, Any]]]]()


@pytest.fixture(autouse=True)
def _keep_figures(request: pytest.FixtureRequest, benchmark: Any) -> Iterator[None]:
    yield
    request.config.stash.setdefault(_FIGURES, []).append((request.node.name, dict(benchmark.extra_info)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.section("figures")
    for name, figures in config.stash.get(_FIGURES, []):
        terminalreporter.write_line(name)
        for key, value in figures.items():
            terminalreporter.write_line(
                f"    {key}: {value:,}" if isinstance(value, int | float) else f"    {key}: {value}"
            )
