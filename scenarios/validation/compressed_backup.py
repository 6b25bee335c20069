"""Founding document 001: a compressed backup of 61 GB on flash to four disks, and to nothing.

The time of a buffer's round is what the window of seven buffers of 1 MB leaves: the work on its pages is fitted to the backup to nothing, the one to the
disks follows. The document's second part, a backup that was three times as fast with other buffers, is lost; with this much work on a page eight
cores could not have done that, so some of what is called work here was waiting.
"""

from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.workloads import summary_of, with_compression

#: By how much the backup may have been compressed.
_LEAST, _MOST = 1.0, 2.0
_SCENARIO = "r610-fusion"


def _mib_s(summary: Mapping[str, Any], statement: str) -> float:
    return float(summary["queries"][statement]["bulk_mb_per_s"]) * 1e6 / (1 << 20)


def experiment() -> Experiment:
    """The backup to nothing fits the work on a page; the one to four disks is predicted."""
    summary = summary_of("backup", _SCENARIO)
    low, high = (
        _mib_s(summary_of(with_compression("backup", compression), _SCENARIO), "to_file")
        for compression in (_LEAST, _MOST)
    )
    return Experiment(
        "compressed-backup",
        "A compressed backup of SQL Server from flash to four disks",
        "founding document 001: 7,804,609 pages in 169.215 s, and 8,042,633 to NUL in 148.289 s",
        "the work on a page, to the backup to NUL; assumed: 7 buffers of 1 MB, a thread for each, the cards and the drives, and that pages, "
        f"which are compressed in the database already, shrink by {1.5:g} (by {_LEAST:g}: {low:.0f} MB/s to the disks, by {_MOST:g}: {high:.0f} MB/s)",
        (
            Claim("to NUL", "MiB/s", 423.720, _mib_s(summary, "to_nul"), 20, fitted=True),
            Claim("to 4 disks in RAID 10", "MiB/s", 360.331, _mib_s(summary, "to_file"), 10, underdetermined=True),
        ),
    )
