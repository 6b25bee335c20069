"""Parts of the hardware and the engine, by the names that people use."""

#: What a resource of a station is called; one that is not here keeps its own name.
_NAMES = {
    "actuator": "disk arm",
    "interface": "disk interface",
    "dies": "flash dies",
    "channels": "flash channels",
    "controller": "flash controller",
    "link": "flash link",
    "host cpu": "driver CPU",
    "credits": "burst credits",
    "byte credits": "burst credits (bytes)",
    "lines": "write-back cache",
}
#: Resources that a server has once: the name says it all.
_ONCE = {"cores": "CPU", "workers": "I/O workers", "lookups": "buffer pool"}


def part_name(station: str, resource: str) -> str:
    """Return the name of a resource of a station, such as ``disk arm of data.9`` or ``CPU``."""
    return _ONCE.get(resource) or f"{_NAMES.get(resource, resource)} of {station}"
