"""Measurements of speed and memory, as ratios in one run."""
