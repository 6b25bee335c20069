"""Damages files of every kind that is read, and reads them: whatever comes, it ends soon, and in a sentence at worst.

    NUMBA_DISABLE_JIT=1 python -m tests.fuzz --format sqlserver-trc --executions 1000000 --seed 1

Several such processes, each with a seed of its own, may run side by side. Each adds a line to the file that
``--counts`` names; ``python -m tests.fuzz.table FILE...`` sums them up. ``python -m tests.fuzz.grow`` looks for files
that reach more of the readers.
"""
