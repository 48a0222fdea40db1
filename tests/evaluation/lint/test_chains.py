"""Requests of several conversations, and of branches of one: they are told apart, and no difference is a fault."""

import copy
from itertools import zip_longest

from backscroll.evaluation.lint import chained, read_body
from tests.evaluation.lint.agents import FIRST, MARK, PROMPT, Body, anthropic, chat, found_in, responses

IDS = ("id", "tool_use_id", "tool_call_id", "signature")
TITLE = "Write a title of five words for the conversation that follows. " * 30


def alternating(*conversations: list[Body]) -> list[Body]:
    return [body for bodies in zip_longest(*conversations) for body in bodies if body is not None]


def about(bodies: list[Body], task: str) -> list[Body]:
    """The same agent at another task."""
    for body in bodies:
        first = body["messages"][1 if body["messages"][0]["role"] == "system" else 0]
        text = f"{FIRST * 20} {task}"
        first["content"] = text if isinstance(first["content"], str) else [{**first["content"][0], "text": text}]
    return renamed(bodies, task)


def renamed(bodies: list[Body], task: str) -> list[Body]:
    """The same requests with other ids of calls and other signatures."""
    for body in bodies:
        for message in body["messages"]:
            content = message["content"] if isinstance(message["content"], list) else []
            for holder in [message, *message.get("tool_calls", ()), *content]:
                holder.update({key: f"{holder[key]}{task}" for key in IDS if key in holder})
    return bodies


def test_requests_of_two_conversations_are_two_talks() -> None:
    sent = alternating(about(anthropic(), "task-1001"), about(anthropic(6), "task-1002"))
    talks = chained([read_body(body, number, "sent") for number, body in enumerate(sent, 1)], "sent")
    assert sorted(len(talk.requests) for talk in talks) == [6, 8]
    assert {talk.name for talk in talks} == {"sent#1", "sent#2"}
    assert found_in(sent) == []


def test_tasks_of_one_template_are_no_change_of_a_prefix() -> None:
    """A long first message with another number in each: independent tasks, of which none is a fault."""
    assert found_in([body for at in range(6) for body in about(anthropic(1), f"ticket {at}")]) == []
    assert found_in([body for at in range(6) for body in about(chat(1), f"ticket {at}")]) == []
    assert found_in([body for at in range(4) for body in about(chat(5), f"ticket {at}")]) == []


def test_a_call_that_writes_the_title_is_no_change_of_a_prefix() -> None:
    main = about(chat(), "task-1")
    title = {**main[0], "messages": [{"role": "system", "content": TITLE}, *main[0]["messages"][1:]]}
    assert found_in([main[0], title, *main[1:]]) == []
    agent = anthropic()
    title = {**agent[0], "system": TITLE, "tools": []}
    assert found_in([agent[0], title, *agent[1:]]) == []


def test_samples_of_one_prompt_are_branches_without_a_fault() -> None:
    """Parallel agents with the same task: each request goes on from its own."""
    assert found_in(alternating(anthropic(), renamed(anthropic(), "b"))) == []
    assert found_in(alternating(chat(), renamed(chat(), "b"))) == []


def test_an_answer_that_was_taken_back_is_no_fault() -> None:
    """The user edits an earlier message: what follows it is gone, and nothing of it is sent again."""
    bodies = anthropic()
    again = copy.deepcopy(bodies[4:6])
    for body in again:
        del body["messages"][5:]
        body["messages"][4]["content"].append({"type": "text", "text": "No, another way.", **MARK})
    again[1]["messages"] += [{"role": "assistant", "content": "Sure."}, {"role": "user", "content": "Go on."}]
    assert found_in([*bodies, *again]) == []


def test_a_compaction_that_pays_is_no_fault() -> None:
    """Older rounds become a digest, and their reasoning leaves with them."""
    bodies = chat(24)
    digest = {"role": "user", "content": "The older rounds, in short: " + "a line was read. " * 20}
    for body in bodies[12:]:
        body["messages"] = [*body["messages"][:1], digest, *body["messages"][20:]]
    assert found_in(bodies) == []


def test_servers_with_the_same_api_need_no_marks() -> None:
    bodies = anthropic(model="kimi-k3")
    for body in bodies:
        del body["system"][0]["cache_control"]
        del body["messages"][-1]["content"][-1]["cache_control"]
    assert found_in(bodies) == []


def test_deferred_tools_are_in_no_prefix() -> None:
    bodies = anthropic()
    for at, body in enumerate(bodies):
        body["tools"].insert(
            0, {"name": f"late_{at}", "description": PROMPT * 2, "input_schema": {}, "defer_loading": True}
        )
    assert found_in(bodies) == []


def test_instructions_behind_the_input_are_in_no_prefix() -> None:
    """From gpt-6.2 on, `instructions` hold for one turn and come after the input."""
    bodies = responses(14)
    for at, body in enumerate(bodies):
        body["instructions"] = f"{PROMPT} Step {at}."
    assert found_in(bodies) == []
    for body in bodies:
        body["model"] = "gpt-5.5"
    assert [each.rule for each in found_in(bodies)] == ["volatile-prefix"]
