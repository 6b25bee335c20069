"""Sizing: how much load a scenario carries, and which hardware is the cheapest that meets targets."""
