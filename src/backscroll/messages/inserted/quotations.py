"""Find paragraphs that a person copied from somewhere: a reviewer's comment, an agent's output, a quoted sentence.

No shape says so. A wrong guess costs a rule of the user, so that no paragraph with a prohibition or an order counts as
copied, and each sign is one that people do not type, or not without saying whose words follow.
"""

import re
from collections.abc import Iterator, Sequence

_ADDRESS = re.compile(r"\b(?:i|i'm|we|you|me|my|our|us|let'?s|please|pls)\b|\?\s*$|->", re.IGNORECASE)
"""A person speaks to an agent."""
_ORDER = re.compile(
    r"(?:^|[.!:] |[-*] )\s*(?:always|use|make|keep|only|avoid|ensure|run|from now on)\b|"
    r"\b(?:must|never|do not|don['\u2019]?t)\b",
    re.IGNORECASE,
)
"""What may be a rule that was typed."""
_PROHIBITION = re.compile(r"\b(?:must|never|do not|don['\u2019]?t)\b", re.IGNORECASE)
"""What may be one even in quotation marks."""
_SUGGESTS = re.compile(r"(?:^|[.!)] )Consider (?:\w+ing|whether)\b")
"""How reviewers, people and programs, begin what they suggest."""
_SEVERITY = re.compile(r"\s*(?:Low|Medium|High|Critical) Severity\s*")
"""A line between the title of a reviewing program's comment and the comment."""
_LINES = re.compile(r"\b[Ll]ines? \d+(?:-\d+)?\b")
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\(|\b[a-z][a-z0-9]*[A-Z]\w+|\b[A-Z][a-z0-9]+[A-Z]\w+|\b\w+\.\w+\(|--\w+")
_IDENTIFIERS = 2  # names of code in a paragraph that describes it; one is in many orders
_DESCRIBES = 150  # characters of such a paragraph: people type shorter ones about code
_FAULT = re.compile(
    r"\b(?:misleading|lost|missing|inconsisten\w+|brittle|silently|overwrit\w+|without|incorrect\w*|inaccura\w+|"
    r"duplicat\w+|lacks?|issues?|failures?|fails?|panics?|unused|redundant|potential\w*)\b",
    re.IGNORECASE,
)
"""What such a paragraph finds wrong."""
_INTRODUCED = re.compile(r"^[^.!?:]{0,80}: +(?=[A-Z])")
"""A person's few words before a comment in the same line."""
_CITES = re.compile(
    r"(?:\S+ ){0,5}(?:you (?:\w+ ){0,2}(?:wrote|said)[^:.!?]{0,20}|(?:explain|clarify)[^:.!?]{0,20}|regarding): +\S",
    re.IGNORECASE,
)
"""A line of which the words behind the colon are the agent's."""
_IN_QUOTES = re.compile(r"\s*[\"\u201c].{40,}[\"\u201d][.,]?\s*$")
_BULLET, _NUMBER = re.compile(r"\s*[-*\u2022] "), re.compile(r"\s*\d+[.)] ")
_HEAD = re.compile(r"[A-Z][\w ,'()/-]{2,60}:\s*$")
_HEADS, _ITEMS = 2, 8  # lines of these kinds in a report that begins with a list: people introduce what they list
_INDENT = re.compile(r"  \S")
"""Two spaces, with which a terminal shows what an agent says. Deeper ones come from texts in programs."""
_COPIED_ITEM = re.compile(r"\s+(?:[2-9]|\d\d)[.)] \S")
"""An item without the first one, with the space before it."""
_SHORT = 80  # characters of a line that introduces what follows


def quoted_lines(lines: Sequence[str]) -> Iterator[int]:
    """Yield the numbers of the lines that were copied, by paragraph."""
    if _is_report(lines):
        yield from range(max(at for at, line in enumerate(lines) if _is_item(line)) + 1)
    listed = suggested = False
    before = 0
    several = sum(1 for line in lines if line.strip()) > 1
    for start, end in _paragraphs(lines):
        block = lines[start:end]
        if suggested or _is_copied(block, listed=listed, first=start == 0):
            yield from range(start, end)
        else:
            yield from (at for at in range(start, end) if _cites(lines[at], alone=not several))
        graded = _SEVERITY.fullmatch(block[0]) is not None
        if graded:
            yield from range(before, end)
        before = start
        suggested = graded or (_SUGGESTS.search(block[-1]) is not None and block[-1].rstrip().endswith(":"))
        listed = any(map(_is_item, block)) and not block[0].startswith("  ")


def _cites(line: str, *, alone: bool) -> bool:
    """Return whether a line names whose words it holds, or is all in quotation marks within a longer text."""
    if _CITES.match(line):
        return True
    return not alone and _IN_QUOTES.match(line) is not None and not _PROHIBITION.search(line)


def _is_item(line: str) -> bool:
    return _BULLET.match(line) is not None or _NUMBER.match(line) is not None


def _is_report(lines: Sequence[str]) -> bool:
    """Return whether a text is a report with lists of both kinds, without a line that introduces it."""
    said = [line for line in lines if line.strip()]
    items = [line for line in said if _is_item(line)]
    if not items or items[0] != said[0] or len(items) < _ITEMS:
        return False
    heads = [at for at, line in enumerate(said) if _HEAD.match(line)]
    if len(heads) < _HEADS or not any(map(_NUMBER.match, items)) or not any(map(_BULLET.match, items)):
        return False
    return not any(map(_ORDER.search, said[: heads[0]]))


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where each paragraph begins and ends. A short line that introduces the next one is one of its own."""
    start: int | None = None
    for at, line in enumerate([*lines, ""]):
        if line.strip():
            start = at if start is None else start
        elif start is not None:
            yield start, at
            start = None
        if start == at and len(line) < _SHORT and line.rstrip().endswith(":"):
            yield start, at + 1
            start = None


def _is_copied(block: Sequence[str], *, listed: bool, first: bool) -> bool:
    """Return whether a paragraph was copied.

    Args:
        block: Its lines.
        listed: The paragraph before it is a list, of which an indented one is a part.
        first: It begins the text.
    """
    text = " ".join(block)
    if first and len(block) == 1 and _COPIED_ITEM.match(block[0]):
        return True
    if _ORDER.search(text):
        return False
    if not first and not listed and _INDENT.match(block[0]) and all(line.startswith("  ") for line in block):
        return True
    if _SUGGESTS.search(text):
        return True
    said = _INTRODUCED.sub("", text)
    return _ADDRESS.search(said) is None and (_finds_lines(said) or _describes(said))


def _finds_lines(text: str) -> bool:
    found = _LINES.search(text)
    return found is not None and (text.rstrip().endswith(":") or _FAULT.search(text) is not None)


def _describes(text: str) -> bool:
    """Return whether a text describes a fault of code, as a reviewer does."""
    if len(text) < _DESCRIBES or not text[:1].isupper() or text.rstrip()[-1] not in ".:":
        return False
    return _FAULT.search(text) is not None and len(set(_IDENTIFIER.findall(text))) >= _IDENTIFIERS
