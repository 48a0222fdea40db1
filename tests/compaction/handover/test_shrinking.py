"""A chronicle of which nothing is left where the room is tiny."""

import pytest

from backscroll.compaction.handover.fitting import with_rules
from backscroll.compaction.handover.levels import LAST
from backscroll.compaction.handover.shrinking import shrunk
from backscroll.history.plan import DETAILS, DigestLine

WORDS = "it reads the settings and the notes of the last release " * 8


@pytest.mark.parametrize("kind", DETAILS)
def test_an_entry_of_details_alone_leaves_a_tiny_room(kind):
    """A turn goes on behind one that is covered already, so that its entry begins with a detail."""
    notes = [DigestLine(0, 0, kind, WORDS), DigestLine(4, 4, "user", "Go on with it.")]
    found = shrunk(notes, 40)
    assert [note.kind for note in found.notes] == ["user"]


@pytest.mark.parametrize("others", [[], [DigestLine(3, 3, "rule", "Always run make.")]])
def test_rule_that_heads_its_entry_is_there_once(others):
    """Else each further compaction would double it."""
    entry = [DigestLine(3, 3, "rule", "Never lie."), *others]
    assert with_rules(entry, LAST) == entry
