"""What people say of prices, beside what the catalogue has: the tables of a candidates file that are about money."""

from pydantic import Field, model_validator

from tiersim.toml_files import Bytes, StrictModel


class PriceModel(StrictModel):
    """``[prices.DEVICE]``: what a device costs, draws and endures, in place of what the catalogue says."""

    price: float | None = Field(default=None, ge=0)
    price_per_gib_month: float | None = Field(default=None, ge=0)
    price_per_iops_month: float | None = Field(default=None, ge=0)
    power: float | None = Field(default=None, ge=0)  # W
    endurance: Bytes | None = Field(default=None, gt=0)
    bay: bool | None = None  # whether it takes a bay; None: as its enclosure says
    date: str | None = None
    source: str | None = None


class HostPriceModel(StrictModel):
    """``[host]``: the server itself."""

    bays: int | None = Field(default=None, ge=0)  # None: as many as there are drives
    price: float = Field(default=0.0, ge=0)
    power: float = Field(default=0.0, ge=0)  # W


class EnclosureModel(StrictModel):
    """``[enclosure]``: what drives are put in that the server has no bay for."""

    bays: int = Field(gt=0)
    price: float = Field(ge=0)
    power: float = Field(default=0.0, ge=0)  # W


class MemoryPriceModel(StrictModel):
    """``[memory]``: what memory costs, and what part of it the buffer pool gets."""

    price_per_gib: float = Field(ge=0)
    pool_share: float | None = Field(default=None, gt=0, le=1)  # None: as in the scenario


class LicenceModel(StrictModel):
    """``[licences]``: of the database, by core of the scenario's host."""

    per_core: float = Field(default=0.0, ge=0)
    per_core_year: float = Field(default=0.0, ge=0)


class PowerModel(StrictModel):
    """``[power]``: what energy costs; ``overhead`` is what the building draws for each watt (PUE)."""

    price_per_kwh: float = Field(ge=0)
    overhead: float = Field(default=1.0, ge=1)


class PricesModel(StrictModel):
    """What a purchase is reckoned with."""

    currency: str = "USD"
    price_date: str | None = None
    years: float = Field(default=5.0, gt=0)  # of use: datasheets rate endurance over five
    host: HostPriceModel = HostPriceModel()
    enclosure: EnclosureModel | None = None
    memory: MemoryPriceModel | None = None
    licences: LicenceModel | None = None
    power: PowerModel | None = None
    prices: dict[str, PriceModel] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _prices_have_a_date(self) -> "PricesModel":
        for name, price in self.prices.items():
            if price.price and price.date is None and self.price_date is None:
                raise ValueError(
                    f'prices.{name}.date: of what day is the price? write date = "2026-11", or price_date for all'
                )
        own = {"host": self.host.price, "enclosure": self.enclosure, "memory": self.memory, "licences": self.licences}
        for key, given in own.items():
            if given and self.price_date is None:
                raise ValueError(f'{key}: has a price and no day that it is of; write price_date = "2026-11", say')
        return self
