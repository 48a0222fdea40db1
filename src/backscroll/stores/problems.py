"""What is found by looking through a store for what is not as it was written, and what a repair did about it. Nothing
else may live here.
"""

from typing import NamedTuple


class Problem(NamedTuple):
    """Something in a store that is not as it was written."""

    session: str | None
    """None where it concerns the whole store, or nobody can tell."""
    at: int | None
    """The place in the session's log; None where it concerns more than one, or none."""
    what: str
    harmless: bool = False
    """Whether nothing is missing: it is told because somebody may ask what it is."""


class Mended(NamedTuple):
    """What a repair did, and what it could not save."""

    session: str | None
    """None where it concerns the whole store, or nobody can tell."""
    at: int | None
    """The place in the session's log; None where it concerns more than one, or none."""
    what: str
