"""A token bucket as a passive machine: a request goes on when its tokens cover it.

Each ``refill_interval`` an allowance of rate x interval arrives, counted from time 0; what nobody waits for lapses but
for ``carry_over``. Reads and writes may have allowances of their own; a discard counts as a write of no bytes, and so
does a flush unless flushes are free. A request that costs more than an allowance can ever hold goes when the allowance
is full and leaves a debt.

One allowance may stand behind another: the first is refilled at the rate of a burst, the one behind it at the baseline
rate, and holds the burst credits. A request takes its tokens from both.
"""

from tiersim.devices import requests
from tiersim.devices.host.gate import way_on
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import CALL, NEVER, NONE, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH, READ

#: Parts of a token: a rate per second times an interval in ns is a whole number of billionths.
TOKEN = 1_000_000_000
_NS_PER_S = 1_000_000_000


@kernel
def refilled(level: int, ceiling: int, per_refill: int, refills: int) -> int:
    """Level after a number of refills."""
    if refills > 0 and per_refill > 0:
        missing = (ceiling - level + per_refill - 1) // per_refill
        return ceiling if refills >= missing else level + refills * per_refill
    return level


@kernel
def refills_until(level: int, ceiling: int, per_refill: int, cost: int) -> int:
    """How many refills until *cost* is covered, or the allowance is full; 0: it is now."""
    wanted = min(cost, ceiling)
    if level >= wanted:
        return 0
    return (wanted - level + per_refill - 1) // per_refill


@kernel
def covered_at(p: Plant, station: int, bucket: int, allowance: int, tokens: int, now: int) -> int:
    """When *allowance* and the one behind it cover *tokens*; refills them up to now."""
    interval = p.buckets[bucket]["refill_interval_ns"]
    refill = now // interval
    at = now
    while allowance != NONE:
        a = p.allowances[allowance]
        kept = max(0, min(refill, a["wanted_refill"]) - a["refills_seen"])
        level = a["level"] + kept * a["per_refill"]
        a["level"] = refilled(level, a["ceiling"], a["per_refill"], refill - a["refills_seen"] - kept)
        a["refills_seen"] = refill
        more = refills_until(a["level"], a["ceiling"], a["per_refill"], tokens * a["parts"])
        if more > 0:
            covered = (refill + more) * interval
            at = max(at, covered)
            a["wanted_refill"] = refill + more
            a["short_ns"] = min(a["short_ns"], now)
            if a["resource"] != NONE:
                p.work_ns[station, a["resource"]] += max(0, covered - max(now, a["short_until_ns"]))
                a["short_until_ns"] = max(covered, a["short_until_ns"])
        allowance = a["behind"]
    return at


@kernel
def data_bytes(p: Plant, slot: int) -> int:
    """What a request transfers."""
    return 0 if p.requests[slot]["op"] == DISCARD else p.requests[slot]["length_bytes"]


