"""A message of a view, with the client's messages that it shows."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Shown(NamedTuple):
    """A message that is not one of the client's, or not as the client wrote it."""

    native: Any
    """The message, or the run of items, to send."""
    natives: Sequence[Any]
    """The client's. Empty: Backscroll wrote the message."""
