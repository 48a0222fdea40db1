"""Sixty steps in the real framework: what it sends, what it keeps, and what a user sees of it."""

import asyncio
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import pytest
from agent_framework import AgentSession, Message

from backscroll.integrations.agent_framework import BackscrollProvider
from tests.integrations import world
from tests.integrations.agent_framework.agents import LANE, agent_of, history_of, provider_of, work_through
from tests.integrations.agent_framework.scripted import Recorder, Scripted, as_openai, text_of

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


class Done(NamedTuple):
    """A run of sixty steps."""

    client: Scripted
    recorder: Recorder
    session: AgentSession
    provider: BackscrollProvider


@cache
def done(*, stream: bool, budget: int = world.BUDGET) -> Done:
    recorder = Recorder()
    client, provider = Scripted(middleware=[recorder]), provider_of(budget=budget)
    agent = agent_of(client, provider)
    session = agent.create_session()
    asyncio.run(work_through(agent, session, stream=stream))
    return Done(client, recorder, session, provider)


@BOTH
def test_each_request_passes_the_gate(stream):
    run = done(stream=stream)
    assert len(run.client.requests) == world.STEPS
    pairs = zip(run.client.requests, run.recorder.given, strict=True)
    assert world.faults((as_openai(request), as_openai(given)) for request, given in pairs) == []


@BOTH
def test_the_history_is_whole(stream):
    run = done(stream=stream)
    history = as_openai(history_of(run.session))
    assert [message["content"] for message in history if message["role"] == "user"] == [
        [{"type": "text", "text": world.asked(turn)}] for turn in range(3)
    ]
    called = [call for message in history for call in message.get("tool_calls", ())]
    assert [call["id"] for call in called] == [call.id for at in range(world.STEPS) for call in world.calls_at(at)]
    results = {message["tool_call_id"]: message["content"] for message in history if message["role"] == "tool"}
    for at in range(world.STEPS):
        for call in world.calls_at(at):
            if call.name == "order":
                assert results[call.id] == world.order(call.arguments["number"])
    assert "_excluded" not in str([message.to_dict() for message in history_of(run.session)])


@BOTH
def test_the_requests_of_the_framework_are_given_back(stream):
    run = done(stream=stream)
    for given, context in zip(run.recorder.given, run.recorder.contexts, strict=True):
        assert all(one is other for one, other in zip(given, context.messages, strict=True))


@pytest.mark.parametrize(("budget", "share"), [(world.BUDGET, 2), (2 * world.BUDGET, 20)])
@BOTH
def test_unchanged_messages_are_the_very_objects(stream, budget, share):
    """At the small budget each result takes a tenth, so views show most of them shortened."""
    run, same, others = done(stream=stream, budget=budget), 0, 0
    for request, given in zip(run.client.requests, run.recorder.given, strict=True):
        own, equal = {id(message) for message in given}, [_said(message) for message in given]
        for message in request:
            same += id(message) in own
            others += id(message) not in own
            assert id(message) in own or _said(message) not in equal, "an equal copy was made"
    assert same > share * others > 0


@BOTH
def test_changed_messages_share_the_unchanged_contents(stream):
    run, changed = done(stream=stream), 0
    for request, given in zip(run.client.requests, run.recorder.given, strict=True):
        own = {id(message) for message in given}
        contents = {_text(content): content for message in given for content in message.contents}
        for content in (content for message in request if id(message) not in own for content in message.contents):
            changed += 1
            assert contents.get(_text(content), content) is content
    assert changed


@BOTH
def test_a_prefix_is_kept_between_compactions(stream):
    run = done(stream=stream)
    broken = world.broken_prefixes([as_openai(request) for request in run.client.requests])
    usage = run.provider.conversation(run.session, "shop").usage(LANE)
    assert 0 < broken <= usage.compactions < world.STEPS // 2


@BOTH
def test_no_request_is_over_the_budget(stream):
    run = done(stream=stream)
    assert max(len(text_of(request)) // 4 for request in run.client.requests) < world.BUDGET
    assert len(text_of(run.recorder.given[-1])) // 4 > 3 * world.BUDGET


@BOTH
def test_the_model_recalls_what_was_left_out(stream):
    run = done(stream=stream)
    contents = [content for message in history_of(run.session) for content in message.contents]
    called = {"call_15", "call_35", "call_55"}
    answers = [each for each in contents if each.call_id in called and each.type == "function_result"]
    assert len(answers) == 3
    assert all(world.order(0) in answer.result for answer in answers)
    assert all(any(tool.name == "recall" for tool in options["tools"]) for options in run.client.options)


@BOTH
def test_the_conversation_holds_what_the_framework_holds(stream):
    run = done(stream=stream)
    conversation = run.provider.conversation(run.session, "shop")
    stored, history = asyncio.run(conversation.get_messages()), history_of(run.session)
    assert len(stored) == len(history)
    assert [message["role"] == "assistant" for message in stored] == [each.role == "assistant" for each in history]


def test_whole_and_streamed_runs_send_the_same():
    whole, streamed = (done(stream=stream).client.requests for stream in (False, True))
    assert [as_openai(request) for request in whole] == [as_openai(request) for request in streamed]


@BOTH
def test_nothing_of_a_history_is_changed_by_the_next_run(stream):
    agent = agent_of(Scripted(), provider_of())
    session = agent.create_session()
    asyncio.run(work_through(agent, session, 1, stream=stream))
    objects, before = list(history_of(session)), deepcopy([message.to_dict() for message in history_of(session)])
    asyncio.run(work_through(agent, session, 1, stream=stream))
    after = history_of(session)[: len(objects)]
    assert all(one is other for one, other in zip(objects, after, strict=True))
    assert [message.to_dict() for message in after] == before


def _said(message: Message) -> Any:
    return message.role, [_text(content) for content in message.contents]


def _text(content: Any) -> str:
    return str(content.to_dict())
