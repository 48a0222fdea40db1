"""Read a message of any dialect: role, flags and parts."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from backscroll.messages.blocks import read_blocks, read_calls, read_outside_content
from backscroll.messages.content_parts import read_parts
from backscroll.messages.contents import is_content, matched, speaker
from backscroll.messages.inserted.pieces import Piece, Rank, pieces_of
from backscroll.messages.item_parts import read_item
from backscroll.messages.items import (
    KEPT,
    NOT_TEXT,
    call_id,
    is_compaction,
    is_item,
    kind_of,
    programs_of,
    role_of,
)
from backscroll.messages.parts import Kind, Part, Path, compact
from backscroll.messages.server_tools import open_ends
from backscroll.messages.tool_changes import tool_changes

SYSTEM_ROLES = ("system", "developer")
"""`developer` is the newer name of the same role."""


_TAG = "((?:context|attached)_files?|attachments?|documents?|(?:file|document)_contents?)"
_FILES = re.compile(rf"^[ \t]*<{_TAG}\b[^<>\n]*>", re.IGNORECASE | re.MULTILINE)
_FILE_ENDS = re.compile(rf"</{_TAG}>", re.IGNORECASE)
"""How hosts delimit a file that they insert into a user's text, such as one named with an @."""


_NO_NAME = re.compile(r"[^\w.@+-]+")
_NAME = 40  # characters of a speaker's name: `view/escaping.py` knows labels with such names


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


class ParsedMessage:
    """The role, flags and parts of one message."""

    __slots__ = (
        "by_name", "calls", "continues", "fixed", "flags", "is_sealed", "is_system", "is_user_turn", "parts", "results",
        "rigid", "role", "served", "serves", "speaker", "tool_changes",
    )  # fmt: skip  # one list

    def __init__(self, role: str, parts: tuple[Part, ...], flags: Flags, rigid: bool, answers: str | None) -> None:
        self.role: str = role
        self.parts: tuple[Part, ...] = parts
        self.flags: Flags = flags
        self.rigid: bool = rigid
        """Signed reasoning, or calls that appear twice: the message stays whole or is removed whole."""
        self.is_sealed: bool = rigid and any(part.is_sealed for part in parts)
        """True if it holds signed or encrypted reasoning."""
        self.calls: tuple[str, ...] = ()
        """Ids of the tool calls, in order, except those that the same message answers."""
        self.results: tuple[tuple[str, Path], ...] = ()
        """Ids of the calls answered here, each with the path of the answering block; () = the whole message."""
        if answers is not None or len(parts) != 1 or parts[0].kind != "text":  # nearly all of a chat are one text
            self._pair(parts, answers)
        self.by_name: bool = False
        """Whether a result may name its call by the function's name alone, as responses of Gemini do."""
        self.continues: tuple[str, ...] = ()
        """Ids of earlier calls that made these calls: programs of the Responses API, which go on meanwhile."""
        self.fixed: tuple[str, ...] = ()
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

    def _pair(self, parts: tuple[Part, ...], answers: str | None) -> None:
        """Note the calls and results, except those of the same message."""
        calls, results = tuple([part.id or "" for part in parts if part.kind == "call"]), _results(parts, answers)
        if calls and results:
            own = {answered for answered, _ in results}.intersection(calls)
            calls = tuple([call for call in calls if call not in own])
            results = tuple([result for result in results if result[0] not in own])
        self.calls, self.results = calls, results

    def _says_something(self) -> bool:
        return any(part.kind in ("text", "media") and part.id is None for part in self.parts)

    def answering(self, calls: Sequence[str]) -> "ParsedMessage":
        """Return the same reading with the ids of the calls that its results answer, one for each of `results`."""
        names = {path: call for (_, path), call in zip(self.results, calls, strict=True)}
        if all(call == name for call, (name, _) in zip(calls, self.results, strict=True)):
            return self
        parts = [part._replace(id=names.get(part.path[:2], part.id)) for part in self.parts]
        return ParsedMessage(self.role, tuple(parts), self.flags, self.rigid, None)

    @property
    def call_parts(self) -> list[Part]:
        """The parts of `calls`, in the same order."""
        calls = set(self.calls)  # a thousand calls in one message would be looked for a thousand times each
        return [part for part in self.parts if part.kind == "call" and (part.id or "") in calls]

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
        return [piece for text in own for piece in pieces_of(_without_files(text))]


def paired(readings: Sequence[ParsedMessage]) -> Sequence[ParsedMessage]:
    """Return the readings of a group in order, each result with the id of its call."""
    if not any(reading.by_name for reading in readings):
        return readings
    found: list[ParsedMessage] = []
    waiting: list[tuple[tuple[int, int], str]] = []
    for at, given in enumerate(readings):
        reading = given
        if given.by_name:
            reading = given.answering(matched([name for name, _ in given.results], waiting))
        for name, _ in reading.results:
            nearest = next((each for each in sorted(waiting) if each[1] == name), None)
            waiting = [each for each in waiting if each is not nearest]
        waiting += [((-at, number), call) for number, call in enumerate(reading.calls)]
        found.append(reading)
    return found


NO_FLAGS = Flags()
_CALLS = ("tool_call", "tool_use", "function_call", "custom_tool_call")


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


def _by_rank(parts: list[Part], role: str, flags: Flags) -> list[Part]:
    """Return parts as what they are: in an observation the text is a result."""
    if not (flags.observation and role == "user"):
        return parts
    return [part._replace(kind="result") if part.kind == "text" else part for part in parts]


def _name_of(name: Any) -> str:
    return _NO_NAME.sub("_", name)[:_NAME] if type(name) is str else ""


