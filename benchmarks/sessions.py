"""Conversations to measure with: of a folder of transcripts, else made by running real tools. Measures nothing."""

import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


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
