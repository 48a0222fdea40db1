"""From an address to a store."""

from backscroll.errors import ConfigurationError
from backscroll.ports import Store


def open_store(address: str | Store | None) -> Store | None:
    """The store at an address; a store itself is answered as it is."""
    if isinstance(address, str):
        raise ConfigurationError(f"unknown store {address!r}")
    return address
