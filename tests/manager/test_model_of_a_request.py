"""A request may name its model, which then has a lane, a window and rules of its own."""

import asyncio

import pytest

from backscroll import AsyncContextManager, ConfigurationError, ContextManager
from tests.builders import words


def rounds(number):
    for each in range(number):
        yield {"role": "user", "content": f"question {each} {words(200)}"}
        thought = {"type": "thinking", "thinking": words(100), "signature": f"s{each}"}
        yield {"role": "assistant", "content": [thought, {"type": "text", "text": f"answer {each} {words(200)}"}]}
    yield {"role": "user", "content": "And now?"}


def test_model_of_the_manager_answers_in_the_main_lane():
    manager = ContextManager(model="claude-opus-5-5")
    manager.append(*rounds(3))
    assert manager.get_messages_for_request(model="claude-opus-5-5") == manager.get_messages()
    assert [request.lane for request in manager.list_requests()] == ["main"]


def test_other_model_has_a_lane_of_its_own_with_its_window():
    manager = ContextManager(model="claude-opus-5-5")
    manager.append(*rounds(3))
    manager.get_messages_for_request()
    manager.get_messages_for_request(model="claude-haiku-4-5")
    manager.get_messages_for_request(model="claude-haiku-4-5", lane="critic")
    main, other, critic = manager.list_requests()
    assert [main.lane, other.lane, critic.lane] == ["main", "claude-haiku-4-5", "critic/claude-haiku-4-5"]
    assert main.budget > 800_000
    assert other.budget == critic.budget < 200_000


def test_switch_to_a_model_that_cannot_read_keeps_reasoning():
    """Its provider ignores the reasoning, which is valid again when the first model comes back."""
    manager = ContextManager(model="claude-opus-5-5")
    manager.append(*rounds(3))
    before = manager.get_messages_for_request()
    assert manager.get_messages_for_request(model="claude-fable-5-1") == before
    assert manager.get_messages_for_request() == before


def test_lane_of_a_model_that_does_not_bind_keeps_reasoning():
    """A compaction there costs no reasoning, but on the lane of a model that binds."""
    for model, kept in (("claude-opus-5", True), ("claude-opus-5-5", False)):
        manager = ContextManager(tool_result_preview=None)
        manager.append(*rounds(12))
        view = str(manager.get_messages_for_request(6_000, model=model))
        assert "answer 2 " not in view.partition("</summary>")[2]
        assert ("signature" in view) is kept


@pytest.mark.parametrize("model", [5, "", ["gpt-5.5"]])
def test_model_that_is_no_name_is_refused(model):
    with pytest.raises(ConfigurationError, match="`model` must be a model's name"):
        ContextManager().get_messages_for_request(model=model)


def test_asynchronous_manager_takes_a_model_as_well():
    async def lanes():
        async with AsyncContextManager() as manager:
            await manager.append(*rounds(1))
            await manager.get_messages_for_request(model="gpt-5.5")
            return [request.lane for request in await manager.list_requests()]

    assert asyncio.run(lanes()) == ["gpt-5.5"]
