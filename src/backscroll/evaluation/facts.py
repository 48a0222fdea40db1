"""Facts for the measure of recall, and finding them in texts.

A fact is specific enough that it cannot be guessed: a message that uses it must have read it before. Kinds, in order of
detection: lines that an edit replaces, quoted phrases, URLs, addresses, UUIDs, dates, paths, file names, hex digits,
ids, numbers and identifiers. Texts come from `read_message`, so that every dialect is read alike.
"""

import json
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from backscroll.evaluation.transcript import Message
from backscroll.messages import Part, read_message

MOST = 60
"""Maximum facts per message. Of more, those with the smallest CRC-32 count: a fixed sample."""

_LONGEST = 200  # characters of a fact; a line may have 300
_SUFFIXES = (
    "py pyi ts tsx js jsx mjs go mod sum rs c h cc cpp hpp java kt rb php cs swift md mdx rst txt json jsonl yaml yml "
    "toml ini cfg lock sh bash zsh sql html css scss xml csv tsv pony proto tmpl tpl env log diff patch ipynb pdf png "
    "svg xlsx docx"
)
_EVERYWHERE = frozenset(
    ["README.md", "package.json", "/dev/null", "node_modules", "CLAUDE.md", "main.go", "index.ts", "stdout", "stderr"]
)  # known without reading
_REPLACED = frozenset(("old_string", "old_str", "oldText", "old_text", "search", "old_content"))
"""Arguments with the text that an edit replaces, which must be known exactly."""

# Without the lookbehinds a long run of letters would be tried at each position, at quadratic cost.
_EMAIL = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
_PATTERNS = {
    "url": r"""https?://[^\s"'<>)\]}`|\\]+""",
    "email": rf"(?<![A-Za-z0-9._%+-]){_EMAIL}",
    "uuid": r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
    "date": r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?",
    "path": r"(?:~/?|(?<![\w.@+-])(?:/|(?<![\w.@+-]/)(?:\.{1,2}/?)?))(?:[\w.@+-]+/)+[\w.@+-]*\w",
    "file": rf"\b(?<!\w)(?<!\w-)(?<![\w-]\.)[\w-]+(?:\.[\w-]+)*\.(?:{'|'.join(_SUFFIXES.split())})\b",
    "hex": r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b",
    "id": r"\b(?=[A-Z0-9-]{0,200}?\d)(?=[0-9-]{0,200}?[A-Z])[A-Z0-9][A-Z0-9-]{3,}[A-Z0-9]\b",
    "number": r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|\d{4,}(?:\.\d+)?(?!\w)|\d+\.\d{2,}(?![\w.]))",
    "name": r"\b[A-Za-z_$][A-Za-z0-9_]*\b",
}
_KINDS = {kind: re.compile(pattern) for kind, pattern in _PATTERNS.items()}
_NEXT_EMAIL = re.compile(_EMAIL)
_INSIDE = {  # a match inside one of these kinds is covered by it
    **dict.fromkeys(("email", "date", "file", "hex", "id", "name"), ("url", "uuid", "email", "date")),
    "number": ("url", "uuid", "email", "date", "hex", "id"),
    "path": ("url",),
}
_QUOTED = re.compile(r'"([^"\n]{8,100})"|`([^`\n]{8,100})`')
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_YEAR_OR_ROUND = re.compile(r"(?:19|20)\d\d|[10]\.0+|0+")
_NEIGHBOUR = re.compile(r"[A-Za-z_]{3,}")
_REACH = 60  # characters of surroundings on each side of a fact


class Fact(NamedTuple):
    """A specific text."""

    text: str
    kind: str
    """`line`, `quote`, or a key of the table of patterns."""


# Texts


def readable_text(message: Message) -> str:
    """Return what a model reads of a message: text, names and values of calls, and results; no reasoning."""
    parts = read_message(message).parts
    said = [part.text for part in parts if part.kind in ("text", "result")]
    return "\n".join([*(said or [""]), *_asked([part for part in parts if part.kind == "call"])])


def _asked(calls: list[Part]) -> Iterator[str]:
    for part in calls:
        yield part.name or ""
        yield from (value for _, value in _values(part.text))


@lru_cache(maxsize=4096)  # successive views mostly have the same calls
def _values(arguments: str) -> tuple[tuple[str, str], ...]:
    """Return the texts and numbers of a call's arguments in order, each with its nearest name."""
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(arguments))]
    except (ValueError, RecursionError):
        return (("", arguments),)  # some tools accept free text
    found = []
    while waiting:  # not recursive: arguments may be nested as deep as the JSON reader allows
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(value.items())
        elif isinstance(value, list):
            waiting += [(name, each) for each in reversed(value)]
        elif value is not None and not isinstance(value, bool):
            found.append((name, value if isinstance(value, str) else json.dumps(value)))
    return tuple(found)


