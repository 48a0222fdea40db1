"""Warnings: their category, and the caller's line that each points at."""

import contextlib
import os
import sys
import warnings

_OWN = (os.path.dirname(__file__) + os.sep, contextlib.__file__)
"""Files whose frames are never the caller's."""


class BackscrollWarning(RuntimeWarning):
    """Something works, but worse than requested. The sentence says what happened and how to fix it."""


def warn(sentence: str) -> None:
    """Warn, and point at the newest stack frame outside this package.

    For a coroutine this is the line that awaits it. A task or thread of its own has no such line.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, BackscrollWarning, stacklevel=level)
