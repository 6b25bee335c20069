"""Executions made from counters: what a simulation of sessions needs, from sources that only counted.

``docs/synthesis.md`` says what is taken from where, what is assumed, and what cannot be known.
"""

from tiersim.scenarios.calibration.synthesis.synthesise import QuerySynthesis, SnapshotEvidence, Synthesis, synthesise

__all__ = ["QuerySynthesis", "SnapshotEvidence", "Synthesis", "synthesise"]
