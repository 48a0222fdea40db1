"""Messages that keep their place by rank or because the request needs them, within a share of the budget.

A system or developer message in the middle of a conversation says what holds from there on, and a summary would give
its words to the wrong speaker. A message that brings tools decides which tools the model has. Each kind is kept newest
first within its share, so that a step costs the same at any length of the history.
"""

from collections.abc import Iterable
from typing import Literal

from backscroll.history.history import Entry, History
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.usage import estimate_message
from backscroll.view.segment import Segment
from backscroll.view.view import View

SHARE = 0.2
"""Of what the messages may take: for system messages behind the first ones, and again for messages that bring tools."""
Kind = Literal["system", "tools"]


def kind_of(entry: Entry) -> Kind | None:
    """Return why views keep a message in its place; None if they need not."""
    if not entry.reading.keeps_place:
        return None
    return "tools" if entry.reading.tool_changes else "system"


def kept_in_place(view: View, history: History, room: int, family: ModelProfile) -> frozenset[int]:
    """Return the `seq`s of these messages for which there is room, newest first; without leading and pinned ones.

    Args:
        view: The view.
        history: Its history.
        room: Tokens that all messages may take.
        family: How they are counted.
    """
    left: dict[Kind, int] = {"system": int(room * SHARE), "tools": int(room * SHARE)}
    required = history.protected.union(history.leading_seqs)
    found: set[int] = set()
    for entry in _newest_first(view.segments):
        kind = kind_of(entry)
        if kind is None or entry.seq in required:
            continue
        tokens = estimate_message(entry.reading, entry.counts, family).upper
        if tokens <= left[kind]:
            left[kind] -= tokens
            found.add(entry.seq)
    return frozenset(found)


def _newest_first(segments: Iterable[Segment]) -> Iterable[Entry]:
    return (entry for segment in reversed(list(segments)) for entry in reversed(segment.entries))


def shown_in_place(view: View) -> dict[int, Kind]:
    """Return why views keep their place, by `seq`, for all such messages that a view shows, or quotes next to a
    provider's block.
    """
    found: dict[int, Kind] = {}
    for entry in _newest_first(segment for segment in view.segments if segment.messages):
        if (kind := kind_of(entry)) is not None:
            found[entry.seq] = kind
    quotes = () if view.plan.native is None else view.plan.native.quotes
    return found | {note.first: "system" for note in quotes if note.kind in ("system", "developer")}
