"""Where the values of a JSON text are, so that what does not change can be sent in the words of its author.

Encoding a value again may spell numbers, escapes and spaces in another way. A provider's prompt cache then misses, and
reasoning that is bound to its prefix is refused.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")
_read = json.JSONDecoder().raw_decode


class Spelled(NamedTuple):
    """A value, and where its text is."""

    value: Any
    start: int
    end: int


class Split(NamedTuple):
    """An object of which one member, an array, was read item by item."""

    others: dict[str, Any]
    """All other members."""
    items: list[Spelled] | None
    """Those behind the ones that were skipped. `None`: the member is absent, or no array."""
    start: int
    """Where the text of the array begins."""
    end: int


Skip = Callable[[str, int], int]
"""Returns where the last item ends that need not be read of the array at an index; the index itself: read all."""


def split(text: str, key: str, skip: Skip = lambda _, at: at) -> Split:
    """Read an object.

    Args:
        text: A JSON text.
        key: The member that is an array.
        skip: Finds items that are known.

    Raises:
        ValueError: The text is no object, or it has the member twice.
    """
    others: dict[str, Any] = {}
    items: list[Spelled] | None = None
    start = end = 0
    for name, at in (walk := _Walk(text, "{", "}")).parts():
        if name == key and (items is not None or name in others):
            raise ValueError(f"the member {key!r} is there twice")
        if name == key and text[at : at + 1] == "[":
            inner = _Walk(text, "[", "]", at)
            inner.skip_to(skip(text, at))
            items, start, end = list(inner.items()), at, inner.at
            walk.at = end
        else:
            others[name], walk.at = _read(text, at)
    return Split(others, items, start, end)


class _Walk:
    """Reads the parts of an object or an array, one after the other.

    Args:
        text: The text.
        opening: The mark that opens it.
        closing: The mark that closes it.
        at: Where it begins; spaces may come before it.
    """

    def __init__(self, text: str, opening: str, closing: str, at: int = 0) -> None:
        self._text, self._closing = text, closing
        self.at = self._past(at, opening)
        """Where the next part begins. Behind a value that was yielded, the caller sets it to the value's end."""

    def skip_to(self, end: int) -> None:
        """Go on behind a part that ends here, if that is further on."""
        if end >= self.at:
            self.at = end
            self._go_on()

    def parts(self) -> Iterator[tuple[str, int]]:
        """Yield the name of each member, and where its value begins."""
        while not self._is_over():
            name, at = _read(self._text, self.at)
            if type(name) is not str:
                raise ValueError(f"expected a name at character {self.at}")
            yield name, self._past(at, ":")
            self._go_on()

    def items(self) -> Iterator[Spelled]:
        """Yield the items."""
        while not self._is_over():
            value, end = _read(self._text, self.at)
            yield Spelled(value, self.at, end)
            self.at = end
            self._go_on()

    def members(self) -> Iterator[tuple[str, Spelled]]:
        """Yield the members with their values."""
        for name, at in self.parts():
            value, self.at = _read(self._text, at)
            yield name, Spelled(value, at, self.at)

    def _is_over(self) -> bool:
        if self._text[self.at : self.at + 1] != self._closing:
            return False
        self.at += 1
        return True

    def _go_on(self) -> None:
        """Go to the next part, or to the mark that closes."""
        at = _space(self._text, self.at)
        if self._text[at : at + 1] == self._closing:
            self.at = at
            return
        self.at = self._past(at, ",")
        if self._text[self.at : self.at + 1] == self._closing:
            raise ValueError(f"expected a value at character {self.at}")

    def _past(self, at: int, mark: str) -> int:
        """Return where the first value after a mark begins."""
        at = _space(self._text, at)
        if self._text[at : at + 1] != mark:
            raise ValueError(f"expected {mark} at character {at}")
        return _space(self._text, at + 1)


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None  # it may be empty
    return found.end()


def respelled(value: Any, known: Any, text: str) -> str:
    """Return a value as JSON, with all that it has in common with another one as that is spelled.

    Args:
        value: The value to write.
        known: The other value.
        text: Its JSON text.
    """
    if are_equal(value, known):
        return text
    if isinstance(value, dict) and isinstance(known, dict):
        members = dict(_Walk(text, "{", "}").members())
        pairs = ((key, each, members.get(key)) for key, each in value.items())
        return "{" + ",".join(f"{written(key)}:{_like(each, old, text)}" for key, each, old in pairs) + "}"
    if isinstance(value, list) and isinstance(known, list):
        return "[" + ",".join(_items_like(value, list(_Walk(text, "[", "]").items()), text)) + "]"
    return written(value)


def _like(value: Any, old: Spelled | None, text: str) -> str:
    return written(value) if old is None else respelled(value, old.value, text[old.start : old.end])


def _items_like(values: list[Any], olds: list[Spelled], text: str) -> Iterator[str]:
    """Yield the text of each item: of an equal one, which come in the same order, or like the one at the same index."""
    at = 0
    for index, value in enumerate(values):
        same = next((each for each in range(at, len(olds)) if are_equal(olds[each].value, value)), None)
        if same is not None:
            at = same + 1
            yield text[olds[same].start : olds[same].end]
        else:
            yield _like(value, olds[index] if len(olds) == len(values) else None, text)


def are_equal(one: Any, other: Any) -> bool:
    """Return whether two values of JSON are the same: 1, 1.0 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_equal, one, other))
    return type(one) is type(other) and bool(one == other)


def written(value: Any) -> str:
    """Return a value as JSON, in the spelling that most clients use."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if _is_text(text) else json.dumps(value, separators=(",", ":"))


def _is_text(text: str) -> bool:
    """Return whether a text can be sent: half of a surrogate pair has to stay an escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
