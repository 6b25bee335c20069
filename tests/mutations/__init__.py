"""Faults that a programmer could make, one line each, and the tests of the default run that must notice them.

``python -m tests.mutations`` makes each fault in a copy of the project and runs the tests that are named for it.
"""
