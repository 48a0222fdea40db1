"""What counts as a change of the prefix: each row of "Preserved thinking" (Claude Platform Docs), applied by hand."""

import re
from copy import deepcopy

import pytest

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeProviderError, Reply, Text, Thinking, reply
from tests.evaluation.fake_providers.talks import (
    BINDING,
    NEW,
    OLD,
    REMINDER,
    TOOLS,
    Talk,
    image,
    replies,
    setting,
    talk,
    text,
    thinking_places,
    thinks,
    without_thinking,
)

BOUND = re.compile(
    r"Invalid .signature. in .(redacted_)?thinking. block\. The block is bound to a different conversation"
)


def edit(path, value):
    """A change of the request: the value at a path of keys and indexes."""

    def change(request):
        place = request
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


def remove(*path):
    def change(request):
        place = request
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return change


def delete_a_round(request):
    del request["messages"][2:4]


def reorder(request):
    """The rounds of two calls change places."""
    messages = request["messages"]
    messages[2:4], messages[4:6] = messages[4:6], messages[2:4]


def reminder_into_system(request):
    request["system"].append(text(request["messages"].pop(1)["content"]))


def remove_middle_thinking(request):
    request["messages"] = without_thinking(request, 2)["messages"]


INVALID = {
    "edit the first message": edit(["messages", 0, "content"], "Fix a bug."),
    "render the first message as blocks": edit(["messages", 0, "content"], [text("Fix the bug.")]),
    "shorten an old result": edit(["messages", 3, "content", 0, "content"], "42"),
    "clear an old result": edit(["messages", 3, "content", 0, "content"], "[cleared]"),
    "change the input of a call": edit(["messages", 2, "content", 1, "input", "line"], 7),
    "encode an image again": edit(["messages", 7, "content", 1], image("aGVsbG9vbw==")),
    "add a text block": lambda request: request["messages"][7]["content"].append(text("More.")),
    "remove a text block": remove("messages", 7, "content", 0),
    "reorder blocks": lambda request: request["messages"][7]["content"].reverse(),
    "delete a round": delete_a_round,
    "reorder rounds": reorder,
    "remove thinking from the middle": remove_middle_thinking,
    "change system": edit(["system", 0, "text"], "You are another agent."),
    "render system as text": edit(["system"], "You are an agent."),
    "remove system": remove("system"),
    "add a tool": lambda request: request["tools"].append({**TOOLS[0], "name": "run"}),
    "remove a tool": remove("tools", 1),
    "rename a tool": edit(["tools", 1, "name"], "save"),
    "edit a tool": edit(["tools", 1, "description"], "Write a file to disk."),
    "reorder tools": lambda request: request["tools"].reverse(),
    "move a system message into system": reminder_into_system,
    "delete a reminder": remove("messages", 1),
    "reword a reminder": edit(["messages", 1, "content"], "Be verbose."),
    "change when a reminder is cleared": remove("messages", 1, "clear_at"),
}

OF_ALL = {name for name in INVALID if "system" in name or "tool" in name}
"""Changes that hurt every block."""


def changed(request, change):
    request = deepcopy(request)
    change(request)
    return request


def reasons(response):
    return [each["reason"] for each in response["input_transformations"]]


@pytest.fixture
def good():
    made = talk()
    assert len(thinking_places(made.request)) == 5
    return made


# -- the rows that are invalid --


