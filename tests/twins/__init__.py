"""Stations and parts of the database in plain Python, written from the documents: what both engines are held against.

One file a station, named as it is; none imports a kernel.
"""
