"""What a lane's window is made of, what takes the most of it, and what a compaction would do. Pure; reads only."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from backscroll.history import Entry, History
from backscroll.lane import Lane, Situation
from backscroll.plan import Clip, Mask, reference
from backscroll.rendering import edited_counts
from backscroll.reporting import Compaction
from backscroll.telling import usage
from backscroll.usage import Usage, estimate_message
from backscroll.view import SUMMARY, Piece

PARTS = ("overhead", "system", "digest", "user", "assistant", "results", "free")
"""In the order in which they are told: what stands outside of the messages (tool definitions, a prompt that the host
adds), system messages, what stands for all that is left out, what users and the model said (its calls included), what
tools returned, and what is left.
"""
LARGEST = 10
_BEGINNING = 60  # characters of a message by which it is told


@dataclass(frozen=True, slots=True)
class Contributor:
    """One message, and what it takes of the window."""

    seq: int
    role: str
    ref: str
    tokens: int
    """As it stands in the view, by the middle estimate."""
    beginning: str
    """The tool that it answers or calls, or the beginning of its text."""


@dataclass(frozen=True, slots=True)
class Status:
    """A lane's window. All figures in tokens."""

    lane: str
    parts: dict[str, int]
    """What each of `PARTS` takes, by the middle estimate; `free` is what the upper estimate leaves."""
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
    used = usage(history, lane)
    parts = dict.fromkeys(PARTS, 0) | {"overhead": used.overhead.tokens, "free": used.free}
    each: list[tuple[int, Entry]] = []
    for piece in lane.view.pieces:
        for part, tokens in parts_of(piece, lane):
            parts[part] += tokens
        each += [(tokens, entry) for entry, tokens in shown_entries(piece, lane)]
    each.sort(key=lambda found: (-found[0], found[1].seq))
    largest = tuple(_contributor(entry, tokens) for tokens, entry in each[:LARGEST])
    threshold, coming = lane.preview(now)
    return Status(lane.name, parts, largest, threshold, coming, used)


def parts_of(piece: Piece, lane: Lane) -> Iterator[tuple[str, int]]:
    """What a piece of a view adds to which of `PARTS`, by the middle estimate."""
    if piece.bridge is not None:
        yield "digest", piece.bridge_estimate.middle
    if piece.group is None:
        yield _part_of(piece), piece.estimate.middle
    for entry, tokens in shown_entries(piece, lane):
        yield _kind(entry), tokens


def _part_of(piece: Piece) -> str:
    if piece.key[1] == SUMMARY:
        return "digest"
    role = str(piece.messages[0]["role"]) if piece.messages else "system"
    return role if role in ("user", "assistant") else "system"


def shown_entries(piece: Piece, lane: Lane) -> Iterator[tuple[Entry, int]]:
    """The entries of a piece, with what each takes as it stands there, by the middle estimate."""
    edits: defaultdict[int, list[Clip | Mask]] = defaultdict(list)
    for edit in piece.edits:
        edits[edit.seq].append(edit)
    for entry in piece.entries:
        orphans = piece.group.orphans.get(entry.seq, ()) if piece.group else ()
        counts = edited_counts(entry, edits[entry.seq], orphans)
        yield entry, estimate_message(entry.reading, counts, lane.family).middle


def _kind(entry: Entry) -> str:
    reading = entry.reading
    if reading.results:
        return "results"
    return "system" if reading.is_system else "assistant" if reading.role == "assistant" else "user"


def _contributor(entry: Entry, tokens: int) -> Contributor:
    reading = entry.reading
    text = next((part.text for part in reading.parts if part.text.strip()), "")
    names = ", ".join(part.name for part in reading.call_parts if part.name)
    beginning = " ".join(text.split())[:_BEGINNING]
    told = f"calls {names}" if names else beginning
    return Contributor(entry.seq, reading.role, reference(entry.seq), tokens, told)
