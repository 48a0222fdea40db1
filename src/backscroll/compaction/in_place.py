"""Messages that keep their place by rank or because the request needs them, within a share of the budget.

A system or developer message in the middle of a conversation says what holds from there on, and a summary would give
its words to the wrong speaker. A message that brings tools decides which tools the model has. Each kind is kept newest
first within its share, so that a step costs the same at any length of the history.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from backscroll.history.history import Entry, History
from backscroll.history.plan import RANKED, Plan
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.usage import estimate_message
from backscroll.view.segment import Segment

SHARE = 0.2
"""Of what the messages may take: for system messages behind the first ones, and again for messages that bring tools."""
Kind = Literal["system", "tools"]


def kind_of(entry: Entry) -> Kind | None:
    """Return why views keep a message in its place; None if they need not."""
    if not entry.reading.keeps_place:
        return None
    return "tools" if entry.reading.tool_changes else "system"


def kept_in_place(segments: Sequence[Segment], history: History, room: int, family: ModelProfile) -> frozenset[int]:
    """Return the `seq`s of these messages for which there is room, newest first; without leading and pinned ones.

    Args:
        segments: The view.
        history: Its history.
        room: Tokens that all messages may take.
        family: How they are counted.
    """
    left: dict[Kind, int] = {"system": int(room * SHARE), "tools": int(room * SHARE)}
    required = history.protected.union(history.leading_seqs)
    found: set[int] = set()
    for entry in _newest_first(segments):
        kind = kind_of(entry)
        if kind is None or entry.seq in required:
            continue
        tokens = estimate_message(entry.reading, entry.counts, family).upper
        if tokens <= left[kind]:
            left[kind] -= tokens
            found.add(entry.seq)
    return frozenset(found)


def _newest_first(segments: Sequence[Segment]) -> Iterable[Entry]:
    return (entry for segment in reversed(segments) if segment.messages for entry in reversed(segment.entries))


def shown_in_place(segments: Sequence[Segment], plan: Plan) -> dict[int, Kind]:
    """Return all such messages that a view of this plan shows, or quotes next to a provider's block, by `seq`."""
    found: dict[int, Kind] = {}
    for entry in _newest_first(segments):
        if (kind := kind_of(entry)) is not None:
            found[entry.seq] = kind
    quotes = () if plan.native is None else plan.native.quotes
    return found | {note.first: "system" for note in quotes if note.kind in RANKED}
