"""Keys of a scenario that make no difference to a run: each is named, and indeed makes none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.counted_bundles import synthesised
from tests.counted_databases import counted_database, law
from tests.made_up_devices import token_bucket
from tiersim.cli import verdicts
from tiersim.scenarios import caveats
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.database_models import EngineModel
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay, survey_to_play
from tiersim.scenarios.statements.assembly import assemble, volumes_of_server
from tiersim.scenarios.statements.engines import EngineSources
from tiersim.scenarios.statements.innodb import mysql
from tiersim.scenarios.statements.loads import read_load
from tiersim.scenarios.statements.replay import replay_statements
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.simulator.database.sessions.processors import TABLES, scaled
from tiersim.simulator.result import Result
from tiersim.traces.bundle import Bundle
from tiersim.traces.differences import read_counters
from tiersim.traces.readers import import_trace

_FIGURES = ("latency_ns", "throughput_per_s", "stations", "verdict", "load")
_OTHER_VOLUME = '[volumes.other]\ndevice = "device.toml"\n[placement]\ndefault = "data"\n'


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace without latencies, whose requests come by the clock."""
    folder = tmp_path_factory.mktemp("requests")
    (folder / "recorded").write_text("".join(f"1000,R,{4096 * n},4096,{7 * n}\n" for n in range(40)))
    import_trace([folder / "recorded"], folder / "a.trace", format="alibaba")
    return folder / "a.trace"


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> StatementLoad:
    path = counted_database(tmp_path_factory.mktemp("counted") / "made-up.trace")
    return read_load(read_counters(path), synthesised(path, 1), law())


def _run_requests(trace: Path, folder: Path, text: str, settings: list[str]) -> Result:
    (folder / "device.toml").write_text(token_bucket(latency="200 us", iops=1_000_000))
    (folder / "s.toml").write_text(f'[volumes.data]\ndevice = "device.toml"\n{text}')
    scenario = load_scenario(str(folder / "s.toml"), settings)
    playback = survey_to_play(Bundle(trace), [scenario])
    return replay(playback.found, scenario, playback=playback)


def _run_statements(
    load: StatementLoad, folder: Path, text: str, settings: list[str], processor: ProcessorCosts | None = None
) -> Result:
    (folder / "device.toml").write_text(token_bucket(latency="200 us", iops=1_000_000))
    (folder / "s.toml").write_text(f'[host]\ncores = 2\n[volumes.data]\ndevice = "device.toml"\n{text}')
    scenario = load_scenario(str(folder / "s.toml"), ["replay.cache_state=cold", *settings])
    return replay_statements(load, scenario, processor=processor)


def _same(one: Result, other: Result) -> None:
    assert {key: one.summary[key] for key in _FIGURES} == {key: other.summary[key] for key in _FIGURES}


def _named(result: Result) -> list[str]:
    return [text.partition(" has no effect here")[0] for text in result.summary["caveats"] if " has no effect " in text]


@pytest.mark.parametrize(
    ("text", "settings", "key"),
    [
        ("[host]\ncores = 4\n", [], "host"),
        ("", ["replay.dependency_window=1 s"], "replay.dependency_window"),
        ("", ["replay.writers=clock"], "replay.writers"),
        ("", ["replay.clients=4"], "replay.clients"),
        ("", ["volumes.data.used=1 GiB"], "volumes.data.used"),
        ('[placement]\nlog = "data"\n', [], "placement.log"),
        ('[placement]\ntemp = "data"\n', [], "placement.temp"),
        ('[placement]\n"file:other" = "data"\n', [], "placement.file:other"),
        ('[placement]\n"relation:t" = "data"\n', [], "placement.relation:t"),
    ],
)
def test_a_key_that_makes_no_difference_to_requests_is_named(
    requests: Path, tmp_path: Path, text: str, settings: list[str], key: str
) -> None:
    plain, found = _run_requests(requests, tmp_path, "", []), _run_requests(requests, tmp_path, text, settings)
    assert _named(plain) == []
    assert _named(found) == [key]
    _same(plain, found)


