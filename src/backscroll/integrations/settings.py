"""What a setting of an adapter's configuration is, and how a value is checked against it. Reads and checks; which
settings there are, each adapter says itself.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

from backscroll.errors import ConfigurationError

Check = Callable[[Any], bool]


class Setting(NamedTuple):
    """One setting."""

    name: str
    """With the part it belongs to, where there are parts: `compression.window_size`."""
    default: Any
    check: Check
    """Whether a value can be right; what goes together is checked by who reads it."""
    wants: str
    """What the check asks for, in words."""
    meaning: str

    def checked(self, value: Any) -> Any:
        """The value; the default in the place of None. Raises `ConfigurationError` for one that fails the check."""
        if value is None:
            return self.default
        if not self.check(value):
            raise ConfigurationError(f"{self.name} must be {self.wants}, not {value!r:.80}")
        return value


def is_number(value: Any) -> bool:
    """A number, and not a truth value."""
    return type(value) in (int, float)


def is_text(value: Any) -> bool:
    """A text that is not empty."""
    return type(value) is str and value != ""


def is_count(least: int) -> Check:
    """A whole number from `least` on."""
    return lambda value: type(value) is int and value >= least


def is_share(low: float, high: float) -> Check:
    """A number from `low` to `high`."""
    return lambda value: is_number(value) and low <= value <= high


def one_of(*values: str | bool) -> Check:
    """One of these texts, or truth values."""
    return lambda value: any(type(value) is type(known) and value == known for known in values)


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """A question after the known name that looks like this one; None where none does."""
    near = get_close_matches(str(name), list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else None
