"""Messages of odd shapes: refused when they are added, by the name of what is wrong, or sent as they are."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll import BudgetError, ContextManager, MessageError
from backscroll.evaluation.strangers import strangers
from backscroll.stores.memory import MemoryStore
from backscroll.view.rendering import WAITING
from tests.fakes import count_quarter
from tests.profiles import examples

Message = dict[str, Any]
CALL = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
FORMER = {"role": "assistant", "content": None, "function_call": {"tool": "run", "arguments": "{}"}}
"""No dialect has such a call; versions before this check stored it."""


def calling(**changes: Any) -> Message:
    return {"role": "assistant", "content": None, "tool_calls": [{**CALL, **changes}]}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"role": "robot", "content": "go"}, "role 'robot', which no dialect has: use one of system, developer, user"),
        ({"role": "model", "content": "Done."}, "role 'model', which no dialect has"),
        ({"role": "assistant", "parts": [{"text": "go"}]}, "role 'assistant'; contents of Gemini have user, model"),
        ({"role": "model", "parts": []}, "model message has no `parts`"),
        ({"role": "user", "parts": ["go"]}, r"parts\[0\] is 'go': give an object"),
        ({"role": "model", "parts": [{"text": None}]}, r"parts\[0\] is a mapping with 'text': give an object"),
        ({"role": "user", "parts": [{"type": "text", "text": "go"}]}, r"parts\[0\] has a `type`"),
        ({"role": "user", "parts": [{"functionResponse": {"id": "c", "response": {}}}]}, r"parts\[0\] has no `name`"),
        ({"role": "model", "parts": [{"functionCall": {"id": "c", "args": {}}}]}, "has no tool's `name`"),
        ({"role": "user"}, "user message has no `content`, only nothing else"),
        ({"role": "user", "text": "go"}, "user message has no `content`, only 'text'"),
        ({"role": "user", "content": 5}, "content of the user message is 5: give a text or a list"),
        ({"role": "assistant", "content": {"text": "go"}}, "is a mapping with 'text': give a text or a list"),
        ({"role": "tool", "content": "found"}, "tool message has no `tool_call_id`"),
        ({"role": "function", "content": "found"}, "function message has no `name`"),
        (calling(id=None), r"call at message\['tool_calls'\]\[0\].* has no `id`"),
        (calling(id=""), "has no `id`, so that no result can answer it"),
        (calling(function={"arguments": "{}"}), "has no tool's `name`"),
        (FORMER, r"call at message\['function_call'\] has no tool's `name`"),
        ({"role": "assistant", "content": [{"type": "tool_use", "name": "run", "input": {}}]}, "has no `id`"),
        ({"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "input": {}}}]}, "has no tool's `name`"),
    ],
)
def test_odd_message_is_refused_by_its_shape(message, words):
    """The error names what is wrong and what to do, and nothing is added."""
    manager = ContextManager()
    for add in (lambda: manager.append(message), lambda: manager.set_messages([message])):
        with pytest.raises(MessageError, match=words):
            add()
    assert manager.get_messages() == []


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "refusal": "I cannot."},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "user", "content": [{"type": "of tomorrow", "value": 5}]},
        {"role": "user", "content": ["a text", {"text": "another"}]},
    ],
)
def test_message_of_a_known_shape_is_taken(message):
    """What a provider's client writes is kept and sent as it is."""
    manager = ContextManager()
    manager.append({"role": "user", "content": "go"}, message)
    assert manager.get_messages()[1] == message
    assert message in manager.get_messages_for_request()


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        ({"role": "assistant", "content": None}, []),
        ({"role": "assistant", "content": ""}, []),
        ({"role": "user", "content": []}, [{"role": "user", "content": "[empty message]"}]),
    ],
)
def test_message_that_says_nothing_is_kept_but_not_sent(message, sent):
    manager = ContextManager()
    manager.append({"role": "user", "content": "go"}, message)
    assert manager.get_messages()[1] == message
    assert manager.get_messages_for_request()[1:] == sent


KEYS = st.sampled_from(
    [
        *("type", "text", "id", "name", "input", "content", "tool_use_id", "toolUse", "toolUseId", "toolResult"),
        *("function", "arguments", "image", "source", "data", "bytes", "output", "thinking", "json", "document"),
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.text(max_size=12) | st.sampled_from(["c", "run", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
TYPES = st.sampled_from(["text", "tool_use", "tool_result", "tool_call", "thinking", "image", "document", "file", "x"])
blocks = st.builds(lambda kind, rest: {**rest, "type": kind}, TYPES, st.dictionaries(KEYS, values, max_size=5))
contents = st.one_of(values, st.lists(blocks | values, max_size=4), st.text(max_size=20))
odd = st.builds(
    lambda role, content, beside: {"role": role, **({} if content == "absent" else {"content": content}), **beside},
    st.sampled_from(["system", "user", "assistant", "tool", "function", "model"]),
    st.just("absent") | contents,
    st.dictionaries(
        st.sampled_from(["tool_calls", "tool_call_id", "function_call", "metadata", "name", "refusal", "parts"]),
        values | st.lists(values, max_size=3),
        max_size=3,
    ),
)


@pytest.mark.filterwarnings("ignore:\\d+ of the (system messages|messages that bring tools)")
@given(st.lists(odd, max_size=6), st.integers(60, 400))
@example([{"role": "system", "parts": False}], 60)
@settings(max_examples=examples(100))
def test_odd_messages_never_break_a_session(found, budget):
    """Each is refused as a whole or kept as it is; views are made of what is there, or refused for their size. What was
    stored is read again as the same.
    """
    manager, kept, store = ContextManager(tokenizer=count_quarter), [{"role": "user", "content": "go"}], MemoryStore()
    stored = ContextManager(tokenizer=count_quarter, session="s", store=store)
    manager.append(*kept)
    stored.append(*kept)
    for message in found:
        try:
            manager.append(message)
        except MessageError:
            with pytest.raises(MessageError):
                stored.append(message)
            continue
        stored.append(message)
        kept.append(message)
    again = ContextManager(tokenizer=count_quarter, session="s", store=store)
    assert again.get_messages() == kept
    assert manager.get_messages() == kept
    for limit in (1_000_000, budget):
        try:
            view = manager.get_messages_for_request(token_budget=limit)
        except BudgetError:
            with pytest.raises(BudgetError):
                again.get_messages_for_request(token_budget=limit)
            continue
        assert again.get_messages_for_request(token_budget=limit) == view
        assert strangers(view, kept) == []
        assert manager.usage().used_upper_bound <= limit
    manager.explain()
    manager.window_report()
    manager.recall(query="text run")
    json.dumps(manager.get_messages())


def test_call_stored_without_a_name_is_sent_with_a_result():
    store = MemoryStore()
    named = {**FORMER, "function_call": {"name": "run", "arguments": "{}"}}
    ContextManager(session="s", store=store).append({"role": "user", "content": "go"}, named)
    older = MemoryStore()
    for stored in store.read("s"):
        body = stored.record.body.replace(b'"name":"run","arg', b'"tool":"run","arg')
        older.append("s", stored.position, [stored.record._replace(body=body)]).result()
    manager = ContextManager(session="s", store=older)
    assert manager.get_messages()[1] == FORMER
    manager.append({"role": "function", "name": "run", "content": "done"}, {"role": "user", "content": "go on"})
    view = manager.get_messages_for_request()
    assert view[1:3] == [FORMER, {"role": "function", "name": "", "content": WAITING}]
