"""What writes hand-overs for tests: groups of a conversation, folded in several compactions."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from backscroll import ContextManager
from backscroll.compaction.digest.relevance import Relevance
from backscroll.compaction.digest.writer import Frame
from backscroll.compaction.handover.appending import grow
from backscroll.compaction.options import DigestOptions
from backscroll.history.history import Entry
from backscroll.history.plan import NO_DIGEST, DigestContent, DigestLine
from backscroll.view.chronicle import chronicle_texts, digest_lines
from tests.builders import entry
from tests.present import present


def quarter(text: str) -> int:
    """A token is four characters."""
    return len(text) // 4 + 1


def groups_of(messages: Iterable[dict[str, Any]]) -> list[list[Entry]]:
    """The groups of a conversation, without leading system messages."""
    manager = ContextManager(budget=10_000_000)
    manager.append(*messages)
    history = manager._session.history
    found: dict[int, list[Entry]] = {}
    for seq in history.branch.between(history.leading, len(history.branch)):
        group = present(history.group_of(seq))
        found[group.first] = [history.entry(member) for member in group.members]
    return [found[first] for first in sorted(found)]


def grown(
    groups: Sequence[Sequence[Entry]],
    before: DigestContent = NO_DIGEST,
    *,
    kept: Sequence[Sequence[Entry]] = (),
    allowance: int = 4_000,
    tokens: Callable[[str], int] = quarter,
    prose: DigestLine | None = None,
    options: DigestOptions | None = None,
) -> DigestContent:
    """The hand-over once these groups are folded as well."""
    salience = Relevance([*groups, *kept], before.weights)
    covered = before.covered_tokens + sum(quarter(part.text) for g in groups for e in g for part in e.reading.parts)
    frame = Frame(salience, list(kept), allowance, allowance * 2, tokens)
    return grow(before, groups, covered, frame, options=options or DigestOptions(), prose=prose)


def text_of(digest: DigestContent) -> str:
    """A hand-over as a summary shows it."""
    return "\n".join(digest_lines(digest.notes, digest.now))


def chronicle_of(digest: DigestContent) -> str:
    """Its part that is only ever appended to."""
    return "\n".join(chronicle_texts(digest.notes))


def state_of(digest: DigestContent) -> list[str]:
    """The lines of its state."""
    return [note.text for note in digest.now if note.kind == "state"]


class Talk:
    """Builds the groups of a session with tools, message by message."""

    def __init__(self) -> None:
        self.groups: list[list[Entry]] = []
        self._next = 0

    def say(self, role: str, text: str) -> None:
        """A message of one text."""
        self.groups.append([entry(self._next, {"role": role, "content": text})])
        self._next += 1

    def call(self, name: str, arguments: dict[str, Any], result: str = "", text: str | None = None) -> None:
        """A call with its result, and what the agent says next to it."""
        seq = self._next
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": f"c{seq}", "type": "function", "function": function}]
        self.groups.append(
            [
                entry(seq, {"role": "assistant", "content": text, "tool_calls": calls}),
                entry(seq + 1, {"role": "tool", "tool_call_id": f"c{seq}", "content": result}),
            ]
        )
        self._next += 2

    def shell(self, command: str, result: str = "", text: str | None = None) -> None:
        """A command of a shell."""
        self.call("Bash", {"command": command}, result, text)

    def edit(self, path: str, old: str, new: str) -> None:
        """A change of a file."""
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        self.call("Edit", arguments, f"The file {path} has been updated.")

    def read(self, path: str, result: str) -> None:
        """A file that is read."""
        self.call("Read", {"file_path": path}, result)