@pytest.mark.parametrize("name", INVALID)
def test_invalid_change_is_refused_with_error(good, name):
    """Without a setting, too: the account is new."""
    for request in (setting(good.request, "error"), good.request):
        with pytest.raises(FakeProviderError, match=BOUND) as caught:
            good.fake.create(**changed(request, INVALID[name]))
        assert caught.value.status_code == 400
        assert caught.value.body["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("name", INVALID)
def test_invalid_change_drops_thinking_with_drop_block(good, name):
    request = changed(setting(good.request, "drop_block"), INVALID[name])
    found = good.fake.create(**request)["input_transformations"]
    assert {each["type"] for each in found} == {"thinking_dropped"}
    assert {each["reason"] for each in found} == {"prefix_binding_mismatch"}
    if name in OF_ALL:
        paths = [f"messages.{at}.content.{number}" for at, number in thinking_places(request)]
        assert [each["path"] for each in found] == paths


@pytest.mark.parametrize("name", INVALID)
def test_invalid_change_is_allowed_on_an_old_account(name):
    made = talk(FakeAnthropic(replies=replies(), account_created=OLD))
    found = made.fake.create(**changed(made.request, INVALID[name]))["input_transformations"]
    assert {each["type"] for each in found} == {"thinking_mismatch_allowed"}


def test_dropped_thinking_is_not_billed(good):
    before = good.fake.count_tokens(**setting(good.request, "drop_block"))["input_tokens"]
    change = edit(["system", 0, "text"], "You are an ageNT.")
    after = good.fake.count_tokens(**changed(setting(good.request, "drop_block"), change))["input_tokens"]
    blocks = [good.messages[at]["content"][number] for at, number in thinking_places(good.request)]
    assert before - after == sum(good.fake._tokens([block]) for block in blocks)


def test_change_hurts_only_what_follows_it(good):
    """An edit after the third block: two of five are dropped."""
    request = changed(setting(good.request, "drop_block"), INVALID["encode an image again"])
    found = good.fake.create(**request)["input_transformations"]
    places = thinking_places(request)[3:]
    assert [each["path"] for each in found] == [f"messages.{at}.content.{number}" for at, number in places]


def test_thinking_made_after_a_change_stays_valid(good):
    """The blocks before it were dropped when it was made, and are dropped still."""
    good.request.update(setting(changed(good.request, INVALID["clear an old result"]), "drop_block"))
    assert len(good.send()["input_transformations"]) == 4
    good.say(text("Next."))
    found = good.send()["input_transformations"]
    assert len(found) == 4
    assert found[-1]["path"] < f"messages.{len(good.messages) - 3}"


# -- put back --


def put_back(fake, number=0):
    """A request of six blocks: one was left out when the last one was made, and is here again."""
    made = talk(fake)
    whole = deepcopy(made.messages)
    made.request = without_thinking(made.request, *range(number + 1))
    made.send()
    made.request["messages"] = [*whole, made.messages[-1]]
    made.say(text("Next."))
    return made


@pytest.mark.parametrize("number", [0, 2])
def test_put_back_is_refused_though_the_link_to_the_last_fits(number):
    made = put_back(FakeAnthropic(replies=replies()), number)
    with pytest.raises(FakeProviderError, match=BOUND) as caught:
        made.fake.create(**made.request)
    at, block = thinking_places(made.request)[-1]
    assert caught.value.message.startswith(f"messages.{at}.content.{block}: ")
    assert "The thinking block that preceded this one" in caught.value.message


def test_put_back_drops_what_was_made_meanwhile():
    made = put_back(FakeAnthropic(replies=replies()))
    found = made.fake.create(**setting(made.request, "drop_block"))["input_transformations"]
    at, block = thinking_places(made.request)[-1]
    assert [each["path"] for each in found] == [f"messages.{at}.content.{block}"]


def test_put_back_is_reported_on_an_old_account():
    made = put_back(FakeAnthropic(replies=replies(), account_created=OLD))
    found = made.fake.create(**made.request)["input_transformations"]
    assert [each["type"] for each in found] == ["thinking_mismatch_allowed"]


def test_left_out_from_the_middle_names_the_block_after_the_gap(good):
    with pytest.raises(FakeProviderError) as caught:
        good.fake.create(**without_thinking(good.request, 1))
    at, block = thinking_places(good.request)[2]
    assert caught.value.message.startswith(f"messages.{at}.content.{block}: ")


# -- the rows that are valid --


def move_marks(request):
    request["messages"][3]["content"][0]["cache_control"] = {"type": "ephemeral"}
    request["system"][0]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    request["tools"][1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}


def other_order_of_keys(request):
    request["tools"] = [dict(reversed(tool.items())) for tool in request["tools"]]


VALID = {
    "nothing": lambda request: None,
    "append": lambda request: request["messages"][-1]["content"].append(text("And more.")),
    "append a reminder": lambda request: request["messages"].append(dict(REMINDER)),
    "add a deferred tool": lambda request: request["tools"].append({**TOOLS[0], "name": "run", "defer_loading": True}),
    "move cache marks": move_marks,
    "other parameters": lambda request: request.update(
        max_tokens=99, metadata={"user_id": "u"}, tool_choice={"type": "none"}, output_config={"effort": "low"}
    ),
    "another order of keys": other_order_of_keys,
    "remove the oldest": lambda request: request.update(without_thinking(request, 0)),
    "remove the two oldest": lambda request: request.update(without_thinking(request, 0, 1)),
    "remove from the end": lambda request: request.update(without_thinking(request, 4)),
    "remove two from the end": lambda request: request.update(without_thinking(request, 3, 4)),
    "remove from both ends": lambda request: request.update(without_thinking(request, 0, 4)),
    "remove all": lambda request: request.update(without_thinking(request)),
}


@pytest.mark.parametrize("name", VALID)
def test_valid_change_passes_with_error(good, name):
    response = good.fake.create(**changed(setting(good.request, "error"), VALID[name]))
    assert response["input_transformations"] == []


def test_branches_of_one_history_are_both_valid(good):
    other = Talk(good.fake)
    other.request = deepcopy(good.request)
    for branch, words in ((good, "One."), (other, "Two.")):
        branch.messages[-1] = {"role": "user", "content": [text(words)]}
        branch.send()
        branch.say(text("Next."))
        assert branch.send()["input_transformations"] == []


def test_a_cleared_reminder_stays_and_is_valid(good):
    """It is cleared by the next message of the user, and stays in the array: the talk has one."""
    assert good.messages[1]["clear_at"] == "next_user_message"
    assert good.send()["input_transformations"] == []


def test_answers_of_another_vendor_are_appended_as_plain_blocks(good):
    good.messages.append({"role": "assistant", "content": [text("From elsewhere.")]})
    good.say(text("Next."))
    assert good.send()["input_transformations"] == []


def test_thinking_inside_a_reply_is_bound_to_what_precedes_it_there():
    parts = (Thinking("a"), Text("One."), Thinking("b"), Thinking("c", redacted=True), Text("Two."))
    made = Talk(FakeAnthropic(replies=[Reply(parts), thinks("Done.")]))
    made.say(text("Go."))
    made.send()
    made.say(text("Next."))
    assert made.send()["input_transformations"] == []
    made.say(text("Again."))
    request = changed(setting(made.request, "drop_block"), edit(["messages", 1, "content", 1, "text"], "Uno."))
    places = [f"messages.{at}.content.{number}" for at, number in thinking_places(request)[1:]]
    assert [each["path"] for each in made.fake.create(**request)["input_transformations"]] == places


def test_a_deferred_tool_joins_the_prefix_where_it_is_referenced():
    made = talk()
    made.request["betas"].append("mid-conversation-tool-changes-2026-07-01")
    made.request["tools"].append({**deepcopy(TOOLS[0]), "name": "run", "defer_loading": True})
    addition = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "run"}}
    made.messages.append({"role": "system", "content": [addition]})
    assert made.send()["input_transformations"] == []
    made.say(text("Next."))
    assert made.fake.create(**made.request)["input_transformations"] == []
    made.request["tools"][2]["description"] = "Changed."
    with pytest.raises(FakeProviderError, match=BOUND) as caught:
        made.fake.create(**made.request)
    at, block = thinking_places(made.request)[-1]
    assert caught.value.message.startswith(f"messages.{at}.content.{block}: ")


