"""The vocabulary of a message: its blocks as they came, the parts that are read in them, and values as text."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

Kind = Literal["text", "reasoning", "call", "result", "media", "opaque"]
Form = Literal[
    "string", "typed", "input", "bare", "value", "arguments", "mapping", "output", "inline", "signature", "fixed"
]
Path = tuple[str | int, ...]
Message = dict[str, Any]
Block = dict[str, Any]
COMPACTION = "compaction"
"""The type of Anthropic's blocks and OpenAI's items."""
_PLAIN = ("thinking", "text")
"""Keys of reasoning in plain words, which a signature may follow."""
_HOLDERS = ("summary", "content", "thinking_blocks", "reasoning_items")
"""Keys of lists of blocks; the last two are LiteLLM's."""


class Media(NamedTuple):
    """An image, document, audio or video inside a message."""

    kind: str
    """`image`, `document`, `audio` or `video`."""
    data: str | None
    """Base64 text or `data:` URL. `None`: the message has a reference only (URL, file id)."""


class Part(NamedTuple):
    """One piece of a message that can be counted, and usually replaced, by itself."""

    kind: Kind
    path: Path
    """Keys and indexes from the message down to the value that a rewrite replaces."""
    text: str
    """What a model reads of it; empty for media. A call's text is its arguments as compact JSON."""
    form: Form
    """How a replacement text is put into its place; see `rewriter.replace`."""
    id: str | None = None
    """The call's id, for a call, a result, or media inside a result."""
    name: str | None = None
    """Name of the called tool."""
    media: Media | None = None

    @property
    def attached(self) -> bool:
        """True for an attached document, as opposed to typed text."""
        return "source" in self.path

    @property
    def is_sealed(self) -> bool:
        """True for reasoning that is signed or encrypted: its provider accepts it unchanged or not at all."""
        return self.kind == "reasoning" and self.form == "fixed"

    @property
    def readable(self) -> str:
        """`text` without what only its provider can read: of a sealed block its reasoning or summary in plain words,
        of a signature nothing.
        """
        if self.kind != "reasoning" or self.form == "string" or not self.text:
            return self.text
        if self.form == "signature":
            return ""
        return self.text if self.path[-1] in _PLAIN else "\n".join(_plain_texts(json.loads(self.text)))


Inner = Callable[[Any, Path, str | None], list[Part]]
"""Reads a block inside another one, in any dialect: the block, its path, and the id of the call that it answers."""
Reader = Callable[[Block, Path, str | None, Inner], list[Part]]
"""Reads a block: the block, its path, the id of the call that its message answers, and how to read blocks inside."""


def kind_of(value: Any) -> str:
    """Return the `type` of a block or an item; empty if it has none."""
    kind = value.get("type") if type(value) is dict else None
    return kind if type(kind) is str else ""


def is_compaction(value: Any) -> bool:
    """Return whether a block or an item is a compaction that represents something; one without content does not."""
    if kind_of(value) != COMPACTION:
        return False
    return bool(value.get("content") or value.get("encrypted_content"))


def compact(value: Any) -> str:
    """Return the JSON text that a provider receives for a structured value. Lone surrogates stay."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain_texts(block: dict[str, Any]) -> Iterator[str]:
    """Yield the plain words of a sealed block, and of blocks in it: thinking, a summary, and reasoning as content."""
    yield from [text for key in _PLAIN if type(text := block.get(key)) is str and text]
    for key in _HOLDERS:
        held = block.get(key)
        for item in held if type(held) is list else ():
            if type(item) is dict:
                yield from _plain_texts(item)
