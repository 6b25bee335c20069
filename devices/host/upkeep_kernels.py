"""Upkeep as a passive machine: pages that a server asks for beside those of its clients, so many for each of theirs.

PostgreSQL's VACUUM and ANALYZE begin when so many rows have changed (postmaster/autovacuum.c), so what they read and
write goes with the work of the clients, and slows down with it. A request passes at once. Pages of the upkeep are
background requests at random places; what a request makes is owed until a whole page is.
"""

from tiersim.devices.requests import add_background, add_child, is_background
from tiersim.devices.station_records import PASS_ON_NS, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE
from tiersim.random_numbers import UPKEEP_PLACE, random_below

#: Shares are of so much.
MILLION = 1_000_000
#: One request makes no more pages of the upkeep; others stay owed.
MOST_AT_ONCE = 8


@kernel
def accept_upkeep(now: int) -> int:
    """Pass a request on."""
    return now + PASS_ON_NS


@kernel
def finish_upkeep(p: Plant, station: int, upkeep: int, slot: int) -> int:
    """Send a request on, and make the pages of the upkeep that are owed; send one of these on."""
    u, request = p.upkeeps[upkeep], p.requests[slot]
    op = request["op"]
    if is_background(p, slot):
        u["asked"] += 1
        place = random_below(u["places"], p.seed[0], UPKEEP_PLACE, u["entity"], u["asked"])
        return add_child(p, 0, u["below"], op, place * u["size_bytes"], u["size_bytes"])
    made = add_child(p, 0, u["below"], op, request["offset_bytes"], request["length_bytes"])
    if op == READ:
        u["owed_reads"] += request["length_bytes"] * u["reads"]
    elif op == WRITE:
        u["owed_writes"] += request["length_bytes"] * u["writes"]
    page = u["size_bytes"] * MILLION
    while u["owed_reads"] >= page and made <= MOST_AT_ONCE:
        u["owed_reads"] -= page
        made = add_background(p, made, station, READ, 0, 0)
    while u["owed_writes"] >= page and made <= MOST_AT_ONCE:
        u["owed_writes"] -= page
        made = add_background(p, made, station, WRITE, 0, 0)
    return made
