"""Where a rule ends: what is nearly a fault and none, so that no finding is a false one."""

import copy
from typing import Any

import pytest

from backscroll.evaluation.lint import Finding
from backscroll.evaluation.lint.talk import Usage
from tests.evaluation.lint.agents import (
    MARK,
    PNG,
    PROMPT,
    Body,
    anthropic,
    bedrock,
    chat,
    found_in,
    found_in_transcript,
    gemini,
    responses,
    text_of,
)
from tests.evaluation.lint.faults import transcript


def rules(found: list[Finding]) -> list[str]:
    return [each.rule for each in found]


# -- the prefix --


def test_requests_that_continue_on_the_server_share_no_prefix() -> None:
    """With `previous_response_id`, `input` is only what is new, and a result in it may answer a call on the server."""
    bodies = responses(14)
    for at, body in enumerate(bodies[1:], 1):
        body["input"] = [body["input"][-1], {"role": "user", "content": PROMPT}]
        body["previous_response_id"] = f"resp_{at}"
    assert found_in(bodies) == []


def test_a_change_before_a_short_rest_is_no_finding() -> None:
    bodies = chat(6)
    bodies[-1]["messages"][-3]["content"] = "nothing"
    assert found_in(bodies) == []


def test_a_change_without_marks_costs_nothing() -> None:
    """Nothing was cached, which `no-marks` says."""
    bodies = anthropic()
    for at, body in enumerate(bodies):
        body["system"] = f"{at} {body['system'][0]['text']}"
        body["messages"] = [{"role": "user", "content": "Go."}, *body["messages"][1:]]
        for message in body["messages"][1:]:
            message["content"] = [
                {key: value for key, value in block.items() if key != "cache_control"}
                for block in message["content"]
                if block["type"] != "thinking"
            ]
    (found,) = found_in(bodies)
    assert (found.rule, found.tokens, found.cost) == ("volatile-prefix", 0, 0)


def test_an_edit_whose_savings_pay_is_no_finding() -> None:
    """A long result leaves early: each of the many requests behind it is shorter."""
    bodies = chat(70)
    for at, body in enumerate(bodies[2:], 2):
        body["messages"][5]["content"] = "cleared" if at >= 9 else text_of(1) + text_of(2)[:300]
    assert found_in(bodies) == []


def test_an_edit_that_frees_much_is_no_finding_at_the_end() -> None:
    """It may have been due to the window, however few requests follow."""
    bodies = chat(20)
    for at in (5, 7, 9, 11, 13):
        bodies[-1]["messages"][at]["content"] = "cleared"
    assert found_in(bodies) == []


def test_the_newest_of_equal_branches_is_gone_on_from() -> None:
    """The user takes two answers back; the requests after that are no edit of the first branch."""
    bodies = chat(16)
    other = copy.deepcopy(bodies[10:])
    for body in other:
        body["messages"][3]["content"] = "another result"
    assert rules(found_in([*bodies[:11], *other])) == ["small-compaction"]


# -- reasoning --


def edited(model: str) -> list[Body]:
    bodies = anthropic(model=model)
    bodies[-1]["messages"][10]["content"][0]["content"] = "shortened"
    return bodies


@pytest.mark.parametrize(
    ("model", "severities"),
    [("claude-opus-5-5", ["error"]), ("claude-sonnet-4-6", []), ("claude-next", ["warning"]), ("claude-opus-5", [])],
)
def test_edits_before_reasoning_matter_to_models_that_bind_it(model: str, severities: list[str]) -> None:
    assert [each.severity for each in found_in(edited(model)) if each.rule == "stale-reasoning"] == severities


def test_a_dropped_block_is_a_warning() -> None:
    bodies = edited("claude-opus-5-5")
    for body in bodies:
        body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert [(each.rule, each.severity) for each in found_in(bodies)] == [("stale-reasoning", "warning")]


def test_a_result_shortened_after_its_first_request_is_an_edit() -> None:
    """The model saw it whole when it made the reasoning behind it."""
    bodies = anthropic()
    bodies[-1]["messages"][12]["content"][0]["content"] = "shortened"
    (found,) = found_in(bodies)
    assert (found.rule, str(found.place)) == ("stale-reasoning", "request 8, messages[13].content[0]")


def test_the_oldest_reasoning_may_leave() -> None:
    bodies = anthropic(4)
    del bodies[-1]["messages"][1]["content"][0]
    assert found_in(bodies) == []
    for at in (3, 5):
        del bodies[-1]["messages"][at]["content"][0]
    assert found_in(bodies) == []


def test_a_compaction_by_the_provider_keeps_later_reasoning() -> None:
    bodies = anthropic()
    block = {"type": "compaction", "content": "All was well.", "signature": "sealed" * 9}
    bodies[-1]["messages"] = [{"role": "assistant", "content": [block]}, *bodies[-1]["messages"][10:]]
    assert "stale-reasoning" not in rules(found_in(bodies))


