"""Models of the framework over the fake providers that check signatures and what reasoning is bound to."""

import base64
from functools import cached_property
from typing import Any

from anthropic import AsyncAnthropic
from anthropic.types import Message
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeGemini
from tests.bound_agent import BETAS, BINDING
from tests.integrations.adk.scripted import Scripted, as_gemini


class GeminiOnFake(Scripted):
    """A model of Gemini, which signs the calls of each step and wants them back unchanged."""

    provider: Any = None
    sealed: int = 0
    """Requests with signatures."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        contents = as_gemini(llm_request.contents)
        self.requests.append(list(llm_request.contents))
        self.sealed += "thoughtSignature" in str(contents)
        answer = self.provider.generate_content(
            model=self.model,
            contents=contents,
            system_instruction=llm_request.config.system_instruction,
            tools=[tool.model_dump(by_alias=True, exclude_none=True) for tool in llm_request.config.tools],
        )
        content = answer["candidates"][0]["content"]
        for part in content["parts"]:
            if "thoughtSignature" in part:
                part["thoughtSignature"] = base64.b64decode(part["thoughtSignature"])
        usage = types.GenerateContentResponseUsageMetadata.model_validate(answer["usageMetadata"])
        yield LlmResponse(content=types.Content.model_validate(content), usage_metadata=usage)


def gemini(replies: Any, *, ids: bool) -> GeminiOnFake:
    return GeminiOnFake(model="gemini-3.8-flash", provider=FakeGemini(replies=replies, ids=ids))


class Messages:
    """The part of Anthropic's client that the framework's model calls."""

    def __init__(self, replies: Any) -> None:
        self.provider = FakeAnthropic(replies=replies)
        self.requests: list[dict[str, Any]] = []
        self.dropped: list[Any] = []
        """Reasons for which the provider left out reasoning by itself."""

    async def create(self, **given: Any) -> Message:
        given = {
            key: value for key, value in given.items() if value is not None and "NotGiven" not in type(value).__name__
        }
        self.requests.append(given)
        answer = self.provider.create(**{**given, "thinking": BINDING, "betas": BETAS})
        self.dropped += [each["reason"] for each in self.provider.transformations]
        return Message.model_validate(answer)


class Client(AsyncAnthropic):
    """Anthropic's client over the fake."""

    def __init__(self, replies: Any) -> None:
        super().__init__(api_key="none")
        self.fake = Messages(replies)

    @cached_property
    def messages(self) -> Any:
        return self.fake


def claude(replies: Any) -> tuple[AnthropicLlm, Messages]:
    """The framework's own model of Claude, and what it sent."""
    client = Client(replies)
    return AnthropicLlm(model="claude-opus-5-5", client=client), client.fake
