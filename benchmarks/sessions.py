"""Conversations to measure with: of a folder of transcripts, else made by running real tools. Measures nothing."""

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

_CHATS = 40  # conversations that make one long chat


def source(folder: Path | None) -> list[dict[str, Any]]:
    """One long real conversation: the longest of a folder of OpenAI chat JSON lines (key `messages`), else that of
    `examples/record_session.py`.
    """
    if folder is not None:
        files = sorted(folder.glob("*/norm.jsonl")) or sorted(folder.glob("*.jsonl"))
        lines = (json.loads(line) for file in files for line in file.read_text("utf-8").splitlines())
        return max((line["messages"] for line in lines), key=len)
    with tempfile.TemporaryDirectory() as place:
        return recorded(Path(place) / "session.jsonl")


def recorded(out: Path, tokens: int = 120_000) -> list[dict[str, Any]]:
    """A session that really ran tools over this tree, of about so many tokens; written to `out` too."""
    recorder = Path(__file__).parent.parent / "examples" / "record_session.py"
    asked = [sys.executable, str(recorder), str(out), "--tokens", str(tokens)]
    subprocess.run(asked, check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def endless(messages: list[dict[str, Any]], turn: int = 0) -> Iterator[dict[str, Any]]:
    """The conversation over and over, with call ids of its own in each turn. Its system messages come in turn 0."""
    for now in itertools.count(turn):
        for message in messages:
            if now and message["role"] == "system":
                continue
            again = json.loads(json.dumps(message))
            for call in again.get("tool_calls") or ():
                call["id"] = f"{call['id']}-{now}"
            if "tool_call_id" in again:
                again["tool_call_id"] = f"{again['tool_call_id']}-{now}"
            yield again


def fresh(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a conversation over and over, with texts that are new in each round."""
    for number, message in enumerate(endless(list(messages))):
        content = message.get("content")
        if number >= len(messages) and isinstance(content, str):
            message["content"] = f"{content}\n(message {number})"
        yield message


def steps_of(messages: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Group messages into steps: each request is made behind a message that is not the assistant's."""
    step: list[dict[str, Any]] = []
    for message in messages:
        step.append(message)
        if message["role"] != "assistant":
            yield step
            step = []


def chat(folder: Path) -> list[dict[str, Any]]:
    """Join conversations in which the user and the assistant take turns."""
    found: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*/norm.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            messages = json.loads(line)["messages"]
            if file.parent.name.startswith("tau") and len(found) < _CHATS * 30:
                found += [message for message in messages if message["role"] != "system" or not found]
    return found
