"""The messages of views as JSON: a message that was written for the request before is not written again."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from backscroll.integrations.proxy.given import Given
from backscroll.integrations.proxy.request_body import text_of


class _Written(NamedTuple):
    item: dict[str, Any]
    like: str | None
    text: str


class Spelling:
    """Writes the views of one conversation."""

    def __init__(self) -> None:
        self._before: dict[int, _Written] = {}
        """What was written for the newest view, by its index in there."""

    def texts(self, items: Sequence[dict[str, Any]], likes: Sequence[Given | None]) -> list[str]:
        """Return the messages of a view as JSON.

        Args:
            items: The messages.
            likes: For each, the client's message that it shows. `None`: there is none.
        """
        before, self._before = self._before, {}
        found: list[str] = []
        for at, (item, like) in enumerate(zip(items, likes, strict=True)):
            if isinstance(item, Given):
                found.append(item.text)
                continue
            spelled = None if like is None else like.text
            known = before.get(at)
            if known is None or known.like != spelled or known.item != item:
                known = _Written(item, spelled, text_of(item, like))
            self._before[at] = known
            found.append(known.text)
        return found
