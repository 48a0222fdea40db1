"""A message as it was read: role, flags and parts."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from backscroll.messages.inserted.piece import TAG, Piece, Rank
from backscroll.messages.inserted.pieces import pieces_of
from backscroll.messages.parts import NO_ID, CallId, Part, Path

SYSTEM_ROLES = ("system", "developer")
"""`developer` is the newer name of the same role."""


_TAG = "((?:context|attached)_files?|attachments?|documents?|(?:file|document)_contents?)"
_FILES = re.compile(rf"^[ \t]*<{_TAG}\b[^<>\n]*>", re.IGNORECASE | re.MULTILINE)
_FILE_ENDS = re.compile(rf"</{_TAG}>", re.IGNORECASE)
"""How hosts delimit a file that they insert into a user's text, such as one named with an @."""


class Flags(NamedTuple):
    """How a message is to be treated, read from its `metadata`."""

    pinned: bool = False
    critical: bool = False
    ephemeral: bool = False
    """Never stored: `ephemeral` without `persisted`."""
    whole: bool = False
    """Its long results are never previewed, because their originals are kept nowhere else."""
    injected: bool = False
    """Written by a hook or as a reminder; never counts as the user's own first or last message."""
    reminder: bool = False
    """`ephemeral` and `persisted`: stored once and valid until the next one. Every view keeps the newest."""
    from_host: bool = False
    """The prompt of the host's agent does not replace it: it is a system message of the conversation itself."""
    shelf: str = ""
    """Belongs to the working set, under this name; empty if it does not."""
    typed: bool = False
    """`kind` is `typed`: the user typed all of its text, however that looks."""
    observation: bool = False
    """`kind` is `observation`: a tool's output in a message of role `user`."""


NO_FLAGS = Flags()


