"""How many examples a property test tries. Only numbers: what is tried is the tests' own."""

from hypothesis import settings

USUAL = 60
"""Of a test that says nothing of its own."""


def examples(usual: int) -> int:
    """The number for a test whose examples are dearer or cheaper than most; more in the profile `thorough`."""
    return max(1, usual * settings.default.max_examples // USUAL)
