"""Amplifier's command line: new, resumed, forked, cleared, rewound, repaired."""

import tempfile
from pathlib import Path

import pytest

from tests.integrations.amplifier.hosts.checking import assert_sound
from tests.integrations.amplifier.hosts.running import KINDS, each_kind, needs_hosts, report, run

pytestmark = needs_hosts


@each_kind
def test_cli_session_new_resumed_and_cleared_is_sound(kind):
    """At the prompt and by single runs: every life of the session is valid, within the window, and whole."""
    found = report("commands.talk", kind)
    assert_sound(found["lives"])
    assert [life["kept"] for life in found["lives"]] == [38, 42, 46, 50, 2, 34]
    assert found["lives"][3]["users"] == ["Read the parser.", "Fix the printer.", *(f"Go on {at}." for at in range(3))]


@each_kind
def test_cli_clear_leaves_only_what_comes_after(kind):
    """`/clear` at the prompt empties the history, on the disk as well."""
    found = report("commands.talk", kind)
    assert found["before_clear"] == 50
    assert found["lives"][4]["users"] == ["Begin again."]
    assert found["saved"][0] == 2


@each_kind
def test_cli_fork_goes_on_from_its_turn(kind):
    """`/fork 1` makes a session of the first turn, which is resumed by itself."""
    found = report("commands.talk", kind)
    assert (found["forked"], found["saved"][1]) == (30, 34)
    assert found["lives"][5]["users"] == ["Read the parser.", "Go on 4."]


@each_kind
def test_cli_save_writes_the_whole_history(kind):
    """`/save` finds every message that the session has, also after compactions."""
    found = report("commands.talk", kind)
    assert found["lives"][0]["compacted_before"]
    assert found["written"] == found["made"] == 38


@each_kind
def test_cli_status_and_fork_count_the_whole_history(kind):
    """`/status` and `/fork` read the history at the prompt: all messages and all turns, also after a compaction."""
    found = report("commands.talk", kind)
    assert found["lives"][0]["compacted_before"][0] < 15  # within the turn before `/status`
    assert "Messages: 30\n" in found["shown"]
    assert "Forked at turn: 1 of 2\n" in found["shown"]


def test_restore_with_thinking_changes_nothing():
    """The command line saves no thinking blocks; what a store holds stays, and the next request extends the last."""
    lives = report("commands.talk", "store")["lives"]
    assert [life["continues"] for life in lives[1:5]] == [True] * 4
    assert [0 in life["compacted_before"] for life in lives[1:5]] == [False] * 4
    assert [life["counts"].get("context:set_messages_ignored") for life in lives[1:5]] == [1] * 4


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS[2:])
def test_restore_with_thinking_keeps_the_transcript(kind):
    """The same with a transcript: its messages stay as the loop wrote them. It holds no plans of compaction."""
    lives = report("commands.talk", kind)["lives"]
    assert [life["history"] for life in lives] == [""] * 6
    assert [life["counts"].get("context:set_messages_ignored") for life in lives[1:5]] == [1] * 4


@each_kind
def test_restore_without_a_turn_is_a_rewind(kind):
    """A host that rewound the session on its disk restores fewer turns: the rest is gone."""
    before, after = report("commands.rewound", kind)["lives"]
    assert_sound([before, after])
    assert before["users"] == ["Go on 0.", "Go on 1."]
    assert after["users"] == ["Go on 0.", "Go on 2."]


@each_kind
def test_cli_turn_after_an_interruption_is_sound(kind):
    """Ctrl-C once and twice during tools: the command line repairs its transcript, and each next turn is valid."""
    life = report("commands.interrupted", kind)["lives"][0]
    assert_sound([life])
    assert life["users"] == ["Press 1.", "Go on 1.", "Press 2.", "Go on 2."]
    assert life["kept"] == 22


@each_kind
def test_cli_goal_judges_the_history_and_goes_on(kind):
    """The loop's evaluator finds the newest messages of the history, and its own requests change nothing of ours."""
    found = report("commands.pursued", kind)
    life = found["lives"][0]
    assert_sound([life])
    assert life["compacted_before"]
    assert life["users"] == ["It passes.", "The printer fails."]
    first, second = found["asked"]
    assert ("Done with first." in first, "Done with second." in second) == (True, True)


@pytest.mark.long
@each_kind
def test_cli_repair_after_a_crash_loses_nothing(kind):
    """The process dies in a tool; the next one repairs the transcript, and goes on with all that had been kept."""
    with tempfile.TemporaryDirectory(prefix="hosts-") as folder:
        run("commands.crashing", Path(folder), (kind,), dies=True)
        found = run("commands.crashing", Path(folder), (kind,))[f"commands.crashing {kind}"]
    assert_sound(found["lives"])
    assert found["lives"][0]["users"] == ["Read the parser.", "Read on.", "Go on."]
    assert found["lost_of_saved"] == []
    assert found["once"]
    if kind != "memory":  # then only the host keeps it, up to its last save
        assert found["lost"] == []
