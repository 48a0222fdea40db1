"""What somebody asks to have left out: the oldest messages of a view, by number and kind, whatever they take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backscroll.compaction.candidates import Unit, Window
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Edit, Fold

BY = "asked for"


def _of_tools(unit: Unit) -> bool:
    return any(entry.reading.calls or entry.reading.results for entry in unit.entries)


KINDS: Mapping[str, Callable[[Unit], bool]] = {
    "all": lambda _: True,
    "tools": _of_tools,
    "messages": lambda unit: not _of_tools(unit),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """The oldest messages are to leave a view. Raises `ConfigurationError` for what names nothing."""

    keep: int
    """How many of the newest messages stay."""
    share: float = 1.0
    """Of all messages of the view, how many are looked at from the oldest on; above 0, at most 1."""
    kind: str = "all"
    """`tools`: calls and their results; `messages`: what was said; `all`: both."""

    def __post_init__(self) -> None:
        """Checks the ranges."""
        if type(self.keep) is not int or self.keep < 0:
            raise ConfigurationError(f"keep is a number of messages, at least 0, not {self.keep!r:.40}")
        if type(self.share) not in (int, float) or not 0 < self.share <= 1:
            raise ConfigurationError(f"share is above 0 and at most 1, not {self.share!r:.40}")
        if self.kind not in KINDS:
            raise ConfigurationError(f"kind is one of {', '.join(map(repr, KINDS))}, not {self.kind!r:.40}")


def chosen_by(window: Window, wish: Wish) -> list[Unit]:
    """The units that are meant, in whole groups; without what must stay, and without what was not seen yet."""
    total = sum(len(unit.seqs) for unit in window.units)
    upto, at, chosen = min(int(total * wish.share), total - wish.keep), 0, list[Unit]()
    for unit in window.units:
        at += len(unit.seqs)
        if at > upto:
            break
        if KINDS[wish.kind](unit) and not (unit.floor or unit.unseen or unit.kept):
            chosen.append(unit)
    return chosen


def fold(window: Window, wish: Wish) -> list[Edit]:
    """The edits that leave them out."""
    return [Fold(seq, seq, BY) for unit in chosen_by(window, wish) for seq in unit.seqs]
