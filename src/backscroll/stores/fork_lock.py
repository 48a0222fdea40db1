"""Keep the process from forking while a database connection is open.

SQLite remembers in memory which locks the process holds. In the child of a fork that is wrong: it would wait forever
for locks of its parent, or skip locks that it needs. So a process forks only while no connection is open. Code that
uses a connection holds `GATE`, and idle connections are closed before the fork.
"""

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Protocol


class Keeper(Protocol):
    """Something that keeps connections open between uses."""

    def let_go(self) -> None:
        """Close them before a fork. No connection is in use."""

    def forked(self) -> None:
        """Reset in the child of a fork, where missing threads may hold locks."""


class ForkLock:
    """A shared lock for users of connections, and an exclusive one for a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._inside = 0
        self._shut = False

    def __enter__(self) -> None:
        with self._lock:
            while self._shut:
                self._changed.wait()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._shut:
                self._changed.notify_all()

    def shut(self) -> None:
        """Take the lock exclusively: refuse new users, and wait for those inside."""
        with self._changed:
            while self._shut:  # another thread is forking too
                self._changed.wait()
            self._shut = True
            while self._inside:
                self._changed.wait()

    def open(self) -> None:
        """Release the exclusive lock."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()

    forked = __init__


GATE = ForkLock()
"""One per process, because a fork concerns all connections."""
_keepers: "weakref.WeakSet[Keeper]" = weakref.WeakSet()


def closes_for_forks(keeper: Keeper) -> None:
    """Have an object close its idle connections before each fork, for as long as it lives."""
    _register()
    _keepers.add(keeper)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Close all connections of all stores in this process meanwhile: for work on a file without SQLite."""
    _before()
    try:
        yield
    finally:
        GATE.open()


@functools.cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before, after_in_parent=GATE.open, after_in_child=_after)


def _before() -> None:
    GATE.shut()
    for keeper in list(_keepers):
        keeper.let_go()


def _after() -> None:
    GATE.forked()
    for keeper in list(_keepers):
        keeper.forked()
