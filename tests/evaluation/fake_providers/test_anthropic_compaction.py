"""Compaction on demand and by threshold, and what thinking survives them."""

from copy import deepcopy

import pytest

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeProviderError, reply
from tests.evaluation.fake_providers.talks import (
    BINDING,
    CLEAR_AT,
    NEW,
    ON_DEMAND,
    TOOLS,
    Talk,
    replies,
    setting,
    talk,
    text,
    thinking_places,
    thinks,
)

GO = {"role": "user", "content": "Go."}


def compact(made, messages, **options):
    """Ask for a compaction of these messages; return the block."""
    request = {**deepcopy(made.request), "messages": deepcopy(messages), "compaction": {"type": "summarize"}, **options}
    response = made.fake.create(**request)
    assert response["stop_reason"] == "compaction"
    assert [block["type"] for block in response["content"]] == ["compaction"]
    return response["content"][0]


def swapped(made, block, kept):
    return setting({**made.request, "messages": [{"role": "assistant", "content": [block]}, *kept]}, "error")


@pytest.fixture
def made():
    """Five answers; the message before the cut is the user's, and the first kept one is the fourth answer."""
    return talk()


def test_swap_keeps_the_thinking_of_kept_turns(made):
    block = compact(made, made.messages[:8])
    kept = made.messages[8:]
    request = swapped(made, block, kept)
    assert len(thinking_places(request)) == 2
    assert made.fake.create(**request)["input_transformations"] == []


def test_thinking_made_after_a_swap_stays_valid(made):
    block = compact(made, made.messages[:8])
    made.request = swapped(made, block, made.messages[8:])
    for words in ("One.", "Two."):
        assert made.send()["input_transformations"] == []
        made.say(text(words))
    assert len(thinking_places(made.request)) == 4


def test_swap_twice_keeps_the_thinking(made):
    block = compact(made, made.messages[:8])
    made.request = swapped(made, block, made.messages[8:])
    made.send()
    made.say(text("More."))
    again = compact(made, made.messages[:3])
    assert again != block
    request = swapped(made, again, made.messages[3:])
    assert len(thinking_places(request)) == 2
    assert made.fake.create(**request)["input_transformations"] == []


def test_swap_in_the_background_keeps_turns_taken_meanwhile(made):
    """The messages of a request already sent are compacted; two assistant messages in a row are fine."""
    sent = deepcopy(made.messages)
    made.send()
    made.say(text("Meanwhile."))
    made.send()
    made.say(text("And now."))
    block = compact(made, sent)
    request = swapped(made, block, made.messages[len(sent) :])
    assert [message["role"] for message in request["messages"][:2]] == ["assistant", "assistant"]
    assert len(thinking_places(request)) == 2
    assert made.fake.create(**request)["input_transformations"] == []


def refused(made, request):
    with pytest.raises(FakeProviderError, match="bound to a different conversation"):
        made.fake.create(**request)
    found = made.fake.create(**setting(request, "drop_block"))["input_transformations"]
    assert {each["reason"] for each in found} == {"prefix_binding_mismatch"}
    return len(found)


def test_swap_loses_thinking_when_system_changes_after_it(made):
    block = compact(made, made.messages[:8])
    request = swapped(made, block, made.messages[8:])
    assert made.fake.create(**request)["input_transformations"] == []
    assert refused(made, {**request, "system": "Another."}) == 2


def test_swap_loses_thinking_when_tools_change(made):
    block = compact(made, made.messages[:8])
    assert refused(made, {**swapped(made, block, made.messages[8:]), "tools": TOOLS[:1]}) == 2


def test_swap_loses_thinking_when_the_roles_meet(made):
    """The last summarized message and the first kept one are both the user's."""
    half = deepcopy(made.messages[7])
    whole = [*made.messages[:7], {**half, "content": half["content"][:1]}, {**half, "content": half["content"][1:]}]
    made.messages[:] = whole
    made.send()
    made.say(text("Next."))
    block = compact(made, whole[:8])
    assert refused(made, swapped(made, block, made.messages[8:])) == 1