# -- models, accounts, settings --


@pytest.mark.parametrize(
    ("model", "created", "batch", "expected"),
    [
        ("claude-fable-5-2", OLD, False, "error"),
        ("claude-mythos-5-2", NEW, False, "error"),
        ("claude-mythos-5-1", OLD, False, "error"),
        ("claude-fable-5-1", OLD, False, "thinking_mismatch_allowed"),
        ("claude-fable-5-1", NEW, False, "error"),
        ("claude-fable-5-1", NEW, True, "thinking_dropped"),
        ("claude-sonnet-5-5", OLD, False, "thinking_mismatch_allowed"),
        ("claude-sonnet-5-5", "2026-08-31", False, "error"),
        ("claude-haiku-5-5", "2026-08-30", False, "thinking_mismatch_allowed"),
        ("claude-haiku-5-5", NEW, False, "error"),
        ("claude-opus-5-5-20260922", NEW, False, "error"),
        ("claude-opus-5", NEW, False, None),
        ("claude-opus-4-8", NEW, False, None),
        ("claude-fable-5", NEW, False, None),
    ],
)
def test_unset_behavior_follows_model_account_and_batch(model, created, batch, expected):
    made = talk(FakeAnthropic(model=model, account_created=created, batch=batch, replies=replies()))
    request = changed(made.request, INVALID["edit the first message"])
    if expected == "error":
        with pytest.raises(FakeProviderError, match=BOUND):
            made.fake.create(**request)
    else:
        found = made.fake.create(**request)["input_transformations"]
        assert {each["type"] for each in found} == ({expected} if expected else set())


