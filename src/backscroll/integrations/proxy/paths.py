"""Paths of requests: those that providers have, and those that no request may have."""

import re
from enum import StrEnum
from urllib.parse import unquote_to_bytes

_DECODED = 4
"""How often a target is decoded: each server on the way may do it once. More only costs time: 1 MB of encodings that
are encoded again and again would be read half a million times.
"""
_CLIMBS = re.compile(rb"(?:^|[/\\])\.\.?[\x00-\x20]*(?:[/\\;]|$)")
"""A segment that is `.` or `..`. Some servers take a backslash for a slash, or cut off spaces and what follows `;`."""
_RESOURCE = re.compile(r"(?:/v1)?/([a-z_]+)(?:/.*)?")


class Provider(StrEnum):
    """Whose API a request speaks."""

    ANTHROPIC = "Anthropic"
    OPENAI = "OpenAI"


_ANTHROPIC = frozenset(
    (
        "complete", "deployment_runs", "deployments", "dreams", "environments", "memory_stores", "messages",
        "organizations", "sessions", "tunnels", "user_profiles",
    )
)  # fmt: skip  # one thought
_OPENAI = frozenset(
    (
        "assistants", "audio", "batches", "chatkit", "completions", "containers", "conversations", "embeddings",
        "evals", "fine_tuning", "images", "live", "moderations", "organization", "projects", "realtime", "responses",
        "safety", "threads", "uploads", "vector_stores", "videos", "webhook_endpoints",
    )
)  # fmt: skip  # one thought
_BOTH = frozenset(("agents", "chat", "files", "models", "skills", "vaults"))
"""Anthropic's API also has OpenAI's chat completions."""


def providers_of(path: str) -> frozenset[Provider]:
    """Return the providers whose API has a path, with `/v1` or without. Both: the credentials decide.

    Source of the lists: the packages openai 3.54 and anthropic 2.12, and `complete`, which older ones have. A path that
    came later goes where its credential says.
    """
    found = _RESOURCE.fullmatch(path)
    resource = "" if found is None else found[1]
    return frozenset(
        each
        for each, known in ((Provider.ANTHROPIC, _ANTHROPIC | _BOTH), (Provider.OPENAI, _OPENAI | _BOTH))
        if resource in known
    )


def decoded(target: bytes) -> bytes | None:
    """Return a target as the last of several servers may read it. `None`: it is encoded too often."""
    for _ in range(_DECODED):
        found = unquote_to_bytes(target)
        if found == target:
            return found
        target = found
    return None


def climbs(path: bytes) -> bool:
    """Return whether a server may read a path as one of another folder: it would lead out of the base path of an
    address.
    """
    found = decoded(path)
    return found is None or _CLIMBS.search(found) is not None


def is_among(path: str, allowed: tuple[str, ...]) -> bool:
    """Return whether a path is one of these, or below one that ends with `/*`."""
    return any(path == each or (each.endswith("/*") and path.startswith(each[:-1])) for each in allowed)
