"""The clients of providers: the manager by itself, and the arguments of a request from its view."""

from collections.abc import Sequence
from typing import Any

from adapters.base import Adapter, Clock, Message
from backscroll import ContextManager
from backscroll.integrations.clients import chat_request, with_retry


class Clients(Adapter):
    """`with_retry` around OpenAI's chat completions."""

    name = "clients, chat completions"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.manager = ContextManager(budget=budget)
        self.new: list[Message] = [{"role": "system", "content": system}]

    def native(self, message: Message) -> Message:
        return message

    def add(self, natives: Sequence[Message]) -> None:
        self.new += natives

    async def step(self, clock: Clock) -> None:
        def send(view: list[Message]) -> dict[str, Any]:
            assert chat_request(view)["messages"]
            with clock.paused():
                usage = {"prompt_tokens": self.tokens(), "completion_tokens": 20}
                return {"object": "chat.completion", "choices": [], "usage": usage}

        with clock:
            self.manager.append(*self.new)
            response = with_retry(self.manager, send)
            self.manager.observe_response(response)
        self.new = []

    def tokens(self) -> int:
        return self.manager.usage().used.tokens

    async def close(self) -> None:
        self.manager.close()
