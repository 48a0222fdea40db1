"""Each rule of each fake is needed: what it refuses passes without it, and with all rules it does not.

So no example is refused by two rules, and no rule is without an example.
"""

from typing import Any

import pytest

from backscroll.evaluation.fake_providers import (
    FakeAnthropic,
    FakeBedrock,
    FakeGemini,
    FakeInteractions,
    FakeOpenAIChat,
    FakeOpenAIResponses,
    FakeProviderError,
    anthropic_rules,
    bedrock_rules,
    chat_rules,
    gemini_rules,
    interactions_rules,
    openai_rules,
)
from tests.evaluation.fake_providers import (
    bad_anthropic,
    bad_bedrock,
    bad_chat,
    bad_gemini,
    bad_interactions,
    bad_items,
)
from tests.evaluation.fake_providers.talks import replies

FAKES: dict[str, Any] = {
    "anthropic": (FakeAnthropic, "create", anthropic_rules.RULES, bad_anthropic),
    "responses": (FakeOpenAIResponses, "create", openai_rules.RULES, bad_items),
    "chat": (FakeOpenAIChat, "create", chat_rules.RULES, bad_chat),
    "gemini": (FakeGemini, "generate_content", gemini_rules.RULES, bad_gemini),
    "interactions": (FakeInteractions, "create", interactions_rules.RULES, bad_interactions),
    "bedrock": (FakeBedrock, "converse", bedrock_rules.RULES, bad_bedrock),
}
CASES = [(name, *case) for name, (*_, bad) in FAKES.items() for case in bad.bad_requests()]


def send(name, rules, request):
    """Send a request, or what a function of the fake makes of it."""
    kind, method, *_ = FAKES[name]
    fake = kind(rules=rules, replies=replies())
    return getattr(fake, method)(**(request(fake) if callable(request) else request))


@pytest.mark.parametrize(("name", "rule", "request_", "expected"), CASES)
def test_rule_left_out_lets_its_example_pass(name, rule, request_, expected):
    rules = FAKES[name][2]
    with pytest.raises(FakeProviderError, match=expected):
        send(name, rules, request_)
    assert send(name, [each for each in rules if each.name != rule], request_)


@pytest.mark.parametrize("name", FAKES)
def test_each_rule_has_an_example(name):
    _, _, rules, bad = FAKES[name]
    names = [rule.name for rule in rules]
    assert sorted(set(names)) == sorted(names)
    assert {rule for rule, *_ in bad.bad_requests()} == set(names)


WHOLE = bad_anthropic.says(bad_anthropic.search(), bad_anthropic.found(), bad_anthropic.text("Found."))
CALL, FOUND = bad_anthropic.search(), bad_anthropic.found()
USE, RESULT = bad_anthropic.use("a"), bad_anthropic.user(bad_anthropic.result("a"))
GO, SAYS = bad_anthropic.GO, bad_anthropic.says
SERVER_TOOLS = {
    "in one answer": [GO, WHOLE, GO],
    "in two messages after pause_turn": [GO, SAYS(CALL), SAYS(FOUND), GO],
    "open at the very end": [GO, SAYS(bad_anthropic.text("I search."), CALL)],
    "goes on after results of the client's tools": [GO, SAYS(CALL, USE), RESULT, SAYS(FOUND), GO],
    "open while the client's tool has answered": [GO, SAYS(CALL, USE), RESULT],
    "of a remote server": [
        GO,
        SAYS(bad_anthropic.search(kind="mcp_tool_use"), bad_anthropic.found(kind="mcp_tool_result")),
        GO,
    ],
}


@pytest.mark.parametrize("name", SERVER_TOOLS)
def test_server_tools_with_their_results_are_accepted(name):
    assert FakeAnthropic().create(messages=SERVER_TOOLS[name])["stop_reason"] == "end_turn"


BLANK = [{"type": "tool_result", "tool_use_id": "a", "content": content} for content in ("", "\n", [])]


@pytest.mark.parametrize("result", BLANK, ids=["empty", "blank", "no blocks"])
def test_results_of_nothing_are_accepted(result):
    assert FakeAnthropic().create(messages=[GO, SAYS(USE), bad_anthropic.user(result)])["stop_reason"] == "end_turn"


def test_empty_text_with_a_signature_is_accepted():
    """Gemini 3 returns the signature of a text in a part of its own."""
    signed = bad_gemini.model({"text": "Done."}, {"text": "", **bad_gemini.SIGNED})
    contents = [bad_gemini.GO, signed, bad_gemini.GO]
    assert FakeGemini().generate_content(contents=contents)["candidates"]


def test_server_tools_of_gemini_with_responses_are_accepted():
    found, search = bad_gemini.FOUND, bad_gemini.SEARCH
    whole = bad_gemini.model(search, found, {"text": "Found."})
    split = [
        bad_gemini.model(search, bad_gemini.call()),
        bad_gemini.user(bad_gemini.response()),
        bad_gemini.model(found),
    ]
    for contents in ([bad_gemini.GO, whole, bad_gemini.GO], [bad_gemini.GO, *split, bad_gemini.GO]):
        assert FakeGemini().generate_content(contents=contents)["candidates"]


def test_outputs_of_the_responses_api_may_come_late():
    items = [
        bad_items.GO,
        bad_items.call(),
        bad_items.says({"type": "output_text", "text": "Wait."}),
        bad_items.output(),
    ]
    assert FakeOpenAIResponses().create(input=items)["status"] == "completed"
