"""Sessions: statements, lookups, row locks, processors, copies."""
