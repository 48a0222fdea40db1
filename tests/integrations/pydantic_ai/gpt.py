"""Pydantic AI's own model for OpenAI's Responses API, over a fake that binds reasoning to what came before."""

import json
from typing import Any

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from backscroll.evaluation.fake_providers import FakeOpenAIResponses
from backscroll.evaluation.fake_providers.errors import FakeProviderError

NAME = "gpt-6.2-sol"


class Gpt:
    """The provider, and what it refused.

    Args:
        replies: What the model answers, as `FakeOpenAIResponses` takes it.
    """

    def __init__(self, replies: Any) -> None:
        self.provider = FakeOpenAIResponses(replies=replies, on_mismatch="error")
        self.refused: list[str] = []

    def model(self, *, store: bool) -> OpenAIResponsesModel:
        """Pydantic AI's model that asks it. `store`: OpenAI keeps the items, and reasoning is sent by its id."""
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))
        client = AsyncOpenAI(api_key="none", http_client=http, max_retries=0)
        settings = OpenAIResponsesModelSettings(openai_store=store, openai_send_reasoning_ids=True)
        profile: Any = {"openai_supports_encrypted_reasoning_content": not store}
        return OpenAIResponsesModel(
            NAME, provider=OpenAIProvider(openai_client=client), settings=settings, profile=profile
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return httpx2.Response(200, json=self.provider.create(**json.loads(request.content)))
        except FakeProviderError as error:
            self.refused.append(str(error))
            return httpx2.Response(error.status_code, json=error.body)
