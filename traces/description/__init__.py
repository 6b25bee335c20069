"""What a trace asks of its storage; ``docs/description.md`` has every key of the document."""

from tiersim.traces.description.document import describe

__all__ = ["describe"]
