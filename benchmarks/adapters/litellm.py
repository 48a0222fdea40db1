"""LiteLLM: the handler's `completion` around a client that answers at once."""

import os
from collections.abc import Sequence
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it fetches a list of prices when it is imported

from litellm import ModelResponse, Usage

from adapters.base import Adapter, Clock, Message
from backscroll.integrations.litellm import BackscrollHandler

KEY = "bench"
MODEL = "openai/scripted"


class Reporting:
    """Answers with the usage of the request, in the place of LiteLLM or its Router."""

    def __init__(self, adapter: "LiteLLM") -> None:
        self.adapter = adapter
        self.clock = Clock()

    def completion(self, **_: Any) -> ModelResponse:
        """Answer."""
        with self.clock.paused():
            tokens = self.adapter.tokens()
            usage = Usage(prompt_tokens=tokens, completion_tokens=20, total_tokens=tokens + 20)
            return ModelResponse(choices=[], usage=usage)


class LiteLLM(Adapter):
    """`BackscrollHandler.completion`."""

    name = "LiteLLM"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.client = Reporting(self)
        self.handler = BackscrollHandler(client=self.client, budget=budget)
        self.messages: list[Message] = [{"role": "system", "content": system}]

    def native(self, message: Message) -> Message:
        return message

    def add(self, natives: Sequence[Message]) -> None:
        self.messages += natives

    async def step(self, clock: Clock) -> None:
        self.client.clock = clock
        with clock:
            self.handler.completion(MODEL, self.messages, litellm_session_id=KEY)

    def tokens(self) -> int:
        return self.handler.conversation(KEY).usage(MODEL).used.tokens
