"""How tests of the command line call it, and the transcripts that they give it."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from backscroll.cli.group import app

__all__ = ["app", "as_lines", "conversation", "invoke", "on_a_terminal"]


def conversation(rounds: int = 3, size: int = 40) -> list[dict[str, Any]]:
    """Messages of OpenAI's dialect: rounds of tool calls whose results have so many words."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look at all."},
    ]
    for at in range(rounds):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": json.dumps({"at": at})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": f"result {at} " + "word " * size})
    return [*messages, {"role": "assistant", "content": "All seen."}]


def as_lines(messages: list[dict[str, Any]]) -> str:
    """Messages as a transcript of JSON lines."""
    return "".join(json.dumps(message) + "\n" for message in messages)


def invoke(*arguments: str | Path, given: str | bytes | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def on_a_terminal(*arguments: str | Path) -> str:
    """What a command prints on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    line = [sys.executable, "-m", "backscroll.cli.main", *map(str, arguments)]
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # how Linux says that the other end was closed
                break
            if not part:
                break
            shown += part
    os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode().replace("\r\n", "\n")
