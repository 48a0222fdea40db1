"""One file a dialect: all that Backscroll knows of the messages of one provider or host.

- `dialect.py`        what a dialect is: the fields of `Dialect`
- `openai_chat.py`    OpenAI's chat completions, which most hosts and providers take
- `gemini.py`         Gemini's `generateContent`
- `interactions.py`   Gemini's Interactions API
- `bedrock.py`        Amazon Bedrock's Converse
- `responses.py`      OpenAI's Responses API; `response_items.py` says what an item is
- `anthropic.py`      Anthropic's Messages API
- `amplifier.py`      Amplifier's blocks and calls
- `blocks.py`         what blocks of several dialects have in common

To add a dialect, write its file and put it into `DIALECTS`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from backscroll.messages.dialects.amplifier import AMPLIFIER
from backscroll.messages.dialects.anthropic import ANTHROPIC
from backscroll.messages.dialects.bedrock import BEDROCK
from backscroll.messages.dialects.dialect import Dialect
from backscroll.messages.dialects.gemini import GEMINI, is_content
from backscroll.messages.dialects.interactions import INTERACTIONS
from backscroll.messages.dialects.openai_chat import OPENAI_CHAT
from backscroll.messages.dialects.response_items import is_item
from backscroll.messages.dialects.responses import RESPONSES
from backscroll.messages.parts import Message, Part, Reader, kind_of

DIALECTS = (OPENAI_CHAT, INTERACTIONS, GEMINI, BEDROCK, RESPONSES, ANTHROPIC, AMPLIFIER)
"""Every dialect. The first one that knows a block, a response or a usage reads it."""

_BY_TYPE = {kind: dialect for dialect in reversed(DIALECTS) if dialect.typed for kind in dialect.blocks}
READERS: dict[str, Reader] = {kind: dialect.blocks[kind] for kind, dialect in _BY_TYPE.items()}
"""The reader of each block with a type."""
BARE_READERS: dict[str, Reader] = dict(BEDROCK.blocks)
"""The reader of each block without one in a `content`, by its key."""
FIELDS = tuple(field for dialect in reversed(DIALECTS) for field in dialect.fields.items())
"""Readers of what messages hold outside their blocks, by key."""
CARRIERS = tuple(key for dialect in DIALECTS for key in dialect.carriers)
"""Keys outside the blocks with which a message is not empty."""
ROLES = {word: role for dialect in DIALECTS for word, role in dialect.roles.items()}
"""What the rest of the package calls the roles that a dialect has words of its own for."""

TOOL_CHANGES = frozenset(kind for dialect in DIALECTS for kind in dialect.tool_changes)
"""Kinds of blocks that say which tools a model has from there on: without them it loses tools that it was given. A
message with `additional_tools` is critical instead (`response_items.KEPT`).
"""


def dialect_of(message: Message) -> Dialect:
    """Return the dialect whose shape a whole message has: chat completions, if no other detects it."""
    if type(message.get("content")) is str:
        return OPENAI_CHAT
    found = (each for each in DIALECTS if each.detects is not None and each.detects(message))
    return next(found, OPENAI_CHAT)


def dialect_of_block(block: Any, key: str = "content") -> Dialect:
    """Return the dialect of a block. `key`: where the message has its blocks, `parts` in Gemini's."""
    if key == "parts":
        return GEMINI
    if kind := kind_of(block):
        return RESPONSES if is_item(block) else _BY_TYPE.get(kind, OPENAI_CHAT)
    return BEDROCK if type(block) is dict and "type" not in block else OPENAI_CHAT


def blocks_key(message: Message) -> str:
    """Return the key under which a message has its blocks."""
    return "parts" if is_content(message) else "content"


def speaker(message: Message) -> str:
    """Return the role of a message as every dialect means it."""
    role: str = message["role"]
    return ROLES.get(role, role)


def others_answer(message: Message, call: Part) -> bool:
    """Return whether the user or the provider answers a call of a message, so that no tool has to run."""
    key, *rest = call.path
    if key not in ("content", "parts"):
        return False
    return kind_of(message[key][rest[0]]) in _OTHERS_ANSWER


def is_ended_by_provider(call: Part) -> bool:
    """Return whether the provider ends a call by itself, as it does with a program of the Responses API."""
    return call.path[-1] == "code"


_OTHERS_ANSWER = frozenset(kind for dialect in DIALECTS for kind in dialect.others_answer)


# -- tools that a provider runs itself --
# A call and its result are in one message, or in two that follow each other where the provider paused. A request with
# one of them alone is refused; a call at the very end makes the provider go on.

_SERVER_CALLS = tuple(each.server_call for each in DIALECTS)
_SERVER_RESULTS = tuple(each.server_answer for each in DIALECTS)


def server_call(block: Any) -> str | None:
    """Return the id of the call that a block makes; `None` if it is no call of a server's tool."""
    return next((found for of in _SERVER_CALLS if (found := of(block)) is not None), None)


def server_result(block: Any) -> str | None:
    """Return the id of the call whose result a block is; `None` if it is no result of a server's tool."""
    return next((found for of in _SERVER_RESULTS if (found := of(block)) is not None), None)


def server_ends(messages: Iterable[Message]) -> tuple[str, ...]:
    """Return the ids of calls and of results of server tools whose other half is in none of these messages."""
    calls, results = open_ends([block for message in messages for block in message.get(blocks_key(message)) or ()])
    return (*calls, *results)


def open_ends(blocks: Sequence[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of calls without a result behind them here, and of results without a call before them here."""
    calls: dict[str, None] = {}
    results: list[str] = []
    for block in blocks:
        if (call := server_call(block)) is not None:
            calls[call] = None
        elif (answered := server_result(block)) is not None:
            if answered in calls:
                del calls[answered]
            else:
                results.append(answered)
    return tuple(calls), tuple(results)
