"""What a benchmark asks of a context manager, whoever made it. No framework is imported here."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

Message = dict[str, Any]

VIEWS = 100
"""Messages between two views while a history is filled. An agent asks for more of them."""

SUMMARY = "The work so far went as asked; files were read and searched, and what was found is told above. " * 8
"""What the scripted model answers where a peer asks one for a summary: about 160 tokens, at once and for nothing."""


class Peer(ABC):
    """One way of one framework to keep a conversation and to make the view for a request.

    Only `add` and `view` are measured; `read` and `written` translate from and to OpenAI chat, for free.
    """

    name: ClassVar[str]
    """As tables show it."""
    package: ClassVar[str]
    """What has to be installed for it, and whose version is told."""
    about: ClassVar[str]
    """How it was set up."""
    keeps: ClassVar[str]
    """What it still has: `everything`, `a stash` (what it took out of the view, by reference), or `its view`."""
    where: ClassVar[str]
    """`memory` or `disk`."""
    budgeted: ClassVar[bool] = True
    """Whether its views are made to a number of tokens."""

    @abstractmethod
    def __init__(self, budget: int, folder: Path) -> None:
        """`budget`: tokens of a request. `folder`: where files may be made; used by those that keep on disk."""

    @abstractmethod
    def read(self, message: Message) -> Any:
        """The message as the framework has it."""

    @abstractmethod
    async def add(self, native: Any) -> None:
        """Keeps a message that `read` made."""

    @abstractmethod
    async def view(self) -> Sequence[Any]:
        """What would be sent now."""

    @abstractmethod
    def written(self, view: Sequence[Any]) -> list[Message]:
        """The view in OpenAI chat."""

    async def recall(self, query: str) -> tuple[str, dict[str, Any], str] | None:
        """What a model gets that calls the peer's own tool for what left the view: the call's name, its arguments and
        the answer. A tool that only reads references gets the one that the view shows nearest to the query's words.
        None where it ships no tool, or no reference is there.
        """
        return None

    async def preload(self, natives: Sequence[Any]) -> None:
        """Keeps many messages, with a view now and then: what leaves them then is gone."""
        for number, native in enumerate(natives, 1):
            await self.add(native)
            if number % VIEWS == 0:
                await self.view()

    def close(self) -> None:  # noqa: B027 - most hold nothing that needs it
        """Frees files."""


class Keeper(ABC):
    """One way of one framework to keep a conversation on disk. `append` and `resume` are measured."""

    name: ClassVar[str]
    package: ClassVar[str]
    about: ClassVar[str]
    synced: ClassVar[bool]
    """Whether `append` returns only when a power cut cannot take the message back."""

    @abstractmethod
    def __init__(self, folder: Path) -> None:
        """Opens what is in the folder, which is empty at first."""

    @abstractmethod
    def read(self, message: Message) -> Any:
        """The message as the framework has it."""

    @abstractmethod
    async def append(self, native: Any) -> None:
        """Keeps a message, and returns when it is kept."""

    @abstractmethod
    async def resume(self, budget: int) -> int:
        """Gets what the next request needs, and says of how many messages it is. Called first in a new process."""

    async def preload(self, natives: Sequence[Any]) -> None:
        """Keeps many messages at once, which is not measured."""
        for native in natives:
            await self.append(native)

    def close(self) -> None:  # noqa: B027 - most hold nothing that needs it
        """Frees files."""


def calls_of(message: Message) -> list[tuple[str, str, str]]:
    """Id, name and arguments (JSON) of each call of an OpenAI message."""
    return [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]


def call(known: str, name: str, arguments: str | dict[str, Any] | None) -> dict[str, Any]:
    """A call of an OpenAI message."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"id": known, "type": "function", "function": {"name": name, "arguments": written}}


def assistant(text: str, calls: Sequence[dict[str, Any]]) -> Message:
    """An assistant's OpenAI message."""
    return {"role": "assistant", "content": text} | ({"tool_calls": list(calls)} if calls else {})


def result(known: str, text: str) -> Message:
    """An OpenAI message with a tool's result."""
    return {"role": "tool", "tool_call_id": known, "content": text}


def arguments_of(written: str) -> dict[str, Any]:
    """Arguments as an object, which some frameworks insist on."""
    try:
        found = json.loads(written)
    except ValueError:
        return {"text": written}
    return found if isinstance(found, dict) else {"value": found}


def plain(content: Any) -> str:
    """The text of an OpenAI message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or () if isinstance(block, dict))
