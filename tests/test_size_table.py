"""What ``tiersim size`` prints beside its choice: all that is paid, and when prices were asked for."""

from typing import Any

import pytest

from tiersim.cli.size import _show


def candidate(name: str, capex: float, monthly: float, date: str, status: str = "meets") -> dict[str, Any]:
    cost = {
        "capex": capex,
        "monthly": monthly,
        "total": capex + 36 * monthly,
        "years": 3.0,
        "currency": "USD",
        "price_date": date,
        "unknown": [],
    }
    return {
        "name": name,
        "status": status,
        "cost": cost,
        "power_w": None,
        "endurance_years": None,
        "capacity_bytes": 1 << 40,
        "why": [],
        "doubts": [],
        "row": None,
    }


def printed(capsys: pytest.CaptureFixture[str], *entries: dict[str, Any]) -> str:
    document = {
        "candidates": [*entries],
        "chosen": entries[0]["name"],
        "simulated": len(entries),
        "load": 1.0,
        "load_asked": 1.0,
        "load_in_whole": "",
        "targets": [{"text": "throughput >= 1x"}],
    }
    _show(document, "prod")
    return capsys.readouterr().out


def test_what_is_chosen_by_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """A price and a rent do not compare without the years over which they are paid."""
    out = printed(capsys, candidate("bought", 5048, 0, "2026-11"), candidate("rented", 0, 200, "2026-11"))
    assert "over 3 years" in out
    assert "5,048 USD" in out
    assert "7,200 USD" in out
    assert "Prices are of 2026-11." in out


def test_prices_of_several_years_do_not_compare(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(
        capsys,
        candidate("2 × ioDrive", 13140, 0, "2009-12"),
        candidate("4 × T500", 13200, 0, "2026-11"),
        candidate("8 × T500", 13300, 0, "2026-11"),
    )
    assert (
        "Prices are of several years (2009-12: 2 × ioDrive; 2026-11: 4 × T500 and 1 more), and do not compare: give"
        " those of one date under [prices]." in out
    )


def test_a_server_is_not_rented(capsys: pytest.CaptureFixture[str]) -> None:
    """Drives go into a server that is bought, cloud volumes go with an instance, whose rent no bill has."""
    server = {"what": "server", "source": "[host]", "per": "once"}
    rent = {"what": "aws-io2, GiB", "source": "document: AWS", "per": "month"}
    bought, rented = candidate("4 × T500", 9624, 0, "2026-11"), candidate("io2", 9000, 650, "2026-11")
    bought["cost"]["parts"], rented["cost"]["parts"] = [server], [rent, server]
    assert "io2: cloud volumes: their bill has the price of [host]" in printed(capsys, bought, rented)
    rented["cost"]["parts"] = [rent]
    assert "cloud volumes" not in printed(capsys, bought, rented)


def test_what_has_no_price_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """It may be the cheapest: nobody who reads the choice would look for it in the document."""
    unpriced = candidate("4 × Cheetah", 796, 0, "2026-11", "not simulated")
    unpriced["cost"] |= {"monthly": None, "total": None}
    unpriced["why"] = ["not simulated: power of Cheetah not known; give it under [prices]"]
    out = printed(capsys, candidate("4 × S650DC", 5048, 0, "2026-11"), unpriced, {**unpriced, "name": "8 × Cheetah"})
    assert "4 × Cheetah and 1 more: not simulated: power of Cheetah not known; give it under [prices]." in out
