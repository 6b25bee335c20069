"""What somebody measured, what is predicted for it, and how far apart the two may lie."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One figure of an experiment; ``fitted``: it was used to choose a number of the model, so it proves nothing."""

    what: str
    unit: str
    published: float
    predicted: float
    tolerance_pct: float
    fitted: bool = False
    underdetermined: bool = (
        False  # what was not told and is assumed could make it anything within more than its tolerance
    )
    at_most: bool = False  # the published figure is an error of somebody else's: less is better

    @property
    def error_pct(self) -> float:
        """Predicted against published, in percent."""
        return 100 * (self.predicted / self.published - 1)

    @property
    def met(self) -> bool:
        """Whether it lies within its tolerance."""
        return self.error_pct <= self.tolerance_pct if self.at_most else abs(self.error_pct) <= self.tolerance_pct


@dataclass(frozen=True)
class Experiment:
    """Claims that belong together; ``missing``: why they were not tried."""

    name: str
    title: str
    source: str
    fitted: str
    claims: tuple[Claim, ...] = ()
    missing: str | None = None
