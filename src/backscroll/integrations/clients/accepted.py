"""Which messages of a view a provider's API takes.

A view is in the dialect of its messages. Nothing is converted here: a message that another provider's client made is
refused with an error that names it, before the provider refuses the request with one that does not.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from backscroll.errors import ConfigurationError
from backscroll.messages import SYSTEM_ROLES, Message

_SPOKEN = frozenset(("system", "developer", "user", "assistant"))
_OF_ANTHROPIC = frozenset(("tool_use", "tool_result", "thinking", "redacted_thinking", "document"))
_OF_CHAT = frozenset(("image_url", "input_audio", "file"))
_OF_RESPONSES = frozenset(
    (
        "input_text", "output_text", "input_image", "input_file", "function_call", "function_call_output",
        "custom_tool_call", "custom_tool_call_output", "reasoning", "item_reference",
    )
)  # fmt: skip  # one thought


class Accepted(NamedTuple):
    """What distinguishes the messages of one API from those of others."""

    name: str
    roles: frozenset[str]
    foreign_keys: frozenset[str]
    """Keys of messages that only other APIs have."""
    foreign_blocks: frozenset[str]
    """Types of blocks that only other APIs have."""


_OF_INTERACTIONS = frozenset(("user_input", "model_output", "thought", "function_result"))
_CALLS = frozenset(("tool_calls", "function_call"))
_OF_GEMINI = frozenset(("parts",))
ANTHROPIC = Accepted(
    "Anthropic's Messages API", _SPOKEN, _CALLS | _OF_GEMINI, _OF_CHAT | _OF_RESPONSES | _OF_INTERACTIONS | {"refusal"}
)
CHAT = Accepted(
    "OpenAI's chat completions",
    _SPOKEN | {"tool", "function"},
    _OF_GEMINI,
    _OF_ANTHROPIC | _OF_RESPONSES | _OF_INTERACTIONS | {"image"},
)
RESPONSES = Accepted(
    "OpenAI's Responses API",
    _SPOKEN,
    _CALLS | _OF_GEMINI,
    _OF_ANTHROPIC | _OF_CHAT | _OF_INTERACTIONS | {"text", "image"},
)
INTERACTIONS = Accepted(
    "Gemini's Interactions API", _SPOKEN, _CALLS | _OF_GEMINI,
    (_OF_ANTHROPIC | _OF_CHAT | _OF_RESPONSES | {"text", "image", "refusal"}) - {"function_call"},
)  # fmt: skip  # one thought


def without_metadata(view: Sequence[Message], api: Accepted, *, apart: int = 0) -> list[Message]:
    """Return the messages of a view for a request, without `metadata`, which no provider takes.

    Args:
        view: The view.
        api: The API.
        apart: How many system messages at its beginning are sent apart, so that they may have any shape.

    Raises:
        ConfigurationError: A message is in the dialect of another API.
    """
    if not isinstance(view, Sequence) or isinstance(view, str) or not all(isinstance(each, Mapping) for each in view):
        hint = ": await it first" if hasattr(view, "__await__") else ""
        raise ConfigurationError(
            f"`view` must be the list that `get_messages_for_request` returns, not {view!r:.60}{hint}"
        )
    for at, message in enumerate(view):
        if at >= apart and (found := next(_foreign(message, api), None)):
            raise ConfigurationError(
                f"view[{at}] has {found}, which {api.name} does not take: send the views of a session to the provider "
                "whose messages were appended to it, since messages are never converted"
            )
    return [
        {key: value for key, value in message.items() if key != "metadata"} if "metadata" in message else message
        for message in view
    ]


def leading_system(view: Sequence[Message]) -> int:
    """Return how many system messages a view begins with."""
    return next((at for at, message in enumerate(view) if message.get("role") not in SYSTEM_ROLES), len(view))


def _foreign(message: Message, api: Accepted) -> Iterator[str]:
    """Yield what only messages of another API have."""
    role, kind, content = message.get("role"), message.get("type"), message.get("content")
    if role is not None and role not in api.roles:
        yield f"the role {role!r:.40}"
    for key in sorted(message.keys() & api.foreign_keys):
        yield f"the key {key!r}"
    if kind in api.foreign_blocks:
        yield f"the type {kind!r}"
    for block in content if type(content) is list else ():
        if type(block) is dict and "type" not in block:
            yield f"a block without `type`, with the keys {', '.join(map(repr, block))}"
        elif type(block) is dict and block["type"] in api.foreign_blocks:
            yield f"a block of the type {block['type']!r}"
