"""How many pages InnoDB writes in a second by the age of its checkpoint and by how many are changed: arithmetic alone.

MySQL: storage/innobase/buf/buf0flu.cc, set_flush_target_by_lsn, page_recommendation; log/log0files_capacity.cc.
MariaDB: storage/innobase/buf/buf0flu.cc, page_cleaner_flush_pages_recommendation, af_get_pct_for_lsn.
"""

from math import sqrt

from tiersim.kernel import kernel

#: Which of the two.
MYSQL, MARIADB = range(2)
#: The log is looked at so many times of its growth in a second further than to its oldest change, and of the pages
#: there one part is written (buf_flush_lsn_scan_factor); all that asks for pages counts a third.
SCAN_FACTOR = 3
_DIVISOR = 7.5


@kernel
def percent_for_dirty(dirty_percent: float, low_percent: float, most_percent: float) -> float:
    """Return how much of io_capacity changed pages ask for in MySQL, in per cent.

    *low_percent* is innodb_max_dirty_pages_pct_lwm, 0: off; *most_percent* innodb_max_dirty_pages_pct.
    """
    if low_percent == 0:
        return 100.0 if dirty_percent >= most_percent else 0.0
    return dirty_percent * 100 / (most_percent + 1) if dirty_percent >= low_percent else 0.0


@kernel
def percent_of_mariadb(dirty_percent: float, low_percent: float, most_percent: float, by_age: float) -> float:
    """Return how much of io_capacity MariaDB writes: all of it without a low mark, and below it; else as the age of the
    checkpoint asks, or the number of changed pages.
    """
    if low_percent == 0 or most_percent == 0 or dirty_percent < low_percent:
        return 100.0
    return max(by_age, dirty_percent * 100 / most_percent)


@kernel
def percent_for_age(age_bytes: int, low_bytes: int, async_bytes: int, ratio: float) -> float:
    """Return how much of io_capacity the age of the checkpoint asks for, in per cent; *ratio* is io_capacity_max by
    io_capacity.
    """
    if age_bytes < low_bytes:
        return 0.0
    factor = age_bytes * 100 / async_bytes
    return ratio * factor * sqrt(factor) / _DIVISOR


@kernel
def wanted_pages(percent: float, io_capacity: int, page_rate: float, older_pages: float, most_pages: int) -> int:
    """Return the pages of a round: a third of what *percent* of io_capacity is, of the pages that were written in a
    second lately, and of those whose changes the log will want back; *most_pages* is io_capacity_max.
    """
    return int(min((io_capacity * percent / 100 + page_rate + older_pages) / 3, most_pages))


@kernel
def works_on_list(
    age_bytes: int, low_bytes: int, dirty_percent: float, low_percent: float, most_percent: float
) -> bool:
    """Tell whether MariaDB writes changed pages because of their number or age."""
    if low_percent > 0 and dirty_percent > low_percent:
        return True
    return bool(dirty_percent >= most_percent or age_bytes > low_bytes)
