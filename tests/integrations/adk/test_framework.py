"""Sixty steps in the real framework: what it sends, what it keeps, and what a user sees of it."""

import asyncio
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from google.genai import types

from tests.integrations import world
from tests.integrations.adk.agents import Running, plugin_of, running
from tests.integrations.adk.scripted import Scripted, as_gemini, text_of, work, work_with_ids
from tests.present import present

OTHERS = ("streamed", "with ids")
WAYS = pytest.mark.parametrize("way", ["whole", *(pytest.param(way, marks=pytest.mark.long) for way in OTHERS)])


@cache
def done(way: str, budget: int = world.BUDGET) -> tuple[Scripted, Running]:
    """A run of sixty steps."""
    model = Scripted(work_with_ids if way == "with ids" else work)
    run = running(model, plugin=plugin_of(budget=budget))
    asyncio.run(run.work_through(stream=way == "streamed"))
    return model, run


@WAYS
def test_each_request_passes_the_gate(way):
    model, run = done(way)
    assert len(model.requests) == world.STEPS
    pairs = zip(model.requests, run.recorder.given, strict=True)
    assert world.faults((as_gemini(request), as_gemini(given)) for request, given in pairs) == []


@WAYS
def test_the_history_is_whole(way):
    _, run = done(way)
    parts = [part for content in run.contents for part in content.parts or ()]
    assert [part.text for part in parts if part.text] == [
        each for turn in range(3) for each in (world.asked(turn), world.text_at(turn * world.TURN + world.TURN - 1))
    ]
    called = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    assert called == [(call.name, call.arguments) for at in range(world.STEPS) for call in world.calls_at(at)]
    answers = [part.function_response for part in parts if part.function_response]
    for (name, given), answer in zip(called, answers, strict=True):
        assert name != "order" or answer.response == {"result": world.order(present(given)["number"])}


@WAYS
def test_the_requests_of_the_framework_are_given_back(way):
    _, run = done(way)
    for given, request in zip(run.recorder.given, run.recorder.requests, strict=True):
        assert all(one is other for one, other in zip(given, request.contents, strict=True))


@pytest.mark.parametrize(("budget", "share"), [(world.BUDGET, 2), (2 * world.BUDGET, 20)])
@WAYS
def test_unchanged_contents_are_the_very_objects(way, budget, share):
    """At the small budget each result takes a tenth, so views show most of them shortened."""
    (model, run), same, others = done(way, budget), 0, 0
    for request, given in zip(model.requests, run.recorder.given, strict=True):
        own, equal = {id(content) for content in given}, as_gemini(given)
        for content in request:
            same += id(content) in own
            others += id(content) not in own
            assert id(content) in own or as_gemini([content])[0] not in equal, "an equal copy was made"
    assert same > share * others > 0


@WAYS
def test_changed_contents_share_the_unchanged_parts(way):
    (model, run), changed = done(way), 0
    for request, given in zip(model.requests, run.recorder.given, strict=True):
        own = {id(content) for content in given}
        parts = {id(part) for content in given for part in content.parts or ()}
        texts = {str(part) for content in given for part in content.parts or ()}
        for part in (part for content in request if id(content) not in own for part in content.parts or ()):
            changed += 1
            assert id(part) in parts or str(part) not in texts
    assert changed


@WAYS
def test_a_prefix_is_kept_between_compactions(way):
    model, run = done(way)
    broken = world.broken_prefixes([as_gemini(request) for request in model.requests])
    assert 0 < broken <= run.conversation.usage("small").compactions < world.STEPS // 2


@WAYS
def test_no_request_is_over_the_budget(way):
    model, run = done(way)
    assert max(len(text_of(request)) // 4 for request in model.requests) < world.BUDGET
    assert len(text_of(run.recorder.given[-1])) // 4 > 3 * world.BUDGET


@WAYS
def test_the_model_recalls_what_was_left_out(way):
    _, run = done(way)
    responses = [part.function_response for content in run.contents for part in content.parts or ()]
    recalled = [present(each.response)["result"] for each in responses if each is not None and each.name == "recall"]
    assert len(recalled) == 3
    assert all(world.order(0) in answer for answer in recalled)


@WAYS
def test_the_conversation_holds_what_the_framework_sends(way):
    _, run = done(way)
    assert len(run.stored) == len(run.recorder.given[-1]) == 119
    assert [message["role"] for message in run.stored] == [each.role for each in run.recorder.given[-1]]


def test_a_streamed_run_sends_and_keeps_the_same():
    """And nothing of the history is changed by the next run."""
    model = Scripted()
    run = running(model)
    asyncio.run(run.work_through(1, stream=True))
    whole, whole_run = done("whole")
    assert list(map(as_gemini, model.requests)) == list(map(as_gemini, whole.requests[:20]))
    kept, others = ([(each.role, text_of([each])) for each in of.contents] for of in (run, whole_run))
    assert kept == others[: len(kept)]
    before = deepcopy(run.session.events)
    run.say("thanks", stream=True)
    assert run.session.events[: len(before)] == before


def test_a_runner_without_an_event_loop_sends_the_same():
    model = Scripted()
    run = running(model)
    said = types.Content(role="user", parts=[types.Part(text=world.asked(0))])
    events: Any = run.runner.run(user_id=run.user, session_id=run.id, new_message=said)
    assert list(events)[-1].content.parts[0].text == world.text_at(world.TURN - 1)
    assert list(map(as_gemini, model.requests)) == list(map(as_gemini, done("whole")[0].requests[:20]))
