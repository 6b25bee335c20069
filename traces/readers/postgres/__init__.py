"""Readers of what PostgreSQL shows of itself."""
