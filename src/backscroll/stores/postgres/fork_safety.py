"""Reset objects in the child of a fork, which has its parent's connections, and its locks held by missing threads."""

import functools
import os
import weakref
from typing import Protocol


class Forked(Protocol):
    """Something that has threads, locks or connections."""

    def forked(self) -> None:
        """Reset. Called in the child, where one thread runs."""


_ALL: "weakref.WeakSet[Forked]" = weakref.WeakSet()


def resets_in_child(each: Forked) -> None:
    """Call `forked` of this object in the child of each fork, for as long as it lives."""
    _register()
    _ALL.add(each)


@functools.cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after)


def _after() -> None:
    for each in list(_ALL):
        each.forked()
