"""Tokens that a provider counted for one call, and how its usage is read, an object or a mapping."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Counted(NamedTuple):
    """Tokens that a provider counted for one call."""

    fresh: int
    """Tokens of the prompt that were neither read from the provider's cache nor written to it."""
    read: int
    written: int
    answer: int
    """Tokens of the answer, including reasoning."""

    @property
    def cached(self) -> int:
        """Tokens read from and written to the provider's cache."""
        return self.read + self.written

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt."""
        return self.fresh + self.cached


def within(prompt: int, read: int, written: int, answer: int | None) -> Counted:
    """Split a prompt that includes its cached parts; parts larger than the whole are ignored."""
    if read + written > prompt:
        read = written = 0
    return Counted(prompt - read - written, read, written, answer or 0)


def has(value: object, name: str) -> bool:
    """Return whether an object or a mapping has a field."""
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def get(value: object, name: str) -> Any:
    """Return a field of an object or of a mapping; `None` without one."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def count(value: object, *names: str) -> int | None:
    """Return the first of these fields that holds a number of tokens."""
    return next((found for name in names if type(found := get(value, name)) is int and found >= 0), None)


def first(*found: int | None) -> int:
    """Return the first number; 0 without one."""
    return next((tokens for tokens in found if tokens is not None), 0)
