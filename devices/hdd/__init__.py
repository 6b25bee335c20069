"""Disk drives: geometry, arm, queue, buffer."""
