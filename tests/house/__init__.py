"""How easily a newcomer finds a room: questions about where a thing is done, written before the folders were laid out
anew.
"""
