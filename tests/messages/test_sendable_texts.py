"""Values where a dialect takes a text: refused in an append, stored by imports and `set_messages`, healed in views."""

import asyncio
import json
from typing import Any

import pytest

from backscroll import AsyncContextManager, ContextManager, MessageError
from backscroll.evaluation.validity import problems
from backscroll.manager.importing import AsyncImportingManager, ImportingManager
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.fakes import count_quarter
from tests.views import BRIDGE, in_a_row

Message = dict[str, Any]
VALUES: list[Any] = [{"row": 1}, 5, None, ["a", "b"], True, [{"text": "a"}, 5]]


def called(arguments: Any) -> Message:
    function = {"name": "run", "arguments": arguments}
    call = {"id": "c1", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def chat_result(value: Any) -> list[Message]:
    return [called("{}"), {"role": "tool", "tool_call_id": "c1", "content": value}]


def function_result(value: Any) -> list[Message]:
    call = {"role": "assistant", "content": None, "function_call": {"name": "run", "arguments": "{}"}}
    return [call, {"role": "function", "name": "run", "content": value}]


def chat_arguments(value: Any) -> list[Message]:
    return [called(value), {"role": "tool", "tool_call_id": "c1", "content": "done"}]


def output(value: Any) -> list[Message]:
    call = MessageFactory("responses").call(["c1"], "", {})["content"][-1:]
    item = {"type": "function_call_output", "call_id": "c1", "output": value}
    return [{"role": "assistant", "content": call}, {"role": "tool", "content": [item]}]


def item_arguments(value: Any) -> list[Message]:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "run", "arguments": value}
    return [{"role": "assistant", "content": [item]}, *MessageFactory("responses").results([("c1", "done")])]


def tool_result(value: Any) -> list[Message]:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": value}
    return [MessageFactory("anthropic").call(["c1"], "", {}), {"role": "user", "content": [block]}]


def bedrock_result(value: Any) -> list[Message]:
    block = {"toolResult": {"toolUseId": "c1", "content": value}}
    return [MessageFactory("bedrock").call(["c1"], "", {}), {"role": "user", "content": [block]}]


TAKEN_AS_NULL = (tool_result,)
"""A `tool_result` may have no content."""
CASES = [
    *((shape, value) for shape in (chat_result, function_result, output, tool_result, bedrock_result)
      for value in VALUES if not (value is None and shape in TAKEN_AS_NULL)),
    (bedrock_result, "a text"),
    (chat_arguments, {"path": "a"}),
    (item_arguments, {"path": "a"}),
]  # fmt: skip  # one table
EVERY = pytest.mark.parametrize(
    ("shape", "value"), CASES, ids=[f"{shape.__name__}-{json.dumps(value)}" for shape, value in CASES]
)
BEGIN = {"role": "user", "content": [{"type": "text", "text": "go"}]}


@EVERY
def test_value_that_is_no_text_is_refused_by_append(shape, value):
    """The error says what to pass instead, and nothing is stored: also not the sound messages of the same append."""
    store = MemoryStore()
    context = ContextManager(session="s", store=store, tokenizer=count_quarter)
    context.append(BEGIN)
    before = list(store.read("s"))
    with pytest.raises(MessageError, match=r"takes a text: pass json\.dumps\(value\)"):
        context.append(*shape(value))
    assert context.get_messages() == [BEGIN]
    assert list(store.read("s")) == before
    context.append(*shape([{"text": json.dumps(value)}] if shape is bedrock_result else json.dumps(value)))
    assert problems(context.get_messages_for_request(), context.get_messages()) == []


@EVERY
def test_value_is_refused_by_an_async_append_as_well(shape, value):
    async def appended() -> None:
        context = AsyncContextManager(tokenizer=count_quarter)
        with pytest.raises(MessageError, match=r"json\.dumps"):
            await context.append(*shape(value))
        assert await context.get_messages() == []

    asyncio.run(appended())


