"""The Responses API: what removes reasoning, what is refused, and what compaction keeps."""

from copy import deepcopy
from typing import Any

import pytest

from backscroll.evaluation.fake_providers import Call, FakeOpenAIResponses, FakeProviderError, Reply, Text, Thinking
from tests.evaluation.fake_providers.talks import Items, items, replies

GO = {"role": "user", "content": "Go."}


def at(made, kind, number=0):
    """Index of the item of a type."""
    return [place for place, item in enumerate(made.items) if item.get("type") == kind][number]


def reasoning_ids(made):
    return [item["id"] for item in made.items if item.get("type") == "reasoning"]


def edit(kind, number, **fields):
    def change(made):
        made.items[at(made, kind, number)].update(fields)

    return change


def reorder(made):
    first, second = at(made, "function_call_output", 0), at(made, "function_call_output", 1)
    made.items[first], made.items[second] = made.items[second], made.items[first]


def replace_by_summary(made):
    """Our own summary before recent turns."""
    made.items[: at(made, "function_call_output", 0) + 1] = [{"role": "user", "content": "Summary."}]


INVALID = {
    "edit the first message": lambda made: made.items[0].update(content="Fix a bug."),
    "render it as a list": lambda made: made.items[0].update(content=[{"type": "input_text", "text": "Fix the bug."}]),
    "shorten a result": edit("function_call_output", 0, output="42"),
    "change arguments": edit("function_call", 0, arguments="{}"),
    "replace turns by a summary": replace_by_summary,
    "delete a message": lambda made: made.items.pop(0),
    "insert a message": lambda made: made.items.insert(0, GO),
    "add a tool": lambda made: made.request["tools"].append({**made.request["tools"][0], "name": "c"}),
    "reorder tools": lambda made: made.request["tools"].reverse(),
    "edit a tool": lambda made: made.request["tools"][0].update(description="Changed."),
    "change the format": lambda made: made.request.update(text={"format": {"type": "json_object"}}),
}
VALID = {
    "nothing": lambda made: None,
    "append": lambda made: made.items.append({"role": "developer", "content": "Be brief."}),
    "append tools": lambda made: made.items.append({"type": "additional_tools", "role": "developer", "tools": []}),
    "append an update": lambda made: made.items.append({"type": "configuration_update", "reasoning": {}}),
    "change instructions": lambda made: made.request.update(instructions="Another."),
    "change verbosity": lambda made: made.request["text"].update(verbosity="low"),
    "change tool_choice": lambda made: made.request.update(tool_choice="none"),
}


@pytest.fixture
def made():
    found = items()
    assert len(reasoning_ids(found)) == 5
    return found


@pytest.mark.parametrize("name", INVALID)
def test_changed_prefix_removes_reasoning_and_succeeds(made, name):
    INVALID[name](made)
    response = made.fake.create(**made.request)
    assert response["status"] == "completed"
    found = response["input_transformations"]
    assert {(each["type"], each["action"], each["reason"]) for each in found} == {
        ("reasoning", "removed", "prefix_mismatch")
    }
    ids = reasoning_ids(made)
    assert [each["id"] for each in found] == ids[len(ids) - len(found) :]


@pytest.mark.parametrize("name", INVALID)
def test_changed_prefix_is_refused_with_on_mismatch_error(name):
    made = items(FakeOpenAIResponses(replies=replies(), on_mismatch="error"))
    INVALID[name](made)
    with pytest.raises(FakeProviderError, match="has another prefix") as caught:
        made.fake.create(**made.request)
    assert caught.value.status_code == 400


@pytest.mark.parametrize("name", VALID)
def test_unchanged_prefix_keeps_reasoning(made, name):
    VALID[name](made)
    assert made.fake.create(**made.request)["input_transformations"] == []


def test_cache_breakpoints_are_no_part_of_the_prefix(made):
    part: dict[str, Any] = {"type": "input_text", "text": "More."}
    made.items.append({"role": "user", "content": [part]})
    made.send()
    made.items.append(GO)
    part["prompt_cache_breakpoint"] = {"mode": "explicit"}
    assert made.fake.create(**made.request)["input_transformations"] == []


@pytest.mark.parametrize("name", INVALID)
def test_earlier_models_remove_nothing(name):
    made = items(FakeOpenAIResponses(model="gpt-6.1-sol", replies=replies()))
    INVALID[name](made)
    assert made.fake.create(**made.request)["input_transformations"] == []