@pytest.mark.parametrize("behavior", ["error", "drop_block"])
def test_a_model_that_does_not_check_accepts_the_setting(behavior):
    made = talk(FakeAnthropic(model="claude-opus-5", replies=replies()))
    request = changed(setting(made.request, behavior), INVALID["edit the first message"])
    assert made.fake.create(**request)["input_transformations"] == []


def test_setting_error_refuses_on_an_old_account():
    made = talk(FakeAnthropic(replies=replies(), account_created=OLD))
    with pytest.raises(FakeProviderError, match=BOUND):
        made.fake.create(**changed(setting(made.request, "error"), INVALID["edit the first message"]))


def test_setting_error_refuses_an_item_of_a_batch():
    made = talk(FakeAnthropic(replies=replies(), batch=True))
    with pytest.raises(FakeProviderError, match=BOUND):
        made.fake.create(**changed(setting(made.request, "error"), INVALID["edit the first message"]))


def test_block_binding_needs_its_header_and_thinking(good):
    request = setting(good.request, "error")
    for wrong in (
        {**request, "betas": ["mid-conversation-system-clear-at-2026-08-21"]},
        {**request, "model": "claude-haiku-5-5", "thinking": {**request["thinking"], "type": "disabled"}},
        {**request, "model": "claude-sonnet-5-5", "thinking": {**request["thinking"], "type": "between_tools"}},
    ):
        with pytest.raises(FakeProviderError, match=r"block_binding: Extra inputs are not permitted$"):
            good.fake.create(**wrong)


def test_header_may_come_as_a_header(good):
    betas = ",".join(good.request.pop("betas"))
    request = setting({**good.request, "extra_headers": {"Anthropic-Beta": betas}}, "error")
    assert good.fake.create(**request)["input_transformations"] == []


def test_drops_without_the_header_are_silent():
    made = talk(FakeAnthropic(replies=replies(), batch=True))
    request = changed(made.request, INVALID["edit the first message"])
    response = made.fake.create(**{**request, "betas": ["mid-conversation-system-clear-at-2026-08-21"]})
    assert "input_transformations" not in response
    assert len(made.fake.transformations) == 5


