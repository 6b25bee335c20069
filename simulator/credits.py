"""What a run spent of its volumes' burst credits: a load that lives on them is not one that a volume carries."""

from collections.abc import Sequence
from typing import Any, Literal

from tiersim.devices.plant import Station
from tiersim.devices.token_bucket import Balance
from tiersim.simulator.part_names import part_name
from tiersim.units import format_ns

#: A balance that is lower by less than this share of a full one has not fallen: the last burst has just not been earned
#: back.
_LEAST_FALL = 0.001

Credits = Literal["kept", "falling", "ran out"]


def state(balances: Sequence[Balance]) -> Credits:
    """The verdict on several balances together: the worst of them."""
    if any(balance.ran_out_ns is not None for balance in balances):
        return "ran out"
    return "falling" if any(_fell(balance) for balance in balances) else "kept"


def lasts_ns(balance: Balance, end_ns: int) -> float | None:
    """How long what is left after a run of *end_ns* lasts if it goes on falling as it did; None if it did not fall."""
    return balance.end * end_ns / (balance.start - balance.end) if _fell(balance) else None


def explain(balances: Sequence[Balance], stations: Sequence[Station], end_ns: int) -> str:
    """A clause for each balance that fell or ran out, to stand behind the verdict on load; empty if none did."""
    clauses = []
    for balance in balances:
        name = part_name(stations[balance.station].name, balance.resource)
        left = lasts_ns(balance, end_ns)
        if balance.ran_out_ns is not None:
            clauses.append(
                f"; {name} run out after {format_ns(balance.ran_out_ns)}: from then on the baseline rate applies"
            )
        elif left is not None:
            clauses.append(
                f"; {name} fall from {100 * balance.start:.1f} % to {100 * balance.end:.1f} % "
                f"and run out after another {format_ns(left)} of this load"
            )
    return "".join(clauses)


def described(balances: Sequence[Balance], stations: Sequence[Station], end_ns: int) -> list[dict[str, Any]]:
    """The balances for a summary."""
    return [
        {
            "station": stations[balance.station].name,
            "resource": balance.resource,
            "start": balance.start,
            "end": balance.end,
            "ran_out_ns": balance.ran_out_ns,
            "lasts_ns": lasts_ns(balance, end_ns),
        }
        for balance in balances
    ]


def _fell(balance: Balance) -> bool:
    return balance.ran_out_ns is None and balance.start - balance.end > _LEAST_FALL
