"""Fetching what a view left out: references, pages, patterns, and the tool that a model calls. Reads only.

Pages are measured in tokens, so that a recalled text can never overflow the budget it is recalled into; offsets are
characters of the recalled text, so that pages put together are the original, byte for byte.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol

from backscroll.errors import BackscrollError, ConfigurationError, ReferenceNotFound
from backscroll.history import Entry, History
from backscroll.plan import reference
from backscroll.ports import Operation

MOST_HITS = 80
_MOST_CANDIDATES = 400  # passages of which those come first that the view left out
_MOST_ANSWERS = 8  # queries whose next pages stay as they were
_ABOUT = 600  # characters of a call that its result is found by: its paths and names, not a whole file it writes
_REF = re.compile(r"^\s*(?:\[?ref:)?(\d{1,15})(?:-(\d{1,15})|\.(\d{1,15}))?\]?\s*$")
_CHARACTERS_PER_TOKEN = 8  # more than any real text has, so that a page is never cut too early
_LONGEST_LINE = 2_000  # characters of a line that a pattern is matched against


class Hit(NamedTuple):
    """One place that a query or pattern found."""

    seq: int
    part: int
    offset: int
    """Characters from the start of the part's text."""
    text: str
    """The passage or line."""


class Recalled(str):
    """A page of recalled text; a `str` with its place in the whole."""

    next_offset: int | None
    """Where the next page begins, in characters; None at the end."""
    hits: tuple[Hit, ...]
    """What a query or pattern found; empty for a plain reference."""

    def __new__(cls, text: str, next_offset: int | None = None, hits: Sequence[Hit] = ()) -> "Recalled":
        """The text as a `str`, with its attributes."""
        made = super().__new__(cls, text)
        made.next_offset = next_offset
        made.hits = tuple(hits)
        return made


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed reference: an entry, a range of entries, or a part of an entry."""

    first: int
    last: int
    part: int | None = None


def parse(ref: str | int) -> Reference:
    """Reads `12`, `12-40`, `12.1`, each also as `ref:...` or `[ref:...]`. Raises `ReferenceNotFound` for anything
    else.
    """
    found = _REF.match(str(ref))
    if not found:
        raise ReferenceNotFound(f"{ref!r:.80} is no reference; they read 12, 12-40 or 12.1, as in [ref:12-40]")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise ReferenceNotFound(f"the range {first}-{last} ends before it begins; write {last}-{first}")
    return Reference(first, last, None if found[3] is None else int(found[3]))


def entries_of(history: History, ref: Reference) -> list[Entry]:
    """The entries that a reference names. Raises `ReferenceNotFound` if there is none."""
    if ref.first == ref.last:
        found = [entry] if (entry := history.get(ref.first)) else []
    else:
        found = history.branch[history.position(ref.first) : history.position(ref.last + 1)]
    if not found:
        raise ReferenceNotFound(
            f"nothing is kept under [ref:{ref.first}]; messages 0 to {history.next_seq - 1} are in this session"
        )
    if ref.part is not None and ref.part >= len(found[0].reading.parts):
        raise ReferenceNotFound(f"message {ref.first} has {len(found[0].reading.parts)} parts, no part {ref.part}")
    return found


def texts(entries: Sequence[Entry], part: int | None) -> Iterator[str]:
    """The text of a reference, piece by piece. One part alone is given verbatim, several get headings."""
    if part is not None:
        yield part_text(entries[0], part)
        return
    if len(entries) == 1:
        shown = [number for number, found in enumerate(entries[0].reading.parts) if found.text]
        if len(shown) == 1:
            yield part_text(entries[0], shown[0])
            return
    for entry in entries:
        for number in range(len(entry.reading.parts)):
            yield f"{heading(entry, number)}\n{part_text(entry, number)}\n"


def part_text(entry: Entry, number: int) -> str:
    """What a model reads of a part; media are named, since their bytes are no text."""
    part = entry.reading.parts[number]
    return f"({part.media.kind})" if part.media else part.text


def heading(entry: Entry, number: int) -> str:
    """`[ref:12.0] assistant, call read_file`."""
    part = entry.reading.parts[number]
    what = f", {part.kind}" if part.kind not in ("text", "result") else ""
    return f"{reference(entry.seq, part=number)} {entry.reading.role}{what}{f' {part.name}' if part.name else ''}"


def page(pieces: Iterator[str], offset: int, limit: int, count: Callable[[str], int]) -> Recalled:
    """The page from `offset` on, of at most `limit` tokens."""
    if type(offset) is not int or offset < 0:
        raise ConfigurationError(f"offset is a number of characters, at least 0, not {offset!r}")
    if type(limit) is not int or limit < 1:
        raise ConfigurationError(f"limit is a number of tokens, at least 1, not {limit!r}")
    enough = offset + limit * _CHARACTERS_PER_TOKEN
    text, more = "", False
    for piece in pieces:
        if len(text) > enough:
            more = True
            break
        text += piece
    shown = text[offset:enough]
    while len(shown) > 1 and (tokens := count(shown)) > limit:
        shown = shown[: max(1, int(len(shown) * limit / tokens * 0.97))]
    end = offset + len(shown)
    return Recalled(shown, end if end < len(text) or more else None)


def pick_lines(text: str, lines: tuple[int, int]) -> str:
    """Lines `first` to `last`, counted from 1, both included."""
    try:
        first, last = lines
        if not 1 <= first <= last:
            raise ValueError
    except (TypeError, ValueError):
        raise ConfigurationError(f"lines is a pair (first, last) counted from 1, not {lines!r:.60}") from None
    return "".join(text.splitlines(keepends=True)[first - 1 : last])


def match_lines(entries: Sequence[Entry], part: int | None, pattern: str) -> Iterator[Hit]:
    """Every line that the regular expression finds, in order."""
    try:
        expression = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigurationError(f"{pattern!r:.80} is no regular expression: {error}") from None
    for entry in entries:
        for number in range(len(entry.reading.parts)) if part is None else (part,):
            offset = 0
            for line in entry.reading.parts[number].text.splitlines(keepends=True):
                if expression.search(line[:_LONGEST_LINE]):
                    yield Hit(entry.seq, number, offset, line.rstrip("\r\n"))
                offset += len(line)


def show(hits: Sequence[Hit], history: History) -> Iterator[str]:
    """Hits as text, passage by passage, each under its reference."""
    before: tuple[int, int] | None = None
    for hit in hits:
        entry = history.get(hit.seq)
        if entry is not None and before != (hit.seq, hit.part):
            yield f"{heading(entry, hit.part)}\n"
        before = (hit.seq, hit.part)
        yield f"{hit.text}\n"


def tool_definition(format: str) -> dict[str, object]:
    """The `recall` tool as a model's provider wants it: `openai`, `anthropic` or `strands`."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            "ref": {"type": "string", "description": "A reference as it stands in the conversation: 12, 12-40 or 12.1"},
            "query": {"type": "string", "description": "Words to search the whole conversation for"},
            "pattern": {"type": "string", "description": "A regular expression; only matching lines are returned"},
            "offset": {"type": "integer", "description": "Where to go on reading, as the answer before said"},
        },
    }
    description = (
        "Read what was left out of this conversation to save room, word for word. "
        "Give ref to read a [ref:...] mark, or query to search everything that was ever said or read."
    )
    if format == "openai":
        return {"type": "function", "function": {"name": "recall", "description": description, "parameters": schema}}
    if format == "anthropic":
        return {"name": "recall", "description": description, "input_schema": schema}
    if format == "strands":
        return {"name": "recall", "description": description, "inputSchema": {"json": schema}}
    raise ConfigurationError(f"unknown tool format {format!r}; known are 'openai', 'anthropic' and 'strands'")


