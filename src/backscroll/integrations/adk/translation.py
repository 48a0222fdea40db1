"""Contents of the framework as messages of Gemini's dialect, and back."""

from collections.abc import Sequence
from typing import Any

from google.genai import types

from backscroll.integrations.adk.parts import to_parts
from backscroll.integrations.translation import Translation
from backscroll.messages import Message

_URL_SAFE = str.maketrans("-_", "+/")
_DATA = {"parts": {"__all__": {"inline_data": {"data"}}}}


class ADKTranslation(Translation[types.Content]):
    """Contents as dicts, one to one. Where a call has no id, its response is paired by name and order."""

    def to_message(self, native: types.Content) -> Message:
        """Return the content as JSON, with bytes as base64."""
        message = _dumped(native)
        for part in message["parts"]:
            if "inline_data" in part and "data" in part["inline_data"]:
                part["inline_data"]["data"] = part["inline_data"]["data"].translate(_URL_SAFE)
        return message

    def to_native(self, message: Message, natives: Sequence[types.Content]) -> types.Content:
        """Return a copy of the first of these with the parts that the view shows; a new content for none."""
        parts = [part for native in natives for part in native.parts or ()]
        own = [part for native in natives for part in self.to_message(native)["parts"]]
        shown = to_parts(message["parts"] if "parts" in message else [{"text": message["content"]}], parts, own)
        if not natives:
            return types.Content(role="user" if message["role"] == "user" else "model", parts=shown)
        return natives[0].model_copy(update={"parts": shown})

    def says(self, native: types.Content) -> object:
        """Return the same with the bytes of media as they are: at each step the newest contents are compared."""
        media = [part.inline_data.data for part in native.parts or () if part.inline_data is not None]
        return _dumped(native, _DATA if media else None), media


def _dumped(content: types.Content, exclude: Any = None) -> Message:
    dumped: Message = content.model_dump(mode="json", exclude_none=True, exclude=exclude, fallback=str)
    return {"role": "user", "parts": [], **dumped}
