"""The readable engine, written with SimPy."""
