r"""What a fact is and where it stands: recognising facts in a message and finding them again. No history, no sums.

A fact is something specific that a message can hardly have by chance: a path, a URL, an identifier, a number, an id, a
quoted phrase, a line that an edit names. Texts come from `read_message`, so that every dialect is read alike. Knowing
a fact again is a matter of letters: it must stand in a text as it was written, between the boundaries of words.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from backscroll.evaluation.transcript import Message
from backscroll.messages import Part, read_message

_SHORTEST = 5  # characters of an identifier, a path or an id: what is shorter is met by chance
_LONGEST = 300
_SHORTEST_LINE = 20  # a shorter line of code (`return None`, `} else {`) stands everywhere

_SUFFIXES = (
    "bash bat c cc cfg conf cpp cs css csv diff env go h hpp html ini ipynb java js json jsonl jsx kt lock log lua md "
    "mjs patch pdf php png proto py pyi rb rs rst scss sh sql svg swift toml ts tsv tsx txt xml yaml yml zsh"
)
"""A name without a folder is a file's if it ends so; `os.path` and `self.name` look the same but for this."""

# Alternatives from the longest kind to the shortest, so that a name inside a path is not told twice. A run of letters
# is entered at its first one only and never given back (`++`): a text of one long word must not cost its square.
_SPAN = re.compile(
    rf"""
    (?<![\w.@+~/-]) (?:
        (?P<url> https?://[^\s"'`<>()\[\]{{}}|\\,;]++ )
      | (?P<mail> [\w.+-]++@[\w-]++(?:\.[\w-]++)++ )
      | (?P<path> (?:~|\.{{1,2}})?/?[\w.@+-]++(?:/[\w.@+-]++)++ | (?:~|\.{{1,2}})?/[\w.@+-]++ )
      | (?P<file> [\w-]++(?:\.[\w-]+)*\.(?:{"|".join(_SUFFIXES.split())})(?![\w]) )
    )
    """,
    re.VERBOSE,
)
_WORD = re.compile(
    r"""
    (?<!\w) (?:
        (?P<uuid> [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12} )
      | (?P<date> \d{4}-\d\d-\d\d )
      | (?P<number> (?<!\d[.,]) (?: \d{1,3}(?:,\d{3})++(?:\.\d++)? | \d++(?:\.\d++)++ | \d{4,}+ ) (?![.,]?\d) )
      | (?P<hex> 0x[0-9a-fA-F]{2,}+ | (?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}+ )
      | (?P<id> (?<!-)(?=[A-Z0-9])(?=[0-9-]*[A-Z])(?=[A-Z-]*\d)[A-Z0-9]++(?:-[A-Z0-9]++)*+ )
      | (?P<name> [^\W\d]\w*+ )
    ) (?!\w)
    """,
    re.VERBOSE,
)
_JOINED = re.compile(r"[^\W_]_+[^\W_]|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")  # in an identifier: snake_, camelCase, HTTPServer
_QUOTED = re.compile(r'"([^"\n]{8,100})"|`([^`\n]{8,100})`|\u201c([^\u201d\n]{8,100})\u201d')
_BETWEEN = re.compile(r"[\s,;:)&+|=]|.*[\s(,+=]\Z")  # how the text between two quoted ones begins or ends
_LETTERS = re.compile(r"\w+")
_ESCAPE = re.compile(r'\\(["\\/nt])')


def used(message: Message) -> frozenset[str]:
    """The facts of what `message` says and of what it calls tools with; each once. Its reasoning is left aside."""
    found: set[str] = set()
    for part in read_message(message).parts:
        if part.kind == "text":
            found.update(_facts(part.text))
        elif part.kind == "call":
            for value in _values(part.text):
                found.update(_facts(value))
                found.update(_lines(value))
    return frozenset(found)


