"""What a host has between a database and its devices: file system, queue-depth limits, ports."""
