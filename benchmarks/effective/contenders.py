"""Who is compared: Backscroll's default, its other modes, the peers, and the whole history."""

from pathlib import Path

from peers.base import Peer
from peers.catalog import peer
from peers.ours import InMemory

from backscroll import ContextManager


class Lean(InMemory):
    """The mode for small bills."""

    name = "Backscroll, lean"
    about = 'ContextManager(mode="lean")'

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.manager = ContextManager(mode="lean")


class Truncate(InMemory):
    """The oldest turns go. A search still finds them."""

    name = "Backscroll, truncate"
    about = 'ContextManager(mode="facts", strategies=["truncate"])'

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.manager = ContextManager(mode="facts", strategies=["truncate"])


OURS = "ours"
OWN: dict[str, type[Peer]] = {"lean": Lean, "truncate": Truncate}
CONTENDERS = (
    OURS, "lean", "truncate", "strands-auto", "strands-window", "langchain-summary", "langchain-clear",
    "langchain-trim", "contract", "whole",
)  # fmt: skip


def contender(known: str) -> type[Peer]:
    """Return the class of a contender, set up with exact counts and fair summaries."""
    return OWN.get(known) or peer(known, judged=True)
