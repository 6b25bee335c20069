"""Fast devices before slow ones: caches of flash, tiers."""