def test_change_removes_only_what_follows_it(made):
    edit("function_call_output", 1, output="[cleared]")(made)
    found = made.fake.create(**made.request)["input_transformations"]
    assert [each["id"] for each in found] == reasoning_ids(made)[2:]


def test_reasoning_made_after_a_change_stays(made):
    edit("function_call_output", 0, output="[cleared]")(made)
    assert len(made.send()["input_transformations"]) == 4
    made.say("Next.")
    found = made.fake.create(**made.request)["input_transformations"]
    assert [each["id"] for each in found] == reasoning_ids(made)[1:5]


def test_removed_reasoning_is_not_billed(made):
    before = made.fake.count_tokens(**made.request)["input_tokens"]
    made.items[0]["content"] = "Fix the BUG."
    after = made.fake.count_tokens(**made.request)["input_tokens"]
    reasoning = [
        {key: value for key, value in item.items() if key != "id"}
        for item in made.items
        if item.get("type") == "reasoning"
    ]
    assert before - after == sum(made.fake._tokens(item) for item in reasoning)


def test_reasoning_inside_a_reply_is_bound_to_that_reply():
    parts = (Thinking("a"), Text("One."), Thinking("b"), Text("Two."))
    made = Items(FakeOpenAIResponses(replies=[Reply(parts)]))
    made.send()
    made.items.append(GO)
    assert made.fake.create(**made.request)["input_transformations"] == []
    made.items[2]["content"][0]["text"] = "Uno."
    found = made.fake.create(**made.request)["input_transformations"]
    assert [each["id"] for each in found] == reasoning_ids(made)[1:]


def test_ids_and_status_are_no_part_of_the_prefix(made):
    for item in made.items:
        if item.get("type") != "reasoning":
            item.pop("id", None)
            item.pop("status", None)
    assert made.fake.create(**made.request)["input_transformations"] == []


def test_downgrade_removes_reasoning_until_the_model_is_back(made):
    found = made.fake.create(**{**made.request, "model": "gpt-6.1-sol"})["input_transformations"]
    assert {each["reason"] for each in found} == {"model_mismatch"}
    assert len(found) == 5
    assert made.fake.create(**made.request)["input_transformations"] == []


def test_another_organization_cannot_read_reasoning(made):
    found = made.fake.for_account("other").create(**made.request)["input_transformations"]
    assert {each["reason"] for each in found} == {"organization_mismatch"}


# -- compaction --


def test_compaction_item_keeps_later_reasoning(made):
    """The kept turns were made before it; what stood before them is gone."""
    cut = at(made, "message")
    output = made.fake.compact(input=made.items[: cut + 1], tools=made.request["tools"])["output"]
    assert [item["type"] for item in output] == ["message", "compaction"]
    made.items[: cut + 1] = output
    assert len(reasoning_ids(made)) == 2
    assert made.send()["input_transformations"] == []
    made.say("Next.")
    made.items[:1] = []
    assert made.fake.create(**made.request)["input_transformations"] == [], "what is before the item may go"


def test_reasoning_made_after_a_compaction_is_bound_from_there(made):
    output = made.fake.compact(input=made.items)["output"]
    made.items[:] = [*output, {"role": "user", "content": "Next."}]
    made.send()
    made.say("More.")
    assert made.fake.create(**made.request)["input_transformations"] == []
    made.items[len(output)]["content"] = "Changed."
    assert len(made.fake.create(**made.request)["input_transformations"]) == 1


def test_compaction_items_are_verified(made):
    output = made.fake.compact(input=made.items)["output"]
    output[-1]["encrypted_content"] += "x"
    with pytest.raises(FakeProviderError, match=r"The encrypted content .* could not be verified"):
        made.fake.create(**{**made.request, "input": [*output, GO]})


def test_trigger_compacts_now(made):
    made.items.append({"type": "compaction_trigger"})
    response = made.fake.create(**made.request)
    assert [item["type"] for item in response["output"]] == ["compaction"]


