"""Long tool results in the user's own storage, block by block. The conversation itself keeps them in any case.

If a result cannot be stored, a warning is given, and it stays whole in every request until it no longer fits the
window.
"""

import asyncio
import inspect
import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from backscroll.compaction.options import ToolResultPreview
from backscroll.integrations.strands.estimator import TokenEstimate, estimate_input_tokens
from backscroll.integrations.strands.serialization import Message, to_json
from backscroll.notices import warn
from backscroll.ports import LONG

_MOST_FAILED = 1_000


class ToolResultArchive:
    """A Strands storage: a unified one (`write`), or one of its offloader's (`store`)."""

    def __init__(self, storage: Any, previews: ToolResultPreview, prefix: str) -> None:
        self._storage = storage
        self._previews = previews
        self._prefix = prefix
        self._failed: dict[int, None] = {}
        """Ids of messages that could not be stored, until they are loaded."""

    async def keep(self, messages: Sequence[Message]) -> None:
        """Store the long results of new messages."""
        for message in messages:
            found = _long(message, self._previews)
            for name, kind, data in await asyncio.to_thread(list, found) if _is_large(message) else found:
                try:
                    await self._put(name, kind, data)
                except Exception as error:  # a foreign storage may raise anything; the original stays
                    self._failed[id(message)] = None
                    warn(
                        f"the tool result {name} could not be stored and stays whole in the requests ({error!r:.200}): "
                        "check `tool_result_storage` of the offloader"
                    )

    async def _put(self, name: str, kind: str, data: bytes) -> None:
        key = f"{self._prefix}/{name}"
        store = getattr(self._storage, "store", None)
        done = store(key, data, kind) if callable(store) else self._storage.write(key, _framed(kind, data))
        if inspect.isawaitable(done):
            await done

    def failed(self, message: Message) -> bool:
        """Return, once, whether something of the message could not be stored."""
        return self._failed.pop(id(message), False) is None


def _framed(kind: str, data: bytes) -> bytes:
    """Return the data after its content type, framed like by Strands' own offloader."""
    name = kind.encode("utf-8")
    return len(name).to_bytes(2, "big") + name + data


def _long(message: Message, previews: ToolResultPreview) -> Iterator[tuple[str, str, bytes]]:
    """Yield name, content type and bytes of each long block of a message's tool results."""
    for block in message.get("content") or ():
        result = (block.get("toolResult") if isinstance(block, dict) else None) or {}
        for number, inner in enumerate(result.get("content") or ()):
            kind, data = _bytes_of(inner)
            if len(data) >= previews.threshold_tokens and _tokens(inner) > previews.threshold_tokens:
                yield f"{result['toolUseId']}.{number}.{sha256(data).hexdigest()[:12]}", kind, data


def _is_large(message: Message) -> bool:
    """Return whether counting the results would block the event loop."""
    results = [block.get("toolResult") or {} for block in message.get("content") or () if isinstance(block, dict)]
    blocks = [inner for result in results for inner in result.get("content") or ()]
    return any("json" in inner or len(str(inner.get("text", ""))) > LONG for inner in blocks if isinstance(inner, dict))


def _tokens(block: Any) -> TokenEstimate:
    return estimate_input_tokens([{"role": "user", "content": [block]}])


def _bytes_of(block: Any) -> tuple[str, bytes]:
    if isinstance(block.get("text"), str):
        return "text/plain", block["text"].encode("utf-8", "surrogatepass")
    if "json" in block:
        return "application/json", json.dumps(to_json(block["json"]), ensure_ascii=False).encode("utf-8")
    for kind in ("image", "document", "video"):
        held = block.get(kind)
        source = held.get("source", {}).get("bytes") if isinstance(held, dict) else None
        if isinstance(source, bytes):
            top = "application" if kind == "document" else kind
            return f"{top}/{held.get('format', 'octet-stream')}", source
    return "application/octet-stream", b""
