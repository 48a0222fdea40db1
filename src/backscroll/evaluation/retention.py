"""Recall and reachable recall of the views of one replay, without a model.

The recorded assistant message shows what the request before it had to contain: each fact that it uses and that occurred
before. docs/evaluate/compare.md defines the rules; the tests hold a slow, independent version of them.
"""

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from backscroll.errors import BackscrollError
from backscroll.evaluation.facts import Fact, facts, occurs, readable_text, surroundings
from backscroll.evaluation.transcript import Message, is_answer
from backscroll.messages import read_message

ANSWER = 4_000
"""Tokens of a recall's answer that count, from its beginning."""
_ALIKE = 3  # words of earlier surroundings that must be near a fact, or all of fewer
_AT_MENTION, _IN_ALL, _BACK, _IN_VIEW = 3, 6, 60, 8  # surroundings compared, and messages searched for them
_IN_ONE = 3  # up to this many references are named by the whole message, more by their own lines
_NAMING = 4_000  # characters of a message that count as names of its references
_REFERENCE = re.compile(r"\[ref:([\w.-]+)\]")
_LETTERS = re.compile(r"\w+")
_CUE = re.compile(r"[A-Za-z_][\w./-]{3,}")


class Need(NamedTuple):
    """A fact that a recorded message uses and its history holds."""

    fact: Fact
    last: int
    """Index of the last message that mentions it."""


