"""What may be None, where a test knows that it is not."""

from typing import TypeVar

T = TypeVar("T")


def present(value: T | None) -> T:
    """The value, which is not None; the test fails where it is."""
    assert value is not None
    return value
