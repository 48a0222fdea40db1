"""From an address to a store. Nothing else may live here.

None, memory:                      in memory
sqlite:///sessions.db              a file, from the working directory
sqlite:////var/lib/sessions.db     a file, from the root
sqlite:///sessions.db?durability=normal
"""

import threading
import weakref
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from backscroll.errors import ConfigurationError
from backscroll.ports import Store
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore

KNOWN = ("memory:", "sqlite:///relative/path.db", "sqlite:////absolute/path.db")
_open: "weakref.WeakValueDictionary[str, SqliteStore]" = weakref.WeakValueDictionary()
"""By file: a process has one store for each, so that what it writes at one time is one commit."""
_lock = threading.Lock()


def open_store(address: str | Path | Store | None) -> Store:
    """The store of an address; a store is its own. The same file gives the same object as long as anybody holds it.

    Touches no file. Raises `ConfigurationError` for an address that names nothing known.
    """
    if address is None:
        return MemoryStore()
    if isinstance(address, Path):
        return _sqlite(str(address), "full")
    if not isinstance(address, str):
        return address
    scheme, _, rest = address.partition(":")
    if scheme == "memory" and not rest:
        return MemoryStore()
    if scheme != "sqlite":
        raise ConfigurationError(f"{address!r} names no store; known are {', '.join(KNOWN)}")
    parts = urlsplit(address)
    if not rest.startswith("///") or parts.netloc or parts.fragment or len(parts.path) < 2:
        raise ConfigurationError(f"{address!r} is not of the form {KNOWN[1]} or {KNOWN[2]}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    durability = options.pop("durability", "full")
    if options:
        raise ConfigurationError(f"{address!r} has the option {next(iter(options))!r}; known is durability")
    return _sqlite(unquote(parts.path[1:]), durability)


def _sqlite(path: str, durability: str) -> SqliteStore:
    new = SqliteStore(path, durability)
    with _lock:
        store = _open.setdefault(new.path, new)
    if store.durability != durability:
        raise ConfigurationError(
            f"{path} is open with durability={store.durability}, and a process has one store for a file: close and "
            f"drop that one before opening it with durability={durability}"
        )
    return store
