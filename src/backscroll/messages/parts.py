"""The vocabulary of a read message: what a part is, and how a structured value becomes text. Only types may live
here.
"""

import json
from typing import Any, Literal, NamedTuple

Kind = Literal["text", "reasoning", "call", "result", "media", "opaque"]
Form = Literal["string", "typed", "bare", "value", "arguments", "mapping", "fixed"]
Path = tuple[str | int, ...]


class Media(NamedTuple):
    """An image, document, audio or video inside a message."""

    kind: str
    """`image`, `document`, `audio` or `video`."""
    data: str | None
    """Base64 text or `data:` URL; None where the message only points elsewhere (URL, file id)."""


class Part(NamedTuple):
    """One piece of a message that can be counted, and mostly replaced, by itself."""

    kind: Kind
    path: Path
    """Where it stands: keys and indexes from the message down to what a rewrite replaces."""
    text: str
    """What a model reads of it; empty for media. A call's text is its arguments as compact JSON."""
    form: Form
    """How a text is put in its place: see `rewriting.replace`."""
    id: str | None = None
    """The call's id, of a call, a result, or media inside a result."""
    name: str | None = None
    """The called tool's name."""
    media: Media | None = None

    @property
    def attached(self) -> bool:
        """Whether it is a document that somebody attached, and not what he wrote."""
        return "source" in self.path


def compact(value: Any) -> str:
    """The JSON text that a provider would be sent for a structured value; lone surrogates are kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