def test_a_volume_that_nothing_lies_on_is_named(requests: Path, load: StatementLoad, tmp_path: Path) -> None:
    assert _named(_run_requests(requests, tmp_path, _OTHER_VOLUME, [])) == ["volumes.other"]
    assert _named(_run_statements(load, tmp_path, _OTHER_VOLUME, [])) == ["volumes.other"]
    assert _named(_run_statements(load, tmp_path, f'{_OTHER_VOLUME}log = "other"\n', [])) == []


@pytest.mark.parametrize(
    ("text", "settings", "key"),
    [
        ("", ["replay.dependency_window=1 s"], "replay.dependency_window"),
        ("", ["replay.writers=clock"], "replay.writers"),
        ("", ["replay.addresses=pack"], "replay.addresses"),
        ("", ["volumes.data.offset=1 MiB"], "volumes.data.offset"),
        ('[placement]\nbackup = "data"\n', [], "placement.backup"),
        ("", ["host.clients=here"], "host.clients"),
        ("", ["engine.os_cache=1 GiB", "engine.direct_io=true"], "engine.os_cache"),
        ('[placement]\nextension = "data"\n', [], "placement.extension"),
        ('[placement]\ndoublewrite = "data"\n', [], "placement.doublewrite"),
        ('[placement]\nbinary_log = "data"\n', [], "placement.binary_log"),
        ("", ["engine.checkpoint_segments=9"], "engine.checkpoint_segments"),
    ],
)
def test_a_key_that_makes_no_difference_to_statements_is_named(
    load: StatementLoad, tmp_path: Path, text: str, settings: list[str], key: str
) -> None:
    plain = _run_statements(load, tmp_path, "", ["engine.direct_io=true"])
    found = _run_statements(load, tmp_path, text, ["engine.direct_io=true", *settings])
    assert _named(plain) == []
    assert _named(found) == [key]
    _same(plain, found)


def test_settings_of_other_versions_are_named(load: StatementLoad, tmp_path: Path) -> None:
    old = ["engine.direct_io=true", "engine.version=9"]
    plain = _run_statements(load, tmp_path, "", old)
    later = ["engine.max_wal_size=2 GiB", "engine.checkpoint_flush_after=0 B"]
    found = _run_statements(load, tmp_path, "", [*old, *later])
    assert _named(plain) == []
    assert _named(found) == ["engine.max_wal_size", "engine.checkpoint_flush_after"]
    _same(plain, found)


def test_a_replica_is_named_where_commits_wait_for_nothing(load: StatementLoad, tmp_path: Path) -> None:
    replica = '[engine.replica]\nround_trip = "1 ms"\nflush = "1 ms"\n'
    asynchronous = ["engine.direct_io=true", "engine.synchronous_commit=false"]
    plain, found = (_run_statements(load, tmp_path, text, asynchronous) for text in ("", replica))
    assert _named(plain) == []
    assert _named(found) == ["engine.replica"]
    _same(plain, found)
    assert _named(_run_statements(load, tmp_path, replica, ["engine.direct_io=true"])) == []


#: Keys that say when checkpoints come, and one of the binary log.
_OF_OTHER_ENGINES = ["replay.since_checkpoint=5 s", "engine.recovery_interval=5 min", "engine.sync_binlog=1"]


@pytest.mark.parametrize(
    ("engine", "named"),
    [
        ({"checkpoints": "automatic", "binary_log": True}, []),
        ({"checkpoints": "indirect"}, ["replay.since_checkpoint", "engine.sync_binlog", "engine.recovery_interval"]),
        ({"checkpoint_timeout_ns": 300, "binary_log": True}, []),
        ({"binary_log": False}, ["replay.since_checkpoint", "engine.sync_binlog", "engine.recovery_interval"]),
    ],
)
def test_settings_that_others_make_useless_are_named(tmp_path: Path, engine: dict[str, Any], named: list[str]) -> None:
    (tmp_path / "device.toml").write_text(token_bucket())
    (tmp_path / "s.toml").write_text('[volumes.data]\ndevice = "device.toml"\n')
    model = load_scenario(str(tmp_path / "s.toml"), _OF_OTHER_ENGINES).model
    found = caveats.of_statements(model, ["data"], described=False, engine=engine, clients=None)
    assert [one.partition(" has no effect here")[0] for one in found] == named


