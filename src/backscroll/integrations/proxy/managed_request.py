"""A request that is managed: its messages, which conversations it may belong to, and what goes with the messages."""

from collections.abc import Sequence
from typing import Any

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.proxy.agent import Agent
from backscroll.integrations.proxy.noting import folder_in
from backscroll.integrations.proxy.protocol import Headers, Protocol, text_of
from backscroll.integrations.proxy.request_body import RequestBody
from backscroll.manager.base import MAIN
from backscroll.messages.tools import read_tools
from backscroll.tokens.windows import window_of

_MARGIN = 1_000
"""Tokens of a window that stay free, as in the manager's own options."""
_BEGINNING = 3
"""Messages in which a client says where it works."""
_LONG_CONTEXT = "context-1m"
"""The beta header of Anthropic's models that have two windows."""
_LONG_WINDOW = 1_000_000


class ManagedRequest:
    """A request.

    Args:
        protocol: Its API.
        headers: Its headers, in lower case.
        body: Its body.
        budget: Input tokens that it may have. `None`: what the window of the model leaves.
    """

    body: RequestBody
    natives: Sequence[Any]
    prompts: list[dict[str, Any]]
    protocol: Protocol

    def __init__(self, protocol: Protocol, headers: Headers, body: RequestBody, budget: int | None = None) -> None:
        self.protocol, self.body = protocol, body
        natives = protocol.natives(body.items)
        prompts = protocol.prompts(natives)
        self.prompts, self.natives = protocol.items(natives[:prompts]), natives[prompts:]
        """The system prompt, where it is among the messages, and all other messages."""
        key, opening = protocol.session_key(headers, body.fields), protocol.opening(self.natives)
        self.group: str = f"{protocol.name}/{key}/{opening}"
        """What the conversations have in common that it may belong to: the client's id and the first message."""
        self.folder: str = folder_in(
            [protocol.system(body.fields) or "", *(item.text for item in body.items[:_BEGINNING])]
        )
        """Where its agent works, if it says so."""
        self.call: ModelCall = _call(protocol, headers, body, self.prompts, budget)
        """What goes with the messages."""

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


def _call(
    protocol: Protocol, headers: Headers, body: RequestBody, prompts: Sequence[Any], budget: int | None
) -> ModelCall:
    fields = body.fields
    model, tools = fields.get("model"), fields.get("tools")
    lane = model if isinstance(model, str) and model else MAIN
    if budget is None:
        budget = _budget(lane, protocol.max_output(fields), is_long=_LONG_CONTEXT in headers.get("anthropic-beta", ""))
    usable = tools if isinstance(tools, list) and all(isinstance(each, dict) for each in tools) else None
    system = "\n\n".join(filter(None, (protocol.system(fields), *(text_of(each.get("content")) for each in prompts))))
    return ModelCall(budget=budget, lane=lane, tools=usable, system=system or None)


def _budget(model: str, max_output: int | None, *, is_long: bool) -> int | None:
    """Return what a model's window leaves for input, if it is known and the client says what it reserves for output."""
    window = window_of(model, {})
    if window is None or max_output is None:
        return None
    tokens = max(window.tokens, _LONG_WINDOW) if is_long else window.tokens
    left = tokens - min(max_output, tokens // 2) - _MARGIN
    return left if window.max_input is None or is_long else min(left, window.max_input)
