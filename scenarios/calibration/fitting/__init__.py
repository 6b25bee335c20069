"""A device from what was measured of one: parameters, how far off it remains, and what the measurement cannot tell."""
