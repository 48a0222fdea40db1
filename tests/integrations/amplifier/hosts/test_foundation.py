"""Sessions of amplifier-foundation: created, under each loop, with long work, and with children."""

import pytest

from tests.integrations.amplifier.hosts.checking import assert_sound, assert_unmoved
from tests.integrations.amplifier.hosts.running import each_kind, needs_hosts, report

pytestmark = needs_hosts
LOOPS = pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming", "loop-events"])


@pytest.mark.long
@each_kind
def test_foundation_long_work_is_sound_and_whole(kind):
    """`create_session` and hundreds of requests with compactions: all valid, all within the window, history whole."""
    lives = report("foundation.long", kind)["lives"]
    assert lives[0]["requests"] == 300
    assert len(lives[0]["compacted_before"]) > 5
    assert_sound(lives)
    assert_unmoved(lives)


@pytest.mark.long
@each_kind
def test_response_chain_after_a_compaction_begins_again(kind):
    """No request names an answer of the server from before the newest compaction; each later one is named."""
    found = report("foundation.long", kind)
    compacted, answered = found["lives"][0]["compacted_before"], found["answered"]
    for at, named in enumerate(answered):
        newest = max((before for before in compacted if before <= at), default=0)
        assert named == [f"resp_{number}" for number in range(newest + 1, at + 1)], at


@LOOPS
@each_kind
def test_loop_under_our_context_is_sound(kind, loop):
    """Each loop of Microsoft's works on our context; loop-events with the contract 1.0."""
    life = report("foundation.loops", kind)[loop]
    assert life["requests"] == 45
    assert life["compacted_before"]
    assert_sound([life])
    assert_unmoved([life])


@LOOPS
@each_kind
def test_context_after_the_sessions_end_still_works(kind, loop):
    """After `session.cleanup` the history is there, takes a message, and can be sent."""
    before, after, last = report("foundation.loops", kind)[loop]["after_the_end"]
    assert (after, last) == (before + 1, "One thing more.")


def test_system_prompt_is_read_again_for_each_request():
    """Foundation's factory reads the mentioned files, and what it says is sent; a loop may read and await it, too."""
    found = report("foundation.loops")["prompt"]
    first, second = (message["content"] for message in found["sent"])
    assert (found["is_coroutine"], found["same"]) == (True, True)
    assert "Never touch settings.toml." in first
    assert "Touch what you like." in second


@each_kind
def test_spawned_child_with_inherited_messages_is_sound(kind):
    """`PreparedBundle.spawn` gives a child its parent's messages, and both histories stay apart."""
    found = report("foundation.spawn", kind)
    parent, child = found["lives"]
    assert_sound([parent, child])
    assert found["child_prompt"].startswith("You are a child.")
    assert parent["users"] == ["Read the parser.", "Read the printer."]
    assert child["users"] == ["Read the parser.", "Look at both."]
    assert child["kept"] == found["inherited"] + 2 * child["requests"]
    if kind != "memory":
        assert found["on_disk"] == [parent["kept"], child["kept"]]
