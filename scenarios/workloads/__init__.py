"""Workloads that are described and not recorded: what a database holds, what its statements do, who runs them."""
