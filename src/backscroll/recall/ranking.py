"""Rank what an index found: one function for all indexes, so that each gives the same order.

An index proposes candidates. Here they are weighed by BM25, with word frequencies among the candidates, and put in an
order of which the first hits are meant to hold the source:

- What the view left out comes before what it shows, if any of it has a word of the query.
- A passage next to a good one is a little better than it looks by itself.
- What followed a message of the user shares its score: a result often has no word of the request that led to it.
- The first hits share the query: they are of different messages, and a term that an earlier one has counts less, so
  that a request that needs three sources finds three.
- Of passages that say nearly the same, the newest comes first and the others last.

Constants were measured by whether the page of a search held what the next message used: in 18 recorded conversations
(307 searches of coding and other agents) and in 15 scripted sessions (284 searches of `benchmarks/tasks.py`, seeds 1 to
3). Where the first way had 65 % and 72 % of it on 3,800 tokens, this has as much on 2,700. In another sample of
recordings it needs 3,400 (70.6 % for 70.3 %): so long is a page. At 2,700 tokens sessions cost 4 to 5 % less, and 4 to
5 points fewer facts are brought. Differences of 1 or 2 points are of one run each. Rejected, at 2,500 tokens:

- To widen the first five hits to 2,000 characters: 5 points less in recordings. To begin with five or ten hits of
  different messages instead of three: 2 and 10 points less.
- 0.5 or 0.8 for a neighbor: 1 and 3 points less in recordings.
- Less for each further passage of one message (0.9): 5 points less in recordings.
- To let turns of more than 40 messages share: 1.5 points less in recordings. Three turns instead of six: 6 points less
  in the sessions.
- To end the page where scores fall below 0.35 of the best: 11 points less in the sessions; in recordings pages were
  6 % shorter.

Earlier: to weigh newer passages more (0.3 to 1 point less), and smaller passages (10 points less in five hits).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

from backscroll.recall.names import folded, parts, spaced, spellings, terms
from backscroll.recall.pages import SearchHit

FIRST = 3
"""Hits that share a query."""
_SATURATION = 0.9  # BM25's k1: how much a second occurrence adds
_LENGTH = 0.4  # BM25's b: how much a long passage has to say more
_PART = 0.5  # a part of a name is weaker evidence than the whole
_NEIGHBOR = 0.25  # of the score of a passage, what the next one gets
_LED = 0.7  # of the score of the user's message, what each passage gets that followed it
_AGAIN = 0.7  # what a term still counts when an earlier hit has it
_ALIKE = 0.9  # share of words by which two passages say nearly the same
_MOST_FIRST = 100  # the best passages, among which those are that come first
_FEWEST_WORDS = 8  # fewer words are alike by chance


class Candidate(NamedTuple):
    """A passage that an index found."""

    hit: SearchHit
    context: str
    """More words that find it: the call that a result answers, and names around a value."""


class Ranked(NamedTuple):
    """A hit and its score."""

    hit: SearchHit
    score: float


class _Counted(NamedTuple):
    hit: SearchHit
    words: frozenset[str]
    found: Mapping[str, float]
    """How often it has each term."""
    size: float
    """Its length in words."""


@dataclass(slots=True)
class _Weighed:
    hit: SearchHit
    words: frozenset[str]
    by_term: Mapping[str, float]
    score: float = 0.0
    """With what its neighbors add."""


class Pool:
    """The candidates of one query. Their words are counted once, however often they are ranked."""

    def __init__(self, query: str) -> None:
        self._wanted = _Wanted(query)
        self._counted: list[_Counted] = []

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Add candidates, in any order. Each passage may be added once."""
        self._counted += [_counted(candidate, self._wanted) for candidate in candidates]

    def best(self, most: int) -> list[SearchHit]:
        """Return the hits with the highest scores, best first, without regard to the view."""
        return [each.hit for each in sorted(_weighed(self._counted), key=_order)[:most]]

    def ranked(
        self, in_view: Iterable[str], most: int, turns: Mapping[int, Iterable[int]] | None = None
    ) -> list[Ranked]:
        """Return the best `most` hits, best first. A text found in several places appears once, at the newest.

        Args:
            in_view: The texts that the model sees now.
            most: Maximum number of hits.
            turns: By the `seq` of a user's message, those of the calls and results that followed it.
        """
        weighed = _weighed(self._counted)
        _add_neighbors(weighed)
        _add_turns(weighed, turns or {})
        weighed.sort(key=_order)
        known = {id(each.hit): each for each in weighed}
        left_out, seen = left_out_first([each.hit for each in weighed], in_view)
        best = {each.hit.text: each.score for each in reversed(weighed)}
        ordered = [known[id(hit)] for hit in left_out]
        for each in ordered:  # a passage keeps the score of its best place
            each.score = best[each.hit.text]
        first, rest = _first(ordered)
        found, shown = [*first, *rest], [known[id(hit)] for hit in seen]
        if not any(each.by_term for each in found):
            found, shown = shown, found
        times = Counter(each.hit.text for each in weighed)
        return [Ranked(each.hit._replace(times=times[each.hit.text]), each.score) for each in (*found, *shown)[:most]]


