"""Recorded requests with latencies: a device fitted to every other stretch of a recording judges
the stretches between.
"""

import tempfile
from pathlib import Path

from tiersim.scenarios.calibration.fitting.recording import Recording, fit_recording
from tiersim.scenarios.survey import load_recorded
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace

FILES = {
    "RocksDB on Optane": "rocksdb_ycsba_optane_io.csv.gz",
    "a Windows disk": "windows_disk_usage_etw.csv.bz2",
}
#: Flushes are too few to claim anything of them.
_WORDS = {"all": "reads and writes", "read": "reads", "write": "writes"}


def experiment(folder: Path | None) -> Experiment:
    """Mean latencies of both recordings, which are looked for anywhere in *folder*."""
    title = "Self-replay: half of a recording fits a device, the other half judges it"
    source = (
        "RocksDB on Optane (Open-CAS, standalone-linux-io-tracer), a Windows disk (bgeneto, windows-disk-trace-vis)"
    )
    found = {name: sorted(folder.rglob(file))[:1] for name, file in FILES.items()} if folder else {}
    if not all(found.values()) or not found:
        missing = "the recordings are not part of the project; give a folder that has them with --traces"
        return Experiment("halves", title, source, "a device each, to half of the latencies", missing=missing)
    claims = [claim for name, (path,) in found.items() for claim in _claims(name, path)]
    return Experiment(
        "halves", title, source, "a device each, to half of the latencies", tuple(claims), basis="calibrated"
    )


def _claims(name: str, path: Path) -> list[Claim]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        bundle = Path(place) / "recording.trace"
        import_trace([path], bundle, format=None, force=False)
        opened = Bundle(bundle)
        recording = Recording(load_recorded(opened), opened.stream_names)
    return [
        Claim(f"{name}: {_WORDS[one.operation]}, mean", "ms", one.measured / 1e6, one.fitted / 1e6, 15, figure="mean")
        for one in fit_recording(recording).judged
        if one.figure == "mean" and one.operation in _WORDS
    ]
