"""The lines of code that say what its signatures do not: values, messages, and comments that give a reason."""

import re

_READ = 400  # lines of one edit: a file written whole has more, and reading them only costs time
_LINE = 110  # characters of a line
_LOOKED = 240  # characters of a line that are looked at
_COMMENT = re.compile(r"(?:#(?!!)|//+|/?\*+|--|<!--|;;)\s*(.+?)\s*(?:\*/|-->)?$")
_WORDS = 3  # of a comment: a shorter one names a section
_VALUE = re.compile(
    r"(?:(?:export|const|let|var|val|static|final|public|private|readonly) )*[\w.\[\]\"'-]+(?: ?: ?[\w\[\], |?]+)?"
    r" ?(?::=|=|:) ?"
    r"(?:-?\d[\w.]*|true|false|nil|null|none|undefined|"
    r"\[\]|\{\}|\"[^\"]*\"|'[^']*'|`[^`]*`) ?[,;]?(?: ?(?:#|//).*)?$",
    re.IGNORECASE,
)
"""A name that gets a value which is written there: a constant, a setting, a reset."""
_MESSAGE = re.compile(r"""(?P<sign>["'`])(?=[^"'`]*\s[^"'`]*\s)[^"'`]{12,}(?P=sign)""")
"""Text for people: three words in quotation marks."""
_CHECKS = re.compile(
    r"\b(?:assert|expect|require|ensure)\w*\b|\breturn\s+(?:-?\d|true|false|nil|null|none|[\"'])", re.IGNORECASE
)
_BRANCHES = re.compile(
    r"^(?:\}?\s*else\s+)?(?:if|elif|when|while|case|unless)\b.*(?:&&|\|\||\band\b|\bor\b|==|!=|[<>]=?|\bin\b|!)"
)
_PLAIN = re.compile(r"\berr(?:or)?\s*[!=]=|\bnil\s*[{:]?$|return (?:nil|null|None|\"\");?$|__name__")
_VALUES, _SAYS, _SHOWS, _TESTS = 4, 3, 2, 1


def key_lines(code: str, room: int) -> tuple[str, ...]:
    """Return lines of code that hold values, messages, reasons and conditions, in order, in `room` characters.

    Args:
        code: The code, or what an edit added to it.
        room: Characters that they may take together.
    """
    lines = [line for raw in code.split("\n", _READ)[:_READ] if (line := " ".join(raw.split()))]
    weights = list(map(_weight, lines))
    for at, line in enumerate(lines):
        if weights[at] and _COMMENT.match(line):
            weights[at] = _of_comment(lines, at)
    kept: set[int] = set()
    for at in sorted(range(len(lines)), key=lambda at: -weights[at]):
        size = min(len(lines[at]), _LINE) + 3
        repeats = any(lines[other] == lines[at] for other in kept) and not (at and at - 1 in kept)
        if weights[at] and size <= room and not repeats:
            kept.add(at)
            room -= size
    return tuple(
        [line if len(line) <= _LINE else f"{line[: _LINE - 1]}…" for at, line in enumerate(lines) if at in kept]
    )


def _of_comment(lines: list[str], at: int) -> int:
    """Return the weight of a comment: more directly above a value, less within a longer comment."""
    above, below = lines[at - 1] if at else "", lines[at + 1] if at + 1 < len(lines) else ""
    if _VALUE.match(below):
        return _VALUES
    goes_on, begins = _COMMENT.match(below) is not None, _COMMENT.match(above) is None
    return _SAYS if begins and not goes_on else _SHOWS if begins else _TESTS


def _weight(line: str) -> int:
    line = line[:_LOOKED]
    if (comment := _COMMENT.match(line)) is not None:
        said = comment[1]
        return _SAYS if len(said.split()) >= _WORDS and said[0].isalpha() and said[-1] not in ";{}" else 0
    if _VALUE.match(line):
        return _VALUES
    if _PLAIN.search(line):
        return 0
    if _MESSAGE.search(line):
        return _SHOWS
    return _TESTS if _CHECKS.search(line) or _BRANCHES.search(line) else 0
