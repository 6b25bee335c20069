"""pgbench on six SATA drives: rates of two scripts at four scales, and of updates in RAID 10.

T. Vondra, pg-fs-benchmark (2022, host "i5", RAID 0, XFS; version 16 in development): an i5-2500K of 4 cores, 8 GB of
memory, shared_buffers 1 GB, six Intel DC S3700 of 100 GB, 16 clients, checkpoint_timeout = 15 min, max_wal_size = 64
GB. Not told: the stripe (512 KiB, as mdadm's).

Updates at scales 1000 and 5000 read pages of a drive that writes others all the time. With programs that a read
suspends after 200 us they came out 77 and 94 % too fast; the drive waits for its programs, as flash without suspension
does (Wu and He, FAST 2012). That rule was chosen with these two figures in hand, so they prove nothing of it.
"""

from tiersim.devices.array.volume import Layout, Volume
from tiersim.devices.catalogue import load_device
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.log_volume import log_bytes_of_run, record_bytes
from tiersim.scenarios.validation.pgbench import PgbenchServer, Script, rate
from tiersim.units import NS_PER_S

_GIB = 1 << 30
_CORES, _CLIENTS = 4, 16
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
_NOT_CHOSEN = "no rule was chosen on it; what md does with writes in RAID 10 takes no CPU here"
_SETTLE_S: dict[Script, float] = {"select-only": 1, "simple-update": 12}
_MEASURE_S = 6
_ROUNDS = 3


#: The same of simple-update on the same drives in RAID 10, which no rule was chosen on.
_IN_RAID_10 = {1000: 5_820, 5000: 4_502}


def experiment() -> Experiment:
    """Both scripts at the scales that were not fitted, and updates in RAID 10."""
    read_ns = _read_ns()
    return Experiment(
        "pgbench-raid0",
        "pgbench on six SATA drives in RAID 0: fitted at small scales, predicted at the others",
        "T. Vondra, pg-fs-benchmark (XFS)",
        "CPU of a transaction of each script, where it fits into memory; CPU of a read from the drives, to select-only"
        " at scale 5,000; that the drive suspends no programs, to simple-update at 1,000 and 5,000",
        tuple(
            Claim(
                f"{script}, scale {scale:,}",
                "per s",
                per_s,
                _predicted_per_s(script, scale, read_ns),
                20,
                _is_fitted(script, scale),
                figure="throughput",
                note=_CHOSEN if (script, scale) in _KNOWN else "",
            )
            for script, measured in _MEASURED.items()
            for scale, per_s in measured.items()
        )
        + tuple(
            Claim(
                f"simple-update in RAID 10, scale {scale:,}",
                "per s",
                per_s,
                _predicted_per_s("simple-update", scale, read_ns, "raid10"),
                20,
                figure="throughput",
                note=_NOT_CHOSEN,
            )
            for scale, per_s in _IN_RAID_10.items()
        ),
    )


def _is_fitted(script: Script, scale: int) -> bool:
    return scale == next(iter(_MEASURED[script])) or (script, scale) in (_READS_FITTED_TO, *_KNOWN)


def _cpu_ns(script: Script) -> float:
    """CPU of a transaction that reads nothing from the drives."""
    return _CORES * NS_PER_S / next(iter(_MEASURED[script].values()))


def _read_ns() -> float:
    """CPU of a read from the drives: the processors are all that bounds many readers of a large table, too."""
    script, scale = _READS_FITTED_TO
    cpu_ns = _CORES * NS_PER_S / _MEASURED[script][scale]
    return (cpu_ns - _cpu_ns(script)) / _run(script, scale, cpu_ns, 0)[1]


def _predicted_per_s(script: Script, scale: int, read_ns: float, layout: Layout = "raid0") -> float:
    per_s, reads, records = _CORES * NS_PER_S / _cpu_ns(script), 0.0, record_bytes()
    for _ in range(_ROUNDS):
        log_bytes = 0 if script == "select-only" else log_bytes_of_run("i5", scale, per_s, records)
        per_s, reads = _run(script, scale, _cpu_ns(script) + reads * read_ns, log_bytes, layout)
    return per_s


def _run(script: Script, scale: int, cpu_ns: float, log_bytes: float, layout: Layout = "raid0") -> tuple[float, float]:
    volume = Volume("ssd", load_device("intel-dc-s3700-100"), 6, layout, 512 << 10)
    server = PgbenchServer(_CORES, _CLIENTS, _POOL_BYTES, _MEMORY_BYTES - _POOL_BYTES - _OTHERS_BYTES, volume)
    found = rate(
        server, script, scale, cpu_ns, log_bytes, settle_s=_SETTLE_S[script], measure_s=_MEASURE_S,
        most_per_s=_CORES * NS_PER_S / cpu_ns,
    )  # fmt: skip
    return found.per_s, found.device_reads
