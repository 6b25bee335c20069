"""pgbench on one NVMe drive: rates at three scales, of two scripts.

T. Vondra, wal-segment-size-tests (2017: version 10 in development, 4 hours each, segments of 16 MB, flushing as by
default). Told are two E5-2620 v4 of 8 cores, 32 GB of memory, and an Intel SSD 750 of 400 GB. Not told, and assumed:
clients (32; range 18 .. 64: at 52,700 a second no transaction of a second took less than 0.33 to 0.55 ms),
shared_buffers (4 GiB, as large a part of the memory as on his later hosts; 4 .. 8 GiB), and that the drive had been
written over for long. A checkpoint begins every 1,800 s: so far apart the rates of each minute fall, of both scripts at
scale 2000 (transactions-60.csv). There the drive's rate of random writes bounds both. What is predicted there has a
range: the drive's spare space, of which its rate follows, is that of 27 dies of 16 GiB, as it is described, to 30. Both
ends were written down before they were run. The other two are left as they are. With 27 dies its spare space had been
0.231, that of its larger sister, and checkpoints had been 900 s apart, until figures at scale 2000 were known.
"""

from collections.abc import Mapping

from tiersim.devices.array.volume import Volume
from tiersim.devices.catalogue import load_device
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.log_volume import log_bytes_of_run, record_bytes
from tiersim.scenarios.validation.pgbench import PgbenchServer, Script, rate
from tiersim.units import NS_PER_S

_GIB = 1 << 30
_CORES, _CLIENTS = 16, 32
#: What the kernel and the processes have of the memory: assumed, 1 .. 3 GiB.
_POOL_BYTES, _OTHERS_BYTES, _MEMORY_BYTES = 4 * _GIB, 2 * _GIB, 32 * _GIB
#: Transactions a second by scale. The scale at which the processors are all that bounds the script comes first: its CPU
#: is fitted to that one.
_MEASURED: dict[Script, dict[int, float]] = {
    "simple-update": {50: 52_720, 300: 50_366, 2000: 19_867},
    "tpcb-like": {300: 33_512, 50: 31_347, 2000: 17_304},
}
#: Records of the updates of a teller and of a branch, beside those of simple-update: an update that stays on its page
#: logs what changed (access/heapam_xlog.h); assumed, 60 .. 90 bytes each.
_MORE_BYTES: dict[Script, int] = {"simple-update": 0, "tpcb-like": 150}
#: Until write-back has begun and the drive's buffer is full, and from then on.
_SETTLE_S, _MEASURE_S = 14, 6
_SHORT_SETTLE_S, _SHORT_MEASURE_S = 0.5, 1.0
_SMALL = 300  # the largest scale that fits into the memory
_ROUNDS = 3  # of rate and log, which depend on each other
_CHECKPOINT_S = 1800
#: The drive as it is described, and with the spare space of 30 dies.
_DESCRIBED: Mapping[str, float] = {}
_MOST: Mapping[str, float] = {"over_provisioning": 0.29}


def experiment() -> Experiment:
    """Both scripts at the scales that were not fitted."""
    return Experiment(
        "pgbench-nvme",
        "pgbench on an NVMe drive: fitted at one scale, predicted at the others",
        "T. Vondra, wal-segment-size-tests (hardware told; clients, shared_buffers and the drive's rate of random"
        " writes assumed; the range: spare space 0.16 .. 0.29)",
        "CPU of a transaction of each script, where only the processors bound it",
        tuple(claim for script in _MEASURED for claim in _claims(script)),
    )


def _claims(script: Script) -> list[Claim]:
    measured = _MEASURED[script]
    fitted = next(iter(measured))
    cpu_ns = _CORES * NS_PER_S / measured[fitted]
    found = []
    for scale, per_s in measured.items():
        predicted = _predicted_per_s(script, scale, cpu_ns, _DESCRIBED)
        low = high = None
        if scale > _SMALL:
            low, high = predicted, _predicted_per_s(script, scale, cpu_ns, _MOST)
        found.append(
            Claim(
                f"{script}, scale {scale:,}", "per s", per_s, predicted, 20, scale == fitted, low=low, high=high,
                figure="throughput",
            )
        )  # fmt: skip
    return found


def _predicted_per_s(script: Script, scale: int, cpu_ns: float, changed: Mapping[str, float]) -> float:
    drive = load_device("intel-750-400").model_copy(update=dict(changed))
    volume = Volume("nvme", drive, 1, "single", 1)
    server = PgbenchServer(_CORES, _CLIENTS, _POOL_BYTES, _MEMORY_BYTES - _POOL_BYTES - _OTHERS_BYTES, volume)
    most_per_s = per_s = _CORES * NS_PER_S / cpu_ns
    records = record_bytes() + _MORE_BYTES[script]
    small = scale <= _SMALL
    for _ in range(1 if small else _ROUNDS):
        log_bytes = log_bytes_of_run("xeon", scale, per_s, records, _CHECKPOINT_S)
        per_s = rate(
            server, script, scale, cpu_ns, log_bytes, settle_s=_SHORT_SETTLE_S if small else _SETTLE_S,
            measure_s=_SHORT_MEASURE_S if small else _MEASURE_S, most_per_s=most_per_s,
        ).per_s  # fmt: skip
    return per_s
