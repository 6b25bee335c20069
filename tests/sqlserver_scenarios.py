"""Scenarios for hours that were made up: devices that answer in one time, whatever the load."""

from pathlib import Path

from tests.made_up_devices import token_bucket
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario

_SCENARIO = """
[host]
cores = {cores}

[engine]
kind = "sqlserver"
{engine}

[volumes.data]
device = "{name}-data.toml"

[volumes.log]
device = "{name}-log.toml"

[placement]
default = "data"
log = "log"
{placement}
"""


def sql_server_scenario(
    folder: Path,
    name: str = "recorded",
    *settings: str,
    read: str = "500 us",
    log: str = "300 us",
    cores: int = 16,
    engine: str = "",
    placement: str = "",
) -> NamedScenario:
    """Return a host whose data files answer in *read* and whose log in *log*; written to *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, latency in (("data", read), ("log", log)):
        (folder / f"{name}-{part}.toml").write_text(
            token_bucket(capacity="4 TB", latency=latency, iops=10_000_000, flush="1 us")
        )
    path = folder / f"{name}.toml"
    path.write_text(_SCENARIO.format(name=name, cores=cores, engine=engine, placement=placement))
    return load_scenario(str(path), settings)
