"""Finds the store that a user names, turns errors into exit codes, and shows progress."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from backscroll.cli import screen
from backscroll.cli.group import BadInput
from backscroll.errors import BackscrollError, CorruptionError
from backscroll.ports import Store
from backscroll.stores.addresses import KNOWN, open_store
from backscroll.stores.names import KEYS
from backscroll.stores.options import StorageOptions
from backscroll.stores.wrappers import layered

DATABASES = (".db", ".sqlite", ".sqlite3")
"""Suffixes that make the path of a missing file that of a new database."""
_ADDRESSES = ", ".join(known for known in KNOWN if known != "memory:")
_SQLITE = b"SQLite format 3\0"
_SESSION = re.compile(r"\.[0-9a-f]{20}\.jsonl|^\.begun$")
"""Matches file names of a folder that holds sessions."""


class Damaged(BadInput):
    """Corrupt data was read: exit code 1."""

    exit_code = 1


@contextmanager
def blamed() -> Iterator[None]:
    """Report errors inside on one line, with the exit code of their kind."""
    try:
        yield
    except CorruptionError as error:
        raise Damaged(_text_of(error)) from error
    except BackscrollError as error:
        raise BadInput(_text_of(error)) from error


def _text_of(error: BaseException) -> str:
    return "; ".join([str(error), *getattr(error, "__notes__", ())])


def existing(place: str, *, read_only: bool = True) -> Store:
    """Open an existing store by address or path. Raises `BadInput` if it is not a store.

    Args:
        place: The address or path.
        read_only: Whether to change nothing but the search index, even for a store of an earlier version.
    """
    with blamed():
        store = open_store(address_of(place), read_only=read_only)
        _check_place(place, getattr(store, "path", None))
        return _with_layers(store)


def store_or_file(place: str) -> Store | Path:
    """Open the store at an address or path, or return the path of another file. Raises `BadInput` if neither."""
    path = Path(place)
    if is_address(place) or path.is_dir() or is_database(path):
        return existing(place)
    if not path.exists():
        raise BadInput(f"{place}: no such file or folder")
    return path


def _check_place(place: str, path: str | None) -> None:
    """Raise `BadInput` for a file or folder without a store."""
    if path is None:
        return
    if not os.path.exists(path):
        raise BadInput(f"{place}: no store there: {path} does not exist")
    if os.path.isdir(path):
        names = os.listdir(path)
        if names and not any(map(is_session_file, names)):
            raise BadInput(f"{place}: not a Backscroll store: no file in this folder holds a session")
    elif os.path.getsize(path) == 0 and not os.path.exists(f"{path}-commits"):
        raise BadInput(f"{place}: this file is empty: nothing was ever stored in it")


def _with_layers(store: Store) -> Store:
    """Wrap the store as the environment says: other users could read a key on the command line."""
    blobs, key = (os.environ.get(name) or None for name in ("BACKSCROLL_BLOBS", "BACKSCROLL_ENCRYPTION_KEY"))
    found = layered(store, StorageOptions(blobs, encryption_key=key))
    assert found is not None
    return found


def any_store(place: str) -> Store:
    """Open an existing store or create a new one, with nothing around it, to copy to it what was read."""
    with blamed():
        return open_store(address_of(place))


def writable(place: str) -> Store:
    """Open an existing store or create a new one, with what the environment wraps around it.

    Raises `BadInput` for an encrypted store without its key: what is written would be plain text.
    """
    with blamed():
        store = _with_layers(open_store(address_of(place)))
        if "encrypted" not in store.capabilities and any(name.startswith(KEYS) for name in store.sessions()):
            raise BadInput(
                f"{place} is encrypted, and without its key plain text would be stored: set "
                "BACKSCROLL_ENCRYPTION_KEY in the environment of this program"
            )
        return store


def address_of(place: str) -> str | Path:
    """Return what `open_store` accepts: an address unchanged, a folder as JSON Lines, a database file as SQLite."""
    if is_address(place):
        return place
    path = Path(place)
    if path.is_dir():
        return f"jsonl:///{_quoted(path)}"
    if is_database(path) or (not path.exists() and path.suffix in DATABASES):
        return path
    if path.exists():
        raise BadInput(
            f"{place}: not a Backscroll store: this file is not a database; pass a database, a folder or an address: "
            f"{_ADDRESSES}"
        )
    raise BadInput(f"{place}: no such file or folder; to create a store, pass an address: {_ADDRESSES}")


def is_session_file(name: str) -> bool:
    """Return whether a file name is that of a session in a folder."""
    return _SESSION.search(name) is not None


def is_store(place: str) -> bool:
    """Return whether a text names a store, not a file to export to."""
    path = Path(place)
    return is_address(place) or path.is_dir() or path.suffix in DATABASES


def is_address(place: str) -> bool:
    """Return whether a text is an address of a store."""
    return "://" in place or place == "memory:"


def is_database(path: Path) -> bool:
    """Return whether a path is an SQLite file; an empty file counts as one."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) in (_SQLITE, b"")


def _quoted(path: Path) -> str:
    return os.fspath(path.absolute()).replace("%", "%25").replace("?", "%3F").replace("#", "%23")


def known(store: Store, session: str) -> None:
    """Raise `BadInput` for a session that does not exist."""
    with blamed():
        if store.length(session):
            return
        names = store.sessions()
    shown = ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    raise BadInput(f"no session {session!r} in this store; it has: {shown or 'none'}")


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], Any]]:
    """Show a bar (without a total, a spinner) on standard error, if it is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:  # older versions of rich write an empty line otherwise
        yield lambda _: None
        return
    counted = (BarColumn(), MofNCompleteColumn()) if total is not None else (SpinnerColumn(),)
    columns = (TextColumn("{task.description}"), *counted, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(screen.line(what).replace("[", "("), total=total)
        yield lambda done: bar.advance(task, done)