@kernel
def request_tokens(p: Plant, bucket: int, slot: int) -> int:
    """Tokens that a request takes from an allowance of requests; those that follow each other fill units together."""
    b = p.buckets[bucket]
    if p.requests[slot]["op"] == FLUSH and b["free_flushes"]:
        return 0
    unit = b["unit_bytes"]
    length = data_bytes(p, slot)
    if unit == 0:
        return 1
    before = b["run_bytes"] if _follows(p, bucket, slot) else 0
    begun = (before + unit - 1) // unit
    return max(1 - begun, (before + length + unit - 1) // unit - begun)


@kernel
def _follows(p: Plant, bucket: int, slot: int) -> bool:
    """Whether a request is counted with the one that was let through last."""
    b = p.buckets[bucket]
    request = p.requests[slot]
    return bool(
        b["merged_bytes"] > 0
        and request["length_bytes"] >= b["merged_bytes"]
        and request["op"] == b["run_op"]
        and request["offset_bytes"] == b["run_end_bytes"]
    )


@kernel
def _note_run(p: Plant, bucket: int, slot: int) -> None:
    """Remember what the next request may follow."""
    b = p.buckets[bucket]
    request = p.requests[slot]
    before = b["run_bytes"] if _follows(p, bucket, slot) else 0
    # one that is too short to share a unit leaves nothing of its own to those behind it
    b["run_bytes"] = before + data_bytes(p, slot) if request["length_bytes"] >= b["merged_bytes"] else 0
    b["run_op"] = request["op"]
    b["run_end_bytes"] = request["offset_bytes"] + request["length_bytes"]


@kernel
def accept_bucket(p: Plant, bucket: int, slot: int) -> int:
    """Take a request into the queue of its direction."""
    b = p.buckets[bucket]
    requests.append(p, b["read_queue"] if p.requests[slot]["op"] == READ else b["write_queue"], slot)
    return CALL


@kernel
def _ready_at(p: Plant, station: int, bucket: int, slot: int, requests: int, length: int, now: int) -> int:
    if slot == NONE:
        return NEVER
    by_requests = covered_at(p, station, bucket, requests, request_tokens(p, bucket, slot), now)
    by_bytes = covered_at(p, station, bucket, length, data_bytes(p, slot), now)
    return max(by_requests, by_bytes)


@kernel
def _take(p: Plant, station: int, allowance: int, tokens: int) -> None:
    """Take tokens from an allowance and the one behind it."""
    while allowance != NONE:
        a = p.allowances[allowance]
        if a["earning"] != NONE:
            p.work_ns[station, a["earning"]] += tokens * _NS_PER_S // a["rate_per_s"]
        a["level"] -= tokens * a["parts"]
        allowance = a["behind"]


@kernel
def _pay(p: Plant, station: int, bucket: int, slot: int, requests: int, length: int) -> None:
    """Pay for a request."""
    _take(p, station, requests, request_tokens(p, bucket, slot))
    _take(p, station, length, data_bytes(p, slot))
    _note_run(p, bucket, slot)


@kernel
def _maker(p: Plant, slot: int) -> int:
    """Return the station that a request and all that it is a part of come from."""
    while p.requests[slot]["parent"] != NONE:
        slot = p.requests[slot]["parent"]
    return int(p.requests[slot]["station"])


@kernel
def _next_write(p: Plant, bucket: int) -> tuple[int, int]:
    """Return the write whose turn it is, and the one ahead of it in the queue: the oldest, where they take turns the
    oldest of another maker than the last, if there is one.
    """
    b = p.buckets[bucket]
    oldest = p.queues[b["write_queue"]]["head"]
    before, slot = NONE, oldest
    while b["takes_turns"] and slot != NONE and _maker(p, slot) == b["last_maker"]:
        before, slot = slot, p.links[slot]["next"]
    return (NONE, oldest) if slot == NONE else (before, slot)


@kernel
def choose_bucket(p: Plant, station: int, bucket: int, now: int) -> tuple[int, int, int]:
    """Let the older of the two oldest requests go whose allowances cover it, or say when one will be covered."""
    b = p.buckets[bucket]
    read = p.queues[b["read_queue"]]["head"]
    before, write = _next_write(p, bucket)
    read_at = _ready_at(p, station, bucket, read, b["read_requests"], b["read_bytes"], now)
    write_at = _ready_at(p, station, bucket, write, b["write_requests"], b["write_bytes"], now)
    if read_at > now and write_at > now:
        return NONE, NEVER, min(read_at, write_at)
    first_read = read_at <= now
    if first_read and write_at <= now:
        first_read = p.requests[read]["number"] < p.requests[write]["number"]
    if first_read:
        requests.remove(p, b["read_queue"], read, NONE)
        _pay(p, station, bucket, read, b["read_requests"], b["read_bytes"])
        return read, now + b["latency_ns"], NEVER
    requests.remove(p, b["write_queue"], write, before)
    if b["takes_turns"]:
        b["last_maker"] = _maker(p, write)
    _pay(p, station, bucket, write, b["write_requests"], b["write_bytes"])
    return write, now + (b["flush_ns"] if p.requests[write]["op"] == FLUSH else b["latency_ns"]), NEVER


@kernel
def finish_bucket(p: Plant, bucket: int, slot: int) -> int:
    """Send the request on to the device below, if there is one."""
    below = way_on(p, slot) if p.buckets[bucket]["shared"] == 1 else p.buckets[bucket]["below"]
    if below == NONE:
        return 0
    request = p.requests[slot]
    return add_child(p, 0, below, request["op"], request["offset_bytes"], request["length_bytes"])
