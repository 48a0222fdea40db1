"""A deed: what one call, or one step of a command, did."""

from typing import NamedTuple

from backscroll.messages.deed_kind import QUIET, DeedKind


class Deed(NamedTuple):
    """What a call, or a step of a command, did, and how it ended."""

    kind: DeedKind
    """`background` is the start of a run that goes on behind the call, and also its end (`what` is `ended`)."""
    what: str
    """The command, the subject of a commit, the question with its options, the description of a delegated task, the
    pattern or the object that was looked up, or how a file was changed: `created`, `edited`, `deleted`, `moved`, or
    `restored` to what was committed.
    """
    path: str = ""
    """The file that was changed or read."""
    failed: bool = False
    outcome: str = ""
    """One line: how it ended, at most 300 characters; empty if the result says nothing. Of `asked` the whole answer of
    the user, of `refused` what he said.
    """
    key: str = ""
    """The hash of a commit, the id of a background run or of a task, the normalized command of a check, where a search
    looked, or where a file was before it was moved.
    """
    text: str = ""
    """A longer text: a plan, the report of a delegated task, what a look-up showed, or what was written to a file. At
    most 40,000 characters.
    """
    added: str = ""
    """The lines of what an edit wrote that were not in what it replaced."""
    defined: tuple[str, ...] = ()
    """Functions, types and constants that an edit defines."""
    removed: tuple[str, ...] = ()
    """Those that it removes."""
    rows: tuple[tuple[str, str], ...] = ()
    """Status and text of each entry of a to-do list; of a change of one task, one row."""

    before: str = ""
    """The text that an edit replaced, as far as its call says. At most 40,000 characters."""
    folder: str = ""
    """The folder in which a command ran, as far as it says; of files it is part of `path`."""

    @property
    def new_lines(self) -> str:
        """The lines that an edit added to its file: all lines of a file that it created."""
        return self.text if self.what == "created" else self.added

    @property
    def changes(self) -> bool:
        """Whether it changed anything outside of the conversation: not a look-up, a to-do list or a plan."""
        return self.kind not in QUIET
