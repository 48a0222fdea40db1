"""What `deeds()` returns of a call."""

from dataclasses import dataclass

from backscroll.messages.deed_kind import QUIET, DeedKind


@dataclass(frozen=True, slots=True)
class DeedRecord:
    """What a call of a tool did, or a step of its command, and where it is in the conversation."""

    kind: DeedKind
    """`edit`, `commit`, `push`, `check` (tests, linters, builds), `run`, `background` (the start of a run that goes on,
    or its end: then `what` is `ended`), `todo`, `plan`, `asked`, `delegated`, `refused`, `read` or `search`.
    """
    what: str
    """The command, the subject of a commit, the question with its options, the description of a delegated task, what
    was looked up, or how a file was changed: `created`, `edited`, `deleted`, `moved` or `restored`.
    """
    path: str
    """The file that was changed or read; empty if there is none."""
    failed: bool
    outcome: str
    """How it ended, in one line; of `asked` the answer of the user, of `refused` what he said. Empty if its result says
    nothing.
    """
    key: str
    """The hash of a commit, the id of a background run or of a task, the command of a check without what varies, where
    a search looked, or where a file was before it was moved.
    """
    text: str
    """A longer text, at most 40,000 characters: a plan, a report, what a look-up showed, or what was written to a
    file.
    """
    defined: tuple[str, ...]
    """Functions, types and constants that an edit defines."""
    removed: tuple[str, ...]
    """Those that it removes."""
    rows: tuple[tuple[str, str], ...]
    """Status and text of each entry of a to-do list."""
    tool: str
    """The name of the called tool."""
    seq: int
    """The number of the message that makes the call."""
    ref: str
    """The reference under which `recall` returns that message."""
    result_ref: str
    """The same for the message with the result; empty if there is none."""

    @property
    def changes(self) -> bool:
        """Whether it changed anything outside of the conversation: not a look-up, a to-do list or a plan."""
        return self.kind not in QUIET
