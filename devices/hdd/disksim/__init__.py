"""Drives that were characterised for DiskSim: its parameter files, read into a drive of ours."""

from tiersim.devices.hdd.disksim.drive import KEPT, Departure, drive_values, load_drive

__all__ = ["KEPT", "Departure", "drive_values", "load_drive"]