class Source(NamedTuple):
    """One text to be searched."""

    seq: int
    part: int
    about: str
    """Words that the text is found by as well: the tool's name, and of a result the call that it answers."""
    text: str


class Search(Protocol):
    """Ranked search over texts; see `stores/search.py`."""

    @property
    def indexed(self) -> int:
        """The first `seq` that is not indexed yet."""
        ...

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Indexes texts; `upto` is the first `seq` behind them."""
        ...

    def search(self, query: str, most: int) -> list[Hit]:
        """The best passages, best first."""
        ...


class Wanted(NamedTuple):
    """The arguments of one recall; see `ContextManager.recall`."""

    ref: str | int | None
    query: str | None
    pattern: str | None
    lines: tuple[int, int] | None
    offset: int
    limit: int


class Finder:
    """Answers queries, and remembers the newest answers.

    A page that was read becomes part of the conversation and of its view, so that a search for the next page would
    order what it finds differently.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self._answers: dict[str, list[Hit]] = {}

    def find(self, history: History, query: str, *, again: bool, in_view: Callable[[], Iterable[str]]) -> list[Hit]:
        """What the query finds, what the view left out first; `again`: as it was found before, where that is known."""
        if again and query in self._answers:
            return self._answers[query]
        if self._search.indexed < history.next_seq:
            fresh = [entry for seq in range(self._search.indexed, history.next_seq) if (entry := history.get(seq))]
            self._search.add(_sources(fresh, history), history.next_seq)
        found = left_out_first(self._search.search(query, _MOST_CANDIDATES), in_view())[:MOST_HITS]
        self._answers.pop(query, None)
        self._answers[query] = found
        if len(self._answers) > _MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]
        return found


