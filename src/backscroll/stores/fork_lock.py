"""A gate that is shut while the process forks. Nothing else may live here.

SQLite keeps in memory which locks a process holds. In the child of a fork that memory is wrong: it would wait for ever
for locks of its parent, or go without locks that it needs. So a process forks only while no connection is open: whoever
uses one does so inside the gate, and those that are kept for later are closed while it is shut.
"""

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Protocol


class Keeper(Protocol):
    """Keeps connections open between uses."""

    def let_go(self) -> None:
        """Closes them; they are in no use now."""

    def forked(self) -> None:
        """Begins anew: in the child of a fork, where locks may be held by threads that are not there."""


class ForkLock:
    """Any number may be inside; who shuts it waits until nobody is."""

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
        """Lets nobody in any more, and waits for those who are."""
        with self._changed:
            while self._shut:  # another thread forks as well
                self._changed.wait()
            self._shut = True
            while self._inside:
                self._changed.wait()

    def open(self) -> None:
        """Lets them in again."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()

    forked = __init__


GATE = ForkLock()
"""One for the process, since a fork concerns all of it."""
_keepers: "weakref.WeakSet[Keeper]" = weakref.WeakSet()


def closes_for_forks(keeper: Keeper) -> None:
    """From now on a keeper lets go before a fork, as long as it lives."""
    _register()
    _keepers.add(keeper)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Nothing is open in this process meanwhile, of no store: for who works on a file without SQLite."""
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
