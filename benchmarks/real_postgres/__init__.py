"""What checkpoints do to a real PostgreSQL on a device with a cap, and what the simulator says of it beforehand."""
