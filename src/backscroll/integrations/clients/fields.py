"""Fields of what a client returned, which is an object or a mapping."""

from collections.abc import Mapping
from typing import Any


def get(value: Any, name: str) -> Any:
    """Return a field; `None` if there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def has(value: Any, name: str) -> bool:
    """Return whether there is a field of this name."""
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def plain(value: Any) -> Any:
    """Return an object of a client as JSON, without the fields that it leaves empty; any other value unchanged."""
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json", exclude_none=True)
    return value
