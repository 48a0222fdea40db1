"""Read what a view left out, by reference, query or pattern.

Pages are measured in tokens, so that a recalled text can never overflow the budget it is recalled into.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple, Protocol

from backscroll.errors import ConfigurationError
from backscroll.history.history import Entry, History
from backscroll.history.loading import chunks
from backscroll.messages import block_at
from backscroll.messages.echoes import Echoes
from backscroll.messages.statements import search_words
from backscroll.ports import LONG, Ask, Operation, Pattern
from backscroll.recall import outline
from backscroll.recall.entry_texts import alone, checked_part, texts
from backscroll.recall.found_texts import MOST_NAMED, Found, found_text, listed
from backscroll.recall.names import storable
from backscroll.recall.outdated import equals_newest_first, may_state, newest_first
from backscroll.recall.pages import (
    RecallResult,
    SearchHit,
    checked_around,
    checked_lines,
    enough,
    grep,
    lines_of,
    page,
    pick_lines,
)
from backscroll.recall.passages import passages
from backscroll.recall.ranking import Candidate, Pool, Ranked
from backscroll.recall.references import Reference, named, parse_all, rest_of

MOST_HITS = 80
_MOST_CANDIDATES = 400  # passages that are ranked
_MOST_LOOKED_AT = 40  # passages among which messages of the user are looked for
_MOST_TURNS = 8
_WORK = frozenset(("call", "result"))  # of a turn; what the assistant says there repeats one of the two, or nothing
_LONGEST_TURN = 40  # messages: that one followed the user's words says little of each message of a longer turn
_MOST_CALLS = 1_000  # calls whose results may still come
_BEFORE = 64  # messages before the first to be indexed, which may hold the calls that its results answer
_FEW = 20  # messages that are indexed at once without a thread
_MOST_ANSWERS = 8  # queries whose next pages stay the same
_ABOUT = 600  # characters of a call by which its result is found: its paths and names, not a whole file it writes


class Source(NamedTuple):
    """One text to search."""

    seq: int
    part: int
    about: str
    """More words that find the text: the tool's name, for a result the call that it answers, and a user's name."""
    text: str


class Indexed(Protocol):
    """What texts are added to."""

    @property
    def indexed(self) -> int:
        """The first `seq` that is not indexed yet."""
        ...

    def add(self, texts: Iterable[Source], upto: int) -> None:
        """Index texts; `upto` is the first `seq` after them."""
        ...


class Search(Indexed, Protocol):
    """Ranked search over texts; see `stores/search/`."""

    def found(self, query: str, most: int) -> list[tuple[SearchHit, str]]:
        """Return the best passages, best first, each with its context: more words that find it."""
        ...


def match_lines(
    entries: Iterable[Entry], wanted: "RecallQuery", part: int | None, pattern: Pattern, echoes: Echoes | None
) -> Iterator[SearchHit]:
    """Yield every line that the pattern matches, in order, with the lines around it.

    Args:
        entries: The messages to search.
        wanted: The recall's arguments.
        part: Number of the only part to search. `None`: all parts.
        pattern: The compiled pattern.
        echoes: Finds earlier recalls, which are skipped. `None`: a reference names what to search, so nothing is
            skipped.
    """
    within = None if wanted.lines is None else checked_lines(wanted.lines)
    for entry in entries:
        left_out = echoes.of(entry.reading) if echoes is not None else ()
        for number in range(len(entry.reading.parts)) if part is None else (part,):
            if number in left_out:
                continue
            for line in grep(lines_of(entry.reading.parts[number].readable, within), pattern, wanted.around):
                yield SearchHit(entry.seq, number, line.offset, line.text)


class RecallQuery(NamedTuple):
    """The arguments of one recall; see `AsyncContextManager.recall`."""

    ref: str | int | None
    query: str | None
    pattern: str | None
    lines: tuple[int, int] | None
    offset: int
    limit: int
    around: int = 0
    outline: bool = False


class Answer(NamedTuple):
    """What a query found."""

    hits: list[SearchHit]
    text: str
    """What its pages are cut from."""


class PagedSearch:
    """Answer queries, and keep the newest results.

    A page that was read becomes part of the conversation and of its view, so a new search for the next page would rank
    its results differently.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self._answers: dict[str, Answer] = {}

    def find(self, query: str, scroll: "RecallScope", *, again: bool) -> Operation[Answer]:
        """Find passages, those outside the view first. `again`: return the kept results, if there are any."""
        if again and query in self._answers:
            return self._answers[query]
        yield from index(self._search, scroll.history.next_seq, scroll.fetch)
        pool = Pool(query)
        candidates: list[Candidate] = yield Ask(self._look, (query, pool), heavy=True)
        turns, followed = yield from _following(pool.best(_MOST_LOOKED_AT), scroll)
        known_places = {_place(each.hit) for each in candidates}
        pool.add(each for each in followed if _place(each.hit) not in known_places)
        ranked: list[Ranked] = yield Ask(_ranked, (pool, scroll.in_view, turns), heavy=True)
        stating = {each.hit.seq for at, each in enumerate(ranked) if may_state(each.hit, among_first=at < MOST_HITS)}
        known = {entry.seq: entry for entry in (yield from scroll.fetch(sorted(stating)))}
        found = equals_newest_first(query, [each.hit for each in ranked], known)
        hits = newest_first(found, known)[:MOST_HITS]
        known = {entry.seq: entry for entry in (yield from scroll.fetch(sorted({hit.seq for hit in hits})))}
        best = [each.hit for each in sorted(ranked, key=lambda each: -each.score)[:MOST_NAMED]]
        text: str = yield Ask(_written, (Found(hits, best, known), scroll), heavy=True)
        self._answers.pop(query, None)
        self._answers[query] = Answer(hits, text)
        if len(self._answers) > _MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]
        return self._answers[query]

    def _look(self, query: str, pool: Pool) -> list[Candidate]:
        candidates = list(itertools.starmap(Candidate, self._search.found(query, _MOST_CANDIDATES)))
        pool.add(candidates)
        return candidates


