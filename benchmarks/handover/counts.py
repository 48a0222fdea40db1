"""Faults of a view that code can count: lines under a wrong reference, references in disorder, rules nobody typed.

A view is the text that readers get (`makers.written`). A reference is `[ref:3-17]` at the beginning of a line, or
`[3-17]` in a view that has no such reference, and counts messages of the session from 0. The lines below it, up to the
next one, the next heading or the end of its message, are read as what these messages say.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from peers.base import calls_of, plain

from handover.recordings import Message

_HEAD = re.compile(r"^(?P<indent>[\s*-]*)\[(?:ref:)?(?P<first>\d+)(?:-(?P<last>\d+))?\](?P<rest>.*)$")
_ENDS = re.compile(r"^(?:#{1,6} |=== |</?summary>|<call )")
_RULE = re.compile(r"\brules? of the user(?: \([^)\n]*\))?: (?P<text>.+)", re.IGNORECASE)
_RULES = re.compile(r"^#{1,6} .*\brules? of the user\b", re.IGNORECASE)
_CUT = re.compile(r"…|\.\.\.| -> | \| |\(\d+ lines\)")
_SIGNS = re.compile(r"[`*\\]")
_TAGGED = re.compile(r"<(?P<tag>[A-Za-z]\w*(?:[-_]\w+)+|INSTRUCTIONS|skill)\b[^>]*>.*?</(?P=tag)>", re.DOTALL)
_FENCED = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
_BY_A_HOST = re.compile(
    r"\A\s*(?:This session is being continued|Base directory for this skill|Caveat: |# AGENTS\.md instructions"
    r"|Implement the following plan:)"
)
"""How a message begins that stands in the user's name and that its host wrote, all of it."""
ENOUGH = 16
"""Characters that a line needs to be looked for. Shorter ones (`return nil`) are in messages everywhere, and so seldom
under a wrong reference: of 8 to 12 characters 9 % of four sessions' lines are in ten messages or more, from 16 on 1 %.
More than 16 would leave out lines that readers do rely on.
"""
LONG = 2_000
"""Characters of a message that one types. What is longer was pasted, but for its first and its last paragraph, where
people write what they want of it.
"""


class Counts(NamedTuple):
    """What was counted in a view."""

    references: int
    disorder: int
    """References that begin before the one above them in the same section."""
    overlaps: int
    """References that share messages with another one above them in the same section."""
    lines: int
    """Lines under a reference that are long enough to be looked for, and are in some message of the session."""
    wrong: int
    """Of these: in no message of their reference, nor in the call or the result that belongs to one of them."""
    rules: int
    """Lines that say that they are a rule of the user."""
    untyped: int
    """Of these: in no text that a user typed."""

    def __add__(self, other: Any) -> "Counts":
        return Counts(*(one + two for one, two in zip(self, other, strict=True)))


class Line(NamedTuple):
    """A line of a view under a reference: the messages from `first` to `last`."""

    text: str
    first: int
    last: int


class _Head(NamedTuple):
    section: int
    first: int
    last: int


def count(view: str, messages: Sequence[Message]) -> Counts:
    """Count the faults of a view of these messages."""
    texts = [_flat(said(message)) for message in messages]
    heads, lines = _read(view)
    looked = [(line, found) for line in lines if (found := _places(line.text, texts))]
    partners = _partners(messages)
    wrong = sum(not any(partners[at] & {*range(line.first, line.last + 1)} for at in found) for line, found in looked)
    typed_by_user = _flat("\n".join(typed(message) for message in messages))
    rules = list(_rules(view))
    return Counts(
        references=len(heads),
        disorder=sum(one.section == above.section and one.first < above.first for above, one in pairwise(heads)),
        overlaps=sum(any(_overlap(above, one) for above in heads[:at]) for at, one in enumerate(heads)),
        lines=len(looked),
        wrong=wrong,
        rules=len(rules),
        untyped=sum(_piece(rule) not in typed_by_user for rule in rules),
    )


def _partners(messages: Sequence[Message]) -> list[set[int]]:
    """Return for each message its number, with those of the results of its calls, or of the call that it answers."""
    partners = [{at} for at in range(len(messages))]
    made: dict[str, int] = {}
    for at, message in enumerate(messages):
        made |= dict.fromkeys((known for known, _, _ in calls_of(message)), at)
        if message["role"] == "tool" and (call := made.get(message["tool_call_id"])) is not None:
            partners[at].add(call)
            partners[call].add(at)
    return partners


def said(message: Message) -> str:
    """Return all text of a message: its content, and the values of its calls' arguments."""
    values = [value for _, name, arguments in calls_of(message) for value in (name, *_values(arguments))]
    return "\n".join([plain(message.get("content")), *values])


def _values(arguments: str) -> Iterator[str]:
    try:
        left = [json.loads(arguments)]
    except ValueError:
        left = [arguments]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        else:
            yield str(value)


def typed(message: Message) -> str:
    """Return what a user typed of a message: without what hosts insert, fenced blocks and the middle of long texts."""
    text = plain(message.get("content"))
    if message["role"] != "user" or _BY_A_HOST.match(text):
        return ""
    text = _FENCED.sub("", _TAGGED.sub("", text)).strip()
    if len(text) <= LONG:
        return text
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    return "\n\n".join(part for part in (paragraphs[0], paragraphs[-1]) if len(part) <= LONG)


def _read(view: str) -> tuple[list[_Head], list[Line]]:
    """Return the references at the beginning of a line, and the lines under references."""
    heads: list[_Head] = []
    lines: list[Line] = []
    section, over = 0, None
    sign = "[ref:" if "[ref:" in view else "["
    for text in view.splitlines():
        if _ENDS.match(text):
            section, over = section + 1, None
        elif (found := _HEAD.match(text)) and text[len(found["indent"]) :].startswith(sign):
            first, last = int(found["first"]), int(found["last"] or found["first"])
            lines.append(Line(found["rest"], first, last))
            if found["indent"] in ("", "- "):  # an item of a list has lines below it, too
                over = _Head(section, first, last)
            if over is not None and not found["indent"]:
                heads.append(over)
        elif over is not None:
            lines.append(Line(text, over.first, over.last))
    return heads, lines


def _overlap(one: _Head, other: _Head) -> bool:
    """Whether two references of one section share messages. The same one twice only goes on."""
    return one != other and one.section == other.section and one.first <= other.last and other.first <= one.last


def _rules(view: str) -> Iterator[str]:
    """Yield what a view calls a rule of the user, line by line: behind a label, or under a heading."""
    below = False
    for text in view.splitlines():
        if _ENDS.match(text):
            below = bool(_RULES.match(text))
        elif found := _RULE.search(text):
            yield found["text"]
        elif below and len(_piece(text)) >= ENOUGH:
            yield text


def _places(text: str, texts: Sequence[str]) -> list[int]:
    """Return the messages that have a line's longest uncut piece; none where the line is too short, or made by code."""
    piece = _piece(text)
    return [at for at, each in enumerate(texts) if piece in each] if len(piece) >= ENOUGH else []


def _piece(text: str) -> str:
    """Return the longest piece of a line that nothing was cut from."""
    bare = re.sub(r"^\s*(?:[-*•>]|\d+\.)?\s*(?:[\w ]{1,20}(?: \[\d+\])?: (?=\S{3}))?", "", text)
    return max((_flat(part) for part in _CUT.split(bare)), key=len).strip(" \"'“”,.;:()")


def _flat(text: str) -> str:
    return " ".join(_SIGNS.sub("", text).split())