def left_out_first(hits: Iterable[Hit], in_view: Iterable[str]) -> list[Hit]:
    """The hits, but last those of which every line stands in these texts or in a better hit. A passage that was found
    in several places is given once, at the newest.
    """
    newest: dict[str, Hit] = {}
    for hit in hits:  # a passage keeps the place of its best hit
        if hit.text not in newest or newest[hit.text].seq < hit.seq:
            newest[hit.text] = hit
    known = {line.strip() for text in in_view for line in text.splitlines()} | {""}
    left_out: list[Hit] = []
    seen: list[Hit] = []
    for hit in newest.values():
        lines = {line.strip() for line in hit.text.splitlines()}
        (seen if lines <= known else left_out).append(hit)
        known |= lines
    return left_out + seen


def recall(
    history: History,
    finder: Finder,
    count: Callable[[str], int],
    wanted: Wanted,
    *,
    in_view: Callable[[], Iterable[str]],
    enter: Callable[[], Operation[None]],
) -> Operation[Recalled]:
    """One page of what was asked for.

    `in_view`: the texts that the model has in front of it; `enter`: takes the lock, and in what others stored.
    """
    ref, query, pattern, lines, offset, limit = wanted
    if ref is None and query is None and pattern is None:
        raise ConfigurationError("recall needs a ref, a query or a pattern")
    if query is not None and (ref is not None or pattern is not None):
        raise ConfigurationError("recall takes a query alone; a pattern may go with a ref")
    if not isinstance(query, str | None) or not isinstance(pattern, str | None):
        raise ConfigurationError("query and pattern are texts")
    yield from enter()
    if query is not None:
        hits = finder.find(history, query, again=offset != 0, in_view=in_view)
        return _with_hits(page(show(hits, history), offset, limit, count), hits)
    where = None if ref is None else parse(ref)
    entries = history.branch if where is None else entries_of(history, where)
    part = where.part if where else None
    if pattern is not None:
        hits = list(islice(match_lines(entries, part, pattern), MOST_HITS))
        return _with_hits(page(show(hits, history), offset, limit, count), hits)
    pieces = texts(entries, part)
    if lines is not None:
        pieces = iter([pick_lines("".join(pieces), lines)])
    return page(pieces, offset, limit, count)


def answer(make: Callable[..., Operation[Recalled]], arguments: dict[str, object]) -> Operation[str]:
    """What a model is answered: the page and how to go on, or what was wrong with what it asked."""
    known = {key: arguments[key] for key in ("ref", "query", "pattern", "offset") if arguments.get(key) is not None}
    try:
        found = yield from make(**known)
    except BackscrollError as error:
        return str(error)
    more = f"\n[more follows: recall again with offset {found.next_offset}]" if found.next_offset else ""
    return (str(found) or "nothing found") + more


def _sources(entries: Sequence[Entry], history: History) -> Iterator[Source]:
    calls: dict[str | None, str] = {}
    group = None
    for entry in entries:
        if entry.group is not group:
            group = entry.group
            members = [member for seq in group.members if (member := history.get(seq))]
            calls = {
                part.id: f"{part.name} {part.text[:_ABOUT]}" for member in members for part in member.reading.call_parts
            }
        for number, part in enumerate(entry.reading.parts):
            if part.text:
                call = calls.get(part.id, "") if part.kind == "result" else ""
                yield Source(entry.seq, number, call or part.name or "", part.text)


def _with_hits(found: Recalled, hits: Sequence[Hit]) -> Recalled:
    return Recalled(str(found), found.next_offset, hits)
