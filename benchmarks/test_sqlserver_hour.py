"""An hour of SQL Server, 5 million statements of 200 sessions: from its trace file to runs on other hardware, stage by
stage, with peak memory.
"""

import json
import subprocess
import sys
import textwrap

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

STATEMENTS = 5_000_000

CODE = textwrap.dedent("""
    import json, resource, sys, tempfile, time
    from pathlib import Path
    from tests.sqlserver_hours import sql_server_hour
    from tests.sqlserver_scenarios import sql_server_scenario
    from tests.sqlserver_trace_files import write_file_stats, write_trc

    stage, folder = sys.argv[1], Path(sys.argv[2])
    made, read = folder / "made.trace", folder / "read.trace"
    figures = {}
    began = time.perf_counter()
    if stage == "make":
        truth = sql_server_hour(
            made, statements=int(sys.argv[3]), sessions=200, seconds=3600,
            pages=4_000_000, frames=1_000_000, scan_pages=400_000,
        )
        write_trc(folder / "hour.trc", made)
        write_file_stats(folder, made)
    elif stage == "import":
        from tiersim.traces.readers import import_trace

        import_trace([folder / "hour.trc", *sorted(folder.glob("*.csv"))], read)
    elif stage == "describe":
        from tiersim.traces.bundle import Bundle
        from tiersim.traces.description import describe

        describe(Bundle(read))
    else:
        from tiersim.scenarios.statements.replay import replay_statements_all
        from tiersim.traces.bundle import Bundle

        recorded = sql_server_scenario(folder, "recorded", engine='buffer_pool = "7812.5 MiB"')
        reads = {"disks": "4 ms", "flash": "100 us", "cloud": "1 ms"}
        tiers = [sql_server_scenario(folder, name, read=data) for name, data in reads.items()]
        results = replay_statements_all(Bundle(read), tiers, recorded_on=recorded)
        calibration = results[0].summary["calibration"]
        figures = {"verdict": calibration["verdict"], "pages_read_error_pct": calibration["read_error_pct"]}
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    figures |= {f"{stage}_s": time.perf_counter() - began, f"{stage}_mib": peak_kib >> 10}
    print(json.dumps(figures))
    """)


@pytest.mark.long
def test_an_hour_of_five_million_statements(
    benchmark: BenchmarkFixture, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hour")

    def run(stage: str) -> None:
        command = [sys.executable, "-c", CODE, stage, str(folder), str(STATEMENTS)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        benchmark.extra_info |= json.loads(done.stdout.splitlines()[-1])

    run("make")

    def from_trace_to_tiers() -> None:
        for stage in ("import", "describe", "replay"):
            run(stage)

    benchmark.pedantic(from_trace_to_tiers, rounds=1)
