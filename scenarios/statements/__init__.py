"""Statements of a recording on another host: from what a database counted to the latency of its queries."""
