"""What a store holds of what clients said."""

import json
from itertools import takewhile
from typing import Any

from backscroll import ContextManager
from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.machine.apis import REASONING, Message, dumped, unmarked


def not_stored(store: MemoryStore, said: list[str]) -> list[str]:
    """The texts that cannot be found again."""
    stored = "".join(_unescaped(each.record.body) for name in store.sessions() for each in store.read(name))
    return [text for text in said if text not in stored]


def not_current(store: MemoryStore, histories: list[list[Message]]) -> list[list[str]]:
    """The histories with which no stored conversation begins."""
    now = [_said(_stored(store, name)) for name in store.sessions()]
    wanted = map(_said, histories)
    return [each for each in wanted if all(_in_common(each, other) < len(each) for other in now)]


def _stored(store: MemoryStore, name: str) -> list[Message]:
    with ContextManager(store=store, session=name) as context:
        return [message for each in context.get_messages() for message in _items(each)]


def _unescaped(body: bytes) -> str:
    """A record with its texts as they are."""
    return "".join(texts_in(json.loads(body)))


def texts_in(value: Any) -> list[str]:
    """All texts in JSON."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for each in inner for text in texts_in(each)]


def _items(message: dict[str, Any]) -> list[dict[str, Any]]:
    return list(message["content"]) if message["metadata"].get("items") else [message]


def _said(messages: list[dict[str, Any]]) -> list[str]:
    """What messages say, without reasoning, marks and notes."""
    found = []
    for message in messages:
        if message.get("type") in REASONING:
            continue
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if isinstance(content, list):
            content = [_block(block) for block in content if block.get("type") not in REASONING]
        notes = ("metadata", "id", "status")
        found.append(dumped({key: value for key, value in message.items() if key not in notes} | {"content": content}))
    return found


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """A block without its mark; one of a text says no more than that."""
    return {"type": "text", "text": block["text"]} if "text" in block else unmarked(block)


def _in_common(one: list[str], other: list[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
