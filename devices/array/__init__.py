"""Devices together: RAID levels, rebuilds, pools that volumes share."""
