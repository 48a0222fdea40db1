"""Clear the oldest media of a view that holds more than its provider accepts in one request.

A provider refuses such a request whole, however few tokens it has. As at the token threshold, more is cleared than
needed, so that the next image does not move the prefix again. An image that no request may hold is cleared wherever it
is, also before the model has seen it: it never could.
"""

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from backscroll import events
from backscroll.compaction.lane_state import LaneState
from backscroll.history.plan import Clear, Edit
from backscroll.ports import Notification
from backscroll.tokens.known_models import MediaLimits
from backscroll.tokens.request_media import RequestMedia, exceeds, media_of, room_for_bytes

if TYPE_CHECKING:
    from backscroll.compaction.candidates import CandidatePart, Window

BY = "media limit"
"""The reason in edits."""
_WHY = "cleared, since the provider accepts no more in one request"


def over_media_limits(lane: LaneState) -> bool:
    """Return whether the lane's view holds more media than its provider accepts. False if clearing was tried for just
    these media and something was left.
    """
    view, limits = lane.view, lane.around.media
    if limits is None or view is None or view.media == lane.media_left:
        return False
    return exceeds(view.media, limits, view.estimate.upper)


def clear_media(window: "Window", lane: LaneState, share: float, whole: Set[int]) -> tuple[list[Edit], RequestMedia]:
    """Return edits that clear the oldest media, and the media that are left then.

    Args:
        window: The groups of the view.
        lane: The lane, whose view exceeds a limit.
        share: What to leave of a limit that is exceeded.
        whole: Entries that are never cut.
    """
    view, limits = lane.view, lane.around.media
    assert view is not None
    assert limits is not None
    left, edits = view.media, list[Edit]()
    images, size = _aims(left, limits, view.estimate.upper, share)
    for candidate in _candidates(window, limits, whole):
        if isinstance(candidate.unit.edits.get((candidate.entry.seq, candidate.number)), Clear):
            continue
        own = media_of((candidate.entry.counts[candidate.number],), limits)
        crowded = own.large and limits.crowded is not None and left.images > limits.crowded
        if own.refused or crowded or (own.images and left.images > images) or (own.bytes and left.bytes > size):
            edit = window.mask(candidate, BY, _WHY, anyway=True)
            if edit is not None:
                edits.append(edit)
                left = left.minus(own)
    return edits, left


def _candidates(window: "Window", limits: MediaLimits, whole: Set[int]) -> "Iterator[CandidatePart]":
    """Yield the media that may be cleared, oldest first."""
    for unit in window.units:
        for candidate in window.parts_of(unit, ("media",)):
            refused = media_of((candidate.entry.counts[candidate.number],), limits).refused
            if unit.cuttable or (refused and candidate.entry.seq not in whole):
                yield candidate


def _aims(media: RequestMedia, limits: MediaLimits, tokens: int, share: float) -> tuple[float, float]:
    """Return how many images and bytes of media may stay."""
    images, size = limits.images, room_for_bytes(limits, tokens)
    return (
        float("inf") if images is None or media.images <= images else int(images * share),
        float("inf") if size is None or media.bytes <= size else int(size * share),
    )


def media_reports(lane: LaneState, cleared: int, left: RequestMedia, tokens: int) -> list[Notification]:
    """Report what was cleared, and once what exceeds the limits all the same."""
    limits = lane.around.media
    assert limits is not None
    payload = {"lane": lane.name, "images": left.images, "bytes": left.bytes}
    reports: list[Notification] = [(events.MEDIA_CLEARED, payload | {"cleared": cleared})] if cleared else []
    if exceeds(left, limits, tokens) and lane.media_left is None:
        reports.append((events.MEDIA_OVER_LIMIT, payload | {"limits": _named(limits)}))
    return reports


def _named(limits: MediaLimits) -> str:
    """Name the limits in a warning."""
    named = (
        (limits.images, "images"),
        (limits.request_bytes, "bytes in all"),
        (limits.image_bytes, "bytes an image"),
        (limits.image_edge, "pixels an edge"),
        (limits.crowded_edge, f"pixels an edge with more than {limits.crowded} images"),
    )
    return ", ".join(f"{limit:,} {what}" for limit, what in named if limit is not None)
