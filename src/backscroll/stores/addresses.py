"""Open the store of an address.

None, memory:                      in memory
sqlite:///sessions.db              a file, relative to the working directory
sqlite:////var/lib/sessions.db     a file, by its absolute path
sqlite:///sessions.db?durability=normal
jsonl:///sessions                  a folder, relative to the working directory; durability as above
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

if TYPE_CHECKING:  # a store is loaded when one is opened
    from backscroll.stores.jsonl import JsonlStore
    from backscroll.stores.postgres import PostgresStore
    from backscroll.stores.sqlite import SqliteStore

KNOWN = (
    "memory:", "sqlite:///relative/path.db", "sqlite:////absolute/path.db", "jsonl:///folder",
    "postgresql://user@host/database",
)  # fmt: skip  # as error messages show them
_PLACES = ("sqlite", "jsonl")
_open: "weakref.WeakValueDictionary[str, SqliteStore | JsonlStore]" = weakref.WeakValueDictionary()
"""By place. A process has one store for each, so that concurrent writes share a commit."""
_servers: "weakref.WeakValueDictionary[tuple[object, ...], PostgresStore]" = weakref.WeakValueDictionary()
"""By schema. A process has one connection pool for each."""
_lock = threading.Lock()


def open_store(address: str | Path | Store | None, *, read_only: bool = False) -> Store:
    """Return the store of an address. Opens no file and no connection.

    The same place or schema gives the same object for as long as anything references it.

    Args:
        address: an address (see the module), a `Path` of an SQLite file, a `Store`, which is returned as is, or `None`
            for a store in memory.
        read_only: return an object of its own that creates no tables and changes no SQLite file.

    Raises:
        ConfigurationError: the scheme or an option of `address` is unknown, or the place is open with another
            durability.
    """
    if address is None:
        return _in_memory()
    if isinstance(address, Path):
        return _of_place("sqlite", str(address), "full", read_only)
    if not isinstance(address, str):
        return address
    scheme, _, rest = address.partition(":")
    if scheme == "memory" and not rest:
        return _in_memory()
    if scheme in ("postgresql", "postgres"):
        return _postgres(address, read_only)
    if scheme not in _PLACES:
        raise ConfigurationError(f"`store` has an unknown scheme: {shown(address)!r}; use one of {', '.join(KNOWN)}")
    parts = urlsplit(address)
    if not rest.startswith("///") or parts.netloc or parts.fragment or len(parts.path) < 2:
        forms = [known for known in KNOWN if known.startswith(scheme)]
        raise ConfigurationError(f"`store` is {address!r}; write it as {' or '.join(forms)}")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    durability = options.pop("durability", "full")
    if options:
        raise ConfigurationError(
            f"`store` has the unknown option {next(iter(options))!r} in {address!r}; the only option is `durability`"
        )
    return _of_place(scheme, unquote(parts.path[1:]), durability, read_only)


def _in_memory() -> Store:
    from backscroll.stores.memory import MemoryStore  # noqa: PLC0415  few need it

    return MemoryStore()


def _of_place(scheme: str, path: str, durability: str, read_only: bool) -> Store:
    new = _of_scheme(scheme, path, durability, read_only)
    if read_only and scheme == "sqlite":
        return new
    with _lock:
        store = _open.setdefault(f"{scheme} {new.path}", new)
    if store.durability != durability:
        raise ConfigurationError(
            f"{path} is already open with `durability` {store.durability!r}, and a process has one store per place: "
            f"close and drop that store before you open it with `durability` {durability!r}"
        )
    return store


def _of_scheme(scheme: str, path: str, durability: str, read_only: bool) -> "SqliteStore | JsonlStore":
    if scheme == "sqlite":
        from backscroll.stores.sqlite import SqliteStore as Sqlite  # noqa: PLC0415  loaded when one is opened

        return Sqlite(path, durability, read_only=read_only)
    from backscroll.stores.jsonl import JsonlStore as Jsonl  # noqa: PLC0415  likewise

    return Jsonl(path, durability)


def _postgres(address: str, read_only: bool) -> "PostgresStore":
    from backscroll.stores.postgres import PostgresStore  # noqa: PLC0415  needs an extra

    if read_only:
        return PostgresStore(address, read_only=True)
    new = PostgresStore(address)
    with _lock:
        return _servers.setdefault(new.address.key, new)


def shown(address: str) -> str:
    """Return an address for messages, with its password replaced by `***`."""
    return re.sub(r"(//[^:/@]*):.*@", r"\1:***@", re.sub(r"(password=)[^&]*", r"\1***", address))
