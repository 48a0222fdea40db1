"""When messages were made, where they say so. The log itself stores no times."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any


def time_of(message: Mapping[str, Any]) -> str:
    """Return the time of a message in UTC, to the second; empty if the message does not say.

    `backscroll serve` and `backscroll mcp --import` note it in the metadata; hosts write `timestamp` there, or in the
    message itself.
    """
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    noted = metadata.get("log")
    for place, name in ((noted, "time"), (metadata, "timestamp"), (message, "timestamp")):
        found = utc(place.get(name)) if isinstance(place, Mapping) else ""
        if found:
            return found
    return ""


def utc(value: object) -> str:
    """Return an ISO time, or seconds since 1970, as a text in UTC that compares as times do; empty for all else."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value, UTC)
        else:
            return ""
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return found.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
