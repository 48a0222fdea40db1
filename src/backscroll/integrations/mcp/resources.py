"""Sessions as resources: their addresses, and each as text."""

from urllib.parse import quote, unquote

from backscroll.errors import ConfigurationError

PREFIX = "backscroll://sessions/"
PAGE = 100  # sessions in one page of the list


def uri_of(session: str) -> str:
    """Return the address of a session; every character of its name but letters, digits and `_.-~` is encoded."""
    return PREFIX + quote(session, safe="")


def session_of(uri: str) -> str:
    """Return the session of an address.

    Raises:
        ConfigurationError: It is no such address.
    """
    name = uri.removeprefix(PREFIX)
    if name == uri or not name:
        raise ConfigurationError(f"{uri!r:.200} is no address of a session; they begin with {PREFIX}")
    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{uri!r:.200} is no address of a session: its name is not UTF-8") from None