def _written(found: Found, scroll: "RecallScope") -> str:
    return found_text(found, scroll.in_view())


_Turns = dict[int, Sequence[int]]


def _following(best: Sequence[SearchHit], scroll: "RecallScope") -> Operation[tuple[_Turns, list[Candidate]]]:
    """Return the calls and results that followed the best messages of the user among these hits: their messages, by
    that of the user, and their passages.
    """
    turns, found = _Turns(), list[Candidate]()
    seqs = list(dict.fromkeys(hit.seq for hit in best))
    said = {entry.seq for entry in (yield from scroll.fetch(sorted(seqs))) if entry.reading.is_user_turn}
    for seq in [seq for seq in seqs if seq in said][:_MOST_TURNS]:
        some = yield from scroll.fetch(range(seq + 1, min(seq + 1 + _LONGEST_TURN, scroll.history.next_seq)))
        entries = list(itertools.takewhile(lambda entry: not entry.reading.is_user_turn, some))
        if len(entries) < _LONGEST_TURN:
            entries = [entry for entry in entries if any(part.kind in _WORK for part in entry.reading.parts)]
            turns[seq] = [entry.seq for entry in entries]
            found += itertools.chain.from_iterable(map(_candidates, _Calls().sources(entries)))
    return turns, found


def _candidates(source: "Source") -> Iterator[Candidate]:
    for at, text, context in passages(source.text):
        yield Candidate(SearchHit(source.seq, source.part, at, storable(text)), f"{source.about} {context}".strip())


def _place(hit: SearchHit) -> tuple[int, int, int]:
    return hit.seq, hit.part, hit.offset


def _ranked(pool: Pool, in_view: Callable[[], Iterable[str]], turns: _Turns) -> list[Ranked]:
    return pool.ranked(in_view(), _MOST_CANDIDATES, turns)


