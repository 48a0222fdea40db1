"""What the oracle knows of messages with role `user` that no user wrote: their metadata says so."""

from typing import Any


def is_injected(message: dict[str, Any]) -> bool:
    """Return whether the host inserted it (a hook, a reminder), so that it is not the user's own text."""
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and (metadata.get("source") == "hook" or metadata.get("ephemeral") is True)


def is_observation(message: dict[str, Any]) -> bool:
    """Return whether it is what a tool gave to an agent that calls tools in its text."""
    metadata = message.get("metadata")
    return isinstance(metadata, dict) and metadata.get("kind") == "observation"
