"""The agent of the demo as a process of its own. It may run tools, and write one transcript and one store.

    python -m backscroll.cli.demo.agent session.jsonl --root FOLDER [--tokens 120000] [--store session.db]

No model and no network: the agent is scripted, and its tools are real. Results are long, repeat each other and
sometimes fail, as in practice. The transcript is OpenAI chat, a message a line. Needs no extra.
"""

import argparse
import hashlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backscroll import ContextManager
from backscroll.cli.demo.recording import Message, Recording
from backscroll.cli.demo.tools import Tools
from backscroll.cli.demo.turns import record

SESSION = "demo"
"""The name of the session in its store."""
BUDGET = 16_000
"""Tokens of a request."""


def opened(database: Path) -> ContextManager:
    """Open the recorded session of an SQLite file."""
    return ContextManager(store=database, session=SESSION, budget=BUDGET)


def next_view(context: ContextManager) -> list[Message]:
    """Return the view of the next request. In the middle of a turn none is made, so that nothing counts as sent."""
    return context.view() if context.open_calls() else context.get_messages_for_request()


def checksum(view: list[Message]) -> str:
    """Return the SHA-256 of every byte of a view, as it would be sent."""
    return hashlib.sha256(json.dumps(view, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def _record_in_store(database: Path, root: Path, tokens: int, *, dies: bool) -> Recording:
    """Continue the session of a store from where it is.

    Prints a line after each step that is safe: the number of messages, and the checksum of the next view. `dies`: end
    like a killed process between the next answer and its results.
    """
    with opened(database) as context:

        def keep(*messages: Message) -> None:
            last = context.append(*messages)
            _say(f"{last + 1} {checksum(next_view(context))}")
            if dies and messages[-1].get("tool_calls"):
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

        return record(Recording(Tools(root), keep, context.get_messages()), tokens)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _write(messages: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for message in messages:
            file.write(json.dumps(message, ensure_ascii=False) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record a session, write its transcript and print its size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("output", type=Path, help="where to write the transcript (.jsonl)")
    parser.add_argument("--root", type=Path, required=True, help="the tree to explore")
    parser.add_argument("--tokens", type=int, default=120_000, help="about how many tokens to record")
    parser.add_argument(
        "--store", type=Path, help="keep the session in this SQLite file, and continue it if it is there"
    )
    parser.add_argument("--dies", action="store_true", help="die between the next answer and the results of its calls")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    if options.store:
        session = _record_in_store(options.store, root, options.tokens, dies=options.dies)
    else:
        session = record(Recording(Tools(root)), options.tokens)
    _write(session.messages, options.output)
    size = f"{len(session.messages)} messages, {session.calls} tool calls, {session.characters:,} characters"
    _say(f"{options.output}: {size}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
