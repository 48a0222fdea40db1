"""Pydantic AI's own model for Anthropic, over a fake of Anthropic that binds thinking to what came before it."""

import json
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider

from backscroll.evaluation.fake_providers import FakeAnthropic
from backscroll.evaluation.fake_providers.errors import FakeProviderError

BINDING: Any = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
BETAS: Any = ["thinking-binding-controls-2026-08-01"]
NAME = "claude-opus-5-5"


class Claude:
    """The provider, and what it refused.

    Args:
        replies: What the model answers, as `FakeAnthropic` takes it.
    """

    def __init__(self, replies: Any) -> None:
        self.provider = FakeAnthropic(model=NAME, replies=replies)
        self.refused: list[str] = []

    def model(self, **settings: Any) -> AnthropicModel:
        """Pydantic AI's model that asks it. Settings replace those that have mismatches refused."""
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        client = AsyncAnthropic(api_key="none", http_client=http, max_retries=0)
        settings = settings or {"anthropic_thinking": BINDING, "anthropic_betas": BETAS}
        return AnthropicModel(
            NAME,
            provider=AnthropicProvider(anthropic_client=client),
            settings=AnthropicModelSettings(max_tokens=1_000, **settings),  # type: ignore[typeddict-item]  # any settings
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        try:
            headers = {"anthropic-beta": request.headers.get("anthropic-beta", "")}
            return httpx2.Response(200, json=self.provider.create(**body, headers=headers))
        except FakeProviderError as error:
            self.refused.append(str(error))
            return httpx2.Response(error.status_code, json=error.body)
