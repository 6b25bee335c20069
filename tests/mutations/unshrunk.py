"""A plugin of pytest: Hypothesis does not look for the smallest example of a failure, which nobody reads here."""

from hypothesis import Phase, settings

settings.register_profile("unshrunk", phases=[Phase.explicit, Phase.generate])
settings.load_profile("unshrunk")
