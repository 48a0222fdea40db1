"""A request that is managed: its messages, which conversations it may belong to, and what goes with the messages."""

from collections.abc import Sequence
from typing import Any

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.proxy.agent import Agent
from backscroll.integrations.proxy.given import Given
from backscroll.integrations.proxy.noting import folder_in
from backscroll.integrations.proxy.protocol import Fields, Headers, Protocol, text_of
from backscroll.integrations.proxy.recall_turns import Place
from backscroll.integrations.proxy.request_body import RequestBody
from backscroll.integrations.proxy.request_budget import RequestBudget, budget_of
from backscroll.manager.base import MAIN
from backscroll.messages.tools import read_tools
from backscroll.tokens.known_models import LONGEST_NAME

_BEGINNING = 3
"""Messages in which a client says where it works."""
_LONG_CONTEXT = "context-1m"
"""The beta header of Anthropic's models that have two windows."""


class ManagedRequest:
    """A request.

    Args:
        protocol: Its API.
        headers: Its headers, in lower case.
        body: Its body.
        budget: Input tokens that it may have. `None`: by the client and the model.
    """

    body: RequestBody
    natives: Sequence[Any]
    prompts: list[dict[str, Any]]
    protocol: Protocol

    def __init__(self, protocol: Protocol, headers: Headers, body: RequestBody, budget: int | None = None) -> None:
        self.protocol, self.body = protocol, body
        self.take(body.items)
        """The system prompt, where it is among the messages, and all other messages."""
        key, opening = protocol.session_key(headers, body.fields), protocol.opening(self.natives)
        self.group: str = f"{protocol.name}/{key}/{opening}"
        """What the conversations have in common that it may belong to: the client's id and the first message."""
        self.folder: str = folder_in(
            [protocol.system(body.fields) or "", *(item.text for item in body.items[:_BEGINNING])]
        )
        """Where its agent works, if it says so."""
        self.budget: RequestBudget = budget_of(
            headers.get("user-agent", ""),
            _lane(body.fields),
            protocol.max_output(body.fields),
            is_long=_LONG_CONTEXT in headers.get("anthropic-beta", ""),
            given=budget,
        )
        """Input tokens that it may have, and why."""
        self.call: ModelCall = _call(protocol, body, self.prompts, self.budget.tokens)
        """What goes with the messages."""
        self.is_restored = False
        """Whether it holds what the client did not see: calls of our recall tool, with their results."""
        self.wants_recall = False
        """Whether it may have our recall tool."""
        self.place: Place = Place()
        """Of the turn that answers it."""

    def take(self, items: Sequence[Given]) -> None:
        """Take these items as those of the request."""
        natives = self.protocol.natives(items)
        prompts = self.protocol.prompts(natives)
        self.prompts, self.natives = self.protocol.items(natives[:prompts]), natives[prompts:]

    @property
    def is_single(self) -> bool:
        """Whether it is a question by itself, without tools and without an answer before it: clients ask so for a
        title, a summary of a page, or whether the provider is there. It may also be the beginning of a conversation.
        """
        said = map(self.protocol.translation.to_message, self.natives)
        return not self.call.tools and not any(message.get("role") == "assistant" for message in said)

    def agent(self) -> Agent:
        """Which agent sends it.

        Raises:
            ConfigurationError: Its tools are in no known shape.
        """
        named = read_tools(self.call.tools or ()).texts
        return Agent(self.call.system or "", frozenset(name for name, _ in named))


def _lane(fields: Fields) -> str:
    model = fields.get("model")
    return model if isinstance(model, str) and 0 < len(model) <= LONGEST_NAME else MAIN


def _call(protocol: Protocol, body: RequestBody, prompts: Sequence[Any], budget: int | None) -> ModelCall:
    fields = body.fields
    tools = fields.get("tools")
    usable = tools if isinstance(tools, list) and all(isinstance(each, dict) for each in tools) else None
    system = "\n\n".join(filter(None, (protocol.system(fields), *(text_of(each.get("content")) for each in prompts))))
    return ModelCall(budget=budget, lane=_lane(fields), tools=usable, system=system or None)
