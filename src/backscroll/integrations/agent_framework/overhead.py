"""What a request holds outside the conversation: instructions, the form of its answer, messages of its own."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import Message as Native

from backscroll.integrations.conversation import Conversation
from backscroll.integrations.translation import Translation


class Overhead:
    """The expected tokens of a run's requests outside the conversation. They are counted when something changes."""

    def __init__(self, translation: Translation[Native]) -> None:
        self._translation = translation
        self._known: tuple[Any, ...] = ()
        self._tokens = 0

    def tokens(
        self, conversation: Conversation[Native], lane: str, options: Mapping[str, Any], extra: Sequence[Native]
    ) -> int:
        """Return the expected tokens.

        Args:
            conversation: The conversation, whose tokenizer counts.
            lane: The lane of the request.
            options: The framework's options of the request.
            extra: Messages that only this request holds.
        """
        shape = options.get("response_format")
        now = (lane, options.get("instructions"), shape, *extra)
        if len(now) != len(self._known) or any(
            one is not other and one != other for one, other in zip(now, self._known, strict=True)
        ):
            texts = (str(now[1] or ""), _schema(shape))
            messages = [{"role": "system", "content": text} for text in texts if text]
            self._tokens = conversation.expected_tokens([*messages, *map(self._translation.to_message, extra)], lane)
            self._known = now
        return self._tokens


def definitions(tools: Any) -> list[dict[str, Any]] | None:
    """Return the definitions of a request's tools; `None` if it has none.

    Args:
        tools: The option `tools` of the framework: its function tools, and mappings for those of a provider.
    """
    given = tools if isinstance(tools, list | tuple) else [] if tools is None else [tools]
    return [_definition(tool) for tool in given] or None


def _definition(tool: Any) -> dict[str, Any]:
    if callable(spec := getattr(tool, "to_json_schema_spec", None)):
        found: dict[str, Any] = spec()
        return found
    if isinstance(tool, Mapping):
        mapped: dict[str, Any] = json.loads(json.dumps(dict(tool), default=str))
        return mapped
    return {"type": str(getattr(tool, "name", type(tool).__name__))}


def _schema(shape: Any) -> str:
    if shape is None:
        return ""
    if callable(schema := getattr(shape, "model_json_schema", None)):
        return json.dumps(schema())
    return json.dumps(shape, default=str)
