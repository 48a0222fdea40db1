"""Sixty requests at a small budget: each one passes the gate, and the SDK's own history stays as it is."""

import asyncio
import json
from copy import deepcopy
from typing import Any

import pytest

from backscroll.integrations.openai_agents import managed
from tests.integrations import world
from tests.integrations.openai_agents.scripted import FollowingModel, Spy, agent_with, items_at, judged, run, run_sync
from tests.long_run import usually

pytestmark = pytest.mark.frameworks

MODES = ("sync", "async", "streamed")


class Work:
    """An agent that does the whole work, turn by turn."""

    def __init__(self, mode: str) -> None:
        self.inner, self.spy = FollowingModel(items_at), Spy()
        self.model = managed(self.inner, budget=world.BUDGET)
        self.agent = agent_with(self.model, self.model.recall_tool)
        self.items: list[Any] = []
        for turn in range(world.STEPS // world.TURN):
            self.items = [*self.items, {"role": "user", "content": world.asked(turn)}]
            how = {"run_config": self.spy.config()}
            if mode == "sync":
                result = run_sync(self.agent, self.items, **how)
            else:
                result = asyncio.run(run(self.agent, self.items, streamed=mode == "streamed", **how))
            self.items = result.to_input_list()


@pytest.fixture(scope="module", params=usually(MODES, 1))
def work(request):
    return Work(request.param)


def test_each_request_passes_the_gate(work):
    assert len(work.inner.requests) == len(work.spy.histories) == world.STEPS
    assert judged(work.inner.requests, work.spy.histories) == []
    assert work.model.conversation.usage("scripted-1").compactions >= 4
    assert max(len(request) for request in work.inner.requests) < 60 < len(work.items)


def test_the_history_of_the_sdk_is_whole_and_equal(work):
    assert work.spy.copies == work.spy.histories
    answers = {item["call_id"]: item["output"] for item in work.items if item.get("type") == "function_call_output"}
    calls = [call for step in range(world.STEPS) for call in world.calls_at(step)]
    assert answers.keys() == {call.id for call in calls}
    assert all(answers[call.id] == world.order(**call.arguments) for call in calls if call.name == "order")


def test_unchanged_items_are_the_very_objects(work):
    kept = 0
    for request, history in zip(work.inner.requests, work.spy.histories, strict=True):
        own = {id(item) for item in history}
        for item in request:
            if id(item) in own:
                kept += 1
            else:
                assert item not in history, "an equal copy was sent"
    assert kept > 500


def test_the_prefix_is_kept_between_compactions(work):
    broken = world.broken_prefixes(work.inner.requests)
    assert 0 < broken <= work.model.conversation.usage("scripted-1").compactions


def test_recall_answers_with_the_words_that_were_left_out(work):
    answers = {item["call_id"]: item["output"] for item in work.items if item.get("type") == "function_call_output"}
    for step in (15, 35, 55):
        assert answers[f"call_{step}"] == world.order(0)
    sent = [json.dumps(request) for request in work.inner.requests]
    assert json.dumps(world.order(0))[1:-1] not in sent[54], "no view shows it by then"


def test_reported_usage_is_learned_from(work):
    assert work.model.conversation.usage("scripted-1").used.source == "measured"


def test_the_same_views_in_every_mode():
    async def views(streamed):
        inner = FollowingModel(items_at)
        model = managed(inner, budget=world.BUDGET)
        await run(agent_with(model, model.recall_tool), world.asked(0), streamed=streamed)
        return deepcopy(inner.requests)

    assert asyncio.run(views(False)) == asyncio.run(views(True))
