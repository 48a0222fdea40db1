"""What the forecast of a marked request follows from: minimum sizes, look-back, and what was written."""

import pytest

from backscroll import ContextManager
from backscroll.cli.stores.render import Reader
from backscroll.stores.memory import MemoryStore

WORDS = "Follow the rules of this house. "


def kept(store):
    """The forecast of each request of the session."""
    reader = Reader(store, "s")
    replay, steps = reader.replay(), {}
    while some := reader.advance(replay, 500):
        steps |= {step.at: step for step in some}
    return [step.kept for step in steps.values()]


def begun(store, model, words):
    manager = ContextManager(store=store, session="s", model=model, cache_marks="anthropic", budget=100_000)
    manager.append({"role": "system", "content": WORDS * words})
    return manager


def said(number):
    role = "assistant" if number % 2 else "user"
    return {"role": role, "content": [{"type": "text", "text": f"{number}. Yes."}]}


@pytest.mark.parametrize(("model", "is_read"), [("claude-opus-5-5", True), ("claude-haiku-4-5", False)])
def test_prefix_below_the_minimum_is_not_read(model, is_read):
    """Of some 1,500 tokens one model caches 512, the other only 4,096."""
    store = MemoryStore()
    with begun(store, model, 200) as manager:
        for number in range(0, 6, 2):
            manager.append(said(number))
            manager.get_messages_for_request()
            manager.append(said(number + 1))
    first, *others = kept(store)
    assert first == 0
    assert all((tokens > 1_000) is is_read for tokens in others)


def test_an_unmarked_place_is_not_read_after_a_rewind():
    """Of 60 blocks sent at once the end was written, not the middle, to which the session goes back."""
    store = MemoryStore()
    with begun(store, "claude-opus-5-5", 100) as manager:
        manager.append(*[said(number) for number in range(61)])
        manager.get_messages_for_request()
        manager.rewind(49)
        manager.append(said(50))
        manager.get_messages_for_request()
        manager.append(said(51), said(52))
        manager.get_messages_for_request()
        manager.append(said(53))
    first, back, on = kept(store)
    assert first == 0
    assert 1_000 < back < 1_150  # the system prompt alone
    assert on > back + 400


def test_other_tools_leave_nothing_to_read():
    store = MemoryStore()
    with begun(store, "claude-opus-5-5", 200) as manager:
        for number, tools in enumerate(([{"name": "read"}], [{"name": "read"}], [{"name": "write"}])):
            manager.append(said(2 * number))
            manager.get_messages_for_request(tools=tools)
            manager.append(said(2 * number + 1))
    first, same, other = kept(store)
    assert (first, other) == (0, 0)
    assert same > 1_000
