"""Solid-state drives: controller, channels, dies, flash translation layer."""