def test_reasoning_may_be_missing_where_no_provider_asks() -> None:
    old = gemini()
    for body in old:
        body["model"] = "gemini-2.5-pro"
        for message in body["contents"]:
            for part in message["parts"]:
                part.pop("thoughtSignature", None)
    assert found_in(old) == []
    earlier = gemini()
    earlier[-1]["contents"].append({"role": "user", "parts": [{"text": "And now?"}]})
    del earlier[-1]["contents"][1]["parts"][0]["thoughtSignature"]
    assert "missing-reasoning" not in rules(found_in(earlier))
    off = chat(model="deepseek-v4-pro")
    for body in off:
        body["thinking"] = {"type": "disabled"}
        for message in body["messages"]:
            message.pop("reasoning_content", None)
    assert found_in(off) == []


# -- marks --


def with_calls(count: int) -> list[Body]:
    """A step with so many calls: as many blocks of calls, and as many of results."""
    bodies = anthropic()
    body = copy.deepcopy(bodies[-1])
    del body["messages"][-1]["content"][-1]["cache_control"]
    ids = [f"many_{at}" for at in range(count)]
    calls = [{"type": "tool_use", "id": known, "name": "run", "input": {}} for known in ids]
    results: list[Body] = [{"type": "tool_result", "tool_use_id": known, "content": "ok"} for known in ids]
    results[-1].update(MARK)
    body["messages"] += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    return [*bodies, body]


def test_a_mark_reaches_twenty_blocks_its_own_included() -> None:
    assert found_in(with_calls(9)) == []  # 18 blocks behind the one that was written: the twentieth is written
    bodies = with_calls(9)
    bodies[-1]["messages"][-2]["content"].append({"type": "text", "text": "One more block."})
    assert found_in(bodies) == []
    bodies[-1]["messages"][-2]["content"].append({"type": "text", "text": "And another one."})
    assert rules(found_in(bodies)) == ["lookback"]


def test_a_mark_that_misses_little_is_no_finding() -> None:
    """The mark of the system prompt is read, and behind it is less than a cache holds at least."""
    bodies = with_calls(12)
    del bodies[2:8]
    last = bodies[-1]["messages"]
    bodies[-1]["messages"] = [*bodies[1]["messages"][:2], *copy.deepcopy(bodies[1]["messages"][2:]), *last[-2:]]
    del bodies[-1]["messages"][2]["content"][-1]["cache_control"]
    assert found_in(bodies) == []


def test_a_second_mark_in_a_long_step_reaches() -> None:
    bodies = with_calls(12)
    bodies[-1]["messages"][-2]["content"][-1].update(MARK)
    assert found_in(bodies) == []


# -- pauses --


@pytest.mark.parametrize(
    "after",
    [
        Usage(1_400, 20_000, 900, 20_900, 300),  # the cache was read all the same
        Usage(1_250, 0, 20_900, 20_900, 300),  # it had not expired: something else broke it
        Usage(1_400, 0, 5_000, 5_000, 300),  # a compaction: little was written
        Usage(1_400, 0, 20_900, 20_900, 3_600),  # it lived for an hour
    ],
)
def test_a_pause_that_wrote_no_prompt_again_is_no_finding(after: Usage) -> None:
    recorded = [None, None, Usage(1_000, 0, 20_000, 20_000, 300), None, after]
    assert found_in_transcript(transcript(), recorded=recorded) == []


# -- sizes and content --


def test_small_repeats_and_tools_of_short_talks_are_no_finding() -> None:
    messages = transcript()
    for at in (5, 7, 9):
        messages[at]["content"] = messages[5]["content"]
    assert found_in_transcript(messages) == []
    bodies = anthropic(4)
    for body in bodies:
        body["tools"] += [{"name": f"t{at}", "description": "What it does. " * 60} for at in range(8)]
    assert found_in(bodies) == []


def test_a_result_of_a_third_is_large_and_of_a_tenth_is_not() -> None:
    long = {"role": "user", "content": "".join(f"line {at}: {at * at}\n" for at in range(20_000))}
    messages = transcript()
    messages[3]["content"] = "".join(f"row {at}: {at * at}\n" for at in range(4_000))
    assert rules(found_in_transcript(messages)) == ["large-result"]
    assert found_in_transcript([messages[0], long, *messages[1:]]) == []


def image(size: int) -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": size}}


def test_more_than_twenty_images_lower_the_limit_of_their_edges() -> None:
    wide: Any = "iVBORw0KGgoAAAANSUhEUgAAC7gAAAAQCAIAAAC"  # a header of 3,000 x 16 px
    bodies = anthropic()
    bodies[-1]["messages"][14]["content"] += [image(wide)] + [image(PNG)] * 19  # type: ignore[arg-type]
    assert found_in(bodies) == []
    bodies[-1]["messages"][14]["content"].append(image(PNG))  # type: ignore[arg-type]
    (found,) = found_in(bodies)
    assert (found.rule, found.count) == ("image-limits", 1)
    assert "3,000 pixels; 2,000 are accepted where a request holds more than 20 images" in found.what


