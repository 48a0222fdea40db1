"""Warnings: their category, and the caller's line that each points at. No sentence may live here."""

import contextlib
import os
import sys
import warnings

_OWN = (os.path.dirname(__file__) + os.sep, contextlib.__file__)
"""Where the files lie whose frames are never the caller's."""


class BackscrollWarning(RuntimeWarning):
    """Something works, and less well than it was asked for; the sentence says what happened and what to do."""


def warn(sentence: str) -> None:
    """Warn, and point at the newest line on the stack that is not of this package.

    For a coroutine this is the line that awaits it; in a task or thread of its own there is none of the caller.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, BackscrollWarning, stacklevel=level)
