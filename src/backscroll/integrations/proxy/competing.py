"""Settings of a request by which the provider removes messages or results: a view and it would not know of each other.

Sources: `BetaContextManagementConfigParam` and `BetaCompactionConfigParam` of anthropic 2.12, `ResponseCreateParams` of
openai 3.54, and OpenRouter's message transforms.
"""

from collections.abc import Mapping
from typing import Any

from backscroll.messages.parts import kind_of

_OF_THINKING = frozenset(("clear_thinking_20251015",))
"""Edits that remove thinking at most. Claude Code sends one with `keep: "all"`, which removes nothing.

`clear_tool_uses_20250919` removes results, `compact_20260112` and OpenAI's `compaction` messages. An edit that is not
known may remove anything.
"""


def competing_setting(fields: Mapping[str, Any]) -> str | None:
    """Return the setting as the request names it; `None` if the provider leaves messages and results as they are.

    Args:
        fields: The members of a request of any API, without its messages.
    """
    if fields.get("compaction"):
        return "compaction"
    if fields.get("truncation") == "auto":
        return "truncation"
    if fields.get("transforms"):
        return "transforms"
    management = fields.get("context_management")
    edits = management.get("edits") if isinstance(management, dict) else management  # OpenAI's is the list itself
    kinds = map(kind_of, edits) if isinstance(edits, list) else [""] if edits else ()
    return next((kind or "context_management" for kind in kinds if kind not in _OF_THINKING), None)


def shortened_by(setting: str) -> str:
    """Return the reason why a request is left alone."""
    return f"the provider shortens the conversation (`{setting}`)"
