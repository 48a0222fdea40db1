"""Which values of a parameter the usual run tries, where all of them take too long."""

from collections.abc import Sequence
from typing import Any

import pytest


def usually(values: Sequence[Any], count: int) -> list[Any]:
    """The first `count` values as they are; the others are marked for `make test-long`."""
    return [*values[:count], *(pytest.param(value, marks=pytest.mark.long) for value in values[count:])]


def usual_sets(sets: Sequence[Sequence[Any]], count: int) -> list[Any]:
    """The same for several parameters: each set has a value of each."""
    return [*sets[:count], *(pytest.param(*values, marks=pytest.mark.long) for values in sets[count:])]
