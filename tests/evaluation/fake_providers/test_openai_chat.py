"""Chat completions: what is refused, what is accepted, windows, usage and the cache."""

from copy import deepcopy

import pytest

from backscroll.evaluation.fake_providers import FakeOpenAIChat, FakeProviderError, reply
from tests.evaluation.fake_providers.bad_chat import (
    GO,
    IMAGE,
    UNANSWERED,
    ask,
    asks_with,
    bad_requests,
    gave,
    says,
    text,
)


@pytest.mark.parametrize(("rule", "request_", "expected"), list(bad_requests()))
def test_request_is_refused_with_the_text(rule, request_, expected):
    with pytest.raises(FakeProviderError, match=expected) as caught:
        FakeOpenAIChat().create(**request_)
    assert caught.value.status_code == 400
    assert caught.value.body["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("messages", "expected"),
    [(None, "Missing required parameter: 'messages'"), ([], "empty array"), (["Go."], "expected an object")],
)
def test_request_without_messages_is_refused(messages, expected):
    with pytest.raises(FakeProviderError, match=expected):
        FakeOpenAIChat().create(messages=messages)


def test_result_after_the_conversation_went_on_is_refused():
    with pytest.raises(FakeProviderError, match=UNANSWERED):
        FakeOpenAIChat().create(messages=[GO, ask("a"), says("Waiting."), gave("a")])


LEGACY = {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}}
ACCEPTED = {
    "plain": [GO],
    "system and developer anywhere": [
        GO,
        {"role": "system", "content": "S"},
        GO,
        {"role": "developer", "content": "D"},
    ],
    "pair": [GO, ask("a"), gave("a")],
    "parallel, in another order": [GO, ask("a", "b"), gave("b"), gave("a"), GO],
    "parts": [{**GO, "content": [text("See"), IMAGE]}, says([text("I see.")]), GO],
    "result in parts": [GO, ask("a"), gave("a", [text("42")])],
    "text next to calls": [GO, ask("a", content="Reading."), gave("a")],
    "no text": [GO, says(""), GO],
    "refusal": [GO, says(None, refusal="No."), GO],
    "ends with the answer": [GO, says("Done.")],
    "custom call": [GO, ask(tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "x"}}]), gave("a")],
    "function": [GO, LEGACY, {"role": "function", "name": "read", "content": "42"}],
    "an id again in another answer": [GO, ask("a"), gave("a"), ask("a"), gave("a")],
    "arguments with words of any script": [GO, asks_with('{"path": "\\ud83d\\ude00 é"}'), gave("a")],
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_request_is_accepted(name):
    response = FakeOpenAIChat().create(messages=ACCEPTED[name])
    message = response["choices"][0]["message"]
    assert (message["role"], message["content"]) == ("assistant", "Done.")
    assert response["choices"][0]["finish_reason"] == "stop"


def test_answers_of_the_fake_sent_back_are_accepted():
    fake = FakeOpenAIChat(replies=[reply("Reading.", calls=[("read", {"path": "a"}), ("read", {})]), "Fixed."])
    answer = fake.create(messages=[GO])["choices"][0]
    assert answer["finish_reason"] == "tool_calls"
    said = {key: answer["message"][key] for key in ("role", "content", "tool_calls")}
    results = [gave(call["id"]) for call in said["tool_calls"]]
    last = fake.create(messages=[GO, said, *results])["choices"][0]["message"]
    assert last["content"] == "Fixed."


def test_overflow_has_code_and_both_numbers():
    fake = FakeOpenAIChat(window=100, count=len)
    frame = len('{"content":"","role":"user"}')
    assert fake.create(messages=[{**GO, "content": "x" * (100 - frame)}])["usage"]["prompt_tokens"] == 100
    with pytest.raises(FakeProviderError, match=r"maximum context length is 100 tokens.*resulted in 101") as caught:
        fake.create(messages=[{**GO, "content": "x" * (101 - frame)}])
    assert caught.value.body["error"]["code"] == "context_length_exceeded"


def test_longest_prefix_is_read_from_the_cache():
    fake = FakeOpenAIChat(count=len)
    first = {**GO, "content": "x" * 2000}
    usage = [fake.create(messages=messages)["usage"] for messages in ([first], [first, GO], [GO, first])]
    cached = [each["prompt_tokens_details"]["cached_tokens"] for each in usage]
    assert cached == [0, usage[0]["prompt_tokens"], 0]
    assert usage[1]["total_tokens"] == usage[1]["prompt_tokens"] + usage[1]["completion_tokens"]


def test_refused_request_takes_no_reply_and_changes_nothing():
    fake = FakeOpenAIChat(replies=["One."])
    messages = [GO, ask("a")]
    before = deepcopy(messages)
    with pytest.raises(FakeProviderError):
        fake.create(messages=messages)
    assert messages == before
    assert fake.create(messages=[GO])["choices"][0]["message"]["content"] == "One."
    assert [len(request["messages"]) for request in fake.requests] == [2, 1]
