"""Pictures of the user: sent as the very objects, and left out as everything else."""

import asyncio
import base64
from typing import Any

from google.genai import types

from tests.integrations import world
from tests.integrations.adk.agents import plugin_of, running
from tests.integrations.adk.scripted import Scripted, as_gemini, calls, text


def looking(step: int, contents: list[types.Content]) -> list[types.Part]:
    if step % 3 == 2:
        return text(f"seen {step}")
    return calls(*(world.Called(f"c{step}_{n}", "order", {"number": step}) for n in range(1 + step % 2)))


def pictures_in(contents: Any) -> list[Any]:
    return [part for content in contents for part in content.parts if part.inline_data is not None]


def test_pictures_are_the_very_objects_and_leave_with_the_rest():
    model = Scripted(looking, counts=False)
    run = running(model, plugin=plugin_of(budget=8_000))
    blob = types.Blob(data=base64.b64decode(world.PNG[:76]), mime_type="image/png")

    async def talk() -> None:
        for turn in range(8):
            await run.hear([types.Part(text=f"Turn {turn}: what is on it?"), types.Part(inline_data=blob)])

    asyncio.run(talk())
    for request, given in zip(model.requests, run.recorder.given, strict=True):
        own = {id(each) for each in pictures_in(given)}
        assert pictures_in(request)
        assert all(id(each) in own for each in pictures_in(request))
    assert len(pictures_in(run.contents)) == 8
    assert len(pictures_in(model.requests[-1])) < 8
    assert run.conversation.usage("small").compactions
    pairs = zip(model.requests, run.recorder.given, strict=True)
    assert world.faults((as_gemini(request), as_gemini(given)) for request, given in pairs) == []
