"""Odd histories on a coordinator of Amplifier's kernel: each provider's converter makes what it accepts of a view."""

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.integrations import odd_histories as odd
from tests.integrations.amplifier.converters import refusals, through_the_kernel, to_chat
from tests.integrations.amplifier.harness import AmplifierHarness, awaited, mounted, result, say
from tests.integrations.odd_histories import Called, Returned, Said, Situation, Step

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn
LACKS = ("server", "reasoning")


def built(step: Step) -> list[Any]:
    """The messages of a step, as loops write them."""
    if isinstance(step, Said):
        return [say(step.role, step.words)]
    if isinstance(step, Returned):
        return [result(step.id, step.value), *([say("user", step.also)] if step.also else ())]
    assert isinstance(step, Called)
    given = step.arguments if step.arguments == odd.CUT else json.loads(step.arguments)
    calls = [{"id": known, "tool": odd.TOOL, "arguments": given} for known in step.ids]
    return [{"role": "assistant", "content": "", "tool_calls": calls}]


async def run(situation: Situation, ours: AmplifierHarness) -> list[Any]:
    """The view of each turn's request."""
    views, given = [], list[Any]()
    for turn in situation.turns:
        messages = [message for step in turn.steps for message in built(step)]
        messages += [] if turn.prompt is None else [say("user", turn.prompt)]
        given += deepcopy(messages)
        await ours.add(*messages)
        views.append(await ours.view())
        assert await ours.kept() == given
        answer = say("assistant", f"Fine, {len(views)}.")
        given.append(answer)
        await ours.add(answer)
    return views


@pytest.mark.parametrize("situation", odd.situations(without=LACKS), ids=odd.name_of)
@awaited
async def test_odd_history_is_accepted_by_every_provider(situation):
    async with mounted() as ours:
        views = await run(situation, ours)
        assert [refusals(view) for view in views] == [[]] * len(views)
        sent = json.dumps(to_chat(through_the_kernel(views[-1])), ensure_ascii=False)
        assert odd.not_as_wanted(situation, sent) == []
        assert odd.changed_prefixes(views) == 0
