"""Check what a model passes to a tool. What is wrong is said in one sentence, so that its next call is right."""

from collections.abc import Collection, Mapping
from typing import Any

from backscroll.errors import ConfigurationError
from backscroll.integrations.mcp.facts import moment

ROLES = ("user", "assistant", "tool", "system", "developer")
_LONGEST = 10_000  # characters of an argument


def known(tool: str, arguments: Mapping[str, Any] | None, names: Collection[str]) -> dict[str, Any]:
    """Return the arguments that were passed.

    Raises:
        ConfigurationError: One is unknown.
    """
    passed = {key: value for key, value in (arguments or {}).items() if value is not None}
    unknown = [key for key in passed if key not in names]
    if unknown:
        raise ConfigurationError(f"`{tool}` has no argument {unknown[0]!r:.80}; it has: {', '.join(names)}")
    return passed


def text(arguments: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    """Return an argument that is a text; empty if it was not passed.

    Raises:
        ConfigurationError: It is no text, too long, or missing.
    """
    value = arguments.get(name, "")
    if isinstance(value, int) and not isinstance(value, bool) and name == "ref":
        value = str(value)
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ConfigurationError(f"`{name}` must be a text of at most {_LONGEST:,} characters")
    if required and not value.strip():
        raise ConfigurationError(f"`{name}` is missing: pass a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"`{name}` holds a character that is no Unicode text") from None
    return value


def number(arguments: Mapping[str, Any], name: str, most: int = 10**12) -> int:
    """Return an argument that is a whole number; 0 if it was not passed.

    Raises:
        ConfigurationError: It is none, or out of range.
    """
    value = arguments.get(name, 0)
    if isinstance(value, str) and value.isdecimal() and len(value) <= len(str(most)):
        value = int(value)
    if isinstance(value, float) and value.is_integer():  # JSON has one kind of numbers
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ConfigurationError(f"`{name}` must be a whole number from 0 to {most:,}")
    return value


def role(arguments: Mapping[str, Any]) -> str:
    """Return the argument `role`; empty if it was not passed.

    Raises:
        ConfigurationError: No message has this role.
    """
    passed = text(arguments, "role")
    if passed and passed not in ROLES:
        raise ConfigurationError(f"`role` must be one of {', '.join(ROLES)}, not {passed!r:.40}")
    return passed


def since(arguments: Mapping[str, Any]) -> str:
    """Return the argument `since` as the times of messages are written; empty if it was not passed.

    Raises:
        ConfigurationError: It is no date.
    """
    passed = text(arguments, "since")
    if passed and not moment(passed):
        raise ConfigurationError("`since` must be a date such as 2026-11-03, or a time such as 2026-11-03T14:30:00Z")
    return moment(passed) if passed else ""
