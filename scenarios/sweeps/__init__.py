"""One trace on many scenarios: grids of settings, points that are written when done, in threads or on a cluster."""
