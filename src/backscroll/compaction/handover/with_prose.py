"""Put a model's summary in the place of what it covers."""

from collections.abc import Callable, Iterable, Sequence

from backscroll.compaction.handover.beginnings import GOES_ON
from backscroll.history.plan import DETAILS, RANKED, DigestLine
from backscroll.view.chronicle import entries_of

MOST = 0.6  # of a chronicle that a summary takes at most; no more than two fifths are requested
_STAYS = ("user", "rule", "pasted", *RANKED)


def with_prose(
    entries: Iterable[list[DigestLine]], prose: DigestLine | None, room: int, tokens: Callable[[str], int]
) -> list[list[DigestLine]]:
    """Return entries where a summary is the report of the turns that it covers, in place of deeds and remarks, and of
    older summaries. The user's words stay. A summary with more than its part of `room` tokens replaces nothing.
    """
    entries = list(entries)
    if prose is None or tokens(prose.text) > room * MOST:
        return entries
    covered = [line for entry in entries for line in entry if line.first <= prose.last]
    first = min([prose.first, *(line.first for line in covered)])
    words = [line._replace(last=min(line.last, prose.last)) for line in covered if line.kind in _STAYS]
    left = [line for entry in entries for line in entry if line.first > prose.last]
    head = prose._replace(first=first)
    return [[head, *words], *entries_of(_begun(left, covered))]


def _begun(left: list[DigestLine], covered: Sequence[DigestLine]) -> list[DigestLine]:
    """Return the lines behind a summary, with a first line for the rest of a turn that it covers in part."""
    if not left or left[0].kind not in DETAILS:
        return left
    last = max((line.last for line in covered if line.kind not in DETAILS), default=left[0].last)
    return [DigestLine(left[0].first, max(last, left[0].last), "turn", GOES_ON), *left]
