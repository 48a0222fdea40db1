"""Messages go out as the very objects that came in, unless the view changes them; and what each shape becomes."""

from copy import deepcopy
from typing import Any

import litellm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.evaluation.validity import problems
from backscroll.integrations.litellm.call_arguments import is_counted
from backscroll.integrations.litellm.translation import LiteLLMTranslation, as_dict
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import handler_of
from tests.integrations.litellm.recorder import Recorder, turns
from tests.integrations.world import PNG

pytestmark = OURS
READ = LiteLLMTranslation()
SIGNED = {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}


def sent(history: list[Any], budget: int = 100_000, **options: Any) -> list[Any]:
    client = Recorder()
    handler_of(client=client, budget=budget, **options).completion("openai/m", history, litellm_session_id="s")
    return client.sent


@given(st.integers(1, 40), st.integers(600, 6_000))
def test_unchanged_messages_are_the_very_objects(number, budget):
    history = turns(number)
    before, objects = deepcopy(history), list(history)
    view = sent(history, budget)
    assert history == before
    assert all(there is here for there, here in zip(history, objects, strict=True))
    own = {id(message) for message in history}
    for message in view:
        if id(message) not in own:
            assert message not in history, "an equal copy was made"
    assert problems(view, history) == []


def test_objects_of_litellm_are_sent_as_they_are():
    call = {"id": "c", "type": "function", "function": {"name": "order", "arguments": "{}"}}
    said = litellm.Message(role="assistant", content=None, tool_calls=[call])
    history = [{"role": "user", "content": "Hi."}, said, {"role": "tool", "tool_call_id": "c", "content": "1"}]
    view = sent(history)
    assert [each is here for each, here in zip(view, history, strict=True)] == [True] * 3
    held = {"role": "assistant", "content": None, "tool_calls": said.tool_calls}
    assert READ.says(held) == READ.says(said), "a dict with LiteLLM's calls in it"
    assert READ.to_message(said)["tool_calls"] == [call]


def test_a_changed_object_becomes_a_dict_and_stays_itself():
    history: list[Any] = [litellm.Message(**message) if message["role"] != "tool" else message for message in turns(30)]
    before = [as_dict(message) for message in history]
    view = sent(history, 1_500)
    assert [as_dict(message) for message in history] == before
    assert problems([as_dict(each) for each in view], before) == []


def test_metadata_reaches_no_provider():
    marked = {"role": "user", "content": "Never forget.", "metadata": {"critical": True}}
    history = [*turns(30), marked, *turns(30, begin=30)]
    view = sent(history, 1_500)
    assert {"role": "user", "content": "Never forget."} in view
    assert not any("metadata" in message for message in view)
    assert marked["metadata"] == {"critical": True}


@pytest.mark.parametrize("sealed", ["thinking_blocks", "reasoning_items"])
def test_sealed_reasoning_is_read_as_such_and_written_back(sealed):
    native = {"role": "assistant", "content": "Yes.", sealed: [SIGNED], "reasoning_content": "Let me see."}
    message = READ.to_message(native)
    assert message == {"role": "assistant", "content": "Yes.", "thinking_block": {sealed: [SIGNED]}}
    assert READ.to_native(message, [native]) == {"role": "assistant", "content": "Yes.", sealed: [SIGNED]}
    plain = {"role": "assistant", "content": "Yes.", "reasoning_content": "Let me see."}
    assert READ.to_message(plain) == plain


def test_marks_for_the_cache_are_no_difference():
    def marked(at: int) -> list[Any]:
        history = turns(3)
        for number, message in enumerate(history):
            if message["role"] == "tool":
                block = {"type": "text", "text": message["content"]}
                message["content"] = [block | ({"cache_control": {"type": "ephemeral"}} if number == at else {})]
        return history

    client = Recorder()
    handler = handler_of(client=client, budget=100_000)
    for at in (2, 4, 6):
        history = marked(at)
        handler.completion("openai/m", history, litellm_session_id="s")
        assert all(each is here for each, here in zip(client.sent, history, strict=True))
    found = handler.conversation("s")
    assert found.usage("openai/m").stored == 7
    assert "cache_control" not in str([READ.to_message(message) for message in marked(2)])


def test_images_stay_or_leave_a_reference():
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    shown = {"role": "user", "content": [{"type": "text", "text": "Look."}, url]}
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hello."},
        shown,
    ]
    history.append({"role": "assistant", "content": "A cat."})
    assert sent(history)[2] is shown
    history += [{"role": "user", "content": "Go on."}, *turns(40, begin=1)]
    view = sent(history, 2_000)
    assert problems(view, history) == []
    assert not any(message is shown for message in view)


def test_a_redacted_message_is_never_sent_as_it_was():
    def redact(message: dict[str, Any]) -> dict[str, Any]:
        text = message["content"]
        return {**message, "content": text.replace("secret", "***") if isinstance(text, str) else text}

    native = {"role": "assistant", "content": "The secret.", "thinking_blocks": [SIGNED]}
    view = sent([{"role": "user", "content": "Hi."}, native], redact=redact)
    assert view[1] == {"role": "assistant", "content": "The ***.", "thinking_blocks": [SIGNED]}


@pytest.mark.parametrize(
    ("named", "counted"),
    [
        ({}, True),
        ({"stream": False}, True),
        ({"stream": True}, False),
        ({"stream": True, "stream_options": {"include_usage": True}}, True),
        ({"mock_response": "x"}, False),
    ],
)
def test_only_what_the_provider_counted_is_observed(named, counted):
    assert is_counted(named) is counted
