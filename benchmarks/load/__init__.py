"""How cost grows with size: one command measures processor time, wall time and peak memory of
larger and larger inputs.
"""
