"""Marks for Anthropic's prompt cache in a request with a view: as many as the client's system and tools leave."""

from collections.abc import Iterator, Sequence
from typing import Any

from backscroll.integrations.proxy.given import CACHE_MARK, Given
from backscroll.messages.cache_marks import without_marks
from backscroll.view.cache_marks import MOST, MarkableMessages, set_marks

Fields = dict[str, Any]


def marks_of(items: Sequence[Given]) -> list[dict[str, Any]]:
    """Return the marks in the messages of a client."""
    return [mark for item in items if _may_bear(item) for mark in _marks(item)]


def remarked(
    messages: Sequence[dict[str, Any]],
    given: Sequence[dict[str, Any]],
    fields: Fields,
    *,
    digest: int | None,
    previous: int | None,
) -> list[dict[str, Any]]:
    """Return the messages of a view with marks where they serve the view. The others stay the same objects.

    A client that marks none of its messages wants none, or lets the provider place them. A text that is no block bears
    no mark: a provider may take a change between the two forms as a change of the prefix.

    Args:
        messages: The messages of the view, with those of the client's marks that it shows.
        given: All marks in the client's messages.
        fields: The rest of the request.
        digest: The index of the digest. `None`: there is none.
        previous: The index of the newest message of the request before. `None`: unknown or gone.
    """
    if not given or fields.get(CACHE_MARK):
        return list(messages)
    outside = sum(1 for part in (fields.get("system"), fields.get("tools")) for _ in _marks({"content": part}))
    markable = MarkableMessages()
    markable.follow(messages)
    places = markable.places(digest, previous, max(0, MOST - outside))
    places = [each for each in places if isinstance(messages[each[0].message].get("content"), list)]
    ttl = "1h" if all(mark.get("ttl") == "1h" for mark in given) else "5m"
    found = [without_marks(message) if _may_bear(message) else message for message in messages]
    for index in {place.message for place, _ in places}:
        found[index] = {**found[index], "content": [dict(block) for block in found[index]["content"]]}
    set_marks(found, places, (ttl, ttl))
    return found


def _may_bear(message: dict[str, Any]) -> bool:
    """Return whether a message can have a mark; only the client's do."""
    return isinstance(message, Given) and message.is_marked


def _marks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the marks of a message and of its blocks, also of those in results."""
    mark = message.get(CACHE_MARK)
    if isinstance(mark, dict):
        yield mark
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield from _marks(block)
