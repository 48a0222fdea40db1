"""What the Messages API refuses whatever was said before."""

from copy import deepcopy

import pytest

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeProviderError, Reply, Text
from tests.evaluation.fake_providers.talks import BINDING, CLEAR_AT, REMINDER, TOOLS, text

GO = {"role": "user", "content": "Go."}


def use(*ids):
    calls = [{"type": "tool_use", "id": known, "name": "read", "input": {}} for known in ids]
    return {"role": "assistant", "content": calls}


def result(*ids, before=(), after=()):
    found = [{"type": "tool_result", "tool_use_id": known, "content": "42"} for known in ids]
    return {"role": "user", "content": [*before, *found, *after]}


def says(role, words="Hm."):
    return {"role": role, "content": words}


UNANSWERED = r"`tool_use` ids were found without `tool_result` blocks immediately after: "
ORPHAN = r"unexpected `tool_use_id` found in `tool_result` blocks: "
REFUSED = {
    "no message": ([], r"^messages: at least one message is required"),
    "first assistant": ([says("assistant"), GO], r"first message must use the \"user\" role"),
    "prefill": (
        [GO, says("assistant")],
        r"^This model does not support assistant message prefill\. The conversation must end with a user message\.$",
    ),
    "role tool": ([GO, {"role": "tool", "content": "42"}], 'Unexpected role "tool"'),
    "empty text": ([says("user", "")], r"messages\.0: all messages must have non-empty content"),
    "empty list": ([GO, says("assistant", []), GO], r"messages\.1: all messages must have non-empty content"),
    "empty text block": ([says("user", [text("")])], "text content blocks must be non-empty"),
    "no content": ([{"role": "user"}], r"messages\.0\.content: Input should be a valid list"),
    "unanswered call": ([GO, use("a"), GO], rf"^messages\.1: {UNANSWERED}a\."),
    "unanswered at the end": ([GO, use("a"), result("a"), use("b")], rf"^messages\.3: {UNANSWERED}b\."),
    "half answered": ([GO, use("a", "b"), result("a")], rf"{UNANSWERED}b\."),
    "result not first": ([GO, use("a"), result("a", before=[text("Here:")])], UNANSWERED),
    "result later": ([GO, use("a"), GO, says("assistant"), result("a")], UNANSWERED),
    "system between": ([GO, use("a"), says("system"), result("a")], "must follow a user turn"),
    "orphan": ([GO, says("assistant"), result("a")], rf"^messages\.2\.content\.0: {ORPHAN}a\."),
    "orphan first": ([result("a")], rf"^messages\.0\.content\.0: {ORPHAN}a\."),
    "answered twice": ([GO, use("a"), result("a", "a")], ORPHAN),
    "one id twice": ([GO, use("a"), result("a"), use("a"), result("a")], "`tool_use` ids must be unique"),
    "call by user": ([{**use("a"), "role": "user"}], "can only be in `assistant` messages"),
    "result by assistant": ([GO, {**result("a"), "role": "assistant"}, GO], "can only be in `user` messages"),
    "foreign field": ([{**GO, "metadata": {}}], r"^messages\.0\.metadata: Extra inputs are not permitted$"),
    "foreign id": ([GO, {**says("assistant"), "id": "msg_1"}, GO], r"messages\.1\.id: Extra inputs"),
    "system first": ([says("system"), GO], "first message must use"),
    "system before user": ([GO, says("system"), GO], "must follow a user turn"),
    "system after assistant": ([GO, says("assistant"), says("system")], "must follow a user turn"),
    "thinking without signature": (
        [GO, says("assistant", [{"type": "thinking", "thinking": "Hm."}]), GO],
        r"messages\.1\.content\.0\.thinking\.signature: Field required",
    ),
    "mark on thinking": (
        [
            GO,
            says("assistant", [{"type": "thinking", "thinking": "", "signature": "s", "cache_control": {}}]),
            GO,
        ],
        r"thinking\.cache_control: Extra inputs are not permitted",
    ),
    "unsigned by us": (
        [GO, says("assistant", [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, text("A.")]), GO],
        r"^messages\.1\.content\.0: Invalid `signature` in `thinking` block$",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_request_is_refused_with_the_text(name):
    messages, expected = REFUSED[name]
    with pytest.raises(FakeProviderError, match=expected.removeprefix("^")) as caught:
        FakeAnthropic().create(messages=messages)
    assert caught.value.status_code == 400
    assert caught.value.body == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": caught.value.message},
    }


ACCEPTED = {
    "plain": [GO],
    "system last": [GO, says("system")],
    "system before assistant": [GO, says("system"), says("assistant"), GO],
    "pair": [GO, use("a"), result("a")],
    "parallel, in another order": [GO, use("a", "b"), result("b", "a")],
    "text after results": [GO, use("a"), result("a", after=[text("So?")])],
    "results in two messages": [GO, use("a", "b"), result("a"), result("b")],
    "calls in two messages": [GO, use("a"), use("b"), result("a", "b")],
    "system after results": [GO, use("a"), result("a"), says("system")],
    "two users": [GO, GO],
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_request_is_accepted(name):
    response = FakeAnthropic().create(messages=ACCEPTED[name])
    assert response["stop_reason"] == "end_turn"
    assert response["content"] == [{"type": "text", "text": "Done."}]


def test_older_models_accept_a_prefill_and_no_system_role():
    old = FakeAnthropic(model="claude-haiku-4-5")
    assert old.create(messages=[GO, says("assistant")])["stop_reason"] == "end_turn"
    with pytest.raises(FakeProviderError, match='Unexpected role "system"'):
        old.create(messages=[GO, says("system")])


def test_fields_of_betas_need_their_header():
    with pytest.raises(FakeProviderError, match=r"messages\.1\.clear_at: Extra inputs"):
        FakeAnthropic().create(messages=[GO, REMINDER])
    assert FakeAnthropic().create(messages=[GO, REMINDER], betas=[CLEAR_AT])["type"] == "message"


@pytest.mark.parametrize(
    ("request_options", "expected"),
    [
        ({"foo": 1}, r"^foo: Extra inputs are not permitted$"),
        ({"compaction": {"type": "summarize"}}, r"^compaction: Extra inputs"),
        ({"tools": [TOOLS[0], TOOLS[0]]}, "Tool names must be unique"),
        ({"thinking": {"type": "loud"}}, "does not match any of the expected tags"),
        ({"system": [text("")]}, "system: text content blocks must be non-empty"),
        (
            {"betas": [BINDING], "thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "x"}}},
            "Input should be 'error' or 'drop_block'",
        ),
    ],
)
def test_option_is_refused_with_the_text(request_options, expected):
    with pytest.raises(FakeProviderError, match=expected.removeprefix("^")):
        FakeAnthropic().create(messages=[GO], **request_options)


def test_unknown_model_is_not_found():
    with pytest.raises(FakeProviderError) as caught:
        FakeAnthropic().create(model="claude-opus-9", messages=[GO])
    assert caught.value.status_code == 404
    assert caught.value.body["error"]["type"] == "not_found_error"


def test_manual_thinking_begins_the_final_turn():
    """Models up to 4.5 think by `enabled`; in an open tool round, the thinking has to stay."""
    fake = FakeAnthropic(model="claude-sonnet-4-5")
    with pytest.raises(FakeProviderError, match="Expected `thinking` or `redacted_thinking`, but found `tool_use`"):
        fake.create(messages=[GO, use("a"), result("a")], thinking={"type": "enabled", "budget_tokens": 1024})
    assert fake.create(messages=[GO, use("a"), result("a")])["stop_reason"] == "end_turn"


# -- windows --


def test_overflow_has_the_text_with_both_numbers():
    fake = FakeAnthropic(window=100, count=len)
    assert fake.count_tokens(messages=[says("user", "x" * 98)]) == {"input_tokens": 100}
    with pytest.raises(FakeProviderError, match=r"^Error code: 400 - prompt is too long: 101 tokens > 100 maximum$"):
        fake.create(messages=[says("user", "x" * 99)])


def test_window_is_that_of_the_model():
    words = says("user", "x" * 900_000)  # 225,001 tokens
    assert FakeAnthropic().create(messages=[words])["usage"]["input_tokens"] == 225_001
    with pytest.raises(FakeProviderError, match="prompt is too long: 225001 tokens > 200000 maximum"):
        FakeAnthropic(model="claude-haiku-4-5").create(messages=[words])


def test_models_before_4_5_count_the_output_into_the_window():
    expected = r"input length and .max_tokens. exceed context limit: (\d+) \+ (\d+) > (\d+)"
    with pytest.raises(FakeProviderError, match=expected):
        FakeAnthropic(model="claude-opus-4-1", window=100).create(messages=[GO], max_tokens=99)


def test_reply_that_fills_the_window_stops_there():
    fake = FakeAnthropic(window=40, replies=["x" * 200])
    assert fake.create(messages=[GO], max_tokens=64)["stop_reason"] == "model_context_window_exceeded"


def test_body_over_32_mb_is_too_large():
    with pytest.raises(FakeProviderError) as caught:
        FakeAnthropic().create(messages=[says("user", "x" * (32 * 1024 * 1024))])
    assert caught.value.status_code == 413
    assert caught.value.body["error"]["type"] == "request_too_large"


# -- replies --


def test_replies_come_from_a_function_of_the_request():
    fake = FakeAnthropic(replies=lambda request: f"{len(request['messages'])} messages")
    assert fake.create(messages=[GO])["content"] == [{"type": "text", "text": "1 messages"}]


def test_reason_to_stop_can_be_scripted():
    fake = FakeAnthropic(replies=[Reply((Text("No."),), stop_reason="refusal")])
    assert fake.create(messages=[GO])["stop_reason"] == "refusal"


def test_refused_request_takes_no_reply():
    fake = FakeAnthropic(replies=["One.", "Two."])
    with pytest.raises(FakeProviderError):
        fake.create(messages=[])
    assert fake.create(messages=[GO])["content"][0]["text"] == "One."
    assert [len(request["messages"]) for request in fake.requests] == [0, 1]


def test_kept_requests_are_those_that_were_sent():
    fake = FakeAnthropic()
    messages = [deepcopy(GO)]
    fake.create(messages=messages)
    messages.append(GO)
    assert len(fake.requests[0]["messages"]) == 1
