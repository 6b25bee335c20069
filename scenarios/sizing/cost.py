"""What hardware costs: a bill whose every line has a count, a price and where the price is from."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tiersim.devices.catalogue import load_device, load_processor
from tiersim.devices.cloud.cloud_volume import CloudVolume
from tiersim.devices.measured import RECORDED
from tiersim.devices.station import Device
from tiersim.errors import ScenarioError
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.sizing.prices import PriceModel, PricesModel

#: A month of the mean year.
_HOURS_A_MONTH = 365.25 * 24 / 12
_MONTHS_A_YEAR = 12
_GIB, _MIB = 1 << 30, 1 << 20
#: What a price is of that the catalogue has.
_CATALOGUE_CURRENCY = "USD"
#: What is plugged into a slot of the server, and not into a bay.
_NO_BAY = ("card", "M.2", "rack")


@dataclass(frozen=True)
class CostLine:
    """A line of the bill; ``each`` is None where nobody knows the price."""

    what: str
    count: float
    each: float | None
    per: Literal["once", "month"]
    source: str
    date: str | None = None

    @property
    def cost(self) -> float | None:
        """Of all of them."""
        return None if self.each is None else self.count * self.each


@dataclass(frozen=True)
class Cost:
    """A bill; ``unknown`` is what it lacks, a few words each."""

    parts: tuple[CostLine, ...]
    currency: str
    years: float
    power_w: float | None
    unknown: tuple[str, ...] = ()

    @property
    def capex(self) -> float | None:
        """What is paid once; None if a price is not known."""
        return _sum(part for part in self.parts if part.per == "once")

    @property
    def monthly(self) -> float | None:
        """What is paid each month; None if a price is not known."""
        return _sum(part for part in self.parts if part.per == "month")

    @property
    def total(self) -> float | None:
        """What is paid over the years of use."""
        if self.capex is None or self.monthly is None:
            return None
        return self.capex + self.monthly * self.years * _MONTHS_A_YEAR

    @property
    def price_date(self) -> str | None:
        """Of when the prices are."""
        return ", ".join(sorted({part.date for part in self.parts if part.date and part.each})) or None

    def document(self) -> dict[str, Any]:
        """The bill as documents have it."""
        return {
            "capex": self.capex,
            "monthly": self.monthly,
            "total": self.total,
            "years": self.years,
            "currency": self.currency,
            "price_date": self.price_date,
            "parts": [asdict(part) for part in self.parts],
            "unknown": list(self.unknown),
        }


def _sum(parts: Iterator[CostLine]) -> float | None:
    costs = [part.cost for part in parts]
    return None if None in costs else math.fsum(cost for cost in costs if cost is not None)


def cost_of(scenario: NamedScenario, prices: PricesModel, beside: Path) -> Cost:
    """Reckon what *scenario* costs; devices that are files lie in the folder *beside*.

    Raises ScenarioError where drives have no place, where licences are asked of a host without cores, and for a cloud
    volume without a size.
    """
    devices = {name: (device_of(scenario, name, beside), count) for name, count in _counts(scenario).items()}
    ids = {name: _id_of(scenario, name) for name in devices}
    parts: list[CostLine] = []
    unknown: list[str] = []
    watts: list[float | None] = []
    drives = 0
    for name, (device, count) in devices.items():
        said = prices.prices.get(ids[name], PriceModel())
        if isinstance(device, CloudVolume):
            parts += _rent(scenario, name, device, count, said, prices)
            continue
        parts.append(_purchase(ids[name], device, count, said, prices))
        power = said.power if said.power is not None else device.power_active
        watts.append(None if power is None else power * count)
        if power is None and prices.power is not None:
            unknown.append(f"power of {ids[name]}")
        drives += count if _takes_bay(device, said) else 0
    enclosures = _enclosures(drives, prices)
    parts += _server(scenario, enclosures, prices)
    watts += [prices.host.power, enclosures * prices.enclosure.power if prices.enclosure else 0.0]
    known = math.fsum(one for one in watts if one is not None)
    unknown += [f"price of {part.what}" for part in parts if part.each is None]
    # a bill that lacks a line is no sum: what nobody described would be the cheapest
    if prices.power is not None:
        kwh = known / 1000 * prices.power.overhead * _HOURS_A_MONTH
        each = None if None in watts else prices.power.price_per_kwh
        parts.append(CostLine("energy, kWh", kwh, each, "month", "[power]", prices.price_date))
    if prices.memory and (scenario.model.host is None or scenario.model.host.memory is None):
        unknown.append("memory of the host")
        parts.append(CostLine("memory, GiB", 0, None, "once", "[memory]", prices.price_date))
    return Cost(
        tuple(parts), prices.currency, prices.years, None if None in watts else known, tuple(dict.fromkeys(unknown))
    )


def _counts(scenario: NamedScenario) -> dict[str, int]:
    return {name: volume.count for name, volume in scenario.hardware.items() if _id_of(scenario, name) != RECORDED}


def _id_of(scenario: NamedScenario, name: str) -> str:
    model = scenario.model
    return str((model.pools[name] if name in model.pools else model.volumes[name]).device)


def device_of(scenario: NamedScenario, name: str, beside: Path) -> Device:
    """Return the device of a volume or pool as it is sold: an offer, where the scenario has an order of it."""
    return load_device(_id_of(scenario, name), beside=beside)


def ratings_of(scenario: NamedScenario, prices: PricesModel) -> Mapping[str, float | None]:
    """Return how many bytes may be written to a device, by volume or pool; None where nobody says so."""
    return {
        name: (
            prices.prices.get(_id_of(scenario, name), PriceModel()).endurance
            or getattr(volume.device, "endurance", None)
        )
        for name, volume in scenario.hardware.items()
    }


def _purchase(name: str, device: Device, count: int, said: PriceModel, prices: PricesModel) -> CostLine:
    if said.price is not None:
        return CostLine(
            name, count, said.price, "once", said.source or f"[prices.{name}]", said.date or prices.price_date
        )
    if device.price is None:
        return CostLine(name, count, None, "once", "not known; give it under [prices]")
    if prices.currency != _CATALOGUE_CURRENCY:
        return CostLine(
            name, count, None, "once", f"the catalogue's is in {_CATALOGUE_CURRENCY}; give it in {prices.currency}"
        )
    return CostLine(name, count, device.price, "once", device.sources["price"], device.price_date)


def _rent(
    scenario: NamedScenario, name: str, device: CloudVolume, count: int, said: PriceModel, prices: PricesModel
) -> Iterator[CostLine]:
    """Yield what cloud volumes cost a month: their size, and what is provisioned beyond what comes with it."""
    model = scenario.model.volumes[name]
    what = _id_of(scenario, name)
    ours = prices.currency == _CATALOGUE_CURRENCY

    def line(label: str, units: float, given: float | None, key: str) -> CostLine:
        if given is not None:
            return CostLine(
                label, units, given, "month", said.source or f"[prices.{what}]", said.date or prices.price_date
            )
        each = getattr(device, key, None) if ours else None
        source = device.sources[key] if each is not None else "not known; give it under [prices]"
        return CostLine(label, units, each, "month", source, device.price_date)

    if model.size is None:
        raise ScenarioError(
            f"volumes.{name}.size: is missing, and {what} is paid by its size; write for example"
            f' "volumes.{name}.size" = "500 GiB"'
        )
    size_gib = device.billed_bytes(model.size) / _GIB
    yield line(f"{what}, GiB", count * size_gib, said.price_per_gib_month, "price_per_gib_month")
    tiers = () if said.price_per_iops_month is not None else device.iops_tiers or ()
    begins = [device.iops or 0, *(tier.above for tier in tiers)]  # what is included costs nothing
    of_tier = [line(f"{what}, provisioned IOPS", 1, said.price_per_iops_month, "price_per_iops_month")]
    for tier in tiers:
        each, source = (tier.price_per_iops_month, device.sources["iops_tiers"]) if ours else (None, of_tier[0].source)
        label = f"{what}, provisioned IOPS above {tier.above:,}"
        of_tier.append(CostLine(label, 1, each, "month", source, device.price_date))
    for one, begin, end in zip(of_tier, begins, [*begins[1:], math.inf], strict=True):
        beyond = min(model.iops or 0, end) - begin
        if beyond > 0:
            yield replace(one, count=count * beyond)
    mib_s = ((model.throughput or 0) - (device.throughput or 0)) / _MIB
    if mib_s > 0:
        yield line(f"{what}, provisioned MiB/s", count * mib_s, said.price_per_mib_s_month, "price_per_mib_s_month")


def _takes_bay(device: Device, said: PriceModel) -> bool:
    if said.bay is not None:
        return said.bay
    return not any(word in (device.enclosure or "") for word in _NO_BAY)


def _enclosures(drives: int, prices: PricesModel) -> int:
    """Return how many enclosures the drives need that the server has no bay for."""
    outside = 0 if prices.host.bays is None else max(drives - prices.host.bays, 0)
    if outside and prices.enclosure is None:
        raise ScenarioError(
            f"{drives} drives need {outside} bays more than the server has; add [enclosure] with bays and price, or"
            " fewer drives"
        )
    return -(-outside // prices.enclosure.bays) if prices.enclosure and outside else 0


def _server(scenario: NamedScenario, enclosures: int, prices: PricesModel) -> Iterator[CostLine]:
    """Yield what is not drives: server, enclosures, memory, licences."""
    date = prices.price_date
    if prices.host.price:
        yield CostLine("server", 1, prices.host.price, "once", "[host]", date)
    if enclosures and prices.enclosure:
        yield CostLine("enclosure", enclosures, prices.enclosure.price, "once", "[enclosure]", date)
    host = scenario.model.host
    if prices.memory and host is not None and host.memory is not None:
        yield CostLine("memory, GiB", host.memory / _GIB, prices.memory.price_per_gib, "once", "[memory]", date)
    if prices.licences:
        cores = _cores(scenario)
        if prices.licences.per_core:
            yield CostLine("licence of a core", cores, prices.licences.per_core, "once", "[licences]", date)
        if prices.licences.per_core_year:
            yield CostLine(
                "licence of a core", cores, prices.licences.per_core_year / _MONTHS_A_YEAR, "month", "[licences]", date
            )


def _cores(scenario: NamedScenario) -> int:
    found = cores_of(scenario)
    if found is None:
        raise ScenarioError(
            f"{scenario.name}: licences are by core, and the scenario does not say how many there are; write cores, or"
            " cpu, under [host]"
        )
    return found


def cores_of(scenario: NamedScenario) -> int | None:
    """Return how many cores the host has; None where the scenario does not say."""
    host = scenario.model.host
    if host is None:
        return None
    return host.cores if host.cpu is None else (host.count or 1) * load_processor(host.cpu).cores
