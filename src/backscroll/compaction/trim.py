"""Leave out the oldest messages of a view on request, by number and kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backscroll.errors import ConfigurationError
from backscroll.history.plan import Digest, Edit

if TYPE_CHECKING:
    from backscroll.compaction.candidates import CandidateGroup, Window

BY = "asked for"


def _of_tools(unit: "CandidateGroup") -> bool:
    return any(entry.reading.calls or entry.reading.outcomes for entry in unit.entries)


KINDS: "Mapping[str, Callable[[CandidateGroup], bool]]" = {
    "all": lambda _: True,
    "tools": _of_tools,
    "messages": lambda unit: not _of_tools(unit),
}


@dataclass(frozen=True, slots=True)
class TrimRequest:
    """Which of the oldest messages should leave a view.

    Raises:
        ConfigurationError: A value is out of range.
    """

    keep_last: int
    """Newest messages that stay; 0 or more."""
    fraction: float = 1.0
    """Share of the view's messages that may leave, counted from the oldest; above 0, at most 1."""
    only: str = "all"
    """`tools`: calls and their results; `messages`: everything else; `all`: both."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        if type(self.keep_last) is not int or self.keep_last < 0:
            raise ConfigurationError(f"`keep_last` must be a number of messages, 0 or more, not {self.keep_last!r:.40}")
        if type(self.fraction) not in (int, float) or not 0 < self.fraction <= 1:
            raise ConfigurationError(f"`fraction` must be above 0 and at most 1, not {self.fraction!r:.40}")
        if self.only not in KINDS:
            raise ConfigurationError(f"`only` must be one of {', '.join(map(repr, KINDS))}, not {self.only!r:.40}")


def chosen_by(window: "Window", wish: TrimRequest) -> "list[CandidateGroup]":
    """Return the selected groups, whole ones only; without required and unseen ones."""
    total = sum(len(unit.seqs) for unit in window.units)
    upto, at = min(int(total * wish.fraction), total - wish.keep_last), 0
    chosen: list[CandidateGroup] = []
    for unit in window.units:
        at += len(unit.seqs)
        if at > upto:
            break
        if KINDS[wish.only](unit) and not (unit.floor or unit.unseen or unit.kept or unit.in_place):
            chosen.append(unit)
    return chosen


def fold(window: "Window", wish: TrimRequest) -> list[Edit]:
    """Return the edits that digest them."""
    return [Digest(seq, seq, BY) for unit in chosen_by(window, wish) for seq in unit.seqs]
