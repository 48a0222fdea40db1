"""What a lane's window is made of, what takes the most of it, and what a compaction would do. Pure; reads only."""

from dataclasses import dataclass

from backscroll.compaction.report import Compaction
from backscroll.history.history import Entry, History
from backscroll.history.plan import reference
from backscroll.session.breakdown import KINDS, break_down, shown_entries
from backscroll.session.explain import usage
from backscroll.session.lane import Lane, Situation
from backscroll.tokens.usage import Usage

PARTS = (*KINDS, "free")
"""The kinds of which a request is made, and what is left of the window."""
LARGEST = 10
_BEGINNING = 60  # characters of a message by which it is told
_LOOKED_AT = 4_096  # characters among which these are looked for: there may be any number of blanks between


@dataclass(frozen=True, slots=True)
class Contributor:
    """One message, and what it takes of the window."""

    seq: int
    role: str
    ref: str
    tokens: int
    """As it stands in the view, as a share of its kind."""
    beginning: str
    """The tool that it answers or calls, or the beginning of its text."""


@dataclass(frozen=True, slots=True)
class Status:
    """A lane's window. All figures in tokens."""

    lane: str
    parts: dict[str, int]
    """What each of `PARTS` takes: `usage.by_kind`, which adds up to `usage.used`, and `usage.free`."""
    largest: tuple[Contributor, ...]
    """The messages that take the most of it, largest first."""
    threshold: int
    """The upper estimate from which the next request is compacted."""
    next: Compaction
    """What a compaction now would do; without effect where the view is at its target already."""
    usage: Usage


def status(history: History, lane: Lane, now: Situation) -> Status:
    """Of a lane whose view is up to date."""
    assert lane.view is not None
    used, scale = usage(history, lane), break_down(lane).scale
    parts = {kind: figure.tokens for kind, figure in used.by_kind.items()} | {"free": used.free}
    each: list[tuple[int, Entry]] = []
    for piece in lane.view.pieces:
        each += [(round(tokens * scale), entry) for entry, tokens in shown_entries(piece, lane)]
    each.sort(key=lambda found: (-found[0], found[1].seq))
    largest = tuple(_contributor(entry, tokens) for tokens, entry in each[:LARGEST])
    threshold, coming = lane.preview(now)
    return Status(lane.name, parts, largest, threshold, coming, used)


def _contributor(entry: Entry, tokens: int) -> Contributor:
    reading = entry.reading
    text = next((part.text for part in reading.parts if part.text and not part.text.isspace()), "")
    names = ", ".join(part.name for part in reading.call_parts if part.name)
    beginning = " ".join(text.lstrip()[:_LOOKED_AT].split())[:_BEGINNING]
    told = f"calls {names}" if names else beginning
    return Contributor(entry.seq, reading.role, reference(entry.seq), tokens, told)
