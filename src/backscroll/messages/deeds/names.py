"""The functions, types and constants that a piece of code defines, in the languages that agents mostly write."""

import re

_MOST = 24  # names of one edit: a file written whole has more, and its first ones say what it is
_DEFINITION = re.compile(
    r"^[ \t+-]{0,40}(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|sealed|"
    r"declare|unsafe|inline|pub(?:\([a-z:]{1,20}\))?)[ \t]+){0,5}"
    r"(?:func|def|class|type|interface|struct|enum|fn|function|trait|protocol|extension|record|object|module|fun|impl)"
    r"[ \t]+(?:\([^()\n]{0,80}\)[ \t]*)?([A-Za-z_]\w{2,80})",
    re.MULTILINE,
)
_CONSTANT = re.compile(
    r"^(?:export[ \t]+)?(?:const|var|let|val|static)[ \t]+([A-Za-z_]\w{3,80})[ \t]*[:=]|"
    r"^([A-Z][A-Z0-9_]{3,80})[ \t]*(?::[^=\n]{1,60})?=",
    re.MULTILINE,
)


def names_in(code: str) -> tuple[str, ...]:
    """Return the names that a piece of code defines, types and functions first, each once, at most 24."""
    found = [match.group(1) for match in _DEFINITION.finditer(code)]
    found += [match.group(1) or match.group(2) for match in _CONSTANT.finditer(code)]
    return tuple(dict.fromkeys(found))[:_MOST]


def signatures_in(code: str, most: int) -> tuple[str, ...]:
    """Return the lines that define functions and types, as they are, each once, at most `most`."""
    found: dict[str, None] = {}
    for match in _DEFINITION.finditer(code):
        line = code[match.start() : code.find("\n", match.end()) if "\n" in code[match.end() :] else len(code)]
        found[" ".join(line.lstrip("+- \t").split()).rstrip("{: ")] = None
        if len(found) == most:
            break
    return tuple(found)


def changed_names(old: str, new: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that replacing an old by a new text defines, and those that it removes."""
    before, after = names_in(old), names_in(new)
    return tuple(each for each in after if each not in before), tuple(each for each in before if each not in after)
