"""The framework's own model of Claude over the fake provider that binds reasoning to what came before it."""

from functools import cached_property
from typing import Any

from anthropic import AsyncAnthropic
from anthropic.types import Message
from google.adk.models.anthropic_llm import AnthropicLlm

from backscroll.evaluation.fake_providers import FakeAnthropic
from tests.bound_agent import BETAS, BINDING


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
