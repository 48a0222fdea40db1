"""Odd histories in a real app: what its models send is accepted, and the session's events stay as they were."""

import asyncio
import json
from typing import Any

import pytest
from google.adk.events import Event
from google.genai import types

from tests.integrations import odd_histories as odd
from tests.integrations.adk.agents import APP, USER, Running, agent_of, plugin_of
from tests.integrations.adk.bound import gemini
from tests.integrations.adk.scripted import as_gemini
from tests.integrations.odd_histories import Called, Returned, Said, Situation, Step

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn
LACKS = ("server", "reasoning", "cut", "late_result_with_words", "empty_question")
"""What no session of ADK holds, or no run begins with."""
UNCHECKED = b"skip_thought_signature_validator"
"""The signature of calls that no model of Gemini made."""


def built(step: Step) -> types.Content:
    """A step as a content."""
    if isinstance(step, Said):
        return types.Content(role="model" if step.role == "assistant" else "user", parts=[types.Part(text=step.words)])
    if isinstance(step, Returned):
        answer = types.FunctionResponse(id=step.id, name=odd.TOOL, response={"result": step.value})
        words = [types.Part(text=step.also)] if step.also else []
        return types.Content(role="user", parts=[types.Part(function_response=answer), *words])
    assert isinstance(step, Called)
    calls = [types.FunctionCall(id=known, name=odd.TOOL, args=json.loads(step.arguments)) for known in step.ids]
    parts = [types.Part(function_call=call, thought_signature=UNCHECKED) for call in calls]
    return types.Content(role="model", parts=parts)


def ran(situation: Situation, model: Any) -> Running:
    """An app that ran through a situation in one session: a run begins with its prompt, or with the user's last."""
    plugin = plugin_of()
    run = Running(agent_of(model, plugin), plugin)

    async def runs() -> None:
        session = await run.service.create_session(app_name=APP, user_id=USER, session_id=run.id)
        for turn in situation.turns:
            contents = list(map(built, turn.steps))
            prompt: Any = turn.prompt or (contents.pop().parts if contents[-1].role == "user" else "Go on.")
            for content in contents:
                author = "user" if content.role == "user" else run.agent.name
                await run.service.append_event(session, Event(author=author, content=content))
            before = await events()
            await run.hear(prompt)
            assert (await events())[: len(before)] == before
            session = await found()

    async def found() -> Any:
        return await run.service.get_session(app_name=APP, user_id=USER, session_id=run.id)

    async def events() -> list[Any]:
        return [event.model_dump() for event in (await found()).events]

    asyncio.run(runs())
    return run


def check(situation: Situation, sent: Any) -> None:
    """Look for what ADK leaves: it drops open calls, results of unknown calls and what was said between a call and the
    result that a run begins with, and it puts the newest result of a call in the place of the one before.
    """
    gone = {"second_result": ("w1x",), "late_result_at_the_end": ("w1x",), "unknown_call": ("w2x",)}
    dropped = next((words for name, words in gone.items() if situation.name.startswith(name)), ())
    text = json.dumps(sent, ensure_ascii=False)
    wanted = [words for words in situation.shown if words not in (*dropped, odd.WAITING) and "Later" not in words]
    assert [words for words in wanted if words not in text] == []
    assert [words for words in situation.hidden if words in text] == []


@pytest.mark.parametrize("ids", [True, False], ids=["gemini 3", "before"])
@pytest.mark.parametrize("situation", odd.situations(without=LACKS), ids=odd.name_of)
def test_odd_history_is_accepted_by_gemini(situation, ids):
    model = gemini(None, ids=ids)
    run = ran(situation, model)
    assert len(model.requests) == len(situation.turns)
    check(situation, as_gemini(model.requests[-1]))
    given, sent = run.recorder.given[-1], model.requests[-1]
    copies = [content for content in sent if not any(content is own for own in given)]
    assert [content for content in copies if content in given] == []


@pytest.mark.parametrize("situation", odd.situations(without=LACKS), ids=odd.name_of)
def test_odd_history_is_accepted_by_claude(situation):
    pytest.importorskip("anthropic", reason="clients are no part of the extra")
    from tests.integrations.adk.claude import claude

    model, sent = claude(None)
    ran(situation, model)
    assert len(sent.requests) == len(situation.turns)
    check(situation, sent.requests[-1]["messages"])
