"""OpenAI's chat completions and Responses API, of OpenAI or of any server that speaks them."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from backscroll.integrations.item_runs import Grouping, kind_of
from backscroll.integrations.item_translation import items_of
from backscroll.integrations.proxy.competing import competing_setting, shortened_by
from backscroll.integrations.proxy.given import Given
from backscroll.integrations.proxy.protocol import Fields, Headers, Protocol, text_of, whole_number
from backscroll.integrations.proxy.recall_chat import ChatRecall
from backscroll.integrations.proxy.recall_form import RecallForm
from backscroll.integrations.proxy.recall_responses import ResponsesRecall
from backscroll.integrations.proxy.recall_stream import RecallStream
from backscroll.integrations.proxy.recall_stream_chat import ChatRecallStream
from backscroll.integrations.proxy.recall_stream_responses import ResponsesRecallStream
from backscroll.integrations.proxy.translation import RunTranslation, WireTranslation, typed
from backscroll.integrations.translation import Translation
from backscroll.messages import Message

_IDS = ("session-id", "session_id", "thread-id", "thread_id", "conversation_id", "x-session-id", "x-session-affinity")
_TRIGGER = "compaction_trigger"
"""The item that asks for a compaction now. The `compaction` item of an earlier one removes nothing by itself: the
client left out what it represents, and each view keeps it.
"""


class _OpenAI(Protocol):
    """What both APIs of OpenAI have in common."""

    id_headers: tuple[str, ...] = _IDS

    def id_in(self, fields: Fields) -> str | None:
        """Return `prompt_cache_key`, the session of `metadata`, or `user`."""
        metadata = fields.get("metadata")
        session = metadata.get("session_id") if isinstance(metadata, dict) else None
        given = (fields.get("prompt_cache_key"), session, fields.get("user"))
        return next((each for each in given if isinstance(each, str) and each), None)


class Chat(_OpenAI):
    """`POST /v1/chat/completions`."""

    name = "chat"
    path: re.Pattern[str] = re.compile(r"(?:/v1)?/chat/completions")
    list_key = "messages"
    translation: Translation[Any] = WireTranslation()
    recall: RecallForm = ChatRecall()
    recall_stream: type[RecallStream] = ChatRecallStream

    def left_alone(self, headers: Headers, fields: Fields, items: Sequence[Given]) -> str | None:  # noqa: ARG002
        """Return the reason where a gateway shortens the conversation."""
        setting = competing_setting(fields)
        return shortened_by(setting) if setting else None

    def system(self, fields: Fields) -> str | None:  # noqa: ARG002
        """Return nothing: it is among the messages."""
        return None

    def max_output(self, fields: Fields) -> int | None:
        """Return `max_completion_tokens`, or `max_tokens`."""
        return whole_number(fields.get("max_completion_tokens")) or whole_number(fields.get("max_tokens"))


class Responses(_OpenAI):
    """`POST /v1/responses`."""

    name = "responses"
    path: re.Pattern[str] = re.compile(r"(?:/v1)?/responses")
    list_key = "input"
    translation: Translation[Any] = RunTranslation()
    recall: RecallForm = ResponsesRecall()
    recall_stream: type[RecallStream] = ResponsesRecallStream

    def left_alone(self, headers: Headers, fields: Fields, items: Sequence[Given]) -> str | None:  # noqa: ARG002
        """Return the reason where the provider shortens the conversation, or keeps it."""
        if fields.get("previous_response_id") or fields.get("conversation"):
            return "the provider keeps the history"
        setting = competing_setting(fields)
        if setting is None and any(kind_of(item) == _TRIGGER for item in items):
            setting = _TRIGGER
        return shortened_by(setting) if setting else None

    def system(self, fields: Fields) -> str | None:
        """Return `instructions`."""
        return text_of(fields.get("instructions")) or None

    def max_output(self, fields: Fields) -> int | None:
        """Return `max_output_tokens`."""
        return whole_number(fields.get("max_output_tokens"))

    def natives(self, items: Sequence[Given]) -> Sequence[Any]:
        """Return the items in runs: those of one response are one message."""
        rest = iter(items)
        return [tuple(islice(rest, len(run))) for run in Grouping().runs(list(map(typed, items)))]

    def items(self, natives: Sequence[Any]) -> list[dict[str, Any]]:
        """Return the items of runs."""
        return [item for run in natives for item in run]

    def stored_items(self, message: Message) -> list[dict[str, Any]]:
        """Return the items of a stored run."""
        items = items_of(message)
        return [{key: value for key, value in item.items() if key != "metadata"} for item in items]

    def spelling(self, native: Any) -> int:
        """Return a hash of a run as the client wrote its items."""
        return hash(tuple([item.text for item in native]))
