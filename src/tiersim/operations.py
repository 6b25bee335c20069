"""What a request does; the words and codes that traces and devices share."""

#: Operations in the order of their codes; a code is an index into this tuple.
OPERATIONS = ("read", "write", "flush", "discard")
READ, WRITE, FLUSH, DISCARD = range(4)
