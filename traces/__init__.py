"""What was recorded: trace bundles, the readers that make them, and their description."""
