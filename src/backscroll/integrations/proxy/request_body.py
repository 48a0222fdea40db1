"""The body of a client's request: what the proxy reads of it, and the bytes with other messages in their place."""

from collections.abc import Sequence
from typing import Any

from backscroll.errors import MessageError
from backscroll.integrations.proxy.given import Given
from backscroll.integrations.proxy.json_text import respelled, split, written
from backscroll.integrations.proxy.seen import SeenMessages


class RequestBody:
    """A request as the client sent it.

    Args:
        raw: The bytes of the body.
        list_key: The member with the messages.
        seen: Messages of earlier requests, and these from now on.

    Raises:
        MessageError: The body is not one JSON object in UTF-8 with a list of objects there.
    """

    def __init__(self, raw: bytes, list_key: str, seen: SeenMessages) -> None:
        known: list[Given] = []

        def skip(text: str, at: int) -> int:
            nonlocal known
            known, end = seen.find(text, at)
            return end

        try:
            text = raw.decode()
            found = split(text, list_key, skip)
        except (ValueError, RecursionError) as error:
            raise MessageError(f"the body is no JSON object in UTF-8: {error!s:.120}") from error
        if found.items is None or not all(type(item.value) is dict for item in found.items):
            raise MessageError(f"`{list_key}` is no list of objects")
        self.raw = raw
        self.fields: dict[str, Any] = found.others
        """All members but the messages."""
        self.items: list[Given] = [*known, *(Given(item, text) for item in found.items)]
        """The messages or items."""
        self._with_tool: tuple[str, str] | None = None
        self._before, self._after = text[: found.start], text[found.end :]
        seen.note(text, found.start, self.items, [item.end for item in found.items])

    def with_items(self, texts: Sequence[str], tool: dict[str, Any] | None = None) -> bytes:
        """Return the bytes of the same request with other messages. All else stays as the client wrote it.

        Args:
            texts: The messages as JSON.
            tool: A tool that comes behind those of the client. `None`: there is none.
        """
        if tool is not None and self._with_tool is None:
            self._with_tool = _with_tool(self._before, self._after, written(tool))
        before, after = (self._before, self._after) if tool is None else self._with_tool or ("", "")
        return f"{before}[{','.join(texts)}]{after}".encode()


def _with_tool(before: str, after: str, tool: str) -> tuple[str, str]:
    """Return what is around the messages of a body with one tool more; unchanged where `tools` is no list."""
    found = split(f"{before}[]{after}", "tools")
    if found.items is not None:
        at, text = found.end - 1, f"{',' if found.items else ''}{tool}"
    elif "tools" in found.others:
        return before, after
    else:
        at, text = before.index("{") + 1, f'"tools":[{tool}],'
    if at <= len(before):
        return f"{before[:at]}{text}{before[at:]}", after
    at -= len(before) + len("[]")
    return before, f"{after[:at]}{text}{after[at:]}"


def text_of(item: dict[str, Any], like: dict[str, Any] | None = None) -> str:
    """Return a message as JSON, in the client's own words as far as it says the same.

    Args:
        item: The message.
        like: The client's message that it shows. `None`: there is none.
    """
    if isinstance(item, Given):
        return item.text
    return respelled(item, like, like.text) if isinstance(like, Given) else written(item)
