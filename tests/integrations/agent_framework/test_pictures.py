"""Pictures of the user and of tools: sent as the very objects, and left out as everything else."""

import asyncio
from typing import Any

import pytest
from agent_framework import Content, Message

from tests.integrations import world
from tests.integrations.agent_framework.agents import LANE, agent_of, history_of, provider_of, say
from tests.integrations.agent_framework.scripted import Recorder, Scripted, as_openai, calls


def picture() -> Content:
    return Content.from_uri(f"data:image/png;base64,{world.PNG}", media_type="image/png")


def look(number: int) -> list[Content]:
    """Take a picture."""
    return [Content.from_text(f"picture {number}"), picture()]


def looking(step: int, messages: list[Message]) -> list[Content]:
    if step % 3 == 2:
        return [Content.from_text(f"seen {step}")]
    return calls(*(world.Called(f"c{step}_{n}", "look", {"number": step}) for n in range(1 + step % 2)))


def pictures_in(messages: Any) -> list[Content]:
    contents = [content for message in messages for content in message.contents]
    inner = [item for content in contents if content.type == "function_result" for item in content.items or ()]
    return [content for content in [*contents, *inner] if content.type == "data"]


@pytest.mark.parametrize("stream", [False, True])
def test_pictures_are_the_very_objects_and_leave_with_the_rest(stream):
    recorder = Recorder()
    client, provider = Scripted(looking, middleware=[recorder]), provider_of(budget=8_000)
    client.counts = False
    agent = agent_of(client, provider, tools=[look])
    session = agent.create_session()
    for turn in range(8):
        said = Message("user", [f"Turn {turn}: what is on it?", picture()])
        asyncio.run(say(agent, said, session, stream=stream))
    for request, given in zip(client.requests, recorder.given, strict=True):
        own = {id(each) for each in pictures_in(given)}
        assert pictures_in(request)
        assert all(id(each) in own for each in pictures_in(request))
    assert len(pictures_in(history_of(session))) == 8 + 8 * 3
    assert len(pictures_in(client.requests[-1])) < 12
    assert provider.conversation(session, agent).usage(LANE).compactions
    pairs = zip(client.requests, recorder.given, strict=True)
    assert world.faults((as_openai(request), as_openai(given)) for request, given in pairs) == []
