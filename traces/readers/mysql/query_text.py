"""Query texts of MySQL without their literals.

MySQL's strings may stand in double quotes and hold backslashes, its comments begin with # too, and its names stand in
backquotes: all that other servers read in another way. Facts: MySQL Reference Manual 8.0, 11.1 and 11.7.
"""

import re

#: A literal ends where the text is cut off. Names that need quotes are quoted as in the standard.
_TOKEN = re.compile(
    r"""(?P<comment>/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|\#[^\n]*|--(?=\s|\Z)[^\n]*)
    |(?P<string>(?:(?:\b[nNxXbB]|\b_[A-Za-z]\w*\s*))?(?:'(?:[^'\\]|\\.|'')*+(?:'|\\?\Z)|"(?:[^"\\]|\\.|"")*+(?:"|\\?\Z)))
    |(?P<name>`(?:[^`]|``)*+(?:`|\Z))
    |(?P<word>[^\W\d][\w$]*|@+[\w.$]*)
    |(?P<number>0[xX][0-9a-fA-F]+\w*|0[bB][01]+\w*|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[\w$]*)""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(r"[^\W\d][\w$]*")
_LONGEST = 100_000


def without_literals(text: str) -> str:
    """Return a statement with ? for each literal, without comments, and with plain names in place of those in
    backquotes.

    >>> without_literals("select `a` from t where b = \\"it\\\\\\"s\\" and c in (1, 0x2F) # tag")
    'select a from t where b = ? and c in (?, ?)'
    """
    return _TOKEN.sub(_shown, text[:_LONGEST]).strip().rstrip(";").rstrip()


def _shown(found: re.Match[str]) -> str:
    if found["comment"] is not None:
        return " "
    if found["name"] is not None:
        name = found["name"].strip("`")
        return name if _PLAIN.fullmatch(name) else '"{}"'.format(name.replace('"', ""))
    return found[0] if found["word"] is not None else "?"


def open_quote(text: str) -> str:
    """Return the quotation mark of a string that *text* ends inside; nothing where it ends outside."""
    last = ""
    for found in _TOKEN.finditer(text):
        shown = found["string"]
        if shown is not None and found.end() == len(text) and (begun := re.search("['\"]", shown)):
            quote = begun[0]
            body = re.sub(r"\\.", "", shown[begun.end() :], flags=re.DOTALL)
            last = "" if body.replace(quote * 2, "").endswith(quote) else quote
    return last
