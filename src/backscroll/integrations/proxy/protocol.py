"""What the proxy has to know of an API: `Protocol`."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from backscroll.integrations.proxy.given import Given, as_given
from backscroll.integrations.proxy.recall_form import RecallForm
from backscroll.integrations.proxy.recall_stream import RecallStream
from backscroll.integrations.translation import Translation
from backscroll.messages import Message

Headers = Mapping[str, str]
Fields = Mapping[str, Any]
_LONGEST = 120
"""Characters of a client's own id in the name of a session; a longer one is shortened to a digest."""
_OWN = "x-backscroll-session"
"""The header by which any client may name its conversation."""
_OPENING = 12
"""Digits of the digest of a conversation's first message."""


class Protocol(ABC):
    """One API: where its requests hold what the proxy needs."""

    name: str
    """The beginning of the names of its sessions."""
    path: re.Pattern[str]
    """Paths of requests that hold a conversation."""
    list_key: str
    """The member with the messages."""
    id_headers: tuple[str, ...]
    """Headers with a client's own id of a conversation, the best first."""
    translation: Translation[Any]
    recall: RecallForm
    """The recall tool in this API."""
    recall_stream: type[RecallStream]
    """A stream of this API without that tool."""

    def session_key(self, headers: Headers, fields: Fields) -> str:
        """Return the client's own id of the conversation, fit for the name of a session; `-` if it sends none."""
        named = (headers.get(name) for name in (_OWN, *self.id_headers))
        found = next(filter(None, named), None) or self.id_in(fields)
        if not found:
            return "-"
        key = quote(found, safe="", errors="surrogatepass")
        return key if len(key) <= _LONGEST else sha256(key.encode()).hexdigest()[:32]

    @abstractmethod
    def id_in(self, fields: Fields) -> str | None:
        """Return the client's own id of the conversation from the body."""

    @abstractmethod
    def left_alone(self, headers: Headers, fields: Fields, items: Sequence[Given]) -> str | None:
        """Return why a request passes unchanged; `None`: it is managed."""

    @abstractmethod
    def system(self, fields: Fields) -> str | None:
        """Return the system prompt, where it is outside the messages."""

    @abstractmethod
    def max_output(self, fields: Fields) -> int | None:
        """Return the tokens that the client reserves for the answer."""

    def natives(self, items: Sequence[Given]) -> Sequence[Any]:
        """Return the messages in which the items of a request are stored."""
        return items

    def prompts(self, natives: Sequence[Any]) -> int:
        """Return how many messages at the beginning are the system prompt, which may change in a session."""
        spoken = (at for at, each in enumerate(natives) if self.translation.to_message(each)["role"] not in _PROMPTS)
        return next(spoken, 0)

    def items(self, natives: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the items of messages."""
        return list(natives)

    def stored_items(self, message: Message) -> list[dict[str, Any]]:
        """Return the items of a stored message."""
        return self.items([self.translation.to_native(message, ())])

    def placed(self, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the items of a view in roles that the API takes at their places. The others stay the same objects."""
        return list(items)

    def says(self, item: dict[str, Any]) -> object:
        """Return what one item says, without marks."""
        return self.translation.says(self.natives([as_given(item)])[0])

    def spelling(self, native: Any) -> int:
        """Return a hash of a message as the client wrote it."""
        return hash(native.text)

    def opening(self, natives: Sequence[Any]) -> str:
        """Return a short digest of the first message."""
        said = self.translation.says(natives[0]) if natives else None
        text = json.dumps(said, sort_keys=True, default=str)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_OPENING]


_PROMPTS = ("system", "developer")


def text_of(content: Any) -> str:
    """Return the text of a system prompt, which is a text or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return "\n\n".join(str(block["text"]) for block in blocks if isinstance(block, dict) and "text" in block)


def whole_number(value: Any) -> int | None:
    """Return a number of tokens; `None` for anything else."""
    return value if type(value) is int and value > 0 else None
