"""Whether a change of the code changed a figure: the tests of two trees are run with the same draws, and all that they
compute is held side by side.

``python -m tests.same BASE`` runs the tests of the commit BASE and those of this tree. Noted are the tables of a run
when it ends, of both engines; every result, its summary and its columns; what commands print as JSON; each column that
is written to Parquet. Numbers are compared to the bit, texts are not. ``renamed.toml`` says what has another name here
than there.
"""
