"""What a checkpoint keeps of a group of messages that waits for results."""

from dataclasses import dataclass

from backscroll.messages.parts import Path


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """A group that waits for results."""

    first: int
    members: tuple[int, ...]
    open_calls: int
    answered: tuple[tuple[int, int], ...]
    orphans: tuple[tuple[int, tuple[Path, ...]], ...]
    serving: int = 0
