"""The kinds of deeds, apart from the code that finds them, which few programs load."""

from typing import Literal

DeedKind = Literal[
    "edit", "commit", "push", "check", "run", "background", "todo", "plan", "asked", "delegated", "refused", "read",
    "search",
]  # fmt: skip  # one list
QUIET = frozenset(("read", "search", "todo", "plan"))
"""Kinds that change nothing outside of the conversation."""
