"""What stands in for a model where a peer asks one for a summary: it is extracted from what is given, for free.

A summary has the first lines of what it is given, each cut to a readable length, and the specific words (ids, numbers,
paths) that occur there most often. It is as long as a real one would be, 500 to 1,000 tokens. It knows nothing of what
will be asked later; a real one does not either.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence

LINES, WORDS, LINE = 1_400, 1_400, 200
"""Characters: of all lines, of all words, and of one line."""
WITNESSES: list[Callable[[str, str], object]] = []
"""Called with what a summary was made of, and the summary."""
_WORD = re.compile(r"\w{3,}")
_SPECIFIC = re.compile(r"#?\w[\w./@-]*\d[\w./@-]*\w|#?\w+_\d+")


def summary(text: str) -> str:
    """Return the summary of a text."""
    words: list[str] = []
    for word, _ in Counter(_SPECIFIC.findall(text)).most_common():
        if sum(len(one) + 2 for one in words) + len(word) > WORDS:
            break
        words.append(word)
    found = f"{first_lines(text, LINES)}\nMentioned: {', '.join(words)}"
    for witness in WITNESSES:
        witness(text, found)
    return found


def first_lines(text: str, most: int = LINES + WORDS) -> str:
    """Return the first lines of a text alone, of as many characters."""
    lines: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if sum(map(len, lines)) + min(len(line), LINE) > most:
            break
        lines.append(line[:LINE])
    return "\n".join(lines)


def nearest(query: str, texts: Sequence[str]) -> str:
    """Return the text that has most of the query's words; of equals the newest, which is the last."""
    asked = set(_WORD.findall(query.lower()))
    return max(reversed(texts), key=lambda text: len(asked & set(_WORD.findall(text.lower()))))
