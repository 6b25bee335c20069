"""Checkpoints: when they begin, and how they write."""
