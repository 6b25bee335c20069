"""What people say of prices, beside what the catalogue has: the tables of a candidates file that are about money."""

from pydantic import Field, model_validator

from tiersim.toml_files import Bytes, StrictModel


class PriceModel(StrictModel):
    """``[prices.DEVICE]``: what a device costs, draws and endures, in place of what the catalogue says."""

    price: float | None = Field(default=None, ge=0, description="Once.")
    price_per_gib_month: float | None = Field(default=None, ge=0, description="A month and GiB.")
    price_per_iops_month: float | None = Field(
        default=None, ge=0, description="A month and request a second that is provisioned beyond the included ones."
    )
    price_per_mib_s_month: float | None = Field(
        default=None, ge=0, description="A month and MiB a second that is provisioned beyond the included ones."
    )
    power: float | None = Field(default=None, ge=0, description="W.")
    endurance: Bytes | None = Field(default=None, gt=0, description="Bytes that may be written over its life.")
    bay: bool | None = Field(default=None, description="Whether it takes a bay; left out: as its enclosure says.")
    date: str | None = Field(default=None, description="When the price was asked for.")
    source: str | None = Field(default=None, description="Where the price is from.")


class HostPriceModel(StrictModel):
    """``[host]``: the server itself."""

    bays: int | None = Field(
        default=None,
        ge=0,
        description="Drives that fit in; cards and M.2 take none. Left out: as many as there are drives.",
    )
    price: float = Field(default=0.0, ge=0, description="Of the server.")
    power: float = Field(default=0.0, ge=0, description="W, without drives.")


class EnclosureModel(StrictModel):
    """``[enclosure]``: what drives are put in that the server has no bay for."""

    bays: int = Field(gt=0, description="Drives that fit in.")
    price: float = Field(ge=0, description="Of an enclosure.")
    power: float = Field(default=0.0, ge=0, description="W, without drives.")


class MemoryPriceModel(StrictModel):
    """``[memory]``: what memory costs, and what part of it the buffer pool gets."""

    price_per_gib: float = Field(ge=0, description="Price of a GiB of memory.")
    pool_share: float | None = Field(
        default=None, gt=0, le=1, description="Share of the memory that is buffer pool; left out: as in the scenario."
    )


class LicenceModel(StrictModel):
    """``[licences]``: of the database, by core of the scenario's host."""

    per_core: float = Field(default=0.0, ge=0, description="Once, for each core of the scenario's host.")
    per_core_year: float = Field(default=0.0, ge=0, description="A year and core.")


class PowerModel(StrictModel):
    """``[power]``: what energy costs; ``overhead`` is what the building draws for each watt (PUE)."""

    price_per_kwh: float = Field(ge=0, description="Price of energy.")
    overhead: float = Field(default=1.0, ge=1, description="Watts of the building for each watt (PUE).")


class PricesModel(StrictModel):
    """What a purchase is reckoned with."""

    currency: str = Field(default="USD", description="Of all prices here; the catalogue's are in USD.")
    price_date: str | None = Field(default=None, description="When the prices were asked for.")
    years: float = Field(default=5.0, gt=0, description="Years of use; datasheets rate endurance over five.")
    host: HostPriceModel = Field(default=HostPriceModel(), description="The server.")
    enclosure: EnclosureModel | None = Field(
        default=None, description="What drives are put in that the server has no bay for."
    )
    memory: MemoryPriceModel | None = Field(default=None, description="Needed where candidates differ in memory.")
    licences: LicenceModel | None = Field(default=None, description="Of the database.")
    power: PowerModel | None = Field(
        default=None, description="Energy of server, enclosures and drives; left out: none."
    )
    prices: dict[str, PriceModel] = Field(
        default_factory=dict, description="Of single devices, in place of the catalogue."
    )

    @model_validator(mode="after")
    def _prices_have_a_date(self) -> "PricesModel":
        for name, price in self.prices.items():
            each = (price.price, price.price_per_gib_month, price.price_per_iops_month, price.price_per_mib_s_month)
            if any(each) and price.date is None and self.price_date is None:
                raise ValueError(f'prices.{name}.date: is missing; write date = "2026-11", or price_date for all')
        own = {"host": self.host.price, "enclosure": self.enclosure, "memory": self.memory, "licences": self.licences}
        for key, given in own.items():
            if given and self.price_date is None:
                raise ValueError(f'{key}: the price has no date; write for example price_date = "2026-11"')
        return self