# Detecting


def facts(message: Message) -> list[Fact]:
    """Return the facts that an assistant message uses, each once and at most `MOST`."""
    parts = read_message(message).parts
    values = [pair for part in parts if part.kind == "call" for pair in _values(part.text)]
    texts = ["\n".join(part.text for part in parts if part.kind == "text"), *(value for _, value in values)]
    found: dict[str, str] = {}
    for name, value in values:
        if name in _REPLACED:
            for line in map(str.strip, value.split("\n")):
                if 20 <= len(line) <= 300 and any(map(str.isalnum, line)):
                    found.setdefault(line, "line")
    for fact in _in_text("\n".join(texts)):
        found.setdefault(fact.text, fact.kind)
    all_of_them = [Fact(text, kind) for text, kind in found.items()]
    if len(all_of_them) <= MOST:
        return all_of_them
    return sorted(all_of_them, key=lambda fact: zlib.crc32(fact.text.encode("utf-8", "surrogatepass")))[:MOST]


def _in_text(text: str) -> Iterator[Fact]:
    for phrase in _QUOTED.finditer(text):
        said = (phrase[1] or phrase[2]).strip()
        if len(said) >= 8 and " " in said:
            yield Fact(said, "quote")
    taken: dict[str, list[tuple[int, int]]] = {}
    for kind, pattern in _KINDS.items():
        around = [taken[other] for other in _INSIDE.get(kind, ()) if other in taken]
        for match in pattern.finditer(text) if kind != "email" else _emails(text):
            known = match[0].rstrip(".,:;") if kind in ("url", "path") else match[0]
            start, end = match.start(), match.start() + len(known)
            # a number counts by its first digit: "2024-01-02.5" holds no number after the date
            last = start + 1 if kind == "number" else end
            if any(_covers(spans, start, last) for spans in around) or not _specific(kind, known):
                continue
            taken.setdefault(kind, []).append((start, end))
            yield Fact(known, kind)


def _emails(text: str) -> Iterator[re.Match[str]]:
    """Yield email addresses, also one that begins where another ends: its lookbehind would not let it."""
    found = _KINDS["email"].search(text)
    while found is not None:
        yield found
        found = _NEXT_EMAIL.match(text, found.end()) or _KINDS["email"].search(text, found.end())


def _covers(spans: list[tuple[int, int]], start: int, end: int) -> bool:
    """Return whether one of these sorted, disjoint spans contains `start` to `end`."""
    at = bisect_right(spans, (start, float("inf"))) - 1
    return at >= 0 and end <= spans[at][1]


def _specific(kind: str, known: str) -> bool:
    """Return whether a match is too specific to occur by chance."""
    if known in _EVERYWHERE or len(known) > _LONGEST:
        return False
    if kind == "name":
        joined = "_" in known.strip("_") and any(map(str.isalpha, known))
        return len(known) >= 6 and (joined or bool(_CAMEL.search(known)))
    if kind == "path":
        return _is_path(known)
    if kind == "number":
        return not _YEAR_OR_ROUND.fullmatch(known)
    return kind != "file" or len(known) >= 5


def _is_path(known: str) -> bool:
    """Return whether this is a path: `/etc/hosts`, `src/main.py` and `a/b/c` are, `and/or` is not."""
    if len(known) < 6 or not any(map(str.isalpha, known)):
        return False
    steps = [step for step in known.split("/") if step]
    return len(steps) >= 3 or (len(steps) == 2 and (known[0] in "/~." or "." in steps[-1]))


# Finding


def occurs(fact: Fact, text: str) -> bool:
    """Return whether the fact occurs in `text` by itself: not in a longer word, and a number with all digits."""
    if fact.kind in ("line", "quote"):
        return fact.text in text
    at = text.find(fact.text)
    while at >= 0:
        end = at + len(fact.text)
        before, after = text[at - 1 : at] if at else "", text[end : end + 1]
        if not (_in_word(before) or _in_word(after)):
            goes_on = before == "." or (after in (".", ",") and text[end + 1 : end + 2].isdigit())
            if fact.kind != "number" or not goes_on:
                return True
        at = text.find(fact.text, at + 1)
    return False


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def surroundings(fact: Fact, text: str, most: int) -> list[frozenset[str]]:
    """Return the words within 60 characters of each of the last `most` occurrences of the fact."""
    found: list[frozenset[str]] = []
    end = len(text)
    while len(found) < most:
        at = text.rfind(fact.text, 0, end)
        if at < 0:
            break
        behind = at + len(fact.text)
        near = f"{text[max(0, at - _REACH) : at]} {text[behind : behind + _REACH]}"
        found.append(frozenset(word.lower() for word in _NEIGHBOUR.findall(near)))
        end = behind - 1
        if end <= 0:
            break
    return found
