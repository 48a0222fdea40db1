"""What a view needs apart from history and plan, and what a caller's own form of it is made from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from backscroll.messages.parts import Message
from backscroll.ports import Tokenizer
from backscroll.tokens.counts import Count
from backscroll.tokens.known_models import MediaLimits
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.view.cache_marks import Marking


class HandedOut(NamedTuple):
    """The messages of a view, and what is known of them."""

    messages: list[Message]
    settled: int
    """How many of them, from the first on, were in the view when the newest plan was made."""
    lines: tuple[int, ...]
    """Indexes of Backscroll's own messages in the user's role: hand-overs, and lines that only separate roles."""


@dataclass(frozen=True, slots=True)
class RenderContext:
    """What a view needs apart from history and plan; constant for a lane."""

    family: ModelProfile
    count: Callable[[str], Count]
    kept: tuple[int, int] = (0, 0)
    """Messages at the beginning and at the end that never leave a view."""
    quotes: bool = False
    """Whether the digest quotes the user's messages, so that views need not show the first and the last one."""
    shows_users: bool = False
    """Whether those two stay messages even with a plan whose digest quotes them."""
    write: Callable[[HandedOut], list[Message]] | None = None
    """Converts a view, message for message, to what its caller sends, without changing its argument. `None`: no
    conversion.
    """
    binds: bool = True
    """Whether the provider binds reasoning to what comes before it, so that an edit there invalidates it."""
    media: MediaLimits | None = None
    """What the provider accepts of media in one request. `None`: no limit, so nothing is summed up."""
    adopts: bool = False
    """Count as the lane's stored requests did, and not by `family`: in programs that only read."""
    tokenizer: Tokenizer | None = None
    """Weights in stored plans are valid for its name only. `None`: none is used."""
    marking: Marking | None = None
    """Marks for the provider's prompt cache. `None`: views have none."""
