"""Cloud volumes and instances: limits, bursts, token buckets."""
