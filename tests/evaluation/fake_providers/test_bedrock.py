"""Converse: what is refused, what is accepted, what depends on the model, windows and cache points."""

import pytest

from backscroll.evaluation.fake_providers import FakeBedrock, FakeProviderError, reply
from tests.evaluation.fake_providers.bad_bedrock import (
    DONE,
    EXPECTED,
    FOUND,
    GO,
    ORDER,
    SEARCH,
    TOOLS,
    bad_requests,
    result,
    said,
    text,
    thought,
    use,
    user,
)

POINT = {"cachePoint": {"type": "default"}}


@pytest.mark.parametrize(("rule", "request_", "expected"), list(bad_requests()))
def test_request_is_refused_with_the_text(rule, request_, expected):
    with pytest.raises(FakeProviderError, match=expected) as caught:
        FakeBedrock().converse(**request_)
    assert caught.value.status_code == 400
    assert caught.value.body["message"] == caught.value.message


@pytest.mark.parametrize("messages", [None, [], [{"role": "user", "content": "Go."}], [{"role": "user"}]])
def test_request_without_lists_of_blocks_is_refused(messages):
    with pytest.raises(FakeProviderError):
        FakeBedrock().converse(messages=messages)


def test_result_after_the_conversation_went_on_is_refused():
    messages = [GO, said(use("a")), GO, DONE, user(result("a"))]
    with pytest.raises(FakeProviderError, match=EXPECTED + "a"):
        FakeBedrock().converse(messages=messages, toolConfig=TOOLS)


ACCEPTED = {
    "plain": [GO],
    "pair": [GO, said(use("a")), user(result("a"))],
    "parallel, in another order": [GO, said(use("a"), use("b")), user(result("b"), result("a"), text("So?"))],
    "structured result": [GO, said(use("a")), user(result("a", {"json": {"x": 1}}, text("One.")))],
    "result of nothing": [GO, said(use("a")), user({"toolResult": {"toolUseId": "a", "content": []}})],
    "result of an empty text": [GO, said(use("a")), user(result("a", text("")))],
    "signed reasoning": [GO, said(thought(signature="s"), text("Done.")), GO],
    "hidden reasoning": [GO, said({"reasoningContent": {"redactedContent": b"x"}}, text("Done.")), GO],
    "system before an answer and last": [GO, ORDER, DONE, GO, ORDER],
    "system between a call and its result": [GO, said(use("a")), user(result("a")), ORDER, DONE, GO],
    "server tool": [GO, said(SEARCH, FOUND, text("Found.")), GO],
    "an id again": [GO, said(use("a")), user(result("a")), said(use("a")), user(result("a"))],
    "cache point": [user(text("Go."), POINT), DONE, user(text("On."), POINT)],
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_request_is_accepted(name):
    response = FakeBedrock().converse(messages=ACCEPTED[name], toolConfig=TOOLS)
    assert response["output"]["message"] == DONE
    assert response["stopReason"] == "end_turn"


@pytest.mark.parametrize("model", ["anthropic.claude-haiku-4-5-v1:0", "amazon.nova-2-lite-v1:0"])
def test_prefill_is_accepted_where_the_model_takes_it(model):
    assert FakeBedrock().converse(modelId=model, messages=[GO, DONE])["stopReason"] == "end_turn"


def test_prefill_is_refused_under_every_id_of_the_model():
    names = ("us.anthropic.claude-opus-4-6-v1:0", "arn:aws:bedrock:x::foundation-model/anthropic.claude-opus-5-5-v1:0")
    for model in names:
        with pytest.raises(FakeProviderError, match="prefill"):
            FakeBedrock(model=model).converse(messages=[GO, DONE])


def test_reasoning_of_other_models_needs_no_signature():
    messages = [GO, said(thought(), text("Done.")), GO]
    assert FakeBedrock(model="deepseek.r1-v1:0").converse(messages=messages)["stopReason"] == "end_turn"


def test_open_server_call_at_the_very_end_goes_on():
    older = FakeBedrock(model="anthropic.claude-haiku-4-5-v1:0")
    assert older.converse(messages=[GO, said(SEARCH)], toolConfig=TOOLS)["stopReason"] == "end_turn"


def test_answers_of_the_fake_sent_back_are_accepted():
    fake = FakeBedrock(replies=[reply("Reading.", thinking="Hm.", calls=[("read", {"path": "a"})]), "Fixed."])
    first = fake.converse(messages=[GO], toolConfig=TOOLS)
    assert first["stopReason"] == "tool_use"
    answer = first["output"]["message"]
    known = answer["content"][-1]["toolUse"]["toolUseId"]
    last = fake.converse(messages=[GO, answer, user(result(known))], toolConfig=TOOLS)
    assert last["output"]["message"]["content"] == [{"text": "Fixed."}]


def test_overflow_has_the_text():
    with pytest.raises(FakeProviderError, match="Input is too long for requested model"):
        FakeBedrock(window=100, count=len).converse(messages=[user(text("x" * 100))])


def test_cache_points_write_and_read():
    fake = FakeBedrock(count=len)
    messages = [user(text("x" * 2000), POINT), DONE, GO]
    for expected in ("cacheWriteInputTokens", "cacheReadInputTokens"):
        usage = fake.converse(messages=messages)["usage"]
        assert usage[expected] == len('{"role":"user","text":""}') + 2000
    assert usage["totalTokens"] == usage["cacheReadInputTokens"] + usage["inputTokens"] + usage["outputTokens"]


def test_bytes_of_an_image_are_counted():
    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG"}}}
    assert FakeBedrock().converse(messages=[user(text("See"), picture)])["usage"]["inputTokens"] > 0
