"""A database above the devices: sessions that run statements, processors, a buffer pool."""
