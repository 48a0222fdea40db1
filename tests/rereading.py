"""A coding agent whose client answers a file that it read before, and that did not change, with one sentence."""

import json
import random
from typing import Any

from tests.builders import MessageFactory
from tests.fakes import RecordingSession

UNCHANGED = (
    "File unchanged since last read. The content from the earlier Read tool_result in this conversation is still "
    "current — refer to that instead of re-reading.",
    "Wasted call — file unchanged since your last Read. Refer to that earlier tool_result instead.",
    "[File src/a.py unchanged since last read in this session — the full content was provided earlier in this "
    "conversation. If you cannot retrieve that prior content (e.g. after context compaction) or you suspect the file "
    "was modified outside the read/edit tools (shell command, MCP tool, another process), re-read with explicit "
    "offset/limit to fetch current content.]",
)
"""Word for word as Claude Code and Qwen Code write it."""


class Rereading:
    """The agent, and what its client remembers."""

    def __init__(self, dialect: str = "anthropic", seed: int = 0, sentence: str = UNCHANGED[0], **options: Any) -> None:
        self.session = RecordingSession(**options)
        self.manager, self.talk, self.sentence = self.session.manager, MessageFactory(dialect), sentence
        self.chance, self.calls, self.messages = random.Random(seed), 0, 0
        self.read_as: dict[str, tuple[str, int]] = {}
        """What the client gave the model of each file, and the message that holds it."""
        self.referring: list[tuple[int, str, int]] = []
        """Results that refer back: the message, what it means, and the message that holds that."""
        self.say("user", "Find the bug.")

    def say(self, role: str, text: str) -> None:
        self._append(self.talk.say(role, text))

    def read(self, *paths: str, words: int = 60) -> None:
        """Read these files in one round."""
        results, first = [], self.calls
        for path in paths:
            self.calls += 1
            self._append(self.talk.call([f"c{self.calls}"], "", {"file_path": path}))
            if path in self.read_as:
                text, holder = self.read_as[path]
                self.referring.append((self.messages, text, holder))
                results.append((f"c{self.calls}", self.sentence))
            else:
                text = f"{path} in version {first} " + " ".join(self._word() for _ in range(words))
                self.read_as[path] = text, self.messages
                results.append((f"c{self.calls}", text))
            self._append(*self.talk.results(results[-1:]))

    def change(self, path: str) -> None:
        """The client forgets what it gave: the next read shows the file."""
        self.read_as.pop(path, None)

    def view(self, budget: int | None = None) -> list[dict[str, Any]] | None:
        return self.session.view(budget)

    def lacking(self, view: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
        """The messages in a view that refer to something that it neither shows nor says it does not show, and those
        that say so.
        """
        flat, states = " ".join(texts(view)), {each.seq: each.state for each in self.manager.explain()}
        lacking, noted = [], []
        for seq, text, holder in self.referring:
            if states[seq] in ("digested", "left out", "compacted", "cleared") or text in flat:
                continue
            note = f"It is not shown whole, recall [ref:{holder}.0]"
            (noted if note in flat else lacking).append(seq)
        return lacking, noted

    def _word(self) -> str:
        return f"{self.chance.choice(['queue', 'parse', 'retry', 'load'])}{self.chance.randrange(10_000)}"

    def _append(self, *messages: dict[str, Any]) -> None:
        self.manager.append(*messages)
        self.messages += len(messages)


def texts(value: Any) -> list[str]:
    """All texts in a value; JSON in a text is read as well."""
    if type(value) is dict:
        return [text for each in value.values() for text in texts(each)]
    if type(value) is list:
        return [text for each in value for text in texts(each)]
    return [json.dumps(value, ensure_ascii=False)[1:-1] if type(value) is str else ""]