class Needs:
    """What each request of a transcript needed; the same for every strategy and budget."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.texts: list[str] = [readable_text(message) for message in messages]
        uses = {at: facts(message) for at, message in enumerate(messages) if at and is_answer(message)}
        finder = _Finder(dict.fromkeys(fact for used in uses.values() for fact in used))
        read = [read_message(message) for message in messages]
        known = {fact for at, one in enumerate(read) if one.is_system for fact in finder(self.texts[at])}
        tools = {part.name for one in read for part in one.parts if part.kind == "call"}
        places: dict[Fact, list[int]] = {}
        for at, text in enumerate(self.texts):
            for fact in finder(text):
                places.setdefault(fact, []).append(at)
        self._contexts: dict[Need, tuple[frozenset[str], ...]] = {}
        self._needs: dict[int, list[Need]] = {}
        for at, used in uses.items():
            for fact in used:
                before = bisect_left(places.get(fact, ()), at)
                if before and fact not in known and fact.text not in tools:
                    self._needs.setdefault(at, []).append(Need(fact, places[fact][before - 1]))

    def at(self, at: int) -> list[Need]:
        """Return what the message at this index needed."""
        return self._needs.get(at, [])

    def contexts(self, need: Need) -> tuple[frozenset[str], ...]:
        """Return the words near the fact at its last mention, and in messages before that one."""
        if need not in self._contexts:
            self._contexts[need] = tuple(self._surroundings(need))
        return self._contexts[need]

    def _surroundings(self, need: Need) -> list[frozenset[str]]:
        found = surroundings(need.fact, self.texts[need.last], _AT_MENTION)
        for at in range(need.last - 1, max(-1, need.last - _BACK), -1):
            if len(found) >= _IN_ALL:
                break
            found += surroundings(need.fact, self.texts[at], 1)
        return found


class _Finder:
    """Finds given facts in texts. It searches a text only for facts that share a word with it."""

    def __init__(self, wanted: Sequence[Fact] | dict[Fact, None]) -> None:
        self._by_word: dict[str, list[Fact]] = {}
        self._anywhere: list[Fact] = []
        for fact in wanted:
            words = _LETTERS.findall(fact.text)
            if fact.kind in ("line", "quote"):
                words = words[1:-1]  # words at the ends may be parts of longer words
            if words:
                self._by_word.setdefault(max(words, key=len), []).append(fact)
            else:
                self._anywhere.append(fact)

    def __call__(self, text: str) -> list[Fact]:
        words = self._by_word.keys() & set(_LETTERS.findall(text))
        near = [fact for word in words for fact in self._by_word[word]]
        return [fact for fact in (*self._anywhere, *near) if occurs(fact, text)]


class Recalled(NamedTuple):
    """What the views of a replay held. Shares are 0 to 1, means over the requests that needed a fact; `None` without
    such
    a request.
    """

    requests: int
    """Requests over the budget that needed at least one fact."""
    facts: int
    """Facts they needed, each once per request."""
    recall: float | None
    """Share that was in the view, near words that were near it before."""
    reachable: float | None
    """Share that was anywhere in the view, or in the answer to one recall of a reference in it."""
    far_facts: int
    """Facts last mentioned further back than the budget, so that no sliding window holds them."""
    far_recall: float | None
    far_reachable: float | None


class Measure:
    """Sums up the recall of each request.

    Args:
        needs: What the requests need.
        weights: Tokens of each message.
        budget: Tokens of a request.
        count: Counts the tokens of a text.
    """

    def __init__(self, needs: Needs, weights: Sequence[int], budget: int, count: Callable[[str], int]) -> None:
        self._needs, self._budget, self._count = needs, budget, count
        self._before = list(accumulate(weights, initial=0))
        self._all, self._far = _Shares(), _Shares()

    def __call__(self, before: int, view: Sequence[Message] | None, recall: Callable[[str], Any] | None) -> None:
        """Add the request before message `before`. `recall` answers a reference; `None`: nothing can be recalled.

        A refused request has no view and so kept nothing. Requests below the budget are skipped: everything fits.
        """
        needs = self._needs.at(before)
        if self._before[before] <= self._budget or not needs:
            return
        text = "\n".join(map(readable_text, view or ()))
        here = {need for need in needs if occurs(need.fact, text)}
        kept = {need for need in here if _in_context(need.fact, text, self._needs.contexts(need))}
        missing = [need.fact for need in needs if need not in here]
        reached: set[Fact] = set()
        if missing and view and recall is not None:
            answer = self._answer(recall, _best_reference(view, self._needs.texts[before], missing))
            reached = {fact for fact in missing if occurs(fact, answer)}
        reachable = {need for need in needs if need in here or need.fact in reached}
        self._all.add(needs, kept, reachable)
        far = [need for need in needs if self._before[before] - self._before[need.last] > self._budget]
        self._far.add(far, kept, reachable)

    def _answer(self, recall: Callable[[str], Any], reference: str | None) -> str:
        if reference is None:
            return ""
        try:
            text = str(recall(reference))
        except (BackscrollError, LookupError, ValueError):
            return ""  # a transcript may hold text that only looks like a reference
        tokens = self._count(text)
        return text if tokens <= ANSWER else text[: len(text) * ANSWER // tokens]

    def result(self) -> Recalled:
        """Return the shares so far."""
        every, far = self._all, self._far
        return Recalled(
            every.requests, every.facts, *every.means(), far_facts=far.facts, far_recall=far.means()[0],
            far_reachable=far.means()[1],
        )  # fmt: skip


class _Shares:
    """Means over requests."""

    def __init__(self) -> None:
        self.facts = self.requests = 0
        self._kept = self._reachable = 0.0

    def add(self, needs: list[Need], kept: set[Need], reachable: set[Need]) -> None:
        if needs:
            self.requests += 1
            self.facts += len(needs)
            self._kept += sum(need in kept for need in needs) / len(needs)
            self._reachable += sum(need in reachable for need in needs) / len(needs)

    def means(self) -> tuple[float | None, float | None]:
        if not self.requests:
            return None, None
        return self._kept / self.requests, self._reachable / self.requests


def mean(shares: Iterable[float | None]) -> float | None:
    """Return the mean of the known shares; `None` if none is known."""
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


# In the view


def _in_context(fact: Fact, text: str, contexts: Sequence[frozenset[str]]) -> bool:
    """Return whether the fact is near words that were near it before: a bare list of names does not count."""
    if fact.kind == "line":
        return True
    return any(
        len(here & before) >= min(_ALIKE, len(before))
        for here in surroundings(fact, text, _IN_VIEW)
        for before in contexts
    )


# Behind a reference


def _best_reference(view: Sequence[Message], said: str, missing: Sequence[Fact]) -> str | None:
    """Return the reference whose names share the most words with the next message, rare words counting more.

    The missing facts are removed from that message first: an agent knows its next step, not the facts themselves.
    """
    for fact in missing:
        said = said.replace(fact.text, " ")
    cue = cue_words(said)
    named = [(reference, words & cue) for reference, words in _references(view)]
    common = Counter(word for _, words in named for word in words)
    first: dict[str, frozenset[str]] = {}
    for reference, words in named:
        first.setdefault(reference, words)
    scores = [
        (math.fsum(math.log(1 + len(named) / common[word]) for word in words), reference)
        for reference, words in first.items()
        if words
    ]
    return max(scores)[1] if scores else None


def _references(view: Sequence[Message]) -> Iterator[tuple[str, frozenset[str]]]:
    asked: dict[str, str] = {}
    for message in view:
        for part in read_message(message).parts:
            if part.kind == "call":
                asked[part.id or ""] = f"{part.name or ''} {part.text}"
    for message in view:
        parts = [part for part in read_message(message).parts if part.kind in ("text", "result")]
        text = "\n".join(part.text for part in parts)
        if "[ref:" in text:
            call = next((asked.get(part.id or "", "") for part in parts if part.kind == "result"), "")
            yield from _named(text, call)


@lru_cache(maxsize=2048)  # successive views hold the same messages
def _named(text: str, call: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the references of one message, each with the words that describe what is behind it."""
    found = _REFERENCE.findall(text)
    if len(found) <= _IN_ONE:
        words = cue_words(f"{text[:_NAMING]} {call}")
        return tuple((reference, words) for reference in found)
    lines = text.split("\n")
    return tuple((reference, cue_words(line)) for line in lines for reference in _REFERENCE.findall(line))


def cue_words(text: str) -> frozenset[str]:
    """Return the lowercase words of at least four letters by which a reference is chosen."""
    return frozenset(word.lower() for word in _CUE.findall(text))
