"""An interaction of Gemini, put together from the events of its stream."""

import json
from typing import Any

from backscroll.integrations.clients.fields import get, plain

_MEDIA = ("image", "audio", "video", "document")


class InteractionEvents:
    """Collects the events. Each step begins with one, and grows by others that name its index."""

    def __init__(self) -> None:
        self._steps: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, str] = {}
        """The JSON of arguments as it came, by the index of the call."""
        self._interaction: dict[str, Any] | None = None

    def add(self, event: Any) -> None:
        """Take the next event."""
        kind = get(event, "event_type")
        if kind == "interaction.completed":
            self._interaction = plain(get(event, "interaction"))
        elif kind == "step.start":
            self._steps[get(event, "index")] = dict(plain(get(event, "step")))
        elif kind == "step.delta":
            self._grow(get(event, "index"), plain(get(event, "delta")))

    def _grow(self, index: int, delta: dict[str, Any]) -> None:
        step, kind = self._steps.setdefault(index, {}), delta["type"]
        if kind == "arguments_delta":
            self._arguments[index] = self._arguments.get(index, "") + delta.get("arguments", "")
        elif kind == "thought_summary":
            step["summary"] = _grown(step.get("summary") or [], delta.get("content") or {})
        elif kind == "text" or kind in _MEDIA:
            step["content"] = _grown(step.get("content") or [], delta)
        elif kind == "text_annotation_delta":
            *before, last = step.get("content") or [{"type": "text", "text": ""}]
            noted = [*(last.get("annotations") or []), *(delta.get("annotations") or [])]
            step["content"] = [*before, {**last, "annotations": noted}]
        else:  # the signature of a thought, and what a server's tool got or returned
            step.update({key: value for key, value in delta.items() if key != "type"})

    def response(self) -> dict[str, Any] | None:
        """Return the interaction; `None` if it was not finished."""
        if self._interaction is None:
            return None
        for index, text in self._arguments.items():
            self._steps[index]["arguments"] = _object(text)
        steps = [step for _, step in sorted(self._steps.items())]
        return {**self._interaction, "steps": self._interaction.get("steps") or steps}


def _grown(blocks: list[Any], block: dict[str, Any]) -> list[Any]:
    """Return blocks with one more; a text goes on with the text before it."""
    last = blocks[-1] if blocks else {}
    if block.get("type") == "text" == last.get("type"):
        return [*blocks[:-1], {**last, "text": last.get("text", "") + block.get("text", "")}]
    return [*blocks, block] if block else blocks


def _object(text: str) -> Any:
    """Return the arguments of a call; as text where the stream cut them."""
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return text
