"""Random numbers without state: a hash of (seed, stream, entity, counter).

No generator is shared, so the order in which stations draw cannot change what they draw, and a sweep gives every
scenario the same luck. The mixer is the 32-bit xorshift-multiply of C. Wellons' hash prospector (constants 21f0aaad,
735a2d97; bias 0.107), chosen because its products stay below 2^63 and so need no unsigned arithmetic.
"""

from typing import Any

from tiersim.kernel import kernel

#: What a stream of numbers is for; two uses never share one.
(
    ROTATION_PHASE, SERVICE, SAMPLING, CLONES, CHOSEN_SESSIONS,
    NEIGHBOUR_GAP, NEIGHBOUR_PLACE, NEIGHBOUR_OPERATION, FLASH_PLACE, FLASH_STATE, RANDOM_WRITES,
    LOAD_GAP, LOAD_PLACE, LOAD_OPERATION, ACCESSED_TABLE, ACCESSED_ROW, SCATTERED_ROW, SYNTHESIS,
    WARMING_TRANSACTION, PICKED_PAGE, CHOSEN_PROCESS, INDEX_ENTRY, WINDOW_PLACE,
    MOVE_END, SAMPLED_LATENCY, UPKEEP_PLACE, PACKED_ITEMS,
) = range(27)  # fmt: skip

_MASK = 0xFFFF_FFFF


@kernel
def _mix(value: int) -> int:
    value ^= value >> 16
    value = value * 0x21F0AAAD & _MASK
    value ^= value >> 15
    value = value * 0x735A2D97 & _MASK
    return value ^ (value >> 15)


@kernel(hot=True)
def random_source(seed: int, stream: int, entity: int) -> int:
    """Return where all numbers of an entity come from; who draws many keeps it. Arguments as of :func:`random_bits`."""
    value = _mix((seed & _MASK) ^ 0x9E3779B9)
    value = _mix(value ^ (seed >> 32))
    value = _mix(value + stream & _MASK)
    value = _mix(value ^ (entity & _MASK))
    return _mix(value + (entity >> 32) & _MASK)


@kernel(hot=True)
def bits_from(source: int, counter: int) -> int:
    """Return the bits of a counter of a :func:`random_source`, as :func:`random_bits`."""
    value = _mix(source ^ (counter & _MASK))
    return _mix(value + (counter >> 32) & _MASK)


@kernel(hot=True)
def random_bits(seed: int, stream: int, entity: int, counter: int) -> int:
    """Return 32 random bits as an integer in [0, 2^32); arguments are non-negative and below 2^63."""
    return bits_from(random_source(seed, stream, entity), counter)


@kernel
def random_below(limit: int, seed: int, stream: int, entity: int, counter: int) -> int:
    """Return an integer in [0, *limit*), *limit* < 2^31 times 2^31; the bias is below 2^-31."""
    return below_from(limit, random_source(seed, stream, entity), counter)


@kernel
def below_from(limit: int, source: int, counter: int) -> int:
    """Return an integer below *limit*, as :func:`random_below`, of a :func:`random_source`."""
    high = bits_from(source, 2 * counter) >> 1
    low = bits_from(source, 2 * counter + 1) >> 1
    if limit < 0x8000_0000:
        return (high * limit + (low * limit >> 31)) >> 31
    return (high << 31 | low) % limit


@kernel
def fill_random_bits(column: Any, seed: int, stream: int, entity: int) -> None:
    """Fill a column of integers with the random bits of counters 0, 1, 2, …"""
    for counter in range(column.size):
        column[counter] = random_bits(seed, stream, entity, counter)
