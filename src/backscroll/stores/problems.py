"""Findings of a store's `verify`, and actions of its `repair`."""

from typing import NamedTuple


class Problem(NamedTuple):
    """Something in a store that differs from what was written."""

    session: str | None
    """The session concerned. `None`: the whole store, or unknown."""
    at: int | None
    """Position in the session's log. `None`: several positions, or none."""
    what: str
    harmless: bool = False
    """Whether nothing is missing: reported only to explain what is there."""


class RepairAction(NamedTuple):
    """One action of a repair, or one loss that it could not prevent."""

    session: str | None
    """The session concerned. `None`: the whole store, or unknown."""
    at: int | None
    """Position in the session's log. `None`: several positions, or none."""
    what: str
