"""From what a user names to a store, from errors to exit codes, and the bar that long work shows."""

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
from backscroll.stores.options import StorageOptions
from backscroll.stores.wrappers import layered

DATABASES = (".db", ".sqlite", ".sqlite3")
"""Suffixes by which the path of a file that is not there yet is one of a database."""
_ADDRESSES = ", ".join(known for known in KNOWN if known != "memory:")
_SQLITE = b"SQLite format 3\0"
_SESSION = re.compile(r"\.[0-9a-f]{20}\.jsonl|^\.begun$")
"""In the names of files of a folder that holds sessions."""


class Damaged(BadInput):
    """Something that was read is not as it was written: exit code 1."""

    exit_code = 1


@contextmanager
def blamed() -> Iterator[None]:
    """What goes wrong inside is told on one line, with the exit code that says what it was."""
    try:
        yield
    except CorruptionError as error:
        raise Damaged(_told(error)) from error
    except BackscrollError as error:
        raise BadInput(_told(error)) from error


def _told(error: BaseException) -> str:
    return "; ".join([str(error), *getattr(error, "__notes__", ())])


def existing(place: str, *, read_only: bool = True) -> Store:
    """Open the store of an address or path that is there already. Raise `BadInput` for what is no store.

    `read_only`: nothing will change but the index of a search, also where the store is of an earlier version.
    """
    with blamed():
        store = open_store(address_of(place), read_only=read_only)
        _check_place(place, getattr(store, "path", None))
        return _with_layers(store)


def store_or_file(place: str) -> Store | Path:
    """The store of an address or path, opened, or the path of another file. Raise `BadInput` where there is none."""
    path = Path(place)
    if is_address(place) or path.is_dir() or is_database(path):
        return existing(place)
    if not path.exists():
        raise BadInput(f"{place}: no such file or folder")
    return path


def _check_place(place: str, path: str | None) -> None:
    """Raise `BadInput` for a file or folder that holds nothing of a store."""
    if path is None:
        return
    if not os.path.exists(path):
        raise BadInput(f"{place}: there is no store: {path} does not exist")
    if os.path.isdir(path):
        names = os.listdir(path)
        if names and not any(map(_SESSION.search, names)):
            raise BadInput(f"{place}: not a Backscroll store: no file in this folder holds a session")
    elif os.path.getsize(path) == 0 and not os.path.exists(f"{path}-commits"):
        raise BadInput(f"{place}: this file is empty: nothing was ever stored in it")


def _with_layers(store: Store) -> Store:
    """What its manager puts around it, as the environment tells: a key on a command line could be read by others."""
    blobs, key = (os.environ.get(name) or None for name in ("BACKSCROLL_BLOBS", "BACKSCROLL_ENCRYPTION_KEY"))
    found = layered(store, StorageOptions(blobs, encryption_key=key))
    assert found is not None
    return found


def any_store(place: str) -> Store:
    """The same, or one that is yet to be made."""
    with blamed():
        return open_store(address_of(place))


def address_of(place: str) -> str | Path:
    """What `open_store` takes: an address as it is, a folder as JSON Lines, a database file as SQLite."""
    if is_address(place):
        return place
    path = Path(place)
    if path.is_dir():
        return f"jsonl:///{_quoted(path)}"
    if is_database(path) or (not path.exists() and path.suffix in DATABASES):
        return path
    if path.exists():
        raise BadInput(
            f"{place}: not a Backscroll store: this file is no database; a store is one, a folder, or an address: "
            f"{_ADDRESSES}"
        )
    raise BadInput(f"{place}: no such file or folder; a store that is yet to be made has an address: {_ADDRESSES}")


def is_store(place: str) -> bool:
    """Whether a text names a store, and not a file to write sessions to."""
    path = Path(place)
    return is_address(place) or path.is_dir() or path.suffix in DATABASES


def is_address(place: str) -> bool:
    """Whether a text is meant as the address of a store."""
    return "://" in place or place == "memory:"


def is_database(path: Path) -> bool:
    """Whether a path is an SQLite file; an empty one is taken for one."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) in (_SQLITE, b"")


def _quoted(path: Path) -> str:
    return os.fspath(path.absolute()).replace("%", "%25").replace("?", "%3F").replace("#", "%23")


def known(store: Store, session: str) -> None:
    """Raises `BadInput` for a session that has not begun."""
    with blamed():
        if store.length(session):
            return
        names = store.sessions()
    shown = ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    raise BadInput(f"there is no session {session!r} in this store; there are: {shown or 'none'}")


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], Any]]:
    """A bar on standard error while a terminal is there to see it; without a total something that moves."""
    console = Console(stderr=True)
    if not console.is_terminal:  # where older versions of rich write an empty line
        yield lambda _: None
        return
    counted = (BarColumn(), MofNCompleteColumn()) if total is not None else (SpinnerColumn(),)
    columns = (TextColumn("{task.description}"), *counted, TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(screen.line(what).replace("[", "("), total=total)
        yield lambda done: bar.advance(task, done)
