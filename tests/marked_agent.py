"""An agent whose views bear marks for its provider's prompt cache, with steps of up to 30 parallel calls."""

from collections.abc import Callable
from typing import Any

from backscroll import ContextManager
from backscroll.evaluation.fake_providers import Reply, reply
from tests.bound_agent import BETAS, BINDING, BoundAgent, Message

OPS = (*["work"] * 12, "say", "say", "compact", "undo", "rewind", "pin", "late", "leave", "steer", "reopen", "prompt",
       "tools", "switch", "mark")  # fmt: skip  # one list
MARK = {"cache_control": {"type": "ephemeral"}}


class MarkedAgent(BoundAgent):
    """The agent. Its system prompt is longer than the smallest prefix that is cached, as those of real agents are.

    Args:
        seed: Everything it chooses follows from this.
        open_manager: Opens the manager of its session, again and again.
    """

    def __init__(self, seed: int, open_manager: Callable[[], ContextManager]) -> None:
        self.usages: list[Message] = []
        """What the provider counted, request by request."""
        self.marks: list[Message] = []
        """The marks of the newest request, in the order of the prompt."""
        super().__init__("anthropic", seed, open_manager, budgets=(60_000, 20_000, 100_000))

    def ask(self) -> None:
        """Send a view, and report what the provider counted."""
        if "create" not in vars(self.provider):
            self.provider.create = self._counted(self.provider.create)
        if not self.numbers:
            self._prompt()
        super().ask()

    def _counted(self, create: Callable[..., Message]) -> Callable[..., Message]:
        def counted(**request: Any) -> Message:
            response = create(**request)
            self.usages.append(response["usage"])
            self.manager.observe_response(response, lane=self.model)
            return response

        return counted

    def anthropic_request(self, view: list[Message]) -> Message:
        """Make the request for a view: the blocks of the leading system messages are its `system`."""
        system = [block for message in view if message["role"] == "system" for block in message["content"]]
        messages = [
            {"role": message["role"], "content": message["content"]} for message in view if message["role"] != "system"
        ]
        blocks = system + [block for message in messages for block in message["content"]]
        self.marks = [block["cache_control"] for block in blocks if "cache_control" in block]
        request = {"model": self.model, "max_tokens": 1_000, "system": system, "messages": messages}
        request |= {"tools": self.tools} if self.tools else {}
        return request | {"thinking": BINDING, "betas": BETAS}

    def _prompt(self) -> None:
        self.numbers += 1
        self.prompt = f"You are agent {self.numbers}. " + "Follow the rules of this house. " * 100
        self._prompted()

    def _mark(self) -> None:
        """Marks of the agent's own, more than a request may have."""
        if not self.open:
            blocks = [{"type": "text", "text": self._text(5)} | MARK for _ in range(6)]
            self.manager.append({"role": "user", "content": blocks})
            self.ask()

    def _thought(self) -> Reply:
        chance = self.chance
        calls = [("read", {"path": self._text(2)}) for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 8, 15, 30)))]
        said = self._text(20) if not calls or chance.random() < 0.4 else ""
        return reply(said, thinking=[self._text(60)] * chance.choice((0, 1, 1)), calls=calls)
