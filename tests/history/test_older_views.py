"""Sessions of odd messages that a version before format 4 stored: it sent them as they were.

What was sent stays as it was until the lane's next compaction, so that the provider's prompt cache keeps hitting.
"""

import json

import pytest

from backscroll import ContextManager
from backscroll.evaluation.validity import problems
from backscroll.ports import Record
from backscroll.stores.memory import MemoryStore
from tests.history.crafting import OPTIONS
from tests.history.golden import golden_facts, golden_store

ODD = golden_facts(3, "odd")
"""`messages`, the `view` that the older version sent, `more` messages, and what it sent `then`."""


def opened(store, **more):
    return ContextManager(session="s", store=store, **{**OPTIONS, **more})


def as_bytes(view):
    return json.dumps(view).encode()


def never_sent():
    """A session of format 3 with the same messages, and without a request."""
    store = MemoryStore()
    records = [
        Record(each["kind"], each["seq"], each["body"].encode("utf-8", "surrogatepass"), 3, each["key"])
        for each in ODD["bare"]
    ]
    store.append("s", 0, records).result()
    return store


def test_lane_of_format_3_sends_what_it_sent_until_it_compacts():
    """Byte for byte, also with new odd messages, and after it is opened again."""
    store = golden_store(3, "odd")
    with opened(store) as context:
        assert context.get_messages() == ODD["messages"]
        assert as_bytes(context.get_messages_for_request()) == as_bytes(ODD["view"])
        context.append(*ODD["more"])
        assert as_bytes(context.get_messages_for_request()) == as_bytes(ODD["then"])
        assert problems(ODD["then"], context.get_messages()) != []
    with opened(store) as again:
        assert as_bytes(again.get_messages_for_request()) == as_bytes(ODD["then"])


@pytest.mark.parametrize("again", [False, True], ids=["at once", "after a resume"])
def test_lane_of_format_3_heals_after_its_next_compaction(again):
    seen = []
    store = golden_store(3, "odd")
    context = opened(store, on_event=lambda name, payload: seen.append(name))
    context.get_messages_for_request()
    assert "context:healed" not in seen
    context.compact()
    if again:
        context.close()
        context = opened(store, on_event=lambda name, payload: seen.append(name))
    view = context.get_messages_for_request()
    assert problems(view, context.get_messages()) == []
    assert "context:healed" in seen
    assert {"role": "assistant", "content": ""} not in view
    context.append(*ODD["more"])
    assert problems(context.get_messages_for_request(), context.get_messages()) == []
    context.close()


def test_lane_that_compacts_by_its_budget_heals_as_well():
    with opened(golden_store(3, "odd")) as context:
        context.get_messages_for_request()
        for number in range(12):
            context.append(
                {"role": "user", "content": f"{number} " * 100}, {"role": "assistant", "content": "ok " * 90}
            )
        assert context.usage().compactions == 0
        view = context.get_messages_for_request()
        assert context.usage().compactions == 1
        assert problems(view, context.get_messages()) == []


def test_lane_of_format_3_heals_after_a_refused_request():
    """Also for who opens the session after that."""
    store = golden_store(3, "odd")
    with opened(store) as context:
        assert context.get_messages_for_request() == ODD["view"]
        context.observe_refusal()
        view = context.get_messages_for_request()
        assert problems(view, context.get_messages()) == []
    with opened(store) as again:
        assert again.get_messages_for_request() == view


def test_undone_compaction_shows_again_what_was_sent():
    """The compaction that healed is undone, and what it healed stays healed: the cache has it."""
    with opened(golden_store(3, "odd")) as context:
        context.get_messages_for_request()
        context.compact()
        healed = context.get_messages_for_request()
        context.undo_compaction()
        view = context.get_messages_for_request()
        assert problems(view, context.get_messages()) == []
        assert len(view) >= len(healed)


def test_other_lane_of_format_3_heals_from_its_first_request():
    with opened(golden_store(3, "odd")) as context:
        main = context.get_messages_for_request()
        title = context.get_messages_for_request(lane="title")
        assert problems(title, context.get_messages()) == []
        assert main == ODD["view"] != title


def test_session_of_format_3_that_sent_nothing_heals_at_once():
    """That a result was the second of its call was not recorded then."""
    with opened(never_sent()) as context:
        assert context.get_messages() == ODD["messages"]
        view = context.get_messages_for_request()
        assert problems(view, context.get_messages()) == []
        texts = [message["content"] for message in view]
        assert "Result of an unknown call c0 [ref:4]:\n<result>\nthe outcome\n</result>" in texts
        assert "Result of an unknown call c9 [ref:11]:\n<result>\nfor another\n</result>" in texts
        assert "caf\ufffd" in texts