def test_disabled_thinking_is_refused_or_mints_none():
    for model in ("claude-opus-5-5", "claude-fable-5-2", "claude-sonnet-5-5"):
        with pytest.raises(FakeProviderError, match="disabled"):
            FakeAnthropic(model=model).create(messages=[REMINDER], thinking={"type": "disabled"})
    made = Talk(FakeAnthropic(model="claude-haiku-5-5", replies=replies()), thinking={"type": "disabled"})
    made.say(text("Go."))
    assert [block["type"] for block in made.send()["content"]] == ["tool_use"]


def test_disabled_thinking_checks_what_is_sent_back():
    made = talk(FakeAnthropic(model="claude-haiku-5-5", replies=replies()))
    request = {**changed(made.request, INVALID["edit the first message"]), "thinking": {"type": "disabled"}}
    with pytest.raises(FakeProviderError, match=BOUND):
        made.fake.create(**request)
    assert made.fake.create(**without_thinking(request))["stop_reason"] == "end_turn"


# -- who reads whose thinking --


def test_switch_down_and_back_loses_nothing(good):
    """Fable 5.2 reads nothing of Opus 5.5; when the model comes back, its blocks are read again."""
    down = good.fake.create(**{**good.request, "model": "claude-fable-5-2"})
    assert reasons(down) == ["model_binding_mismatch"] * 5
    good.messages.append({"role": "assistant", "content": down["content"]})
    good.say(text("Back."))
    back = good.send()
    assert reasons(back) == ["model_binding_mismatch"]
    good.say(text("Next."))
    assert reasons(good.send()) == ["model_binding_mismatch"]


@pytest.mark.parametrize(
    ("producer", "reader", "is_read"),
    [
        ("claude-fable-5-2", "claude-mythos-5-2", True),
        ("claude-fable-5-2", "claude-fable-5-1", False),
        ("claude-fable-5-1", "claude-mythos-5-1", True),
        ("claude-fable-5-1", "claude-opus-5-5", False),
        ("claude-fable-5-1", "claude-opus-5", False),
        ("claude-opus-5-5", "claude-fable-5-1", True),
        ("claude-opus-5-5", "claude-sonnet-5-5", False),
        ("claude-opus-5", "claude-opus-5-5", True),
        ("claude-opus-5", "claude-sonnet-5-5", False),
        ("claude-opus-4-8", "claude-sonnet-5-5", True),
        ("claude-sonnet-5-5", "claude-opus-5-5", True),
        ("claude-opus-4-8", "claude-haiku-5-5", False),
        ("claude-haiku-5-5", "claude-opus-5-5", True),
    ],
)
def test_thinking_is_read_by_the_models_of_the_table(producer, reader, is_read):
    made = Talk(FakeAnthropic(model=producer, replies=[thinks("Hello.")]))
    made.say(text("Go."))
    made.send()
    made.say(text("Next."))
    found = reasons(made.fake.create(**{**made.request, "model": reader}))
    assert found == ([] if is_read else ["model_binding_mismatch"])


def test_unreadable_thinking_is_dropped_even_where_the_prefix_changed():
    """The first reason in the order of precedence is reported, and it is never an error."""
    made = talk()
    request = changed(setting(made.request, "error"), INVALID["edit the first message"])
    assert reasons(made.fake.create(**{**request, "model": "claude-fable-5-2"})) == ["model_binding_mismatch"] * 5


def test_another_account_cannot_read_account_bound_thinking():
    made = talk(FakeAnthropic(model="claude-sonnet-5-5", replies=replies()))
    other = made.fake.for_account("account-2", account_created=NEW)
    assert reasons(other.create(**made.request)) == ["organization_binding_mismatch"] * 5
    down = other.create(**{**made.request, "model": "claude-fable-5-2"})
    assert set(reasons(down)) == {"organization_binding_mismatch"}, "it precedes the model's"
    assert made.fake.create(**made.request)["input_transformations"] == []


def test_another_account_reads_thinking_that_is_not_bound_to_one(good):
    other = good.fake.for_account("account-2", account_created=OLD)
    assert other.create(**good.request)["input_transformations"] == []
    request = changed(good.request, INVALID["edit the first message"])
    assert len(other.create(**request)["input_transformations"]) == 5, "its age decides"


