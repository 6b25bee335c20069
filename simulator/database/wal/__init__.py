"""The write-ahead log: group commit, log blocks."""
