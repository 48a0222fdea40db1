"""A model that follows a script, what it was asked, and contents in a dialect that the judge reads."""

import base64
from collections.abc import Callable, Sequence
from typing import Any

from google.adk.models import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.genai import types
from pydantic import Field

from tests.integrations import world

Script = Callable[[int, list[types.Content]], list[types.Part]]


class Overflow(Exception):
    """A refusal as Gemini words it, without sizes."""

    def __init__(self) -> None:
        super().__init__("400 INVALID_ARGUMENT. The input token count exceeds the maximum number of tokens allowed.")


def calls(*called: world.Called, ids: bool = False) -> list[types.Part]:
    """An answer that calls tools."""
    return [
        types.Part(function_call=types.FunctionCall(id=call.id if ids else None, name=call.name, args=call.arguments))
        for call in called
    ]


def text(said: str) -> list[types.Part]:
    """An answer of one text."""
    return [types.Part(text=said)]


def work(step: int, contents: list[types.Content]) -> list[types.Part]:
    """The work of `world`; calls have no ids, as from Gemini before 3."""
    return calls(*world.calls_at(step)) or text(world.text_at(step))


def work_with_ids(step: int, contents: list[types.Content]) -> list[types.Part]:
    """The same with ids, as from Gemini 3."""
    return calls(*world.calls_at(step), ids=True) or text(world.text_at(step))


def one_turn(step: int, contents: list[types.Content]) -> list[types.Part]:
    """The first turn of that work, and short answers then."""
    return work(step, contents) if step < world.TURN else text("fine")


def chat(step: int, contents: list[types.Content]) -> list[types.Part]:
    """Answers of about 120 tokens."""
    return text(f"answer {step}: " + "as you say " * 60)


class Scripted(BaseLlm):
    """The model. Streamed, it hands on each part by itself and then the whole answer."""

    script: Any = work
    """What it answers to a request, by the number of the answers before it."""
    limit: int | None = None
    """Refuse requests whose texts have more characters."""
    errors: list[Any] = Field(default_factory=list)
    """Raised by the next requests, one each; `None` lets one pass."""
    requests: list[Any] = Field(default_factory=list)
    """Every request, the refused ones too."""
    configs: list[Any] = Field(default_factory=list)
    answered: int = 0
    counts: bool = True
    """Whether answers say how many tokens the request had."""

    def __init__(self, script: Script = work, **options: Any) -> None:
        super().__init__(**{"model": "small", "script": script, **options})

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.requests.append(list(llm_request.contents))
        self.configs.append(llm_request.config)
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error
        size = len(text_of(llm_request.contents))
        if self.limit is not None and size > self.limit:
            raise Overflow
        parts = self.script(self.answered, list(llm_request.contents))
        self.answered += 1
        for part in parts if stream else ():
            yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=size // 4 + 300, candidates_token_count=9)
        content = types.Content(role="model", parts=parts)
        yield LlmResponse(content=content, usage_metadata=usage if self.counts else None)


class Recorder(BasePlugin):
    """A plugin behind ours that notes what the framework would send, and the request."""

    def __init__(self) -> None:
        super().__init__("recorder")
        self.given: list[list[types.Content]] = []
        self.requests: list[Any] = []

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        self.given.append(list(llm_request.contents))
        self.requests.append(llm_request)


def text_of(contents: Sequence[types.Content]) -> str:
    """Every text of some contents."""
    parts = [part for content in contents for part in content.parts or ()]
    found: list[Any] = [part.text for part in parts if part.text]
    found += [part.function_call.args for part in parts if part.function_call]
    found += [part.function_response.response for part in parts if part.function_response]
    return "\n".join(map(str, found))


def as_gemini(contents: Sequence[types.Content]) -> list[dict[str, Any]]:
    """Contents as they go over the wire, which the judge reads; translated without the adapter."""
    return [{"role": content.role, "parts": list(map(_part, content.parts or ()))} for content in contents]


def _part(part: types.Part) -> dict[str, Any]:
    signed = part.thought_signature
    found: dict[str, Any] = {"thoughtSignature": base64.b64encode(signed).decode()} if signed else {}
    if part.function_call is not None:
        call = part.function_call
        return found | {"functionCall": _named(call) | {"args": call.args}}
    if part.function_response is not None:
        answer = part.function_response
        shown = [_part(each) for each in answer.parts or ()]  # type: ignore[arg-type]  # it has the same fields
        more = {"parts": shown} if shown else {}
        return found | {"functionResponse": _named(answer) | {"response": answer.response} | more}
    if part.inline_data is not None:
        data = base64.b64encode(part.inline_data.data or b"").decode()
        return found | {"inlineData": {"mimeType": part.inline_data.mime_type, "data": data}}
    return found | {"text": part.text} | ({"thought": True} if part.thought else {})


def _named(held: Any) -> dict[str, Any]:
    return {"name": held.name} | ({"id": held.id} if held.id else {})
