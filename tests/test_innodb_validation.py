"""Experiments of InnoDB's validation: what they need, what they solve, and that cells of the real server come out as
the accuracy document has them.
"""

from pathlib import Path

import pytest

from tiersim.scenarios.validation import innodb_cells, innodb_ebs, innodb_sata, innodb_tpcc
from tiersim.scenarios.validation.innodb_bench import around
from tiersim.scenarios.validation.report import counted

ACCURACY = Path(__file__).parents[1] / "docs/accuracy.md"


@pytest.mark.parametrize("module", [innodb_ebs, innodb_sata, innodb_tpcc])
def test_figures_that_are_not_part_of_the_project_are_asked_for(module: object, tmp_path: Path) -> None:
    assert isinstance(module, type(innodb_ebs))
    for folder in (None, tmp_path):
        found = module.experiment(folder)
        assert found.missing is not None
        assert not found.claims


@pytest.mark.parametrize(("missed", "changed"), [(11.4, 7.3), (20.0, 2.0), (30.0, 12.5)])
def test_requests_and_bytes_of_a_transaction_tell_pages_missed_and_changed(missed: float, changed: float) -> None:
    """A changed page is written twice, with 15 others of the doublewrite file in a request."""
    found = innodb_ebs._demand(missed + changed * 17 / 16, missed + 2 * changed)
    assert found == pytest.approx((missed, changed))


@pytest.mark.parametrize("number", [1.0, 2.25, 9.999])
def test_whole_numbers_around_one_have_it_as_their_mean(number: float) -> None:
    found = around(number)
    assert sum(share for _, share in found) == pytest.approx(1)
    assert sum(whole * share for whole, share in found) == pytest.approx(number)


def test_more_clients_and_a_larger_pool_do_more_on_a_drive_that_is_not_busy() -> None:
    """A twelfth of the rows is in 2 GB, half in 12 GB."""

    def rate(pool: int, clients: int) -> float:
        return innodb_sata._rate(("read_only", "mysql", "8.4.8", pool, clients), 1500.0)

    alone = rate(2, 1)
    assert rate(2, 4) == pytest.approx(4 * alone, rel=0.1)
    assert rate(12, 1) > 1.4 * alone
    assert rate(2, 64) * 18 == pytest.approx(30_200, rel=0.05)  # the link is the limit: 18 pages a transaction


@pytest.mark.long
def test_cells_of_a_real_server_come_out_as_the_document_has_them() -> None:
    found = innodb_cells.experiment()
    section = ACCURACY.read_text(encoding="utf-8").partition(f"## {found.title}")[2].partition("\n## ")[0]
    assert counted(found) in section
