"""From an address to a store. Nothing else may live here.

None, memory:                      in memory
sqlite:///sessions.db              a file, from the working directory
sqlite:////var/lib/sessions.db     a file, from the root
sqlite:///sessions.db?durability=normal
jsonl:///sessions                  a folder, from the working directory; durability as above
postgresql://user:password@host:5432/database?schema=backscroll
"""

import re
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from backscroll.errors import ConfigurationError
from backscroll.ports import Store
from backscroll.stores.jsonl import JsonlStore
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore

if TYPE_CHECKING:  # it needs an extra
    from backscroll.stores.postgres import PostgresStore

KNOWN = (
    "memory:", "sqlite:///relative/path.db", "sqlite:////absolute/path.db", "jsonl:///folder",
    "postgresql://user@host/database",
)  # fmt: skip  # as they are told
_PLACES: dict[str, type[SqliteStore] | type[JsonlStore]] = {"sqlite": SqliteStore, "jsonl": JsonlStore}
_open: "weakref.WeakValueDictionary[str, SqliteStore | JsonlStore]" = weakref.WeakValueDictionary()
"""By place: a process has one store for each, so that what it writes at one time is written together."""
_servers: "weakref.WeakValueDictionary[tuple[object, ...], PostgresStore]" = weakref.WeakValueDictionary()
"""By schema: a process has one set of connections for each."""
_lock = threading.Lock()


def open_store(address: str | Path | Store | None, *, read_only: bool = False) -> Store:
    """The store of an address; a path is an SQLite file; a store is its own. The same place or schema gives the same
    object as long as anybody holds it.

    Touches no file and no server. `read_only`: an object of its own, which makes no tables, and changes nothing of an
    SQLite file. Raises `ConfigurationError` for an address that names nothing known.
    """
    if address is None:
        return MemoryStore()
    if isinstance(address, Path):
        return _of_place("sqlite", str(address), "full", read_only)
    if not isinstance(address, str):
        return address
    scheme, _, rest = address.partition(":")
    if scheme == "memory" and not rest:
        return MemoryStore()
    if scheme in ("postgresql", "postgres"):
        return _postgres(address, read_only)
    if scheme not in _PLACES:
        raise ConfigurationError(f"{shown(address)!r} names no store; known are {', '.join(KNOWN)}")
    parts = urlsplit(address)
    if not rest.startswith("///") or parts.netloc or parts.fragment or len(parts.path) < 2:
        forms = [known for known in KNOWN if known.startswith(scheme)]
        raise ConfigurationError(f"{address!r} is not of the form {' or '.join(forms)}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    durability = options.pop("durability", "full")
    if options:
        raise ConfigurationError(f"{address!r} has the option {next(iter(options))!r}; known is durability")
    return _of_place(scheme, unquote(parts.path[1:]), durability, read_only)


def _of_place(scheme: str, path: str, durability: str, read_only: bool) -> Store:
    if read_only and scheme == "sqlite":
        return SqliteStore(path, durability, read_only=True)
    new = _PLACES[scheme](path, durability)
    with _lock:
        store = _open.setdefault(f"{scheme} {new.path}", new)
    if store.durability != durability:
        raise ConfigurationError(
            f"{path} is open with durability={store.durability}, and a process has one store for a place: close and "
            f"drop that one before opening it with durability={durability}"
        )
    return store


def _postgres(address: str, read_only: bool) -> "PostgresStore":
    from backscroll.stores.postgres import PostgresStore  # noqa: PLC0415  needs an extra

    if read_only:
        return PostgresStore(address, read_only=True)
    new = PostgresStore(address)
    with _lock:
        return _servers.setdefault(new.address.key, new)


def shown(address: str) -> str:
    """An address to be printed: without what may be a password."""
    return re.sub(r"(//[^:/@]*):.*@", r"\1:***@", re.sub(r"(password=)[^&]*", r"\1***", address))
