"""Mark what newer statements of the user replace, and put the newest first."""

import re
from collections.abc import Mapping, Sequence

from backscroll.history.history import Entry
from backscroll.messages.statements import Remark, replaced_by, sentences_of, statements_in
from backscroll.recall.pages import SearchHit

_WORD = re.compile(r"\w+(?:'\w+)?")
_ASKING = frozenset(
    "what which who whom whose when where why how is are was were do does did has have had can could will would should "
    "the a an of in on at to for from by with my your our his her its their i you we he she it they me this that these "
    "and or not be been there remember know please".split()
)
"""Words of a question that say nothing of its subject."""
_SHORT = 400  # characters of a remark
_MENTIONED = 2  # words of the query that remarks on one subject share at least, if it has as many


def may_state(hit: SearchHit, *, among_first: bool) -> bool:
    """Return whether a hit states a fact if the user or the assistant said it. Of the first ones, short ones may."""
    if among_first and len(hit.text) <= _SHORT:
        return True
    return bool(statements_in(hit.text) or statements_in(hit.text, by_user=False))


def newest_first(hits: Sequence[SearchHit], entries: Mapping[int, Entry]) -> list[SearchHit]:
    """Mark the hits that newer ones replace. The best of these follows the one that holds now, the others come last.

    Only hits are compared: a newer statement of the same subject contains the same words, so that it is a hit as well.

    Args:
        hits: The hits, best first.
        entries: Their messages, by `seq`.
    """
    remarks = {hit: found for hit in hits if (found := _remark(hit, entries.get(hit.seq))) is not None}
    replaced = replaced_by(remarks.values())
    if not replaced:
        return list(hits)
    marked = [_marked(hit, remarks.get(hit), replaced) for hit in hits]
    holding = {hit.seq: hit for hit in reversed(marked) if hit.replaced_by is None}
    shown, rest = dict[SearchHit, None](), list[SearchHit]()
    answered: set[int | None] = set()
    for hit in marked:
        newest = holding.get(hit.replaced_by) if hit.replaced_by is not None else None
        if hit.replaced_by in answered:
            rest.append(hit)
            continue
        if newest is not None:
            answered.add(hit.replaced_by)
            shown[newest] = None
        shown[hit] = None
    return [*shown, *rest]


def equals_newest_first(query: str, hits: Sequence[SearchHit], entries: Mapping[int, Entry]) -> list[SearchHit]:
    """Put the newest first among the user's short remarks that mention the same words of a query.

    Ranks of short texts differ by their lengths alone. Of two remarks on one subject the newer one says what holds,
    also where code does not recognize it as a correction. What a user said whom the query names comes first.
    """
    asked = {_stem(word) for word in _WORD.findall(query.lower())} - _ASKING
    named = {name for entry in entries.values() if (name := entry.reading.speaker.lower()) in asked}
    asked -= named
    about: set[SearchHit] = set()
    same: dict[frozenset[str], list[int]] = {}
    for number, hit in enumerate(hits):
        remark = _remark(hit, entries.get(hit.seq))
        if remark is not None and remark.by_user and len(hit.text) <= _SHORT:
            words = frozenset(map(_stem, _WORD.findall(hit.text.lower())))
            if remark.speaker.lower() in named or not named.isdisjoint(words):
                about.add(hit)
            same.setdefault(words & asked, []).append(number)
    sorted_hits = list(hits)
    for mentioned, numbers in same.items():
        if len(mentioned) >= _MENTIONED or (mentioned and mentioned == asked):
            newest = sorted((hits[number] for number in numbers), key=_newest, reverse=True)
            newest.sort(key=about.__contains__, reverse=True)  # stable: the newest of each
            for number, hit in zip(numbers, newest, strict=True):
                sorted_hits[number] = hit
    return sorted_hits


def _stem(word: str) -> str:
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > _MENTIONED + 1 and word.endswith("s") else word


def _newest(hit: SearchHit) -> tuple[int, int]:
    return hit.seq, -hit.offset


def _remark(hit: SearchHit, entry: Entry | None) -> Remark | None:
    """Return a hit as what the user or the assistant said; None for everything else."""
    if entry is None or entry.reading.flags.injected:
        return None
    part = entry.reading.parts[hit.part]
    if part.kind != "text" or part.attached:
        return None
    if entry.reading.is_user_turn:
        return Remark(hit.seq, hit.text, True, entry.reading.speaker)
    return Remark(hit.seq, hit.text, by_user=False) if entry.reading.role == "assistant" else None


def _marked(hit: SearchHit, remark: Remark | None, replaced: Mapping[tuple[int, str], int]) -> SearchHit:
    if remark is None:
        return hit
    stating = [one for one in sentences_of(hit.text) if statements_in(one, by_user=remark.by_user)]
    newer = [replaced[hit.seq, one] for one in stating if (hit.seq, one) in replaced]
    return hit._replace(replaced_by=max(newer)) if newer and len(newer) == len(stating) else hit
