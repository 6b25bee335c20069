"""A bench of a real MariaDB on a device with a cap, and predictions that are held against it."""