def test_the_doublewrite_file_and_the_binary_log_lie_on_a_volume(tmp_path: Path) -> None:
    (tmp_path / "device.toml").write_text(token_bucket())
    volumes = "".join(f'[volumes.{name}]\ndevice = "device.toml"\n' for name in ("data", "pages", "binlog"))
    rules = '[placement]\ndefault = "data"\ndoublewrite = "pages"\nbinary_log = "binlog"\n'
    (tmp_path / "s.toml").write_text(volumes + rules)
    scenario = load_scenario(str(tmp_path / "s.toml"))
    without = EngineModel(doublewrite=False, binary_log=False)
    for given, found in ((EngineModel(), ["pages", "binlog"]), (without, list[str]())):
        sources = EngineSources(given, {"engine": "mysql"}, "8.4.3", 16384, 1 << 30, None, 1 << 30, 0)
        settings = mysql(sources, {})
        assert volumes_of_server(scenario, settings) == found
        used = ["data", *found]
        said = caveats.of_statements(scenario.model, used, described=False, engine=settings.described, clients=None)
        unused = [] if found else ["placement.doublewrite", "placement.binary_log", "volumes.pages", "volumes.binlog"]
        assert [one.partition(" has no effect here")[0] for one in said] == unused


def test_a_volume_holds_its_own_tables_alone(load: StatementLoad, tmp_path: Path) -> None:
    text = '[volumes.log]\ndevice = "device.toml"\n[placement]\ndefault = "data"\nlog = "log"\n'
    (tmp_path / "device.toml").write_text(token_bucket())
    (tmp_path / "s.toml").write_text(f'[volumes.data]\ndevice = "device.toml"\n{text}')
    found = assemble(load, load_scenario(str(tmp_path / "s.toml"), ["replay.cache_state=cold"]))
    assert set(found.volumes) == {"data", "log"}
    assert found.data_bytes == {"data": len(found.database.frame_of) * 8192}


def test_a_page_cache_is_named_where_the_recorded_server_read_past_it(load: StatementLoad, tmp_path: Path) -> None:
    host = {**load.manifest.host, "debug_io_direct": "data,wal"}
    direct = replace(load, manifest=replace(load.manifest, host=host))
    plain = _run_statements(direct, tmp_path, "", [])
    found = _run_statements(direct, tmp_path, "", ["engine.os_cache=1 GiB"])
    assert (_named(plain), _named(found)) == ([], ["engine.os_cache"])
    _same(plain, found)


@pytest.mark.parametrize(
    ("pause_ns", "asked", "named"),
    [
        (1_000, "elsewhere", ["host.clients"]),
        (1_000, "here", []),
        (None, "here", ["host.clients"]),
        (None, "elsewhere", []),
    ],
)
def test_clients_run_where_the_scenario_of_the_recorded_hardware_has_them(
    load: StatementLoad, tmp_path: Path, pause_ns: int | None, asked: str, named: list[str]
) -> None:
    costs = replace(ProcessorCosts({}, 0, scaled(TABLES["postgresql"], 1.0), "a test"), pause_ns=pause_ns)
    plain = _run_statements(load, tmp_path, "", [], costs)
    found = _run_statements(load, tmp_path, "", [f"host.clients={asked}"], costs)
    assert _named(plain) == []
    assert _named(found) == named
    _same(plain, found)


def test_several_keys_share_a_note_of_those_that_are_shown_first() -> None:
    caveats = ["it drifts", "a.b has no effect here: of requests", "c has no effect here: not used", "it is new"]
    expected = ["It drifts.", "No effect here: a.b (of requests), c (not used).", "It is new."]
    assert verdicts.caveats([{"caveats": caveats[:3]}, {"caveats": caveats}]) == expected
    assert verdicts.caveats([{"caveats": caveats[:2]}]) == ["It drifts.", "a.b has no effect here: of requests."]


def test_a_key_that_makes_a_difference_is_not_named(requests: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "replay.addresses": "pack",
        "volumes.data.used": "1 GiB",
        "volumes.data.offset": "1 MiB",
    }
    assert _named(_run_requests(requests, tmp_path, "", [f"{key}={value}" for key, value in settings.items()])) == []