def index(search: Indexed, upto: int, fetch: Callable[[Sequence[int]], Operation[list[Entry]]]) -> Operation[None]:
    """Index the messages of a session below `upto` that the index lacks."""
    begin, calls = search.indexed, _Calls()
    if 0 < begin < upto:  # results may answer calls that were indexed before
        for _ in calls.sources((yield from fetch(range(max(0, begin - _BEFORE), begin)))):
            pass
    for seqs in chunks(range(begin, upto)):
        entries = yield from fetch(seqs)
        heavy = len(seqs) > _FEW or any(len(part.text) > LONG for entry in entries for part in entry.reading.parts)
        yield Ask(search.add, (calls.sources(entries), seqs[-1] + 1), heavy)


class RecallScope(NamedTuple):
    """What recall reads."""

    history: History
    fetch: Callable[[Sequence[int]], Operation[list[Entry]]]
    """Loads entries by their ascending `seq`s, including those not in memory."""
    in_view: Callable[[], Iterable[str]]
    """The texts that the model sees now."""
    compile: Callable[[str], Pattern]
    count: Callable[[str], int]
    """Counts tokens."""


def recall(scroll: RecallScope, finder: PagedSearch, wanted: RecallQuery) -> Operation[RecallResult]:
    """Return one page of the result. The session's lock must be held.

    Raises:
        ReferenceNotFoundError: The reference names nothing.
        ConfigurationError: An argument is out of range, or the pattern takes too long.
    """
    if wanted.query is not None:
        answer = yield from finder.find(wanted.query, scroll, again=wanted.offset != 0)
        found = yield from _paged([answer.text], wanted._replace(lines=None), scroll.count)
        return RecallResult(str(found), found.next_offset, answer.hits)
    refs = [] if wanted.ref is None else parse_all(wanted.ref)
    seqs, part = named(scroll.history, refs), refs[0].part if refs else None
    if wanted.pattern is not None:
        return (yield from _shown((yield from _matches(scroll, seqs, part, wanted)), scroll, wanted))
    if len(seqs) == 1:
        (entry,) = yield from scroll.fetch(seqs)
        text = alone(entry, checked_part(entry, part))
        if text is not None:
            return _with_media((yield from _paged([text], wanted, scroll.count)), entry, part)
    found = yield from _several(scroll, seqs, wanted)
    if wanted.outline and len(seqs) > 1 and wanted.offset == 0 and wanted.lines is None and found.next_offset:
        return (yield from _outlined(scroll, refs, seqs, wanted)) or found
    return found


def _outlined(
    scroll: RecallScope, refs: Sequence[Reference], seqs: Sequence[int], wanted: RecallQuery
) -> Operation[RecallResult | None]:
    """Return an outline of these messages; `None` where a page is too small for one."""
    if wanted.limit < outline.LEAST:
        return None
    some = seqs[: outline.most_messages(wanted.limit)]
    entries = yield from scroll.fetch(some)
    left = len(seqs) - len(some)
    made = yield Ask(outline.outline, (entries, left, wanted.limit, scroll.count), heavy=True)
    if made is None:
        return None
    return RecallResult(made.text, next_ref=rest_of(refs, seqs[made.shown :]) or None)


def check(wanted: RecallQuery) -> None:
    """Check that the arguments fit together.

    Raises:
        ConfigurationError: They do not, or one is out of range.
    """
    ref, query, pattern, _, offset, limit, around, _ = wanted
    if ref is None and query is None and pattern is None:
        raise ConfigurationError('recall needs a ref, a query or a pattern, such as "[ref:12]"')
    if query is not None and (ref is not None or pattern is not None):
        raise ConfigurationError(
            f"recall takes a query alone, not {query!r:.60} with a ref or a pattern: call it twice; a pattern may go "
            "with a ref"
        )
    if not isinstance(query, str | None) or not isinstance(pattern, str | None):
        raise ConfigurationError("query and pattern are texts")
    enough(offset, limit)
    checked_around(around)


def _with_media(found: RecallResult, entry: Entry, part: int | None) -> RecallResult:
    """Add the media of a message, or of that part alone, to its page."""
    parts = entry.reading.parts if part is None else (entry.reading.parts[part],)
    media = [block_at(entry.message, found.path) for found in parts if found.media is not None]
    return RecallResult(str(found), found.next_offset, found.hits, media)