def test_calls_that_may_still_run_are_no_orphans_in_a_transcript() -> None:
    messages = transcript()[:-2]
    assert found_in_transcript(messages) == []
    assert rules(found_in_transcript([*messages, {"role": "assistant", "content": "?"}])) == ["orphan-call"]


def test_ids_may_come_again_where_results_directly_follow() -> None:
    messages = transcript()
    for at in range(2, len(messages) - 1, 2):
        messages[at]["tool_calls"][0]["id"] = messages[at + 1]["tool_call_id"] = "call"
    assert found_in_transcript(messages) == []


def test_empty_texts_that_are_accepted_are_no_finding() -> None:
    messages = transcript()
    messages[-1:] = [{"role": "assistant", "content": ""}, {"role": "user", "content": ""}]
    assert found_in_transcript([*messages, {"role": "assistant", "content": None}]) == []


def test_a_system_prompt_that_conversations_share_is_no_note() -> None:
    from backscroll.evaluation.lint import Talk, lint_all
    from tests.evaluation.lint.agents import costs

    messages = transcript()
    messages[0]["content"] += "\nThe current time is 2026-05-15 15:00:00.\n"
    talks = [Talk("one", messages), Talk("two", messages[:4])]
    assert [rules(found) for found in lint_all(talks, costs())] == [[], []]
    assert rules(found_in_transcript(messages)) == ["volatile-prefix"]


def test_a_result_before_its_call_is_misordered_and_no_orphan() -> None:
    messages = transcript()
    messages[2:4] = messages[3:1:-1]
    assert rules(found_in_transcript(messages)) == ["misordered"]


def test_ids_may_come_again_in_the_shape_of_bedrock() -> None:
    """Only Anthropic's API says that they have to be unique."""
    bodies = bedrock(3)
    for body in bodies:
        for message in body["messages"][1:]:
            block = next(iter(message["content"][0].values()))
            block["toolUseId"] = "same"
    assert found_in(bodies) == []


ANTHROPIC_TURNS: list[Body] = [
    {"role": "user", "content": "Look it up."},
    {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
            {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "run", "input": {}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "b"}]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True},
            {"type": "text", "text": "And?"},
        ],
    },
    {"role": "system", "content": "Be brief from now on."},
]
ITEMS: list[Body] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Do it."},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed" * 9},
    {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}, "status": "completed"},
    {"type": "function_call", "call_id": "c1", "name": "run", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "x"},
    {"type": "local_shell_call", "id": "l1", "call_id": "c3", "action": {}, "status": "completed"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "ok"}]},
    {"type": "local_shell_call_output", "id": "c3", "output": "ok"},
    {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "sealed2" * 9},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    {"type": "compaction", "encrypted_content": "sealed3" * 9},
    {"role": "user", "content": "Thanks."},
]
CONTENTS: list[Body] = [
    {"parts": [{"text": "Run both."}]},
    {
        "role": "model",
        "parts": [
            {"text": "I think.", "thought": True},
            {"functionCall": {"name": "run", "args": {}}, "thoughtSignature": "s" * 9},
            {"functionCall": {"name": "run", "args": {}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "run", "response": {"output": "a"}}},
            {"functionResponse": {"name": "run", "response": {"output": "b"}}},
        ],
    },
]
PARALLEL: list[Body] = [
    {"role": "user", "content": [{"type": "text", "text": "Run both."}]},
    {
        "role": "assistant",
        "content": "",
        "refusal": None,
        "tool_calls": [
            {"id": known, "type": "function", "function": {"name": "run", "arguments": ""}} for known in ("a", "b")
        ],
    },
    {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "ok"}]},
    {"role": "tool", "tool_call_id": "a", "content": ""},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    {"role": "user", "content": "Why?", "name": "ann"},
]


@pytest.mark.parametrize(
    "body",
    [
        {"model": "claude-opus-5-5", "max_tokens": 9, "messages": ANTHROPIC_TURNS},
        {"model": "gpt-6.2-sol", "input": ITEMS},
        {"model": "gpt-5.4", "input": "Hello."},
        {"model": "gemini-3.8-flash", "contents": CONTENTS},
        {"model": "gpt-5.4", "messages": PARALLEL, "tools": []},
    ],
)
def test_valid_requests_of_rare_shapes_are_no_finding(body: Body) -> None:
    assert found_in([body]) == []
    assert found_in([body, copy.deepcopy(body)]) == []


def test_time_in_the_prompt_of_a_single_request_is_a_note() -> None:
    """Nothing shows whether the next request writes it again."""
    body = {
        "model": "claude-opus-5-5",
        "system": "Be brief.\nThe current time is 2026-05-15 15:00:00.",
        "messages": [{"role": "user", "content": "Hello."}],
    }
    (found,) = found_in([body])
    assert (found.rule, found.severity, str(found.place)) == ("volatile-prefix", "note", "request 1, system[0]")
