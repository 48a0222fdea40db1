"""Let the first hits of a search grow over what is around them, so that each holds its source and not a piece of it."""

from collections.abc import Iterable, Mapping, Sequence

from backscroll.recall.pages import SearchHit
from backscroll.recall.passages import PASSAGE, end_of
from backscroll.recall.ranking import FIRST, Ranked

GROWN = 2_000  # characters of a hit that grew: five of them take some 2,500 tokens of a page of 4,000
_Place = tuple[int, int]
"""seq and part"""


def grown(ranked: Sequence[Ranked], texts: Mapping[_Place, str]) -> list[SearchHit]:
    """Return the hits with the first ones grown over their neighbors. Hits that these cover are dropped.

    Args:
        ranked: The hits, best first.
        texts: The texts of the parts in which the first hits are, by `seq` and part. A hit without one stays as it is,
            and one in which an index replaced lone surrogates.
    """
    begins = {(hit.seq, hit.part, hit.offset): Ranked(hit, score) for hit, score in ranked}
    ends = {(hit.seq, hit.part, hit.offset + len(hit.text)): Ranked(hit, score) for hit, score in ranked}
    found, covered = list[SearchHit](), dict[_Place, list[range]]()
    for hit, _ in ranked:
        place = hit.seq, hit.part
        taken = covered.setdefault(place, [])
        if any(hit.offset in other for other in taken):
            continue
        text = texts.get(place)
        if len(found) < FIRST and text is not None and text.startswith(hit.text, hit.offset):
            start, end = _reach(hit, text, taken, begins, ends)
            hit = hit._replace(offset=start, text=text[start:end])  # noqa: PLW2901  the hit that is returned
        taken.append(range(hit.offset, hit.offset + len(hit.text)))
        found.append(hit)
    return found


def _reach(
    hit: SearchHit,
    text: str,
    taken: Iterable[range],
    begins: Mapping[tuple[int, int, int], Ranked],
    ends: Mapping[tuple[int, int, int], Ranked],
) -> tuple[int, int]:
    """Return where a grown hit begins and ends: passage by passage, the better neighbor first."""
    start, end = hit.offset, hit.offset + len(hit.text)
    lowest = max((other.stop for other in taken if other.stop <= start), default=0)
    highest = min((other.start for other in taken if other.start >= end), default=len(text))
    while True:
        before, after = ends.get((hit.seq, hit.part, start)), begins.get((hit.seq, hit.part, end))
        first = before.hit.offset if before else _start_before(text, start)
        last = end_of(text, end)
        back = lowest <= first < start and end - first <= GROWN
        on = end < last <= highest and last - start <= GROWN
        if back and (not on or (before.score if before else 0.0) > (after.score if after else 0.0)):
            start = first
        elif on:
            end = last
        else:
            return start, end


def _start_before(text: str, end: int) -> int:
    """Return where a passage begins that ends at `end`, of which the index found nothing."""
    lowest = max(0, end - PASSAGE)
    if lowest == 0:
        return 0
    line = text.find("\n", lowest, end - 1)
    return line + 1 if line >= 0 else lowest