def _matches(
    scroll: RecallScope, seqs: Sequence[int], part: int | None, wanted: RecallQuery
) -> Operation[list[SearchHit]]:
    expression, hits = scroll.compile(wanted.pattern or ""), list[SearchHit]()
    echoes = Echoes() if wanted.ref is None else None
    for some in chunks(seqs):
        entries = yield from scroll.fetch(some)
        checked_part(entries[0], part)
        lines = itertools.islice(match_lines(entries, wanted, part, expression, echoes), MOST_HITS - len(hits))
        found = yield Ask(list, (lines,), heavy=True, tolerant=True)  # it may take seconds, and fail for that
        if isinstance(found, Exception):
            raise found
        hits += found
        if len(hits) >= MOST_HITS:
            break
    return hits


def _shown(hits: Sequence[SearchHit], scroll: RecallScope, wanted: RecallQuery) -> Operation[RecallResult]:
    entries = {entry.seq: entry for entry in (yield from scroll.fetch(sorted({hit.seq for hit in hits})))}
    found = yield from _paged(list(listed(hits, entries)), wanted._replace(lines=None), scroll.count)
    return RecallResult(str(found), found.next_offset, hits)


def _several(scroll: RecallScope, seqs: Sequence[int], wanted: RecallQuery) -> Operation[RecallResult]:
    """Return a page of several messages or parts. Reads no more of them than needed, unless lines have to be
    counted.
    """
    shown, left = list[str](), enough(wanted.offset, wanted.limit) if wanted.lines is None else inf
    for some in chunks(seqs):
        some_texts = list(_first(texts((yield from scroll.fetch(some))), left))
        shown, left = shown + some_texts, left - sum(map(len, some_texts))
        if left < 0:
            break
    found = yield from _paged(shown, wanted, scroll.count)
    if len(seqs) > 1 or wanted.lines is not None:
        return found
    (entry,) = yield from scroll.fetch(seqs)
    return _with_media(found, entry, None)


def _first(texts: Iterator[str], most: float) -> Iterator[str]:
    """Yield the first of these texts, up to the one that exceeds `most` characters."""
    for text in texts:
        yield text
        most -= len(text)
        if most < 0:
            return


def _paged(texts: Sequence[str], wanted: RecallQuery, count: Callable[[str], int]) -> Operation[RecallResult]:
    """Return a page of these texts, joined."""
    size = sum(map(len, texts)) if wanted.lines is not None else min(sum(map(len, texts)), enough(0, wanted.limit))
    found = yield Ask(_page, (texts, wanted, count), heavy=size > LONG, tolerant=True)
    if isinstance(found, Exception):
        raise found
    made: RecallResult = found
    return made


def _page(texts: Sequence[str], wanted: RecallQuery, count: Callable[[str], int]) -> RecallResult:
    text = "".join(texts)
    text = text if wanted.lines is None else pick_lines(text, wanted.lines)
    return page(text, wanted.offset, wanted.limit, count)


def _said_words(entry: Entry, text: str) -> str:
    """Return words that find a user's text: of its statements, and the user's name."""
    return " ".join(filter(None, (entry.reading.speaker, search_words(text))))


class _Calls:
    """What results are about: the calls that they answer, in the messages seen so far."""

    def __init__(self) -> None:
        self._about: dict[str, str] = {}
        self._echoes = Echoes()

    def sources(self, entries: Sequence[Entry]) -> Iterator[Source]:
        """Yield the texts of these messages with the words that find them, without earlier recalls and their
        results.
        """
        for entry in entries:
            left_out = self._echoes.of(entry.reading)
            for part in entry.reading.call_parts:
                for name in () if part.id is None else part.id.names:
                    self._about.pop(name, None)
                    self._about[name] = f"{part.name} {part.text[:_ABOUT]}"
            for _ in range(len(self._about) - _MOST_CALLS):
                del self._about[next(iter(self._about))]
            for number, part in enumerate(entry.reading.parts):
                if (text := part.readable) and number not in left_out:
                    call = self._about.get(part.id or "", "") if part.kind == "result" else ""
                    said = _said_words(entry, text) if part.kind == "text" and entry.reading.is_user_turn else ""
                    yield Source(entry.seq, number, call or part.name or said, text)