class ParsedMessage:
    """The role, flags and parts of one message."""

    __slots__ = (
        "by_name", "calls", "continues", "dumped", "fixed", "flags", "is_sealed", "is_system", "is_user_turn", "parts",
        "results", "rigid", "role", "served", "serves", "speaker", "tool_changes",
    )  # fmt: skip  # one list

    def __init__(self, role: str, parts: tuple[Part, ...], flags: Flags, rigid: bool, answers: CallId | None) -> None:
        self.role: str = role
        self.parts: tuple[Part, ...] = parts
        self.flags: Flags = flags
        self.rigid: bool = rigid
        """Signed reasoning, or calls that appear twice: the message stays whole or is removed whole."""
        self.is_sealed: bool = rigid and any(part.is_sealed for part in parts)
        """True if it holds signed or encrypted reasoning."""
        self.calls: tuple[CallId, ...] = ()
        """Ids of the tool calls, in order, except those that the same message answers."""
        self.results: tuple[tuple[CallId, Path], ...] = ()
        """Ids of the calls answered here, each with the path of the answering block; () = the whole message."""
        if answers is not None or len(parts) != 1 or parts[0].kind != "text":  # nearly all of a chat are one text
            self._pair(parts, answers)
        self.by_name: bool = False
        """Whether a result may name its call by the function's name alone, as responses of Gemini do."""
        self.dumped: bool = False
        """Whether its client writes a null for each unused field, in messages of any role."""
        self.continues: tuple[CallId, ...] = ()
        """Ids of earlier calls that made these calls: programs of the Responses API, which go on meanwhile."""
        self.fixed: tuple[CallId, ...] = ()
        """Ids of calls whose results here are no text: an approval, the tools that a search found, a program's end."""
        self.serves: tuple[str, ...] = ()
        """Ids of calls of the provider's own tools without a result here: a later message may begin with it."""
        self.served: tuple[str, ...] = ()
        """Ids of such calls in earlier messages whose results are here."""
        self.tool_changes: frozenset[int] = frozenset()
        """Numbers of the blocks or items that say which tools the model has from there on."""
        self.is_system: bool = role in SYSTEM_ROLES
        """True if it instructs the model from outside the conversation."""
        self.is_user_turn: bool = (
            role == "user"
            and (flags is NO_FLAGS or not (flags.ephemeral or flags.injected or flags.observation))
            and (not self.results or self._says_something())
        )
        """True if a user wrote it: role `user`, with content that is no tool result, and not injected by a hook."""
        self.speaker: str = ""
        """The `name` of its author in one word, where a conversation has several; empty if it has none."""

    @property
    def outcomes(self) -> int:
        """How many results of tools it holds."""
        return len(self.results) or int(self.flags.observation and self.role == "user")

    @property
    def yields_to_prompt(self) -> bool:
        """True if the text of a system prompt factory replaces it: a stored system message that no hook injected and
        that its host did not mark by `source: host`. Developer messages stay: they hold files and rules of their own.
        """
        return self.role == "system" and not (self.flags.injected or self.flags.from_host)

    @property
    def keeps_place(self) -> bool:
        """True if views keep it because of its rank, or because the request's tools depend on it. Not what a hook
        injects: that is valid until the next.
        """
        return (self.is_system and not self.flags.injected) or bool(self.tool_changes)

    def fixes(self, part: Part) -> bool:
        """Return whether a part is never cut: such a message is shown whole or not at all."""
        if self.tool_changes and not self.is_system:
            return len(part.path) > 1 and part.path[1] in self.tool_changes
        return self.keeps_place

    def _pair(self, parts: tuple[Part, ...], answers: CallId | None) -> None:
        """Note the calls and results, except those of the same message."""
        calls, results = tuple([part.id or NO_ID for part in parts if part.kind == "call"]), _results(parts, answers)
        if calls and results:
            # a response of Gemini with an id answers no call of its own content, which no provider takes
            named = [answered for answered, _ in results if answered.function is None or answered.names_function]
            own = set(named).intersection(calls)
            calls = tuple([call for call in calls if call not in own])
            results = tuple([result for result in results if result[0] not in own])
        self.calls, self.results = calls, results

    def _says_something(self) -> bool:
        return any(part.kind in ("text", "media") and part.id is None for part in self.parts)

    def answering(self, calls: Sequence[CallId]) -> "ParsedMessage":
        """Return the same reading with the ids of the calls that its results answer, one for each of `results`."""
        names = {path: call for (_, path), call in zip(self.results, calls, strict=True)}
        if all(call == name for call, (name, _) in zip(calls, self.results, strict=True)):
            return self
        parts = [part._replace(id=names.get(part.path[:2], part.id)) for part in self.parts]
        made = ParsedMessage(role=self.role, parts=tuple(parts), flags=self.flags, rigid=self.rigid, answers=None)
        made.dumped, made.serves, made.served = self.dumped, self.serves, self.served
        return made

    @property
    def call_parts(self) -> list[Part]:
        """The parts of `calls`, in the same order."""
        calls = set(self.calls)  # a thousand calls in one message would be looked for a thousand times each
        return [part for part in self.parts if part.kind == "call" and (part.id or NO_ID) in calls]

    @property
    def reasoning(self) -> tuple[int, ...]:
        """The numbers of the parts that are a model's reasoning, sealed or in plain text."""
        return tuple([number for number, part in enumerate(self.parts) if part.kind == "reasoning"])

    @property
    def typed(self) -> str:
        """The text its author typed or pasted, without attached documents and files, and without what hosts insert."""
        return _joined(self.pieces, "typed", "pasted")

    @property
    def sure(self) -> str:
        """The text its author certainly typed: only this can state rules."""
        return _joined(self.pieces, "typed")

    @property
    def pasted(self) -> str:
        """The rest of `typed`: what its author typed or pasted."""
        return _joined(self.pieces, "pasted")

    @property
    def pieces(self) -> list[Piece]:
        """Its text without attached documents and files, in pieces by who is behind them."""
        own = [part.text for part in self.parts if part.kind == "text" and part.id is None and not part.attached]
        if self.flags.typed:
            return [Piece("typed", text) for text in own]
        if len(own) > 1 and any(TAG in text for text in own):
            own = ["\n".join(own)]  # the template of a command is a block of its own
        return [piece for text in own for piece in pieces_of(_without_files(text))]


def _without_files(text: str) -> str:
    """Remove the files from a text. A file may contain tags itself, so each kind ends at its last closing tag."""
    if "</" not in text:
        return text
    kept: list[str] = []
    at = 0
    ends = {found[1].lower(): found.end() for found in _FILE_ENDS.finditer(text)}
    for found in _FILES.finditer(text) if ends else ():
        end = ends.get(found[1].lower(), 0)
        if at <= found.start() < end:
            kept.append(text[at : found.start()])
            at = end
    return "".join([*kept, text[at:].lstrip("\n") if kept else text])


def _joined(pieces: Sequence[Piece], *ranks: Rank) -> str:
    return "\n".join(piece.text for piece in pieces if piece.rank in ranks and piece.text.strip()).strip()


def _results(parts: tuple[Part, ...], answers: CallId | None) -> tuple[tuple[CallId, Path], ...]:
    if answers:
        return ((answers, ()),)
    found: dict[Path, CallId] = {}
    for part in parts:
        if part.id is not None and part.kind != "call" and (part.id or answers is None):
            found.setdefault(part.path[:2], part.id)
    if answers is not None and not found:
        return ((answers, ()),)  # a tool's message that names no call, neither itself nor in a block
    return tuple([(answered, path) for path, answered in found.items()])
