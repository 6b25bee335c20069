"""Which databases go onto which arrays: the search, and what tries its answers."""
