"""Drives that were characterised for DiskSim: its parameter files, read into a drive of ours."""

from tiersim.devices.disksim.drive import drive_values, load_drive

__all__ = ["drive_values", "load_drive"]
