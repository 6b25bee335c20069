"""docs/scenario-reference.md, made of the schema of scenarios; ``python -m
tests.scenario_reference`` writes it anew.
"""

from pathlib import Path

from tests.schema_tables import table
from tiersim.scenarios.model import Scenario

DOCUMENT = Path(__file__).parents[1] / "docs" / "scenario-reference.md"

#: The tables of a scenario in the order of the page, how they are written, and the page that says more.
_TABLES = {
    "HostModel": ("[host]", "[statements](statements.md), [processors](processors.md)"),
    "CostsModel": ("[host.costs]", "[processors](processors.md)"),
    "EngineModel": (
        "[engine]",
        "[statements](statements.md), [pool](pool.md), [WAL](wal.md), [SQL Server](sqlserver.md), [InnoDB](innodb.md)",
    ),
    "ReplicaModel": ("[engine.replica]", "[WAL](wal.md)"),
    "VolumeModel": (
        "[volumes.NAME]",
        "[arrays](arrays.md), [cloud volumes](cloud-volumes.md), [host](host.md), [tiers](tiers.md)",
    ),
    "PoolModel": ("[pools.NAME]", "[arrays](arrays.md)"),
    "NeighbourModel": ("[pools.NAME.neighbour]", "[arrays](arrays.md)"),
    "InstanceModel": ("[instances.NAME]", "[cloud volumes](cloud-volumes.md)"),
    "QueueModel": ("[queues.NAME]", "[host](host.md)"),
    "ControllerModel": ("[controllers.NAME]", "[controllers](controllers.md)"),
    "ReplayModel": ("[replay]", "[replay](replay.md), [statements](statements.md)"),
}
_HEAD = """# Scenario reference

Every key of a scenario file, made of the schema by which files are checked. `tiersim devices schema scenario` prints that schema, by which an editor completes and checks them; an
example is in [statements](statements.md). A size is written `"16 GiB"`, a duration `"3.4 ms"`, a rate `"204 MB/s"`, each with its unit. An unknown key is refused, with the one that
was probably meant. From the command line: `--set engine.buffer_pool=64GiB`.
"""  # noqa: E501
_NOTES = {"EngineModel": " Settings that are left out are as they were recorded, unless the table says otherwise."}
#: How the tables are written.
_WRITTEN = {model: f"table `{written}`" for model, (written, _) in _TABLES.items()}


def document() -> str:
    """Return the page."""
    schema = Scenario.model_json_schema()
    parts = [_HEAD, "## The file\n", table(schema, _WRITTEN)]
    for model, (written, pages) in _TABLES.items():
        parts += [
            f"## `{written}`\n",
            f"More in {pages}.{_NOTES.get(model, '')}\n",
            table(schema["$defs"][model], _WRITTEN),
        ]
    return "\n".join(parts)


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
