"""The lines of a log as the messages of its session and of the sub-agents in it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from backscroll.cli.mcp.log_files import LogFile
from backscroll.cli.mcp.log_lines import LogLines
from backscroll.errors import TranscriptError
from backscroll.evaluation.codex import codex
from backscroll.evaluation.formats import Record, claude_code, is_session_line
from backscroll.evaluation.transcript import Transcript
from backscroll.integrations.mcp.facts import LOG, moment
from backscroll.messages import Message


class LogSession(NamedTuple):
    """The messages of one session of a log."""

    suffix: str
    """What its name has more than that of the log's session; empty for the session itself."""
    messages: list[Message]
    """Each with its time in its metadata."""
    began: list[int]
    """The byte of the log at which each message begins."""


def sessions_of(file: LogFile, lines: LogLines) -> list[LogSession]:
    """Return the sessions of these lines: the log's own, and those of sub-agents whose lines are among its own."""
    kept = [number for number, value in enumerate(lines.values) if _sound(value)]
    records = [Record("", lines.values[number]) for number in kept]
    try:
        found = [codex(records, "")] if file.client == "codex" else claude_code(records, "")
    except TranscriptError:
        return []
    return [_session(transcript, [lines.starts[number] for number in kept], records) for transcript in found]


def described(file: LogFile, values: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what the first lines of a log say about its session: the client, the working folder, the parent."""
    metas = [value.get("payload") for value in values if value.get("type") in ("session_meta", "turn_context")]
    sources = [each for each in [*values, *metas] if isinstance(each, Mapping)]
    project = next((each["cwd"] for each in sources if isinstance(each.get("cwd"), str) and each["cwd"]), "")
    found = {"client": file.client, "project": project, "parent": _parent(file, values)}
    return {key: value for key, value in found.items() if value}


def _parent(file: LogFile, values: Sequence[Mapping[str, Any]]) -> str:
    if file.client == "claude-code":
        own = file.session.rpartition("/")[2]
        sides = (each.get("sessionId") for each in values if each.get("isSidechain") and is_session_line(each))
        session = next((each for each in sides if isinstance(each, str)), own)
        return f"claude-code/{session}" if session != own else ""
    for value in values:
        payload = value.get("payload")
        source = payload.get("source") if isinstance(payload, Mapping) else None
        for key in ("subagent", "thread_spawn"):
            source = source.get(key) if isinstance(source, Mapping) else None
        if isinstance(source, Mapping) and isinstance(source.get("parent_thread_id"), str):
            return f"codex/{source['parent_thread_id']}"
    return ""


def _session(transcript: Transcript, starts: Sequence[int], records: Sequence[Record]) -> LogSession:
    messages = [
        noted(message, {"time": time} if (time := moment(records[number].value.get("timestamp"))) else {})
        for message, number in zip(transcript.messages, transcript.began, strict=True)
    ]
    suffix = transcript.name.removeprefix("#")
    return LogSession(f"/{suffix}" if suffix else "", messages, [starts[number] for number in transcript.began])


def noted(message: Message, more: Mapping[str, Any]) -> Message:
    """Return a message with more of what the import notes in its metadata."""
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return {**message, "metadata": {**metadata, LOG: {**metadata.get(LOG, {}), **more}}}


def _sound(value: Mapping[str, Any]) -> bool:
    """Return whether a line is one that the readers of logs do not reject: its message has a role."""
    payload = value.get("payload")
    item = payload if isinstance(payload, Mapping) else value
    held = value.get("message")
    if is_session_line(value) and isinstance(held, Mapping) and not isinstance(held.get("role"), str):
        return False
    return item.get("type") != "message" or bool(isinstance(item.get("role"), str) and item["role"])
