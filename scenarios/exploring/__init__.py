"""A question answered as it is asked: a recording, a draft of a scenario, a sample at once and the whole behind it."""
