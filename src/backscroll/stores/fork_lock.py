"""Keep the process from forking while a database connection is open, and reset objects in the child of a fork.

SQLite remembers in memory which locks the process holds. In the child of a fork that is wrong: it would wait forever
for locks of its parent, or skip locks that it needs. So a process forks only while no connection is open. Code that
uses a connection holds `GATE`, or an `exclusive_lock` if no other thread uses that connection. Idle connections are
closed before the fork.

The child also has the parent's locks, held by threads that it lacks. Objects with locks, threads or connections are
reset there.
"""

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Protocol


class Forked(Protocol):
    """Something that has threads, locks or connections."""

    def forked(self) -> None:
        """Reset in the child of a fork, where one thread runs, and missing ones may hold locks."""


class Keeper(Forked, Protocol):
    """Something that keeps connections open between uses."""

    def close_idle(self) -> None:
        """Close them before a fork. No connection is in use."""


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
_forked: "weakref.WeakSet[Forked]" = weakref.WeakSet()
_locks: "weakref.WeakSet[threading.Lock]" = weakref.WeakSet()
_acquired: list[threading.Lock] = []
"""The exclusive locks that a fork under way holds."""


def closes_for_forks(keeper: Keeper) -> None:
    """Have an object close its idle connections before each fork and reset in the child, for as long as it lives."""
    resets_in_child(keeper)
    _keepers.add(keeper)


def resets_in_child(each: Forked) -> None:
    """Call `forked` of an object in the child of each fork, for as long as it lives."""
    _register()
    _forked.add(each)


def exclusive_lock() -> threading.Lock:
    """Return a plain lock that also keeps the process from forking, for the only user of a connection.

    It costs less than `GATE`, which many may enter. Its holder must not enter `GATE`: a fork shuts that first.
    """
    _register()
    lock = threading.Lock()
    with GATE:  # not while a fork is under way, which would not know of it
        _locks.add(lock)
    return lock


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Close all connections of all stores in this process meanwhile: for work on a file without SQLite."""
    _before()
    try:
        yield
    finally:
        _resume()


@functools.cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before, after_in_parent=_resume, after_in_child=_after)


def _before() -> None:
    GATE.shut()
    for lock in list(_locks):
        lock.acquire()
        _acquired.append(lock)
    for keeper in list(_keepers):
        keeper.close_idle()


def _resume() -> None:
    _release()
    GATE.open()


def _after() -> None:
    _release()
    GATE.forked()
    for each in list(_forked):
        each.forked()


def _release() -> None:
    while _acquired:
        _acquired.pop().release()
