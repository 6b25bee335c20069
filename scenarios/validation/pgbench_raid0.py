"""pgbench on six SATA drives: rates of two scripts at four scales, and of updates in RAID 10.

T. Vondra, pg-fs-benchmark (2022, host "i5", RAID 0, XFS; version 16 in development): an i5-2500K of 4 cores, 8 GB of
memory, shared_buffers 1 GB, six Intel DC S3700 of 100 GB in an array of md with chunks of 64 KiB, 16 clients,
checkpoint_timeout = 15 min, max_wal_size = 64 GB.

Updates at scales 1000 and 5000 read pages of a drive that writes others all the time. With programs that a read
suspends after 200 us they came out 77 and 94 % too fast; the drive waits for its programs, as flash without suspension
does (Wu and He, FAST 2012). That rule was chosen with these two figures in hand, so they prove nothing of it.

A write-back takes the processors as long as a read does, and in RAID 10 twice as long, since it goes to two drives:
34.5 us each by the fitted reads. Updates that hold all pages in memory say so, too, without a model: 39 us more of
four cores at scale 250 than at 50, 36 us more in RAID 10 than in RAID 0.

What makes the log durable in an array of md goes from thread to thread: the process when its write has ended, md's
worker, which makes a flush for each drive (drivers/md/md.c, md_flush_request), the block layer's, which sends it
(block/blk-flush.c, blk_kick_flush), md's again (md_submit_flush_data), the process. In RAID 10 the write goes through
raid10d before (drivers/md/raid10.c). Each wakes a processor of that time from C1, C1E, C3 or C6 in 2, 10, 80 or 104 us
(drivers/idle/intel_idle.c, snb_cstates); C1E is taken, since C3 is for pauses of 211 us and more.

RAID 10 stays too fast at scale 1000, by its log more than by what is written back. Counters of each second
(stat-database.csv) show 6,290 and 4,850 transactions a second in RAID 0 and 10 in the first 20 s, when nothing is
written back yet and each brings 15.8 KB of log: here 7,000 and 6,100. With 0.5 KB, between two write-backs, they are
8,200 and 6,600, here 11,800 and 10,500. Every 9 to 15 s it dips for a second, as
if 0.8 GB were written back at once; nobody saw that, and here one page goes as one comes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tiersim.devices.array.volume import Layout, Volume, VolumeHost, copies_of
from tiersim.devices.catalogue import load_device
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.log_volume import log_bytes_of_run, record_bytes
from tiersim.scenarios.validation.pgbench import PgbenchServer, Rate, Script, rate
from tiersim.units import NS_PER_S

_GIB = 1 << 30
_CORES, _CLIENTS, _DRIVES = 4, 16, 6
#: What the kernel and the processes have of the memory: assumed, 0.5 .. 1 GiB.
_POOL_BYTES, _OTHERS_BYTES, _MEMORY_BYTES = _GIB, 3 * _GIB // 4, 8 * _GIB
#: Transactions a second by scale, the one first at which the processors are all that bounds the script.
_MEASURED: dict[Script, dict[int, float]] = {
    "select-only": {250: 97_265, 5000: 40_528, 1000: 56_720},
    "simple-update": {50: 20_241, 250: 16_881, 1000: 7_650, 5000: 5_891},
}
#: CPU of a read that the page cache misses is fitted to this one: it is not in the engine's costs.
_READS_FITTED_TO: tuple[Script, int] = ("select-only", 5000)
#: These two were known when it was chosen that the drive suspends no programs.
_KNOWN: tuple[tuple[Script, int], ...] = (("simple-update", 1000), ("simple-update", 5000))
_CHOSEN = "that the drive suspends no programs was chosen with this figure known"
_SEEN_AT: tuple[Script, int] = ("simple-update", 250)
_SEEN = "that a write-back takes as much CPU as a read was chosen with this figure known"
_NOT_CHOSEN = (
    "no rule was chosen on it; it failed before a write-back took CPU and updates settled. What md's threads take was"
    " put in with it known; suspected where it is above: what else they do, which the log waits for"
)
#: Until as much is written back as becomes dirty: with updates 90 s give the same as 30.
_SETTLE_S: dict[Script, float] = {"select-only": 1, "simple-update": 30}
_MEASURE_S = 6
_ROUNDS = 3
_DRIVE = "intel-dc-s3700-100"

#: The same of simple-update on the same drives in RAID 10.
_IN_RAID_10 = {250: 14_652, 1000: 5_820, 5000: 4_502}


#: Threads that wake one after the other until the log is durable.
_HAND_OVERS: Mapping[Layout, int] = {"raid0": 5, "raid10": 6}
_CHUNK_BYTES = 64 << 10


@dataclass(frozen=True)
class _Untold:
    """Of the drive what its description assumes, what others than pages and pool have of the memory, and in how many ns
    a thread wakes its processor.
    """

    drive: Mapping[str, int] = field(default_factory=dict)
    others_bytes: int = _OTHERS_BYTES
    wake_ns: int = 10_000


#: Ends of what is assumed there, together: those that lower the rate, and those that raise it.
_LEAST = _Untold({"flush": 200_000, "spread": 16}, _GIB, 104_000)
_MOST = _Untold({"flush": 20_000, "spread": 1}, _GIB // 2, 2_000)
#: The largest scale that fits into the memory, up to which the processors bound updates.
_IN_MEMORY = 250


def experiment() -> Experiment:
    """Both scripts at the scales that were not fitted, and updates in RAID 10."""
    request_ns = _request_ns()
    rows: list[tuple[Script, int, float, Layout]] = [
        *((script, *of_scale, "raid0") for script, measured in _MEASURED.items() for of_scale in measured.items()),
        *(("simple-update", scale, per_s, "raid10") for scale, per_s in _IN_RAID_10.items()),
    ]
    # one scale of a script after the other: both layouts of updates begin with the same pools, and few are remembered
    claims = {row: _claim(*row, request_ns) for row in sorted(rows, key=lambda row: row[:2])}
    return Experiment(
        "pgbench-raid0",
        "pgbench on six SATA drives in RAID 0: fitted at small scales, predicted at the others",
        "T. Vondra, pg-fs-benchmark (XFS); the range: flush 20 .. 200 us, spread 1 .. 16 of the drive, 0.5 .. 1 GiB for"
        " others than pages and pool, 2 .. 104 us until a thread wakes",
        "CPU of a transaction of each script, where it fits into memory; CPU of a request to a drive, to select-only at"
        " scale 5,000; that the drive suspends no programs, to simple-update at 1,000 and 5,000; that a write-back"
        " takes as much CPU as a read, to 250 in both layouts",
        tuple(claims[row] for row in rows),
    )


def _claim(script: Script, scale: int, per_s: float, layout: Layout, request_ns: float) -> Claim:
    predicted, low, high = _predicted_per_s(script, scale, request_ns, layout)
    in_raid_10 = layout == "raid10"
    if (script, scale) == _SEEN_AT:
        note = _SEEN
    elif in_raid_10:
        note = _NOT_CHOSEN
    else:
        note = _CHOSEN if (script, scale) in _KNOWN else ""
    return Claim(
        f"{script}{' in RAID 10' if in_raid_10 else ''}, scale {scale:,}",
        "per s",
        per_s,
        predicted,
        20,
        (script, scale) == _SEEN_AT or (not in_raid_10 and _is_fitted(script, scale)),
        low=low,
        high=high,
        figure="throughput",
        note=note,
    )


def _is_fitted(script: Script, scale: int) -> bool:
    return scale == next(iter(_MEASURED[script])) or (script, scale) in (_READS_FITTED_TO, *_KNOWN)


def _cpu_ns(script: Script) -> float:
    """CPU of a transaction that asks the drives for nothing but its log."""
    return _CORES * NS_PER_S / next(iter(_MEASURED[script].values()))


def _request_ns() -> float:
    """CPU of a read from the drives: the processors are all that bounds many readers of a large table, too."""
    script, scale = _READS_FITTED_TO
    cpu_ns = _CORES * NS_PER_S / _MEASURED[script][scale]
    return (cpu_ns - _cpu_ns(script)) / _run(script, scale, cpu_ns, 0).device_reads


def _predicted_per_s(
    script: Script, scale: int, request_ns: float, layout: Layout
) -> tuple[float, float | None, float | None]:
    """Return transactions/s, and the ends of their range where the drives bound them."""
    records = record_bytes()

    def settled(rounds: int, per_s: float, requests: float, untold: _Untold) -> tuple[float, float]:
        given = None
        for _ in range(rounds):
            log_bytes = 0 if script == "select-only" else log_bytes_of_run("i5", scale, per_s, records)
            if given == (log_bytes, requests):
                break  # it would end as it did
            given = log_bytes, requests
            found = _run(script, scale, _cpu_ns(script) + requests * request_ns, log_bytes, layout, untold)
            per_s = found.per_s
            requests = found.device_reads + copies_of(layout, _DRIVES) * found.device_writes
        return per_s, requests

    per_s, requests = settled(_ROUNDS, _CORES * NS_PER_S / _cpu_ns(script), 0, _Untold())
    if script == "select-only" or scale <= _IN_MEMORY:
        return per_s, None, None
    low, high = (settled(_ROUNDS - 1, per_s, requests, untold)[0] for untold in (_LEAST, _MOST))
    return per_s, low, high


def _run(
    script: Script,
    scale: int,
    cpu_ns: float,
    log_bytes: float,
    layout: Layout = "raid0",
    untold: _Untold = _Untold(),
) -> Rate:
    drive = load_device(_DRIVE).model_copy(update=dict(untold.drive))
    host = VolumeHost(flush_overhead_ns=_HAND_OVERS[layout] * untold.wake_ns)
    volume = Volume("ssd", drive, _DRIVES, layout, _CHUNK_BYTES, host=host)
    server = PgbenchServer(_CORES, _CLIENTS, _POOL_BYTES, _MEMORY_BYTES - _POOL_BYTES - untold.others_bytes, volume)
    return rate(
        server, script, scale, cpu_ns, log_bytes, settle_s=_SETTLE_S[script], measure_s=_MEASURE_S,
        most_per_s=_CORES * NS_PER_S / cpu_ns,
    )  # fmt: skip
