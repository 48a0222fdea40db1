"""What a dialect is: all that Backscroll has to know to read and write the messages of one provider or host."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from backscroll.messages.counted import Counted
from backscroll.messages.heal_rules import HealRule
from backscroll.messages.parts import Block, CallId, Message, Part, Reader


class Heal(NamedTuple):
    """One thing that the provider refuses in a block or a message, and that without it."""

    rule: HealRule
    kinds: tuple[str, ...]
    """The kinds of blocks that it is found in: their type, or their key where they have none. None: it is found
    in a message, outside its blocks.
    """
    heal: Callable[[Block], Block | None]
    """Returns the block as it can be sent: the given one if it is sound, `None` to leave it out."""


class Taken(NamedTuple):
    """What the messages of one API may hold, of what not every API takes."""

    api: str
    """Its name, for errors."""
    blocks: frozenset[str] = frozenset()
    """Types of blocks and items."""
    keys: frozenset[str] = frozenset()
    """Keys of messages."""
    roles: frozenset[str] = frozenset()
    """Roles other than system, developer, user and assistant."""


_NOTHING = Taken("")


def nothing(_: Any) -> None:
    """Return that a block is nothing of the kind."""


def unchanged(block: Block) -> Block:
    """Return the block as it is."""
    return block


def text_message(role: str, text: str) -> Message:
    """Return a message whose content is a text."""
    return {"role": role, "content": text}


def text_block(text: str) -> Block:
    """Return a block of text, as it has a type in most dialects."""
    return {"type": "text", "text": text}


def _typed_words(text: str, media: list[Any]) -> list[Any]:
    return [text_block(text), *media]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The shape of messages of one provider or host.

    One message may hold blocks of several dialects, so most fields describe a block. A block is found by its kind: its
    `type`, or its key where it has none.
    """

    name: str
    roles: Mapping[str, str] = field(default_factory=dict)
    """Its own words for roles: `assistant` for Gemini's `model`. All others are as everywhere."""

    typed: bool = True
    """Whether its blocks have a `type`."""

    check: Callable[[Message], None] = nothing
    """Checks a new message that it detects. Raises `MessageError` for one that its provider could never take."""

    # -- read --
    detects: Callable[[Message], bool] | None = None
    """Whether a message has its shape. `None`: its messages look like those of chat completions."""
    blocks: Mapping[str, Reader] = field(default_factory=dict)
    """Readers of its blocks by kind."""
    fields: Mapping[str, Callable[[Any], list[Part]]] = field(default_factory=dict)
    """Readers of what a message holds outside its blocks, by key."""
    carriers: tuple[str, ...] = ()
    """Keys outside the blocks with which a message is not empty."""
    call: Callable[[Any], CallId | None] = nothing
    """The id of the call that a block makes; `None` if it makes none."""
    answer: Callable[[Any], CallId | None] = nothing
    """The id of the call that a block answers."""
    server_call: Callable[[Any], str | None] = nothing
    """The id of the call of a provider's own tool that a block makes."""
    server_answer: Callable[[Any], str | None] = nothing
    """The id of such a call whose result a block is."""
    reasoning: frozenset[str] = frozenset()
    """Kinds of the blocks that are reasoning."""
    reasoning_fields: frozenset[str] = frozenset()
    """Keys outside the blocks that hold reasoning."""
    tool_changes: frozenset[str] = frozenset()
    """Kinds of the blocks that say which tools the model has from there on."""

    # -- write --
    make_message: Callable[[str, str], Message] = text_message
    """Makes a message of a role and a text."""
    make_words: Callable[[str, list[Any]], list[Any]] = _typed_words
    """Makes the blocks by which a user says a text and shows media."""
    make_result: Callable[[Block, str, str], dict[str, Any]] | None = None
    """Makes the result of a call that a block makes: block, id and text. A result with a role is a message."""
    begins_with_user: bool = False
    """Whether a request must begin with a user's message, even if the conversation does not."""
    system_apart: bool = False
    """Whether a request holds its system messages apart from all others."""
    reasons_in_turn: bool = False
    """Whether its provider needs reasoning only until the user's next message, and nothing else can read it."""
    others_answer: frozenset[str] = frozenset()
    """Kinds of calls that the user or the provider answers, so that a request may end with them."""
    markable: frozenset[str] = frozenset()
    """Kinds of blocks that may bear a mark for the prompt cache."""
    alternates: Callable[[Message, Message], bool] | None = None
    """Whether the provider refuses these two messages of one role in a row."""

    # -- send --
    heals: tuple[Heal, ...] = ()
    """What is healed in a block, in this order."""
    refuses: Callable[[Block], tuple[str, Any] | None] = nothing
    """The key and value in a new block that the provider refuses, because it takes a text there."""
    sendable: Callable[[Block], Block] = unchanged
    """The block without what only responses have."""
    taken: Taken = _NOTHING
    """What its API takes and others refuse. An API takes nothing that only others name."""

    # -- around messages --
    response_message: Callable[[Mapping[Any, Any]], object] = nothing
    """The message in a client's whole response; `None` for a response of another dialect."""
    count_usage: Callable[[object], Counted | None] = nothing
    """What the provider counted, read from its usage; `None` for the usage of another one."""
    count_first_turn: Callable[[object], Counted | None] = nothing
    """The same of the first of several turns that the provider took in one call. It is asked before all others."""
    usage_keys: tuple[str, ...] = ()
    """Fields of which its usage has one."""
    usage_in: tuple[str, ...] = ("usage",)
    """Fields in which its responses hold their usage."""
    response_in: tuple[str, ...] = ()
    """Fields in which events of its streams hold the response."""
    response_keys: tuple[str, ...] = ()
    """Fields of which a response, or an event of its stream, has one, also without usage."""
    streams_count: str = ""
    """Where a stream has its usage, in words."""
    tool_formats: Mapping[str, Callable[[str, str, dict[str, Any]], dict[str, Any]]] = field(default_factory=dict)
    """How a tool is defined, by the names under which users ask for it: name, description and JSON schema."""
