"""Anthropic's Messages API."""

import json
import re
from collections.abc import Sequence
from typing import Any

from backscroll.integrations.proxy.competing import competing_setting, shortened_by
from backscroll.integrations.proxy.given import Given
from backscroll.integrations.proxy.protocol import Fields, Headers, Protocol, text_of, whole_number
from backscroll.integrations.proxy.recall_anthropic import AnthropicRecall
from backscroll.integrations.proxy.recall_form import RecallForm
from backscroll.integrations.proxy.recall_stream import RecallStream
from backscroll.integrations.proxy.recall_stream_anthropic import AnthropicRecallStream
from backscroll.integrations.proxy.translation import BlockTranslation
from backscroll.integrations.translation import Translation
from backscroll.messages.cache_marks import in_blocks
from backscroll.messages.parts import kind_of

_SESSION = re.compile(r"session_([0-9A-Za-z-]{8,64})")
"""Claude Code's session in `metadata.user_id`."""


class Anthropic(Protocol):
    """`POST /v1/messages`, and `/v1/messages/count_tokens`."""

    name = "anthropic"
    path: re.Pattern[str] = re.compile(r"(?:/v1)?/messages(?:/count_tokens)?")
    list_key = "messages"
    id_headers: tuple[str, ...] = ("x-claude-code-session-id",)
    translation: Translation[Any] = BlockTranslation()
    recall: RecallForm = AnthropicRecall()
    recall_stream: type[RecallStream] = AnthropicRecallStream

    def id_in(self, fields: Fields) -> str | None:
        """Return the session in `metadata.user_id`, or all of it."""
        metadata = fields.get("metadata")
        user = metadata.get("user_id") if isinstance(metadata, dict) else None
        if not isinstance(user, str) or not user:
            return None
        found = _SESSION.search(user)
        return found[1] if found else _session_in_json(user) or user

    def left_alone(self, headers: Headers, fields: Fields, items: Sequence[Given]) -> str | None:  # noqa: ARG002
        """Return the reason where the provider shortens the conversation, or keeps it."""
        if fields.get("thread"):
            return "the provider keeps the history (`thread`)"
        if setting := competing_setting(fields):
            return shortened_by(setting)
        if any(kind_of(block) == "compaction" for item in items for block in _blocks(item)):
            return shortened_by("compaction")
        return None

    def placed(self, items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the items with each system message as the user's that is not behind a turn of the user, or directly
        before one: the API refuses it there, and what the view leaves out was around it.
        """
        roles = [item.get("role") for item in items]
        found = list(items)
        for at, item in enumerate(items):
            if roles[at] != "system":
                continue
            before = next((role for role in reversed(roles[:at]) if role != "system"), None)
            after = next((role for role in roles[at:] if role != "system"), None)
            if (before != "user" or after == "user") and item.get("content"):
                found[at] = in_blocks({"role": "user", "content": item["content"]})
        return found

    def system(self, fields: Fields) -> str | None:
        """Return the text of `system`."""
        return text_of(fields.get("system")) or None

    def max_output(self, fields: Fields) -> int | None:
        """Return `max_tokens`."""
        return whole_number(fields.get("max_tokens"))


def _blocks(item: dict[str, Any]) -> list[Any]:
    content = item.get("content")
    return content if isinstance(content, list) else []


def _session_in_json(user: str) -> str | None:
    if not user.startswith("{"):
        return None
    try:
        found = json.loads(user)
    except ValueError:
        return None
    session = found.get("session_id") if isinstance(found, dict) else None
    return session if isinstance(session, str) and session else None
