"""What a search found, as text: hits by message, and what the view shows anyway named in a line."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from backscroll.history.history import Entry
from backscroll.history.plan import reference
from backscroll.recall.entry_texts import heading
from backscroll.recall.pages import SearchHit

MOST_NAMED = 10
"""Hits among which those in view are named: a page has about twelve, and a lower one says little."""
_BATCH = 9_000  # characters: about 3,000 tokens of code, nine tenths of a page of a search
_GAP = "[...]\n"
"""Between two passages of one message that do not follow each other."""


class Found(NamedTuple):
    """What a search found."""

    hits: Sequence[SearchHit]
    """The hits, in the order of pages."""
    best: Sequence[SearchHit]
    """The best of all that was found, best first, also those that pages leave out because the view shows them."""
    entries: Mapping[int, Entry]
    """The messages of the hits, by `seq`."""


def found_text(found: Found, in_view: Iterable[str]) -> str:
    """Return the text that pages of a search are cut from, however long these are.

    The hits that rank best come first, with those of one message together, as far as their ranks are close. Of those
    that the view shows the best are named, and the others left out.

    Args:
        found: What the search found.
        in_view: The texts that the model sees now.
    """
    known = {line.strip() for text in in_view for line in text.splitlines()} | {""}
    hits = _without_seen(found.hits, known)
    places = {(hit.seq, hit.part) for hit in hits}
    seen = dict.fromkeys((hit.seq, hit.part) for hit in found.best if _is_in(hit, known))
    named = [reference(seq, part=part) for seq, part in seen if (seq, part) not in places]
    note = f"(already in view: {', '.join(named)})\n" if named else ""
    return note + "".join(_grouped(some, found.entries) for some in _batches(hits))


def _is_in(hit: SearchHit, known: Collection[str]) -> bool:
    return all(line.strip() in known for line in hit.text.splitlines())


def _without_seen(hits: Sequence[SearchHit], known: Collection[str]) -> list[SearchHit]:
    """Return the hits without those that the view shows, of those behind the first one that it left out.

    If the best hits are all in view they are the answer, and what replaces an older statement is shown with it.
    """
    newer = {hit.replaced_by for hit in hits}
    seen = [_is_in(hit, known) for hit in hits]
    first = seen.index(False) if False in seen else len(hits)
    return [hit for at, hit in enumerate(hits) if at <= first or not seen[at] or hit.seq in newer]


def listed(hits: Iterable[SearchHit], entries: Mapping[int, Entry]) -> Iterator[str]:
    """Yield hits as text in their order, each under its reference."""
    before: tuple[int, int] | None = None
    for hit in hits:
        if before != (hit.seq, hit.part):
            yield f"{_headed(hit, entries)}\n"
        before = (hit.seq, hit.part)
        yield f"{hit.text}\n"


def _batches(hits: Iterable[SearchHit]) -> Iterator[list[SearchHit]]:
    """Yield the hits in batches of about a page, so that a page still holds the best hits."""
    batch, size = list[SearchHit](), 0
    for hit in hits:
        if batch and size + len(hit.text) > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append(hit)
        size += len(hit.text)
    yield batch


def _headed(hit: SearchHit, entries: Mapping[int, Entry]) -> str:
    newer = "" if hit.replaced_by is None else f" (replaced by {reference(hit.replaced_by)})"
    again = "" if hit.times == 1 else f" (the same {hit.times} times)"
    entry = entries.get(hit.seq)
    return (reference(hit.seq, part=hit.part) if entry is None else heading(entry, hit.part)) + newer + again


def _grouped(hits: Iterable[SearchHit], entries: Mapping[int, Entry]) -> str:
    """Return hits as text: in the order of the best hit of each message, and within a message as they are in it."""
    by_place: dict[tuple[int, int, int | None], list[SearchHit]] = {}
    for hit in hits:
        by_place.setdefault((hit.seq, hit.part, hit.replaced_by), []).append(hit)
    shown = []
    for some in by_place.values():
        some.sort(key=lambda hit: hit.offset)
        shown.append(f"{_headed(some[0], entries)}\n")
        for hit, after in zip(some, [*some[1:], None], strict=True):
            follows = after is not None and hit.offset + len(hit.text) == after.offset
            shown.append(hit.text if follows else f"{hit.text}\n")
            if after is not None and not follows:
                shown.append(_GAP)
    return "".join(shown)
