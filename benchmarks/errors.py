"""What keeps the bench from measuring."""

from tiersim.errors import TiersimError


class BenchError(TiersimError):
    """Something that the bench needs is missing, or failed; the message names it and the remedy."""
