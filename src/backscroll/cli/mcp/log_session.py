"""One session that a log is imported to."""

from collections.abc import Sequence
from typing import Any

from backscroll.errors import ConflictError, MessageError
from backscroll.integrations.mcp.facts import log_of
from backscroll.manager.driver import run_sync
from backscroll.manager.importing import ImportingManager
from backscroll.messages import Message
from backscroll.notices import warn
from backscroll.ports import Operation, Store
from backscroll.session.store_sync import enter, fetch


class LogSessionWriter(ImportingManager):
    """A session whose messages come from a log."""

    def __init__(self, store: Store, session: str) -> None:
        super().__init__(store=store, session=session, tokenizer="estimate")

    def branch(self) -> list[int]:
        """Return the numbers of the messages that were not rewound."""
        return run_sync(self._opened, self._branch())

    def messages(self, seqs: Sequence[int]) -> list[Message]:
        """Return these messages."""
        return run_sync(self._opened, self._messages(seqs))

    def imported(self) -> dict[str, Any]:
        """Return how far the log is imported, as noted with the branch's last message; empty if it is not."""
        found: dict[str, Any] = {}
        for message in self.messages(self.branch()[-1:]):
            found = log_of(message).get("imported", {})
        return found

    def replace(self, first: int, messages: Sequence[Message], state: dict[str, Any] | None) -> None:
        """Make these the messages of the branch from its message number `first` on.

        What is the same stays; what differs is rewound, and the rest is appended in one step. If there is something to
        change, the last message is appended in any case, so that the branch ends with how far the log is imported.

        Args:
            first: place in the branch.
            messages: at least one.
            state: what `imported` returned before `messages` were read. `None`: not checked.

        Raises:
            ConflictError: Another process imported the log meanwhile.
        """
        branch, key = run_sync(self._opened, self._place())
        stored = self.messages(branch[first:])
        if state is not None and self.imported() != state:
            raise self._imported_elsewhere()
        same = _same(stored, messages)
        if same == len(stored) == len(messages):
            return
        same = min(same, len(messages) - 1)
        if same < len(stored):
            self.rewind(branch[first + same - 1] if first + same else -1)
            branch, key = run_sync(self._opened, self._place())  # a rewind may have undone what another appended
            if len(branch) != first + same:
                raise self._imported_elsewhere()
        # Two processes that both found the session as it was would append the same twice. The key is the same for both,
        # so that the second adds nothing, or is refused.
        self.append(*messages[same:], idempotency_key=key)
        if self.imported() != log_of(messages[-1]).get("imported", {}):
            raise self._imported_elsewhere()

    def _imported_elsewhere(self) -> ConflictError:
        return ConflictError(f"session {self.session_id!r} was imported by another process meanwhile")

    def _place(self) -> Operation[tuple[list[int], str]]:
        """Return the branch and, of the same moment, the key of what is appended to it."""
        branch = yield from self._branch()
        return branch, f"log {self._session.history.next_seq}"

    def _branch(self) -> Operation[list[int]]:
        yield from enter(self._session)
        branch = self._session.history.branch
        return list(branch.between(0, len(branch)))

    def _messages(self, seqs: Sequence[int]) -> Operation[list[Message]]:
        yield from enter(self._session)
        return [entry.message for entry in (yield from fetch(self._session, seqs))]


def accepted(messages: Sequence[Message]) -> list[Message]:
    """Return the messages that a history accepts, with a warning if others were left out."""
    with ImportingManager(tokenizer="estimate") as trial:
        try:
            trial.append(*messages)
        except MessageError as error:
            if len(messages) == 1:
                warn(f"a message of a log is left out: {error}")
                return []
            half = len(messages) // 2
            return accepted(messages[:half]) + accepted(messages[half:])
    return list(messages)


def _same(stored: Sequence[Message], messages: Sequence[Message]) -> int:
    """Return how many messages both begin with."""
    pairs = enumerate(zip(stored, messages, strict=False))
    return next((at for at, (old, new) in pairs if _said(old) != _said(new)), min(len(stored), len(messages)))


def _said(message: Message) -> Message:
    """Return a message without what an import noted."""
    return {key: value for key, value in message.items() if key != "metadata"}
