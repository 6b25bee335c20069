"""The lines of a write cache: found by volume and number, listed by age, with a bit for each sector.

Sectors are counted from the beginning of the volume.
"""

from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel

SECTOR_BYTES = 512
#: A page of memory, and the smallest block that file systems write.
LINE_BYTES = 4096
LINE_SECTORS = LINE_BYTES // SECTOR_BYTES
_ALL = (1 << LINE_SECTORS) - 1


@kernel
def sectors_in_line(number: int, first: int, end: int) -> int:
    """Bits of those sectors from *first* to *end* that lie in a line."""
    low = max(first - number * LINE_SECTORS, 0)
    high = min(end - number * LINE_SECTORS, LINE_SECTORS)
    return (1 << high) - (1 << low)


@kernel
def _head(p: Plant, cache: int, volume: int, number: int) -> int:
    """Index into the pool of the list that a line is looked up in."""
    c = p.write_caches[cache]
    return c["heads"] + ((number ^ number >> 10 ^ number >> 20 ^ volume) & (c["lists"] - 1))


@kernel
def find_line(p: Plant, cache: int, volume: int, number: int) -> int:
    """The line of that number, or NONE."""
    line = p.pool[_head(p, cache, volume, number)]
    while line != NONE:
        if p.lines[line]["number"] == number and p.lines[line]["volume"] == volume:
            return line
        line = p.lines[line]["chain"]
    return NONE


@kernel
def take_line(p: Plant, cache: int, volume: int, number: int) -> int:
    """Take a free line, of which there must be one, for a number."""
    c = p.write_caches[cache]
    line = c["free"]
    if line == NONE:
        line = c["first_line"] + c["touched"]
        c["touched"] += 1
    else:
        c["free"] = p.lines[line]["chain"]
    c["used"] += 1
    head = _head(p, cache, volume, number)
    r = p.lines[line]
    r["number"] = number
    r["volume"] = volume
    r["dirty"] = 0
    r["sent"] = 0
    r["chain"] = p.pool[head]
    p.pool[head] = line
    return line


@kernel
def free_line(p: Plant, cache: int, line: int) -> None:
    """Give a line back that is in no list by age."""
    c = p.write_caches[cache]
    r = p.lines[line]
    head = _head(p, cache, r["volume"], r["number"])
    if p.pool[head] == line:
        p.pool[head] = r["chain"]
    else:
        ahead = p.pool[head]
        while p.lines[ahead]["chain"] != line:
            ahead = p.lines[ahead]["chain"]
        p.lines[ahead]["chain"] = r["chain"]
    r["chain"] = c["free"]
    c["free"] = line
    c["used"] -= 1


@kernel
def list_by_age(p: Plant, line: int, now: int) -> None:
    """A line has become dirty: it is the youngest of its volume."""
    r = p.lines[line]
    v = p.cached[r["volume"]]
    r["since_ns"] = now
    r["younger"] = NONE
    r["older"] = v["youngest"]
    if v["youngest"] == NONE:
        v["oldest"] = line
    else:
        p.lines[v["youngest"]]["younger"] = line
    v["youngest"] = line


@kernel
def _strike(p: Plant, line: int) -> None:
    r = p.lines[line]
    v = p.cached[r["volume"]]
    if r["older"] == NONE:
        v["oldest"] = r["younger"]
    else:
        p.lines[r["older"]]["younger"] = r["younger"]
    if r["younger"] == NONE:
        v["youngest"] = r["older"]
    else:
        p.lines[r["younger"]]["older"] = r["older"]


@kernel
def _free_to_send(p: Plant, cache: int, volume: int, number: int) -> int:
    """Dirty sectors of a line, none while some of it are being written."""
    line = find_line(p, cache, volume, number)
    if line == NONE or p.lines[line]["sent"] != 0:
        return 0
    return p.lines[line]["dirty"]


@kernel
def dirty_from(p: Plant, cache: int, volume: int, sector: int, limit: int) -> int:
    """Up to where all sectors from *sector* on are dirty, *limit* at most."""
    while sector < limit:
        number = sector // LINE_SECTORS
        dirty = _free_to_send(p, cache, volume, number)
        end = min(limit, (number + 1) * LINE_SECTORS)
        while sector < end and dirty >> (sector - number * LINE_SECTORS) & 1:
            sector += 1
        if sector < end:
            break
    return sector


@kernel
def dirty_before(p: Plant, cache: int, volume: int, sector: int, limit: int) -> int:
    """From where all sectors up to *sector* are dirty, *limit* at least."""
    while sector > limit:
        number = (sector - 1) // LINE_SECTORS
        dirty = _free_to_send(p, cache, volume, number)
        begin = max(limit, number * LINE_SECTORS)
        while sector > begin and dirty >> (sector - 1 - number * LINE_SECTORS) & 1:
            sector -= 1
        if sector > begin:
            break
    return sector


@kernel
def first_dirty(p: Plant, line: int) -> int:
    """The first dirty sector of a line."""
    sector = p.lines[line]["number"] * LINE_SECTORS
    dirty = p.lines[line]["dirty"]
    while not dirty & 1:
        dirty >>= 1
        sector += 1
    return sector


@kernel
def covered(p: Plant, cache: int, volume: int, first: int, end: int) -> bool:
    """Whether all sectors from *first* to *end* are in the cache, dirty or being written."""
    for number in range(first // LINE_SECTORS, (end - 1) // LINE_SECTORS + 1):
        line = find_line(p, cache, volume, number)
        if line == NONE:
            return False
        wanted = sectors_in_line(number, first, end)
        if (p.lines[line]["dirty"] | p.lines[line]["sent"]) & wanted != wanted:
            return False
    return True


@kernel
def put(p: Plant, cache: int, volume: int, first: int, end: int, now: int) -> int:
    """Make sectors from *first* to *end* dirty; returns up to where there was room."""
    c = p.write_caches[cache]
    while first < end:
        number = first // LINE_SECTORS
        line = find_line(p, cache, volume, number)
        if line == NONE:
            if c["used"] == c["lines"]:
                return first
            line = take_line(p, cache, volume, number)
            list_by_age(p, line, now)
        p.lines[line]["dirty"] |= sectors_in_line(number, first, end)
        first = (number + 1) * LINE_SECTORS
    return end


@kernel
def send(p: Plant, cache: int, volume: int, first: int, end: int) -> None:
    """Dirty sectors from *first* to *end* begin to be written."""
    for number in range(first // LINE_SECTORS, (end - 1) // LINE_SECTORS + 1):
        line = find_line(p, cache, volume, number)
        r = p.lines[line]
        r["sent"] = sectors_in_line(number, first, end)
        r["dirty"] &= _ALL ^ r["sent"]
        _strike(p, line)


@kernel
def clean(p: Plant, cache: int, volume: int, first: int, end: int, now: int) -> None:
    """What was sent is written: lines are free but for those that are dirty again."""
    for number in range(first // LINE_SECTORS, (end - 1) // LINE_SECTORS + 1):
        line = find_line(p, cache, volume, number)
        p.lines[line]["sent"] = 0
        if p.lines[line]["dirty"] == 0:
            free_line(p, cache, line)
        else:
            list_by_age(p, line, now)
