"""docs/device-reference.md, made of the catalogue and of the schemas of device files; ``python -m
tests.device_reference`` writes it anew.
"""

from pathlib import Path

from tests import catalogue_table
from tests.schema_tables import table
from tiersim.devices.catalogue import instances, kinds, schema
from tiersim.devices.cloud.instance import Instance
from tiersim.devices.sourced import Sourced

DOCUMENT = Path(__file__).parents[1] / "docs" / "device-reference.md"
#: The kinds of devices, what they are, and the page that explains them; of others their class says what they are.
_KINDS = {
    "hdd": "A disk drive, from its datasheet: [disks](disks.md).",
    "measured-hdd": "A disk drive with measured zones and seeks: [disks](disks.md). Other keys are those of `hdd`.",
    "flash": "A flash drive: [flash](flash.md).",
    "token-bucket": "A volume with rate limits: [cloud volumes](cloud-volumes.md).",
    "cloud-volume": "An offer of a cloud provider: [cloud volumes](cloud-volumes.md).",
    "instance": "Limits of a cloud instance on all its volumes: [cloud volumes](cloud-volumes.md).",
}
_WRITTEN = {
    "SizeStep": "tables `[[sizes]]`",
    "PriceTier": "tables `[[iops_tiers]]`",
    "MeasuredZone": "tables `[[zones]]`",
}
_HEAD = """# Device reference

The catalogue, and every key of a device file, made of the schemas by which files are checked. `tiersim devices list` and `tiersim devices schema KIND` print both. Sizes, durations and rates
have units: `"800 GB"`, `"3.4 ms"`, `"204 MB/s"`. [Devices](devices.md) says how to choose one and where its numbers come from.

## Catalogue
"""  # noqa: E501
_OF_ALL = frozenset({"kind", *Sourced.model_fields})


def document() -> str:
    """Return the page."""
    listed = ", ".join(f"`{name}`" for name in instances())
    parts = [_HEAD, catalogue_table.table(), f"Instances: {listed}.\n", "## Keys of all devices\n"]
    parts += [table(Sourced.model_json_schema(), _WRITTEN)]
    of_hdd = frozenset(schema("hdd")["properties"])
    for kind in dict.fromkeys([*_KINDS, *kinds()]):
        of_kind = Instance.model_json_schema() if kind == "instance" else schema(kind)
        said = _KINDS.get(kind) or of_kind["description"]
        skipped = _OF_ALL | of_hdd if kind == "measured-hdd" else _OF_ALL
        parts += [f'## `kind = "{kind}"`\n', f"{said}\n", table(of_kind, _WRITTEN, skipped - {"write_settle"})]
        for name, model in of_kind.get("$defs", {}).items():
            parts += [f"Keys of the {_WRITTEN[name]}:\n", table(model, _WRITTEN)]
    return "\n".join(parts)


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