def rank(query: str, candidates: Iterable[Candidate], in_view: Iterable[str], most: int) -> list[Ranked]:
    """Return the best `most` hits, best first: see `Pool.ranked`."""
    pool = Pool(query)
    pool.add(candidates)
    return pool.ranked(in_view, most)


def left_out_first(hits: Iterable[SearchHit], in_view: Iterable[str]) -> tuple[list[SearchHit], list[SearchHit]]:
    """Part hits into those that the view left out, and those whose every line is in these texts or in a better hit.

    A passage found in several places appears once: at the newest, with the rank of the best.
    """
    newest: dict[str, SearchHit] = {}
    for hit in hits:
        if hit.text not in newest or newest[hit.text].seq < hit.seq:
            newest[hit.text] = hit
    known = {line.strip() for text in in_view for line in text.splitlines()} | {""}
    left_out, seen = list[SearchHit](), list[SearchHit]()
    for hit in newest.values():
        lines = {line.strip() for line in hit.text.splitlines()}
        (seen if lines <= known else left_out).append(hit)
        known |= lines
    return left_out, seen


class _Wanted:
    """The terms of a query, by the words that they consist of."""

    def __init__(self, query: str) -> None:
        self.words: dict[str, list[str]] = {}
        """By each word, the terms that it is a spelling of."""
        self.phrases: dict[str, list[tuple[str, str]]] = {}
        """By the first word, the terms of several words, each with these words in a row."""
        for term in terms(query):
            for spelling in spellings(term):
                sequence = folded(spelling)
                if len(sequence) > 1:
                    self.phrases.setdefault(sequence[0], []).append((term, f" {' '.join(sequence)} "))
                elif sequence:
                    self.words.setdefault(sequence[0], []).append(term)

    def count(self, words: Sequence[str], weight: float, found: dict[str, float]) -> None:
        """Add to `found` how often these words have each term, weighed."""
        counts = Counter(words)
        for word in counts.keys() & self.words.keys():
            for term in self.words[word]:
                found[term] = found.get(term, 0.0) + weight * counts[word]
        begun = counts.keys() & self.phrases.keys()
        whole = f" {' '.join(words)} " if begun else ""
        for word in begun:
            for term, phrase in self.phrases[word]:
                if often := whole.count(phrase):
                    found[term] = found.get(term, 0.0) + weight * often


