"""Marks for a provider's prompt cache in the views that are handed out: where they are, and how they get there.

The provider writes its cache at marks, and looks back for what an earlier request wrote over at most 20 blocks from
each mark. Source: "Prompt caching" (Claude Platform Docs). A mark at the newest message therefore writes, and the next
request has a mark at the same place, so it reads there however many blocks were added since.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from backscroll.errors import ConfigurationError
from backscroll.messages.cache_marks import blocks_of, in_blocks, is_markable, last_markable, mark, marks_are_blocks
from backscroll.messages.parsed_message import SYSTEM_ROLES
from backscroll.messages.parts import Message

MOST = 4
"""Marks that the provider accepts in one request."""
LOOK_BACK = 20
"""Blocks that the provider looks at from each mark, the marked one included."""
UNKNOWN_MINIMUM = 1_024
"""Tokens that a prefix needs to be cached where the model is not known: what most models need."""
TTLS = ("5m", "1h")

Ttl = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class CacheMarks:
    """Marks (`cache_control`) for Anthropic's prompt cache, which views bear.

    Args:
        provider: `"anthropic"`: mark the views of every lane. `"auto"`: of those whose model is a Claude, by the lane's
            name or the manager's `model`.
        ttl: How long the provider keeps what it caches: `"5m"` or `"1h"`. Each use renews it.
        system_ttl: The same for the marks behind the system messages and the digest. `None`: as `ttl`.
        reserved: Marks of the four that the caller sets outside the messages, such as one on a tool definition; 0 to 2.
            Where `ttl` is `"1h"`, such a mark needs `"1h"` as well.

    Raises:
        ConfigurationError: A value is out of range, or marks of 5 minutes would come before marks of one hour, which
            the provider rejects.
    """

    provider: str = "auto"
    ttl: Ttl = "5m"
    system_ttl: Ttl | None = None
    reserved: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        if self.provider not in ("anthropic", "auto"):
            raise ConfigurationError(f'`provider` must be "anthropic" or "auto", not {self.provider!r:.40}')
        for name, ttl in (("ttl", self.ttl), ("system_ttl", self.system_ttl or self.ttl)):
            if ttl not in TTLS:
                raise ConfigurationError(f'`{name}` must be "5m" or "1h", not {ttl!r:.40}')
        if self.ttl == "1h" and self.system_ttl == "5m":
            raise ConfigurationError(
                '`system_ttl` must be "1h" if `ttl` is "1h", not "5m": marks of one hour come before those of 5 minutes'
            )
        if type(self.reserved) is not int or not 0 <= self.reserved <= 2:
            raise ConfigurationError(f"`reserved` must be 0, 1 or 2 marks, not {self.reserved!r:.40}")


class Marking(NamedTuple):
    """How one lane marks its views."""

    minimum: int
    """Tokens that a prefix needs for the provider to cache it."""
    most: int = MOST
    """Marks that a view may have."""
    ttls: tuple[str, str] = ("5m", "5m")
    """`ttl` of the marks behind system messages and digest, and of all others."""


class Place(NamedTuple):
    """A block of a view."""

    message: int
    block: int


class MarkableMessages:
    """The messages of a view as a provider with marks gets them, and what is known of their blocks.

    Every text content is one block, in every view and marked or not: a provider may take a change between the two forms
    as a change of the prefix. Marks of the caller are taken out. Each message is looked at once. With messages among
    them in whose dialect marks are blocks of their own, the block of a text is one of that dialect.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.ends: list[int] = []
        """Blocks up to and including each message."""
        self._newest: list[int] = []
        """For each message, the newest one up to it that may bear a mark and is no system message; -1: none."""
        self._leading = 0
        """Leading system messages."""
        self._marked_by_blocks: int | None = None
        """The first message of a dialect whose marks are blocks of their own."""

    def cut(self, number: int) -> int:
        """Forget all messages after the first `number`, or all if their form changes. Return how many are left."""
        if self._marked_by_blocks is not None and self._marked_by_blocks >= number:
            self._marked_by_blocks, number = None, 0  # texts are in another form then
        del self.messages[number:], self.ends[number:], self._newest[number:]
        self._leading = min(self._leading, number)
        return number

    def follow(self, messages: Sequence[Message]) -> int:
        """Take the messages after the known ones. Return how many of these are as they were."""
        known = len(self.messages)
        if self._marked_by_blocks is None:
            newer = range(len(self.messages), len(messages))
            first = next((at for at in newer if marks_are_blocks(messages[at])), None)
            if first is not None:
                known, self._marked_by_blocks = self.cut(0), first
        for at in range(len(self.messages), len(messages)):
            message = in_blocks(messages[at], bare=self._marked_by_blocks is not None)
            is_system = message["role"] in SYSTEM_ROLES
            if is_system and self._leading == at:
                self._leading = at + 1
            bears = not is_system and last_markable(message) is not None
            self._newest.append(at if bears else self._newest[-1] if at else -1)
            self.ends.append((self.ends[-1] if at else 0) + len(blocks_of(message)))
            self.messages.append(message)
        return known

    def places(self, summary: int | None, previous: int | None, most: int) -> list[tuple[Place, bool]]:
        """Return where marks are, in order, each with whether it is behind system messages or the digest.

        Args:
            summary: The message with the digest. `None`: there is none.
            previous: The newest message of the lane's previous request. `None`: unknown or gone.
            most: Marks that may be set.
        """
        newest = self._newest_up_to(len(self.messages) - 1)
        last = self._newest_up_to(previous) if previous is not None and previous < len(self.messages) else None
        leading = (place for at in range(self._leading - 1, -1, -1) if (place := self._end_of(at)) is not None)
        system = next(leading, None)
        digest = None if summary is None else self._end_of(summary)
        found = [newest, last, system]
        known = [place for place in (last, digest, system) if place is not None]
        found += [self._between(max(known), newest) if known and newest is not None else None, digest]
        chosen = list(dict.fromkeys(place for place in found if place is not None))[:most]
        return [(place, place in (system, digest)) for place in sorted(chosen)]

    def _newest_up_to(self, message: int) -> Place | None:
        at = self._newest[message] if 0 <= message < len(self._newest) else -1
        return None if at < 0 else self._end_of(at)

    def _end_of(self, at: int) -> Place | None:
        block = last_markable(self.messages[at])
        return None if block is None else Place(at, block)

    def _number(self, place: Place) -> int:
        return (self.ends[place.message - 1] if place.message else 0) + place.block

    def _between(self, before: Place, newest: Place) -> Place | None:
        """Return the furthest place whose look-back reaches the mark before it, where the newest one's does not."""
        first, last = self._number(before), self._number(newest)
        if last - first < LOOK_BACK:
            return None
        at, furthest = before.message, first + LOOK_BACK - 1
        while self.ends[at] <= furthest:
            at += 1
        while at >= before.message:
            blocks = blocks_of(self.messages[at])
            most = min(len(blocks) - 1, furthest - (self.ends[at] - len(blocks)))
            within = (Place(at, block) for block in range(most, -1, -1) if is_markable(blocks[block]))
            found = next((place for place in within if place > before), None)
            if found is not None and self.messages[at]["role"] not in SYSTEM_ROLES:
                return found
            at -= 1
        return None


def set_marks(messages: list[Message], places: Sequence[tuple[Place, bool]], ttls: tuple[str, str]) -> None:
    """Set marks in messages that are shared with nothing. A mark of one hour never follows one of 5 minutes."""
    ttl, marks = ttls[0], list[tuple[Place, dict[str, str]]]()
    for place, is_stable in places:
        ttl = ttl if is_stable else ttls[1]
        marks.append((place, {} if ttl == TTLS[0] else {"ttl": ttl}))
    for place, lasting in reversed(marks):  # from the end on, since a mark may be one block more
        mark(messages[place.message], place.block, lasting)
