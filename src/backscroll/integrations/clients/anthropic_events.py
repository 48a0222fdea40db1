"""A message of Anthropic, put together from the events of its stream.

Source: the events of the client anthropic 2.12, raw ones (`create(stream=True)`) and those of `client.messages.stream`,
which has some more between them.
"""

import json
from typing import Any

from backscroll.errors import MessageError
from backscroll.integrations.clients.fields import get, plain

TYPES = frozenset(
    (
        "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
        "message_stop",
    )
)  # fmt: skip  # one thought
_GROWING = frozenset(("text", "thinking"))
"""Fields of blocks that come in pieces. All others come whole."""


class AnthropicEvents:
    """Collects the events."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}
        """The JSON of arguments, by the number of their block."""
        self._is_finished = False

    def add(self, event: Any) -> None:
        """Take the next event."""
        kind, index = get(event, "type"), get(event, "index")
        if kind == "message_start":
            self._message = plain(get(event, "message"))
        elif kind == "content_block_start":
            self._blocks[index] = dict(plain(get(event, "content_block")))
        elif kind == "content_block_delta":
            self._grow(index, plain(get(event, "delta")))
        elif kind == "message_delta":
            self._message |= plain(get(event, "delta"))
            self._message["usage"] = {**self._message.get("usage", {}), **(plain(get(event, "usage")) or {})}
        elif kind == "message_stop":
            self._is_finished = True

    def _grow(self, index: int, delta: dict[str, Any]) -> None:
        block = self._blocks[index]
        for key, value in delta.items():
            if key == "partial_json":
                self._inputs[index] = self._inputs.get(index, "") + value
            elif key == "citation":
                block["citations"] = [*(block.get("citations") or ()), value]
            elif key != "type":
                block[key] = block.get(key, "") + value if key in _GROWING else value

    def response(self) -> dict[str, Any] | None:
        """Return the message; `None` if it was not finished.

        Raises:
            MessageError: The message ends within the arguments of a call.
        """
        if not self._is_finished:
            return None
        try:
            inputs = {index: {"input": json.loads(text)} for index, text in self._inputs.items() if text}
        except ValueError as error:
            raise MessageError(
                f"the message ends within the arguments of a call (its `stop_reason` is "
                f"{self._message.get('stop_reason')!r}): send the request again with more `max_tokens`"
            ) from error
        content = [{**self._blocks[index], **inputs.get(index, {})} for index in sorted(self._blocks)]
        return {**self._message, "content": content}
