"""A part of a text that may be kept or left out."""

from typing import NamedTuple


class Passage(NamedTuple):
    """A sentence, a row, a heading or a block of code."""

    text: str
    weight: float
    begins: bool = True
    """It begins a line. Any other one follows its neighbor in the same line."""
    heading: int | None = None
    """The position of the heading or the lead that it needs before it."""
    group: int | None = None
    """The list or table of which it leads an item: either all of them are kept, or the best."""
    title: bool = False
    """It says nothing without a passage behind it."""
