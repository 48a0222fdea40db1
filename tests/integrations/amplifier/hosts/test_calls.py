"""Calls that hosts make which are not at hand, in a session of foundation and under a real loop."""

import pytest

from tests.integrations.amplifier.hosts.checking import assert_sound, assert_unmoved
from tests.integrations.amplifier.hosts.journeys.calls import HINT
from tests.integrations.amplifier.hosts.running import each_kind, needs_hosts, report

pytestmark = needs_hosts


@each_kind
def test_developer_messages_stay_with_a_factory(kind):
    """Developer messages carry mentioned files. In front they are in each request; others stay until a compaction."""
    life = report("calls.developer", kind)
    first = life["compacted_before"][0]
    assert [places[0] for places in life["shown"]] == [1] * life["requests"]
    assert [len(places) for places in life["shown"][:first]] == [2] * first
    assert_sound([life])


@each_kind
def test_persisted_reminder_stays_word_for_word(kind):
    """A reminder that the loop keeps once is in each request of a long turn, once."""
    life = report("calls.reminder", kind)
    assert len(life["compacted_before"]) > 2
    assert life["shown"] == [1] * 46
    assert_sound([life])


@each_kind
def test_two_windows_of_one_model_share_no_view(kind):
    """Two instances of a provider have one model's name and windows of 200k and 16k: the small one costs nothing."""
    life = report("calls.windows", kind)
    *_, before, after = life["tokens"]["large"]
    assert life["tokens"]["small"][0] < 12_000
    assert after > before
    assert_sound([life])


@each_kind
def test_history_set_before_a_request_is_sent(kind):
    """An image that a hook adds to the newest message moves nothing before it; a message in front compacts anew."""
    life = report("calls.surfaced", kind)
    assert life["requests"] == 20
    assert (life["pictured"], life["hinted"]["content"]) == (True, HINT["content"])
    assert [at for at in life["compacted_before"] if at >= 18] == [19]
    assert_sound([life])
    assert_unmoved([life])


def test_empty_restore_empties_the_history():
    """`set_messages([])` empties also a history that holds a system message only."""
    assert report("calls.little")["emptied"] == []


def test_compact_focus_without_a_summarizer_compacts():
    """`compact(focus=...)` compacts without the focus, and says so by an event."""
    life = report("calls.little")
    assert life["compacted_before"] == [9]
    assert life["counts"]["context:option_ignored"] == 1


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])
def test_no_room_reaches_the_host_by_its_name(loop):
    """Where nothing can fit, the host's error names the kernel's class and begins its text as hosts know it."""
    kind, text = report("calls.little")["no_room"][loop]
    assert kind == "RuntimeError"
    assert "ContextLengthError: context length exceeded" in text


def test_session_opened_twice_has_one_history():
    """Two open sessions with one id on one store: both see what both did."""
    found = report("calls.opened_twice")
    assert found["seen"] == [12, 12]
    assert_sound(found["lives"])