def test_swap_loses_thinking_when_a_system_message_follows(made):
    block = compact(made, made.messages)
    made.messages.append({"role": "system", "content": "Be brief."})
    made.send()
    made.say(text("Next."))
    assert refused(made, swapped(made, block, made.messages[-3:])) == 1


def test_swap_loses_thinking_when_a_message_between_is_missing(made):
    block = compact(made, made.messages[:6])
    assert refused(made, swapped(made, block, made.messages[8:])) == 2


def test_swap_loses_thinking_when_a_kept_turn_changes(made):
    block = compact(made, made.messages[:8])
    kept = deepcopy(made.messages[8:])
    kept[1]["content"][0]["content"] = "[cleared]"
    assert refused(made, swapped(made, block, kept)) == 1


def test_swap_loses_thinking_when_summarized_messages_stay(made):
    """A mistake that raises no error by itself."""
    block = compact(made, made.messages[:8])
    assert refused(made, swapped(made, block, made.messages[7:])) == 2
    assert made.fake.create(**swapped(made, block, made.messages[-1:]))["input_transformations"] == []


def test_swap_by_a_model_without_preserved_thinking_loses_it(made):
    block = compact(made, made.messages[:8], model="claude-opus-5")
    assert refused(made, swapped(made, block, made.messages[8:])) == 2


def test_own_summary_with_a_kept_tail_loses_its_thinking(made):
    """Strip it, or drop it on this and every later request."""
    own = [{"role": "user", "content": "Summary: all is well."}, *made.messages[8:]]
    assert refused(made, {**made.request, "messages": own}) == 2
    made.request = setting({**made.request, "messages": own}, "drop_block")
    for expected in (2, 2):
        assert len(made.send()["input_transformations"]) == expected
        made.say(text("Next."))


def test_usage_of_a_compaction_is_in_its_iterations(made):
    prompt = made.fake.count_tokens(**made.request)["input_tokens"]
    usage = made.fake.create(**made.request, compaction={"type": "summarize"})["usage"]
    assert usage["input_tokens"] == usage["output_tokens"] == 0
    (iteration,) = usage["iterations"]
    assert iteration["type"] == "compaction"
    assert iteration["input_tokens"] == prompt
    assert iteration["output_tokens"] > 0


def error_code(made, request):
    with pytest.raises(FakeProviderError) as caught:
        made.fake.create(**request)
    assert caught.value.status_code == 400
    return caught.value.body["error"]["details"]["error_code"]


def test_block_is_first_alone_and_unaltered(made):
    block = compact(made, made.messages[:8])
    kept = made.messages[8:]
    one = {"role": "assistant", "content": [block]}
    good = swapped(made, block, kept)
    for messages, code in (
        ([GO, one, *kept], "compaction_block_misplaced"),
        ([one, one, *kept], "compaction_block_ambiguous"),
        ([{**one, "content": [{**block, "signature": "x"}]}, *kept], "compaction_signature_invalid"),
        ([{**one, "content": [{**block, "content": "x"}]}, *kept], "compaction_content_mismatch"),
        ([{**one, "content": [{**block, "tool_changes": []}]}, *kept], "compaction_tool_changes_mismatch"),
    ):
        assert error_code(made, {**good, "messages": messages}) == code


def test_block_refuses_other_fields(made):
    block = {**compact(made, made.messages[:8]), "citations": None}
    with pytest.raises(FakeProviderError, match=r"compaction\.citations: Extra inputs are not permitted"):
        made.fake.create(**swapped(made, block, made.messages[8:]))


def test_block_needs_its_header_on_every_request(made):
    block = compact(made, made.messages[:8])
    request = swapped(made, block, made.messages[8:])
    with pytest.raises(FakeProviderError, match="does not match any of the expected tags"):
        made.fake.create(**{**request, "betas": [BINDING, CLEAR_AT]})