# -- signatures and the latest message --


@pytest.mark.parametrize("number", [0, 1, 4])
def test_tampered_signature_is_refused_in_any_setting(good, number):
    at, block = thinking_places(good.request)[number]
    tampered = good.messages[at]["content"][block]
    tampered["signature" if "signature" in tampered else "data"] += "x"
    with pytest.raises(FakeProviderError, match=r"Invalid `signature` in `(redacted_)?thinking` block$"):
        good.fake.create(**setting(good.request, "drop_block"))


def test_edited_text_under_its_signature_is_refused(good):
    at, block = thinking_places(good.request)[0]
    good.messages[at]["content"][block]["thinking"] = "Other."
    with pytest.raises(FakeProviderError, match=r"Invalid `signature` in `thinking` block$"):
        good.fake.create(**good.request)


def latest(*thoughts):
    """A request whose latest assistant message has several blocks of reasoning."""
    made = Talk(FakeAnthropic(replies=[thinks(), reply("Done.", thinking=thoughts)]))
    made.say(text("Go."))
    made.send()
    made.results()
    made.send()
    made.say(text("Next."))
    return made


CANNOT = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"


@pytest.mark.parametrize("behavior", ["error", "drop_block"])
def test_latest_message_keeps_all_of_its_thinking_or_none(behavior):
    made = latest("a", "b")
    content = made.messages[3]["content"]
    for partial in (content[1:], [content[0], *content[2:]], [content[1], content[0], *content[2:]]):
        request = deepcopy(setting(made.request, behavior))
        request["messages"][3]["content"] = partial
        with pytest.raises(FakeProviderError, match=CANNOT):
            made.fake.create(**request)
    made.messages[3]["content"] = content[2:]
    assert made.fake.create(**setting(made.request, behavior))["input_transformations"] == []


def test_latest_message_refuses_edited_text():
    made = latest("a", "b")
    made.messages[3]["content"][1]["thinking"] = "B"
    with pytest.raises(FakeProviderError, match=CANNOT):
        made.fake.create(**made.request)


def test_latest_message_refuses_the_thinking_of_two_responses():
    made = latest("a")
    first = made.messages[1]["content"][0]
    made.messages[3]["content"].insert(0, first)
    del made.messages[1]["content"][0]
    with pytest.raises(FakeProviderError, match=CANNOT):
        made.fake.create(**made.request)


def test_earlier_messages_may_lose_their_oldest_block():
    made = latest("a", "b")
    made.send()
    made.say(text("More."))
    assert made.fake.create(**without_thinking(made.request, 0, 1))["input_transformations"] == []


def test_a_drop_takes_the_rest_of_the_run_with_it():
    """The second block lost its predecessor alone: without that rule, it would be a mismatch by itself."""
    made = latest("a", "b")
    made.say(text("Twice."))
    request = changed(setting(made.request, "drop_block"), edit(["messages", 0, "content", 0, "text"], "Stop."))
    found = [each["path"] for each in made.fake.create(**request)["input_transformations"]]
    assert found == ["messages.1.content.0", "messages.3.content.0", "messages.3.content.1"]


def test_same_request_fails_again(good):
    request = changed(good.request, INVALID["edit the first message"])
    messages = set()
    for _ in range(2):
        with pytest.raises(FakeProviderError) as caught:
            good.fake.create(**request)
        messages.add(caught.value.message)
    assert len(messages) == 1


def test_count_tokens_runs_the_same_check(good):
    with pytest.raises(FakeProviderError, match=BOUND):
        good.fake.count_tokens(**changed(good.request, INVALID["edit the first message"]))


def test_two_fakes_answer_alike():
    """No clock and no chance: ids and signatures are equal."""
    assert talk().request == talk().request


def test_request_is_not_changed(good):
    before = deepcopy(good.request)
    good.fake.create(**good.request)
    assert good.request == before
    assert BINDING in before["betas"]
