"""Results: what a run says, as it is kept on disk (``NAME.result/``)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tiersim.errors import TraceError, reason
from tiersim.files import checksums_of, sealed, whole_folder
from tiersim.traces.parquet import part_of

SCHEMA = "tiersim.result/1"
RUN = "run.json"
_TABLES = ("latency", "timeline", "stations")
#: Tables that not every result has.
_MORE = ("requests", "database")


@dataclass(frozen=True)
class Result:
    """One run of one trace on one scenario; ``docs/result.md`` lists every column and key.

    ``summary`` is the JSON document, of :class:`tiersim.simulator.summary_model.Summary`; ``latency`` the histogram by
    class (low_ns, high_ns, count); ``timeline`` rates and latencies by interval and class; ``stations`` utilisation and
    queue by interval, station and resource. Columns that hold no interval's requests are null. ``requests`` (row,
    done_ns of every command) is there only when it was asked for, ``database`` (dirty pages, log and checkpoints by
    interval) only where statements ran.
    """

    summary: dict[str, Any]
    latency: pa.Table
    timeline: pa.Table
    stations: pa.Table
    scenario_toml: str
    requests: pa.Table | None = None
    database: pa.Table | None = None


def save_result(result: Result, target: Path, run_facts: dict[str, Any], *, force: bool = False) -> None:
    """Write a result bundle; wall-clock facts of the run go into ``run.json``, so that the rest is reproducible, with
    checksums of it.
    """
    with whole_folder(target, force=force) as folder:
        for name in _TABLES:
            pq.write_table(getattr(result, name), folder / f"{name}.parquet", compression="zstd")
        for name in _MORE:
            if getattr(result, name) is not None:
                pq.write_table(getattr(result, name), folder / f"{name}.parquet", compression="zstd")
        (folder / "summary.json").write_bytes((json.dumps(result.summary, indent=1, sort_keys=True) + "\n").encode())
        (folder / "scenario.toml").write_bytes(result.scenario_toml.encode())
        (folder / RUN).write_bytes(sealed(run_facts, checksums_of(folder, RUN)))


def load_result(path: Path) -> Result:
    """Read a result bundle; raises TraceError when it is not a whole one."""
    try:
        summary = json.loads(part_of(path, "summary.json").read_bytes())
        if not isinstance(summary, dict) or summary.get("schema") != SCHEMA:
            raise TraceError(f"{path / 'summary.json'}: schema is not {SCHEMA!r}; run the replay again")
        tables = {name: pq.read_table(part_of(path, f"{name}.parquet")) for name in _TABLES}
        kept = {name: part_of(path, f"{name}.parquet") for name in _MORE}
        more = {name: pq.read_table(file) if file.exists() else None for name, file in kept.items()}
        return Result(
            summary, **tables, scenario_toml=part_of(path, "scenario.toml").read_text(encoding="utf-8"), **more
        )
    except OSError as error:
        raise TraceError(f"{path}: is not a result bundle ({reason(error)}); give a folder that replay wrote") from None
    except MemoryError:
        raise
    except (pa.ArrowException, ValueError, RecursionError) as error:
        raise TraceError(f"{path}: is damaged ({str(error).splitlines()[0]}); run the replay again") from None
