"""Counters of hosts and volumes, one module a source."""