def _weighed(counted: Sequence[_Counted]) -> list[_Weighed]:
    """Weigh candidates by BM25 over the fields text, context and parts of names."""
    holding = Counter(term for each in counted for term in each.found)
    usual = sum(each.size for each in counted) / max(1, len(counted))
    rarity = {term: log(1 + (len(counted) - number + 0.5) / (number + 0.5)) for term, number in holding.items()}
    weighed = []
    for hit, words, found, size in counted:
        long = _SATURATION * (1 - _LENGTH + _LENGTH * size / (usual or 1))
        by_term = {
            term: rarity[term] * found[term] * (1 + _SATURATION) / (found[term] + long) for term in sorted(found)
        }  # sorted: a sum of fractions depends on its order
        weighed.append(_Weighed(hit, words, by_term, sum(by_term.values())))
    return weighed


def _order(each: _Weighed) -> tuple[float, int, int, int]:
    return -each.score, -each.hit.seq, each.hit.part, each.hit.offset


def _counted(candidate: Candidate, wanted: _Wanted) -> _Counted:
    text = candidate.hit.text
    own = folded(spaced(text))
    found: dict[str, float] = {}
    size = 0.0
    for words, weight in ((own, 1.0), (folded(spaced(candidate.context)), 1.0), (folded(parts(text)), _PART)):
        wanted.count(words, weight, found)
        size += len(words) * weight
    return _Counted(candidate.hit, frozenset(own), found, size)


def _add_neighbors(weighed: Iterable[_Weighed]) -> None:
    """Add to each score a share of that of the better passage directly before or after."""
    begins = {(each.hit.seq, each.hit.part, each.hit.offset): each for each in weighed}
    raw = {place: each.score for place, each in begins.items()}
    for (seq, part, offset), each in begins.items():
        after = (seq, part, offset + len(each.hit.text))
        if after in begins:
            each.score += _NEIGHBOR * raw[after]
            begins[after].score += _NEIGHBOR * raw[seq, part, offset]


def _add_turns(weighed: Iterable[_Weighed], turns: Mapping[int, Iterable[int]]) -> None:
    """Add to what followed a message of the user a share of the score of that message."""
    best: dict[int, float] = {}
    for each in weighed:
        if each.hit.seq in turns:
            best[each.hit.seq] = max(each.score, best.get(each.hit.seq, 0.0))
    led: dict[int, float] = {}
    for seq, following in turns.items():
        for at in following:
            led[at] = max(best.get(seq, 0.0), led.get(at, 0.0))
    for each in weighed:
        each.score += _LED * led.get(each.hit.seq, 0.0)


def _first(ordered: Sequence[_Weighed]) -> tuple[list[_Weighed], list[_Weighed]]:
    """Return the first hits, which share the query, then others of their messages, the rest by score, and those like a
    first one last.
    """
    left, picked, crowded, alike = list(ordered[:_MOST_FIRST]), list[_Weighed](), list[_Weighed](), list[_Weighed]()
    seen: Counter[str] = Counter()
    while left and len(picked) < FIRST:
        best = max(left, key=lambda each: _gain(each, seen))  # the first of equals
        left.remove(best)
        if any(_is_like(best, other) for other in picked):
            alike.append(best)
            continue
        if any(best.hit.seq == other.hit.seq for other in picked):
            crowded.append(best)
            continue
        for newer in [each for each in left if each.hit.seq > best.hit.seq and _is_like(each, best, both=True)]:
            left.remove(newer)
            old, best = (best, newer) if newer.hit.seq > best.hit.seq else (newer, best)
            alike.append(old)
        seen.update(best.by_term.keys())
        picked.append(best)
    return picked, [*crowded, *left, *ordered[_MOST_FIRST:], *alike]


def _gain(each: _Weighed, seen: Mapping[str, int]) -> float:
    """Return a score in which terms that earlier hits have count less."""
    return each.score - sum(weight * (1 - _AGAIN ** seen.get(term, 0)) for term, weight in each.by_term.items())


def _is_like(each: _Weighed, other: _Weighed, both: bool = False) -> bool:
    """Return whether nearly all words of one are in the other; `both`: and the other way round."""
    size = max(len(each.words), len(other.words)) if both else len(each.words)
    return size >= _FEWEST_WORDS and len(each.words & other.words) >= _ALIKE * size
