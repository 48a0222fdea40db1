"""Pydantic AI's own model for chat completions, over a fake that enforces their rules."""

import json
from typing import Any

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from backscroll.evaluation.fake_providers import FakeOpenAIChat
from backscroll.evaluation.fake_providers.errors import FakeProviderError


class Chat:
    """The provider, and what it refused.

    Args:
        replies: What the model answers, as `FakeOpenAIChat` takes it.
    """

    def __init__(self, replies: Any = None) -> None:
        self.provider = FakeOpenAIChat(replies=replies)
        self.refused: list[str] = []

    def model(self) -> OpenAIChatModel:
        """Pydantic AI's model that asks it."""
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        client = AsyncOpenAI(api_key="none", http_client=http, max_retries=0)
        return OpenAIChatModel("gpt-5.4", provider=OpenAIProvider(openai_client=client))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return httpx2.Response(200, json=self.provider.create(**json.loads(request.content)))
        except FakeProviderError as error:
            self.refused.append(str(error))
            return httpx2.Response(error.status_code, json=error.body)
