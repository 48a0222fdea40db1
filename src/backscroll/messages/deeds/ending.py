"""How a call ended."""

from typing import NamedTuple


class Ending(NamedTuple):
    """How a call ended."""

    failed: bool = False
    outcome: str = ""
    """One line; empty if it says nothing."""


NO_RESULT = Ending(outcome="no result")
"""Of a call that nothing answered."""