def read_message(message: dict[str, Any]) -> ParsedMessage:
    """Read an accepted message, or an item of a view. Never fails: an unknown shape becomes an `opaque` part."""
    if "role" not in message:
        message = {"role": role_of(message), "content": [message]}
    role = message["role"]
    content = message.get("content")
    if content is None and "parts" in message and is_content(message):
        return _read_content(message)
    answers = _answered_id(message, role)
    outside = "tool_calls" in message or "function_call" in message
    calls = read_calls(message) if outside else []
    parts: list[Part] = []
    if type(content) is str:
        if content or answers is not None:
            parts.append(Part("text" if answers is None else "result", ("content",), content, "string", answers))
    elif type(content) is list:
        parts = read_blocks(content, answers, frozenset(part.id for part in calls), read_item)
        if answers is not None and not parts:
            parts.append(Part("result", ("content",), "", "fixed", answers))
    elif content is None:
        if answers is not None:
            parts.append(Part("result", ("content",), "", "value", answers))
    else:
        kind: Kind = "opaque" if answers is None else "result"
        parts.append(Part(kind, ("content",), compact(content), "value", answers))
    twice = bool(calls) and type(content) is list and _repeats_calls(content)
    if len(message) > 2 or content is None:
        parts += read_outside_content(message)
    rigid = twice or any(part.kind == "reasoning" and part.is_sealed for part in parts)
    metadata = message.get("metadata")
    flags = read_flags(metadata) if type(metadata) is dict and metadata else NO_FLAGS
    reading = ParsedMessage(role, tuple(_by_rank(parts, role, flags) + calls), flags, rigid, answers)
    if answers is None and "name" in message:
        reading.speaker = _name_of(message["name"])
    if type(content) is list:
        _read_ties(reading, content)
    return reading


def _read_ties(reading: ParsedMessage, content: list[Any]) -> None:
    """Read how the blocks of a message belong to those of others, apart from calls and results, and what must stay."""
    kinds = {kind_of(block) for block in content}
    if not kinds.isdisjoint(KEPT) and any(map(_is_kept, content)):
        reading.flags = reading.flags._replace(critical=True)
    reading.tool_changes = tool_changes(content, kinds)
    if reading.role == "tool":
        reading.fixed = tuple([call_id(block) for block in content if kind_of(block) in NOT_TEXT])
    if reading.role != "assistant":
        return
    if reading.results:
        reading.fixed = tuple([call_id(block) for block in content if kind_of(block) == "program_output"])
    if reading.calls:
        reading.continues = programs_of(content)
    if any(part.kind == "opaque" for part in reading.parts):
        reading.serves, reading.served = open_ends(content)


def _read_content(message: dict[str, Any]) -> ParsedMessage:
    """Read a content of Gemini. Its signed parts are fixed one by one, so the message is not rigid, unless a thought
    itself is signed, as hosts write the thinking of Claude.
    """
    metadata = message.get("metadata")
    flags = read_flags(metadata) if type(metadata) is dict and metadata else NO_FLAGS
    parts = _by_rank(read_parts(message["parts"]), speaker(message), flags)
    reading = ParsedMessage(speaker(message), tuple(parts), flags, any(part.is_sealed for part in parts), None)
    reading.by_name = bool(reading.results)
    if type(message["parts"]) is list and any(part.kind == "opaque" for part in parts):
        reading.serves, reading.served = open_ends(message["parts"])
    return reading


def _is_kept(block: Any) -> bool:
    """Return whether every view needs the message that holds this block: a compaction, or an item of that kind."""
    return is_compaction(block) or (is_item(block) and block["type"] in KEPT)


def read_flags(metadata: dict[str, Any]) -> Flags:
    """Read Backscroll's and Amplifier's flags, and Strands' `custom.pinned`. Only a true boolean counts."""
    custom = metadata.get("custom")
    pinned = metadata.get("pinned") is True or (isinstance(custom, dict) and custom.get("pinned") is True)
    ephemeral, persisted = metadata.get("ephemeral") is True, metadata.get("persisted") is True
    return Flags(
        pinned=pinned,
        critical=metadata.get("critical") is True,
        whole=metadata.get("whole") is True,
        ephemeral=ephemeral and not persisted,
        injected=ephemeral or metadata.get("source") == "hook",
        from_host=metadata.get("source") == "host",
        reminder=ephemeral and persisted,
        shelf=_shelf_of(metadata.get("shelf")),
        typed=metadata.get("kind") == "typed",
        observation=metadata.get("kind") == "observation",
    )


def _shelf_of(name: Any) -> str:
    """Return the name of the object that a message holds; `True` is a name as well."""
    return name if type(name) is str else "true" if name is True else ""


def _answered_id(message: dict[str, Any], role: str) -> str | None:
    """Return the id of the call that a whole message answers (role `tool`, and formerly `function`), else None."""
    if role == "tool":
        answered = message.get("tool_call_id")
        return answered if type(answered) is str else ""
    if role == "function":
        return f"function:{message.get('name') or ''}"
    return None


def _repeats_calls(content: list[Any]) -> bool:
    return any(type(block) is dict and block.get("type") in _CALLS for block in content)


def _results(parts: tuple[Part, ...], answers: str | None) -> tuple[tuple[str, Path], ...]:
    if answers:
        return ((answers, ()),)
    found: dict[Path, str] = {}
    for part in parts:
        if part.id is not None and part.kind != "call" and (part.id or answers is None):
            found.setdefault(part.path[:2], part.id)
    if answers is not None and not found:
        return ((answers, ()),)  # a tool's message that names no call, neither itself nor in a block
    return tuple([(answered, path) for path, answered in found.items()])
