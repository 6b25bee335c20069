"""The buffer pool: pages, eviction, read-ahead, writers, warm starts."""
