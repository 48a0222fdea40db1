"""What the messages of a group weigh in a view: their tokens with the plan's edits, and their media."""

from collections.abc import Collection, Mapping, Sequence

from backscroll.history.history import Entry
from backscroll.history.plan import Clear
from backscroll.messages.parts import Path
from backscroll.tokens.known_models import MediaLimits
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.request_media import NO_MEDIA, RequestMedia, media_of
from backscroll.tokens.usage import Estimate, estimate_message
from backscroll.view.rendering import Edits, edited_counts


def estimate_entries(
    entries: Sequence[Entry],
    edits: Edits,
    bare: Collection[int],
    family: ModelProfile,
    left_out: Mapping[int, Sequence[Path]],
) -> Estimate:
    """Estimate messages as a view shows them.

    Args:
        entries: The messages.
        edits: The plan's excerpts and clearings of these messages.
        bare: Entries that are shown without their reasoning, by `seq`.
        family: How the lane's model counts.
        left_out: Results that are not shown, by `seq`.
    """
    plain = not (edits or bare or left_out)
    if plain and len(entries) == 1:
        return estimate_message(entries[0].reading, entries[0].counts, family)
    expected = upper = 0
    for entry in entries:
        counts = entry.counts
        if not plain:
            gone, edited = left_out.get(entry.seq, ()), edits.get(entry.seq, ())
            if edited or gone or entry.seq in bare:
                counts = edited_counts(entry, edited, gone, bare=entry.seq in bare)
        weight = estimate_message(entry.reading, counts, family)
        expected, upper = expected + weight.expected, upper + weight.upper
    return Estimate(expected, upper)


def media_of_entries(entries: Sequence[Entry], edits: Edits, limits: MediaLimits) -> RequestMedia:
    """Return the sums of the media that a view shows of messages."""
    found = NO_MEDIA
    for entry in entries:
        cleared = [edit.part for edit in edits.get(entry.seq, ()) if isinstance(edit, Clear)]
        own = media_of(entry.counts, limits, cleared)
        found = found if own is NO_MEDIA else found.plus(own)
    return found
