"""Benchmarks measure ratios in one run and assert answers, never times."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
