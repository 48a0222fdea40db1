"""Who begins anew in the child of a fork. Nothing else may live here.

A child has its parent's locks, held by threads that it does not have, and its parent's connections.
"""

import functools
import os
import weakref
from typing import Protocol


class Forked(Protocol):
    """Something that holds threads, locks or connections."""

    def forked(self) -> None:
        """Begins anew: called in the child, where one thread runs."""


_ALL: "weakref.WeakSet[Forked]" = weakref.WeakSet()


def begins_anew(each: Forked) -> None:
    """From now on this one is told of forks, as long as it lives."""
    _register()
    _ALL.add(each)


@functools.cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after)


def _after() -> None:
    for each in list(_ALL):
        each.forked()
