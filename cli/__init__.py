"""How it is asked: the commands, what they print, and the page."""
