"""The notation of a view's summary, and how text from messages and models that imitates it is escaped.

Readers of a summary rely on three signs: a reference in brackets, a label such as `rule of the user:` at the beginning
of a line, and the tags. In foreign text the brackets of references become round ones, a line that begins with a label
is quoted with `> `, and tags lose their first character. Everything else stays, and so does the history.
"""

import re

_LINE_ENDS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
"""What a reader may interpret as the end of a line: as `str.splitlines` does."""
_BEGIN = rf"(?:\A|(?<=[{_LINE_ENDS}]))"
_TAG = re.compile(r"<(?=\s*/?\s*summary\b)", re.IGNORECASE)
_REFERENCE = re.compile(r"[\[\uff3b]\s*ref\s*[:\uff1a]\s*(?:([\d.\-]*)\s*[\]\uff3d])?", re.IGNORECASE)
_MARKS = r"[ \t\xa0*_#`\"'\u2022.\-]*"
_LABEL = re.compile(
    rf"{_BEGIN}(?={_MARKS}(?:\(ref:[^)\n]*\)?{_MARKS})?(?:(?:"
    rf"(?:rules? of the user|user)(?: [\w.@+\-]{{1,40}})?|system|developer|in short|turns|left out|reminder)"
    rf"[ \t\xa0*_`\"']*[:\uff1a]|(?:\d[\d,.]* )?earlier messages are compacted here))",
    re.IGNORECASE,
)
_INDENT = re.compile(rf"{_BEGIN}[ \t]+")
_CALL = re.compile(r"[\w.-]+\(")
BETWEEN = " | "
"""Separates texts and calls of one turn."""


def escaped(text: str, *, labels: bool = True) -> str:
    """Return foreign text without anything that could be read as ours. `labels`: escape a label at its very beginning,
    too.
    """
    text = escaped_references(_TAG.sub("&lt;", text) if "<" in text else text)
    return _LABEL.sub("> ", text) if labels else text[:1] + _LABEL.sub("> ", text[1:])


def escaped_references(text: str) -> str:
    """Return the text with `(ref:12)` for `[ref:12]`."""
    return _REFERENCE.sub(_round, text) if "[" in text or "\uff3b" in text else text


def _round(found: re.Match[str]) -> str:
    return "(ref:" if found[1] is None else f"(ref:{found[1]})"


def flush_left(text: str) -> str:
    """Return the text without indentation, which marks lines of a message."""
    return _INDENT.sub("", text)


def quoted(words: str) -> str:
    """Return words of a turn without anything that could be read as another call, or as code's own lines about
    turns.
    """
    words = words.replace(BETWEEN, " \u00a6 ")
    return f"> {words}" if _CALL.match(words) or _LABEL.match(words) else words