def by_setting(messages: list[Message]) -> ContextManager:
    context = ContextManager(tokenizer=count_quarter)
    context.set_messages(messages)
    return context


def by_importing(messages: list[Message]) -> ContextManager:
    context = ImportingManager(tokenizer=count_quarter)
    context.append(*messages)
    return context


@EVERY
@pytest.mark.parametrize("take", [by_setting, by_importing])
def test_value_of_an_import_is_kept_and_healed_in_views(shape, value, take):
    """The history has the value, and views its JSON text in the dialect's own shape."""
    messages = [BEGIN, *shape(value)]
    with take(messages) as context:
        assert context.get_messages() == messages
        view = context.get_messages_for_request()
        assert problems(view, messages) == []
        healed = json.dumps([value_of(message) for message in view[1:]])
    texts = [value] if isinstance(value, str) else words_of(value)
    assert all(text in healed.replace("\\", "") for text in texts)


def words_of(value: Any) -> list[str]:
    """What a view says of a value: its scalars, in any frame."""
    if isinstance(value, dict | list):
        return [word for each in (value.values() if isinstance(value, dict) else value) for word in words_of(each)]
    return [] if value is None else [value if isinstance(value, str) else json.dumps(value)]


def value_of(message: Message) -> str:
    """What a message of a view sends where the history has the value, as a text or as blocks of texts."""
    calls = message.get("tool_calls", [])
    found: list[Any] = [message[key] for key in ("arguments", "output") if key in message]
    found += [call["function"]["arguments"] for call in calls]
    if message.get("role") in ("tool", "function"):
        found.append(message["content"])
    for block in message.get("content") or [] if message.get("role") == "user" else []:
        result = block.get("toolResult", block if block.get("type") == "tool_result" else None)
        if result is not None:
            found.append(result["content"])
            assert type(result["content"]) is list or "toolResult" not in block
    for each in found:
        assert type(each) is str or all(type(block) is dict for block in each)
    return json.dumps(found)


def test_import_for_asyncio_takes_such_a_value():
    async def sent() -> Message:
        context = AsyncImportingManager(tokenizer=count_quarter)
        await context.append(BEGIN, *chat_result({"row": 1}))
        return (await context.get_messages_for_request())[-1]

    assert asyncio.run(sent())["content"] == '{"row":1}'


@pytest.mark.parametrize(
    "messages",
    [
        [MessageFactory("amplifier").call(["c1"], "", {}), {"role": "tool", "tool_call_id": "c1", "content": {"a": 1}}],
        [
            MessageFactory("gemini").call(["c1"], "", {}),
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "run", "response": {"rows": [1, None]}}}],
            },
        ],
        tool_result(None),
        tool_result([{"type": "text", "text": "a"}]),
        output([{"type": "input_text", "text": "a"}]),
    ],
    ids=["amplifier", "gemini", "no content", "blocks", "list of texts"],
)
def test_shapes_that_a_dialect_takes_are_sent_as_they_are(messages):
    context = ContextManager(tokenizer=count_quarter)
    context.append({"role": "user", "content": "go"}, *messages)
    assert context.get_messages_for_request()[1:] == in_a_row(messages)


def test_reasoning_without_what_it_led_to_is_refused():
    """OpenAI refuses it, so the items of a response are appended in one call. An import takes it, and views do not."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"}
    alone = {"role": "assistant", "content": [thought]}
    context = ContextManager(tokenizer=count_quarter)
    with pytest.raises(MessageError, match="reasoning without the item that followed it: append all items"):
        context.append(BEGIN, alone)
    assert context.get_messages() == []
    with by_importing([BEGIN, alone, BEGIN]) as kept:
        assert kept.get_messages() == [BEGIN, alone, BEGIN]
        view = kept.get_messages_for_request()
        assert view == [BEGIN, {"role": "assistant", "content": BRIDGE}, BEGIN]
        assert problems(view, kept.get_messages()) == []
