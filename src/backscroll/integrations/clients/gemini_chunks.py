"""A response of Gemini, put together from the chunks of its stream."""

from typing import Any

from backscroll.integrations.clients.fields import get, plain

_OF_TEXT = ({"text"}, {"text", "thought"})
"""The fields of parts that are pieces of one text. Any other field, such as a signature, belongs to its own part."""


class GeminiChunks:
    """Collects the chunks. Texts are joined; a part that is signed stays as it is, as the API demands."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        self._reason: Any = None
        self._usage: Any = None

    def add(self, chunk: Any) -> None:
        """Take the next chunk."""
        self._usage = get(chunk, "usage_metadata") or get(chunk, "usageMetadata") or self._usage
        for candidate in (get(chunk, "candidates") or ())[:1]:
            self._reason = get(candidate, "finish_reason") or get(candidate, "finishReason") or self._reason
            for part in get(get(candidate, "content"), "parts") or ():
                self._add(plain(part))

    def _add(self, part: dict[str, Any]) -> None:
        last = self._parts[-1] if self._parts else {}
        if part.keys() in _OF_TEXT and part.keys() == last.keys():
            self._parts[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            self._parts.append(part)

    def response(self) -> dict[str, Any] | None:
        """Return the response; `None` if it was not finished."""
        if not self._reason:
            return None
        content = {"role": "model", "parts": self._parts}
        candidate = {"content": content, "finish_reason": str(getattr(self._reason, "value", self._reason)), "index": 0}
        return {"candidates": [candidate], "usage_metadata": plain(self._usage)}
