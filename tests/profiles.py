"""How much is tried: enough to prove a thing, and all there is with `HYPOTHESIS_PROFILE=thorough`. What is tried is the
tests' own.
"""

import os

from hypothesis import settings

from tests.present import present

USUAL = 60
"""Examples by which tests that are dearer or cheaper than most give theirs: the usual profile tries a fifth, and the
long run twice as many.
"""
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(usual: int) -> int:
    """The number for a test whose examples are dearer or cheaper than most; more in the profile `thorough`."""
    return max(1, usual * present(settings.default).max_examples // USUAL)