def test_threshold_puts_the_item_before_the_reply(made):
    made.request["context_management"] = [{"type": "compaction", "compact_threshold": 100}]
    assert [item["type"] for item in made.send()["output"]] == ["compaction", "reasoning", "message"]
    del made.request["context_management"]
    made.say("Next.")
    assert made.fake.create(**made.request)["input_transformations"] == []
    del made.items[: at(made, "compaction")]
    assert made.fake.create(**made.request)["input_transformations"] == []


def test_configuration_before_a_compaction_needs_another(made):
    item = made.fake.compact(input=made.items)["output"][-1]
    update = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    with pytest.raises(FakeProviderError, match="The 'configuration_update' item type is not supported"):
        made.fake.create(input=[GO, update, item, GO])
    assert made.fake.create(input=[GO, update, item, update, GO])["status"] == "completed"


# -- pairs and neighbors --


def call(known="call_1", **fields):
    return {"type": "function_call", "call_id": known, "name": "a", "arguments": "{}", **fields}


def output(known="call_1"):
    return {"type": "function_call_output", "call_id": known, "output": "42"}


REFUSED = {
    "no input": ([], r"Missing required parameter: 'input'"),
    "text in the list": (["Go."], r"Invalid type for 'input\[0\]'"),
    "call without output": ([GO, call()], r"^No tool output found for function call call_1\.$"),
    "one of two": ([GO, call(), call("call_2"), output()], "No tool output found for function call call_2"),
    "output without call": ([GO, output()], "No tool call found for function call output with call_id call_1"),
    "output before call": ([GO, output(), call()], "No tool call found for function call output"),
    "custom call": (
        [GO, {"type": "custom_tool_call", "call_id": "c", "name": "a", "input": ""}],
        "No tool output found for custom tool call c",
    ),
    "unknown type": ([{"type": "tool_use"}], r"Invalid value: 'tool_use'\. Supported values are"),
    "role tool": ([GO, {"role": "tool", "content": "42"}], r"Invalid value: 'tool'"),
    "missing field": ([GO, {"type": "function_call", "name": "a", "arguments": "{}"}], r"'input\[1\]\.call_id'"),
    "foreign field": ([{**GO, "metadata": {}}], r"Unknown parameter: 'input\[0\]\.metadata'"),
    "arguments as object": ([GO, {**call(), "arguments": {}}, output()], "expected a string"),
    "foreign blob": (
        [GO, {"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "x"}, GO],
        "The encrypted content .* could not be verified",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_request_is_refused_with_the_text(name):
    given, expected = REFUSED[name]
    with pytest.raises(FakeProviderError) as caught:
        FakeOpenAIResponses().create(input=given)
    caught.match(expected.strip("^$"))
    assert caught.value.status_code == 400
    assert caught.value.body["error"]["type"] == "invalid_request_error"


def test_reasoning_without_its_follower_is_refused(made):
    known = reasoning_ids(made)[0]
    expected = f"Item '{known}' of type 'reasoning' was provided without its required following item."
    for wrong in (made.items[:2], [*made.items[:2], GO]):
        with pytest.raises(FakeProviderError) as caught:
            made.fake.create(input=wrong)
        assert caught.value.message == expected


@pytest.mark.parametrize(("kind", "number"), [("function_call", 0), ("message", 0)])
def test_stored_item_without_its_reasoning_is_refused(kind, number):
    """Without its id nothing is required."""
    made = items(store=True)
    place = at(made, kind, number)
    known, gone = made.items[place]["id"], made.items.pop(place - 1)["id"]
    expected = f"Item '{known}' of type '{kind}' was provided without its required 'reasoning' item: '{gone}'."
    with pytest.raises(FakeProviderError) as caught:
        made.fake.create(**made.request)
    assert caught.value.message == expected
    del made.items[place - 1]["id"]
    assert made.fake.create(**made.request)["input_transformations"] == []


def test_parallel_calls_share_their_reasoning():
    parts = (Thinking("a"), Call("a"), Call("b"))
    made = Items(FakeOpenAIResponses(replies=[Reply(parts)]), store=True)
    made.send()
    made.results()
    assert made.fake.create(**made.request)["status"] == "completed"
    del made.items[1]
    with pytest.raises(FakeProviderError, match="without its required 'reasoning' item"):
        made.fake.create(**made.request)


def test_unstored_items_require_no_reasoning(made):
    stripped = [item for item in made.items if item.get("type") != "reasoning"]
    assert made.fake.create(**{**made.request, "input": stripped})["input_transformations"] == []


def test_stored_reasoning_comes_back_by_its_id():
    for store in (True, False):
        made = items(store=store)
        for item in made.items:
            item.pop("encrypted_content", None)
        if store:
            assert made.fake.create(**made.request)["input_transformations"] == []
        else:
            with pytest.raises(FakeProviderError, match="Items are not persisted when `store` is set to false"):
                made.fake.create(**made.request)


def test_removal_by_the_api_leaves_no_dangling_item():
    """The neighbors are judged as they were sent."""
    made = items(store=True)
    made.items[0]["content"] = "Changed."
    assert len(made.fake.create(**made.request)["input_transformations"]) == 5


# -- windows, options, cache --


def test_overflow_has_code_and_text():
    fake = FakeOpenAIResponses(window=100, count=len)
    with pytest.raises(FakeProviderError, match="exceeds the context window of this model") as caught:
        fake.create(input="x" * 100)
    assert caught.value.body["error"]["code"] == "context_length_exceeded"


@pytest.mark.parametrize(
    ("model", "largest"), [("gpt-6.2-astra", 922_000), ("gpt-5.4-mini", 272_000), ("gpt-4.1", 1_047_576)]
)
def test_window_is_that_of_the_model(model, largest):
    frame = len('{"content":"","role":"user","type":"message"}')
    fake = FakeOpenAIResponses(model=model, count=lambda text: len(text) - frame)
    assert fake.create(input="x" * largest)["usage"]["input_tokens"] == largest
    with pytest.raises(FakeProviderError, match="exceeds the context window"):
        fake.create(input="x" * (largest + 1))


def test_options_are_refused():
    for options, expected in (
        ({"temperature": 1}, "Unsupported parameter: 'temperature'"),
        ({"previous_response_id": "resp_1"}, "not found"),
        ({"tools": [{"type": "function", "function": {"name": "a"}}]}, r"'tools\[0\]\.name'"),
    ):
        with pytest.raises(FakeProviderError, match=expected):
            FakeOpenAIResponses().create(input="Go.", **options)
    assert FakeOpenAIResponses(model="gpt-5.4").create(input="Go.", temperature=1)["status"] == "completed"


def test_unknown_model_is_not_found():
    with pytest.raises(FakeProviderError, match="does not exist") as caught:
        FakeOpenAIResponses().create(model="claude-opus-5", input="Go.")
    assert caught.value.status_code == 404


def cached(response):
    usage = response["usage"]
    details = usage["input_tokens_details"]
    return usage["input_tokens"], details["cached_tokens"], details["cache_write_tokens"]


def test_usage_is_counted_by_hand():
    """A message of the user has 45 characters and its words; instructions of GPT-6.2 come last, uncached."""
    plain = FakeOpenAIResponses(count=len)
    first = {"type": "message", "role": "user", "content": "x" * 955}
    assert len('{"content":"","role":"user","type":"message"}') == 45
    assert cached(plain.create(input=[first])) == (1000, 0, 0)
    more = [first, {**first, "content": "y" * 55}]
    assert cached(plain.create(input=more)) == (1100, 0, 1100)
    assert cached(plain.create(input=more)) == (1100, 1100, 0)
    assert cached(plain.create(input=more, instructions="i" * 8)) == (1110, 1100, 0)
    assert cached(plain.create(input=more, prompt_cache_key="k")) == (1100, 0, 1100)
    assert cached(plain.create(input=more, tools=[{"type": "custom"}]))[1] == 0
    older = FakeOpenAIResponses(model="gpt-5.4", count=len)
    assert cached(older.create(input=more, instructions="i" * 8)) == (1110, 0, 0), "writes are free before 5.6"
    assert cached(older.create(input=more, instructions="j" * 8)) == (1110, 0, 0), "and instructions come first"


def test_reasoning_of_earlier_models_is_not_bound():
    made = items(FakeOpenAIResponses(model="gpt-6.1-sol", replies=replies()))
    made.items[0]["content"] = "Changed."
    assert made.fake.create(**{**made.request, "model": "gpt-6.2-sol"})["input_transformations"] == []


def test_two_fakes_answer_alike():
    assert items().request == items().request


def test_request_is_not_changed(made):
    before = deepcopy(made.request)
    made.fake.create(**made.request)
    assert made.request == before
