"""Steps of Gemini's Interactions API: what they say, what a view may change, and what is accepted."""

from typing import Any

import pytest

from backscroll import BackscrollWarning, ContextManager, MessageError
from backscroll.integrations.clients import interactions_request
from backscroll.messages.counted import Counted
from backscroll.messages.dialects import dialect_of, dialect_of_block
from backscroll.tokens.responses import read_usage
from tests.builders import PNG, assistant, parts, read, user
from tests.fakes import count_quarter

ASKED = {"type": "user_input", "content": [{"type": "text", "text": "Look."}]}
SAID: dict[str, Any] = {"type": "model_output", "content": [{"type": "text", "text": "I see."}]}
THOUGHT: dict[str, Any] = {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Hm."}]}
CALL = {"type": "function_call", "id": "c1", "name": "look", "arguments": {"path": "a"}}
SEARCH = {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["red"]}, "signature": "c2ln"}
FOUND = {"type": "google_search_result", "call_id": "s1", "result": [{"search_suggestions": "s"}], "signature": "c2ln"}


def result(given, **more):
    return {"type": "function_result", "call_id": "c1", "name": "look", "result": given, **more}


def interaction(*steps, **more):
    return {"id": "v1", "status": "completed", "steps": list(steps), **more}


def test_steps_of_each_type_are_read():
    picture = {"type": "image", "data": PNG, "mime_type": "image/png"}
    shown = {**ASKED, "content": [*ASKED["content"], picture]}
    assert parts(user(shown)) == [
        ("text", "content.0.content.0.text", "Look."),
        ("media", "content.0.content.1", ("image", PNG)),
    ]
    assert parts(assistant([THOUGHT, SAID, CALL])) == [
        ("reasoning", "content.0.summary.0.text", "Hm."),
        ("reasoning", "content.0.signature", "c2ln"),
        ("text", "content.1.content.0.text", "I see."),
        ("call", "content.2.arguments", '{"path":"a"}', "c1", "look"),
    ]
    assert [kind for kind, *_ in parts(assistant([SEARCH, FOUND, SAID]))] == ["opaque", "opaque", "text"]


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("red", ["red"]),
        ({"colour": "red"}, ['{"colour":"red"}']),
        ([{"type": "text", "text": "red"}, {"type": "text", "text": "blue"}], ["red", "blue"]),
        ([], [""]),
    ],
)
def test_results_are_texts_objects_or_contents(given, texts):
    reading = read(user(result(given)))
    assert [(part.kind, part.text, part.id) for part in reading.parts] == [("result", text, "c1") for text in texts]
    assert reading.role == "user"


def test_message_with_a_signed_thought_is_never_edited():
    """Its signature holds for what follows it. A thought without one binds nothing."""
    assert read(assistant([THOUGHT, CALL])).rigid
    assert not read(assistant([{**THOUGHT, "signature": ""}, CALL])).rigid
    assert not read(assistant([THOUGHT, CALL])).is_sealed


@pytest.mark.parametrize(
    ("block", "name"),
    [
        (CALL, "Gemini Interactions"),
        ({**CALL, "call_id": "c1", "arguments": "{}"}, "OpenAI Responses"),
        ({"type": "file_search_call", "id": "f1", "signature": "c2ln"}, "Gemini Interactions"),
        ({"type": "file_search_call", "id": "f1", "queries": [], "status": "completed"}, "OpenAI Responses"),
        ({"type": "tool_search_call", "id": "t1", "arguments": {}}, "Gemini Interactions"),
        ({"type": "tool_search_call", "call_id": "t1", "arguments": {}, "execution": "client"}, "OpenAI Responses"),
    ],
)
def test_type_that_two_dialects_have_is_of_one_of_them(block, name):
    assert dialect_of_block(block).name == name
    assert dialect_of(assistant([block])).name == name


def test_interaction_is_appended_as_one_message():
    """Also one with its input; the history keeps all of its steps, and a view none of their nulls."""
    context = ContextManager(tokenizer=count_quarter)
    context.append(ASKED, interaction(ASKED, THOUGHT, {**CALL, "signature": None}, object="interaction"))
    context.append(result("red"), {**SAID, "content": [{**SAID["content"][0], "annotations": None}]}, ASKED)
    kept = context.get_messages()
    assert [message["role"] for message in kept] == ["user", "assistant", "user", "assistant", "user"]
    assert kept[1]["content"] == [THOUGHT, {**CALL, "signature": None}]
    sent = interactions_request(context.get_messages_for_request())["input"]
    assert sent == [ASKED, THOUGHT, CALL, result("red"), SAID, ASKED]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (THOUGHT, "append the whole interaction"),
        (interaction(THOUGHT), "no step but thoughts"),
        (interaction(), "no step but thoughts"),
        ({"id": "v1", "status": "failed", "output_text": ""}, "its status is 'failed'"),
        ({**CALL, "id": ""}, "no `id`"),
        (result(7), "takes a text"),
    ],
)
def test_what_could_never_be_sent_is_refused(given, words):
    context = ContextManager(tokenizer=count_quarter)
    with pytest.raises(MessageError, match=words):
        context.append(given)
    assert context.get_messages() == []


def test_usage_of_an_interaction_is_that_of_its_first_turn():
    """Where Google's tools ran, the total holds the prompts of all turns, and we sent the first."""
    usage = {"total_input_tokens": 900, "initial_input_tokens": 60, "total_cached_tokens": 50}
    usage |= {"total_output_tokens": 7, "total_thought_tokens": 3}
    assert read_usage(interaction(SAID, usage=usage)) == Counted(10, 50, 0, 10)
    finished = {"event_type": "interaction.completed", "interaction": interaction(usage=usage)}
    assert read_usage(finished) == Counted(10, 50, 0, 10)
    assert read_usage({"event_type": "step.stop", "index": 0}) is None


def test_thought_before_an_answer_of_nothing_leaves_with_it():
    """The blank text cannot be sent, and the signature holds for what is behind its thought."""
    context = ContextManager(tokenizer=count_quarter)
    blank = {"type": "model_output", "content": [{"type": "text", "text": ""}]}
    context.append(ASKED, interaction(THOUGHT, blank), ASKED)
    with pytest.warns(BackscrollWarning, match="cannot be sent as it is"):
        view = context.get_messages_for_request()
    steps = interactions_request(view)["input"]
    assert [step["type"] for step in steps] == ["user_input", "model_output", "user_input"]  # a line between the two
    assert THOUGHT["signature"] not in str(steps)
