"""What is known of a session apart from its messages: where it comes from, when it was, and how it began."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from backscroll.history.history import Entry

LOG = "log"
"""The key in a message's `metadata` under which an import notes what the log of a client said about the message."""
REDACTION = "redaction"
"""The key in what an import notes of itself, under which it names the redaction that it applied."""
OPENING = 160
"""Characters of the first thing that the user said that are kept."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What the messages of a session say about it. Every fact may be missing; then it is empty."""

    client: str = ""
    """The program that wrote the log from which the session was imported."""
    project: str = ""
    """The working folder of the session."""
    parent: str = ""
    """For a sub-agent: the session that started it."""
    began: str = ""
    """Time of the first message, as `moment` writes it."""
    ended: str = ""
    """Time of the newest message."""
    opening: str = ""
    """The first words of the user."""
    single: bool = False
    """Whether it is a question by itself that a proxy stored, such as a client's request for a title."""
    imported: dict[str, Any] = field(default_factory=dict)
    """How far the log was imported."""

    def after(self, entries: Iterable[Entry]) -> "SessionFacts":
        """Return the facts once these messages follow."""
        known = asdict(self)
        for entry in entries:
            noted = log_of(entry.message)
            for key in ("client", "project", "parent", "imported"):
                known[key] = noted.get(key) or known[key]
            known["single"] = noted.get("single") is True
            time = time_of(entry.message)
            known["began"], known["ended"] = known["began"] or time, max(known["ended"], time)
            if not known["opening"] and entry.reading.is_user_turn:
                said = " ".join(" ".join(part.text for part in entry.reading.parts if part.kind == "text").split())
                if not said.startswith("<"):  # what clients say in the user's name is in tags
                    known["opening"] = said[:OPENING]
        return SessionFacts(**known)

    def as_json(self) -> str:
        """Return the facts as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


def log_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an import noted with a message."""
    metadata = message.get("metadata")
    noted = metadata.get(LOG) if isinstance(metadata, dict) else None
    return noted if isinstance(noted, dict) else {}


def unredacted(imported: Mapping[str, Any], marks: Collection[str]) -> bool:
    """Return whether an import, of which `imported` is what it noted of itself, applied less than these redactions."""
    applied = imported.get(REDACTION)
    return not set(marks) <= set(applied if isinstance(applied, list) else ())


def time_of(message: Mapping[str, Any]) -> str:
    """Return the time of a message as `moment` writes it; empty if it is not known."""
    found = log_of(message).get("time")
    return moment(found) if isinstance(found, str) else ""  # an agent's own metadata may hold any text there


def role_of(entry: Entry) -> str:
    """Return the role of a message in any dialect: results are a tool's, also where the user's message holds them."""
    if entry.reading.role == "model":
        return "assistant"
    answers = any(part.kind == "result" for part in entry.reading.parts) and not entry.reading.is_user_turn
    return "tool" if answers else entry.reading.role


def moment(text: object) -> str:
    """Return an ISO date or time in UTC, so that texts compare as times do; empty if `text` is neither."""
    try:
        found = datetime.fromisoformat(str(text))
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return found.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