def test_compaction_refuses_what_it_cannot_be_combined_with(made):
    request = {**made.request, "compaction": {"type": "summarize"}}
    for options in (
        {"stop_sequences": ["x"]},
        {"tool_choice": {"type": "any"}},
        {"output_config": {"format": {"type": "json_schema"}}},
        {"context_management": {"edits": [{}]}, "betas": [*request["betas"], "compact-2026-01-12"]},
    ):
        with pytest.raises(FakeProviderError, match="cannot be combined with"):
            made.fake.create(**{**request, **options})
    with pytest.raises(FakeProviderError, match="at most 16384 characters"):
        made.fake.create(**{**request, "compaction": {"type": "summarize", "instructions": "x" * 16_385}})
    model = {"model": "claude-haiku-4-5", "messages": [GO], "tools": []}
    with pytest.raises(FakeProviderError, match="does not support compaction"):
        made.fake.create(**{**request, **model})


def test_compaction_in_an_open_tool_round_is_refused(made):
    request = {**made.request, "messages": made.messages[:3], "compaction": {"type": "summarize"}}
    assert error_code(made, request) == "compaction_incomplete_turn"


def test_compaction_of_nothing_is_refused(made):
    block = compact(made, made.messages[:8])
    request = {**swapped(made, block, []), "compaction": {"type": "summarize"}}
    assert error_code(made, request) == "compaction_nothing_to_summarize"


def test_compaction_that_fails_has_no_content():
    fake = FakeAnthropic(replies=[reply(calls=[("read", {})]), reply("")])
    for expected in ("tool_use", "end_turn"):
        response = fake.create(messages=[GO], betas=[ON_DEMAND], compaction={"type": "summarize"})
        assert (response["content"], response["stop_reason"]) == ([], expected)


# -- by threshold --


def by_threshold():
    fake = FakeAnthropic(account_created=NEW, replies=replies())
    made = Talk(fake, betas=[BINDING, "compact-2026-01-12"])
    made.say(text("Fix the bug."))
    made.send()
    made.results()
    made.send()
    made.results()
    made.request["context_management"] = {
        "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 100}}]
    }
    made.send()
    made.request["context_management"] = {
        "edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 100_000}}]
    }
    made.say(text("Next."))
    return made


def test_threshold_block_comes_first_in_the_reply():
    made = by_threshold()
    assert [block["type"] for block in made.messages[-2]["content"]] == ["compaction", "thinking", "text"]


def test_threshold_block_restarts_the_prefix():
    """What is before the newest block is ignored: it may change, stay or go, and is not billed."""
    made = by_threshold()
    used = [made.fake.count_tokens(**made.request)["input_tokens"]]
    assert made.fake.create(**made.request)["input_transformations"] == []
    made.messages[0]["content"][0]["text"] = "Changed."
    used.append(made.fake.count_tokens(**made.request)["input_tokens"])
    assert made.fake.create(**made.request)["input_transformations"] == []
    del made.messages[:5]
    used.append(made.fake.count_tokens(**made.request)["input_tokens"])
    assert made.fake.create(**made.request)["input_transformations"] == []
    assert len(set(used)) == 1


def test_thinking_after_a_threshold_block_is_bound_to_it():
    made = by_threshold()
    made.messages[-2]["content"][0] = {"type": "compaction", "content": "Another summary."}
    with pytest.raises(FakeProviderError, match="bound to a different conversation"):
        made.fake.create(**made.request)


def test_older_turns_put_before_kept_thinking_are_refused():
    made = by_threshold()
    made.messages[-2]["content"].pop(0)
    with pytest.raises(FakeProviderError, match="bound to a different conversation"):
        made.fake.create(**made.request)


def test_failed_threshold_block_is_no_operation():
    made = Talk(FakeAnthropic(replies=[thinks("One."), thinks("Two.")]), betas=[BINDING, "compact-2026-01-12"])
    made.say(text("Go."))
    made.send()
    made.messages[1]["content"].insert(0, {"type": "compaction", "content": None})
    made.say(text("Next."))
    assert made.send()["input_transformations"] == []