class Finder:
    """Finds given facts in messages; each text is looked through once."""

    def __init__(self, facts: Iterable[str]) -> None:
        self._by_word: dict[str, list[str]] = {}
        for fact in facts:
            # a text without the longest word of a fact cannot hold it, which spares nearly all searches
            self._by_word.setdefault(max(_LETTERS.findall(fact), key=len), []).append(fact)
        self._known: dict[str, frozenset[str]] = {}

    def __call__(self, message: Message) -> frozenset[str]:
        """Those of the facts that stand in any part of `message`: what was said, called, answered or thought."""
        parts = read_message(message).parts
        return frozenset().union(*[self._held(part) for part in parts if part.text])

    def _held(self, part: Part) -> frozenset[str]:
        if part.text not in self._known:
            text = _readable(part)
            words = self._by_word.keys() & set(_LETTERS.findall(text))
            facts = [fact for word in words for fact in self._by_word[word] if stands(fact, text)]
            self._known[part.text] = frozenset(facts)
        return self._known[part.text]


def stands(fact: str, text: str) -> bool:
    """Whether `fact` stands in `text` by itself: no part of a longer word, and of a number every digit."""
    at = text.find(fact)
    while at >= 0:
        end = at + len(fact)
        if not _goes_on(text[at - 1 : at], text[at - 2 : at - 1] if at > 1 else "", fact[0]) and not _goes_on(
            text[end : end + 1], text[end + 1 : end + 2], fact[-1]
        ):
            return True
        at = text.find(fact, at + 1)
    return False


def _goes_on(next_to: str, beyond: str, edge: str) -> bool:
    """Whether the word or number that ends with `edge` goes on with `next_to` and what is `beyond` it."""
    if not _is_letter(edge):
        return False
    return _is_letter(next_to) or (edge.isdigit() and next_to in (".", ",") and beyond.isdigit())


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


# Texts


def _readable(part: Part) -> str:
    if part.kind == "call":
        return "\n".join(_values(part.text))
    if part.text[:1] in ("{", "[") and "\\" in part.text:
        # JSON that a tool answered, perhaps cut: `\nname` must read as a line end and a name
        return part.text + "\n" + _ESCAPE.sub(lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), part.text)
    return part.text


def _values(arguments: str) -> list[str]:
    """The texts and numbers in a call's arguments; not their names, which the tool's definition tells."""
    try:
        value = json.loads(arguments, parse_int=str, parse_float=str)  # a number as it was written
    except (ValueError, RecursionError):
        return [arguments]  # free text, which some tools take
    found: list[str] = []
    waiting: list[Any] = [value]
    while waiting:  # no recursion: arguments may be nested as deep as the JSON reader goes
        value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict | list):
            waiting += reversed(list(value.values()) if isinstance(value, dict) else value)
    return found


# Recognising


def _facts(text: str) -> Iterator[str]:
    for phrase in _QUOTED.finditer(text):
        said = phrase[1] or phrase[2] or phrase[3]
        if " " in said and _LETTERS.search(said) and not _BETWEEN.match(said):
            yield said
    done = 0
    for found in _SPAN.finditer(text):
        fact = found[0].rstrip(".:;!?-+")
        if not _is_span(fact, found.lastgroup):
            continue
        yield from _words(text, done, found.start())
        yield fact
        done = found.end()
    yield from _words(text, done, len(text))


def _is_span(fact: str, kind: str | None) -> bool:
    """Whether this is one; of a path: `and/or` is none, `/etc/hosts`, `src/main.py` and `a/b/c` are."""
    if not _SHORTEST <= len(fact) <= _LONGEST or not any(character.isalpha() for character in fact):
        return False
    if kind != "path":
        return True
    steps = [step for step in fact.split("/") if step not in ("", ".", "..", "~")]
    rooted = fact[0] in "/~."
    return len(steps) >= 3 or (len(steps) == 2 and (rooted or "." in steps[1])) or (bool(steps) and fact[0] in "~.")


def _words(text: str, start: int, end: int) -> Iterator[str]:
    for found in _WORD.finditer(text, start, end):
        kind, word = found.lastgroup, found[0]
        if len(word) > _LONGEST or (kind in ("id", "name") and len(word) < _SHORTEST):
            continue
        if kind != "name" or _JOINED.search(word):
            yield word


def _lines(value: str) -> Iterator[str]:
    for line in value.splitlines():
        told = line.strip()
        if _SHORTEST_LINE <= len(told) <= _LONGEST and _LETTERS.search(told):
            yield told
