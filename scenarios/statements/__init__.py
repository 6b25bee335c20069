"""Statements of a recording on another host: from what a database counted to the latency of its queries."""

from tiersim.scenarios.statements.assembly import Assembled, assemble
from tiersim.scenarios.statements.load import Load, read_load
from tiersim.scenarios.statements.replay import replay_statements

__all__ = ["Assembled", "Load", "assemble", "read_load", "replay_statements"]
