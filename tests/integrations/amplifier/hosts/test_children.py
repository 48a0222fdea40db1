"""Children of a session of the command line: by tool-delegate and tool-task, six at once, and resumed three times."""

import pytest

from tests.integrations.amplifier.hosts.checking import assert_sound
from tests.integrations.amplifier.hosts.journeys.children import CREW, FOLLOWS
from tests.integrations.amplifier.hosts.running import each_kind, needs_hosts, report

pytestmark = [needs_hosts, pytest.mark.long]


def lives_of(found, session):
    return [life for life in found["lives"] if life["session"] == session]


@each_kind
def test_family_of_sessions_is_sound_and_apart(kind):
    """A parent and its eight children, six of them at once: every request valid, every history whole and its own."""
    found = report("children.family", kind)
    assert_sound(found["lives"])
    assert len(found["children"]) == 2 + CREW
    crew = [lives_of(found, session) for session in found["children"][2:]]
    assert [len(lives) for lives in crew] == [1] * CREW
    assert sorted(lives[0]["users"][0] for lives in crew) == [f"Crew task {at}." for at in range(CREW)]
    assert {lives[0]["kept"] for lives in crew} == {8}


@pytest.mark.parametrize("which", [0, 1], ids=["delegate", "task"])
@each_kind
def test_resumed_child_holds_each_task_once(kind, which):
    """The host replays a child's transcript by `add_message`; neither its requests nor its history double."""
    found = report("children.family", kind)
    lives = lives_of(found, found["children"][which])
    assert len(lives) == 1 + FOLLOWS
    task, letter = (("Long task.", "d"), ("Other task.", "t"))[which]
    follows = [f"Follow {at} of {letter}." for at in range(FOLLOWS)]
    assert lives[-1]["users"][0].endswith(task)
    assert lives[-1]["users"][1:] == follows
    first = lives[0]["kept"]
    assert [life["kept"] for life in lives] == [first + 4 * at for at in range(1 + FOLLOWS)]


def test_resumed_child_store_keeps_each_message_once():
    """What another process reads from the store is what the loops made."""
    found = report("children.family", "store")
    assert found["on_disk"] == found["made"]


@pytest.mark.parametrize("kind", ["storage_path", "transcript_path"])
def test_resumed_child_transcript_has_each_message_once(kind):
    """Each session's file has as many lines as the loops made messages, and no line twice."""
    found = report("children.family", kind)
    assert found["on_disk"] == found["made"]


def test_child_shares_transcript_path_and_has_its_own_file():
    """A child inherits its parent's `transcript_path`; it reads nothing from there, and writes to a file of its own."""
    found = report("children.family", "transcript_path")
    assert found["on_disk"]["main"] == found["made"]["main"]
    assert None not in found["on_disk"].values()
    crew = lives_of(found, found["children"][2])[0]
    assert len(crew["users"]) == 1


def test_resumed_child_with_a_store_extends_its_requests():
    """From the second resume on, a child's first request begins with its last one before, unless it compacts first."""
    found = report("children.family", "store")
    for which in (0, 1):
        resumed = lives_of(found, found["children"][which])[2:]
        assert [life["continues"] for life in resumed] == [0 not in life["compacted_before"] for life in resumed]
        assert any(life["continues"] for life in resumed)
