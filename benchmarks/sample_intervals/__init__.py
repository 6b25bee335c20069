"""How often the interval of a sample holds the figure of the whole recording."""
