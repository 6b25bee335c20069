"""A little of the damage of :mod:`tests.fuzz`, in every run."""

from tests.fuzz import fuzz, samples
from tiersim.traces.readers.sources import SOURCES


def test_damaged_files_end_in_a_sentence_at_worst() -> None:
    assert sum(1 for _ in fuzz(4000, seed=2)) == 4000


def test_every_kind_of_file_has_a_sample_to_damage() -> None:
    assert samples().keys() == SOURCES.keys()
