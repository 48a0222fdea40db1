"""The vocabulary of a message: blocks as they came, the parts that are read in them, ids of calls, values as text."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

Kind = Literal["text", "reasoning", "call", "result", "media", "opaque"]
Form = Literal["string", "value", "arguments", "mapping", "signature", "fixed"] | Callable[[str], Any]
Path = tuple[str | int, ...]
Message = dict[str, Any]
Block = dict[str, Any]
COMPACTION = "compaction"
"""The type of Anthropic's blocks and OpenAI's items."""
_FUNCTION = "function:"
_PLAIN = ("thinking", "text")
"""Keys of reasoning in plain words, which a signature may follow."""
_HOLDERS = ("summary", "content", "thinking_blocks", "reasoning_items")
"""Keys of lists of blocks; the last two are LiteLLM's."""


class CallId(str):
    """The id of a call, as its results name it. Two are equal where they mean the same call.

    Nearly every call has an id of its own, which its results repeat. In two dialects a call may have none. The older
    `function_call` of OpenAI is known by its function. A call of Gemini is known by its function then, and by its
    number among those of that function in its message; a response names the function alone, and `matched` finds the
    call. Source: `FunctionResponse` of google-genai 3.4.
    """

    function: str | None = None
    """The function, in a dialect whose calls and results name it. `None`: in all others."""

    @classmethod
    def of_function(cls, function: str, id: str = "", number: int | None = None) -> "CallId":
        """Return the id of a call or a result that names its function.

        Args:
            function: Its name.
            id: The id. A call with one is known by it alone.
            number: Of a call without an id: how many of the same function precede it in its message. `None`: only the
                function is known.
        """
        which = "" if number is None else f" #{number}"
        made = cls(f"{_FUNCTION} {id}" if id else f"{_FUNCTION}{function}{which}")
        made.function = function
        return made

    @classmethod
    def recorded(cls, record: str) -> "CallId":
        """Return the id with this `record`."""
        if not record.startswith(_FUNCTION):
            return cls(record)
        function, _, known = record.removeprefix(_FUNCTION).partition(" ")
        number = known.removeprefix("#") if known.startswith("#") else ""
        if number.isdigit():
            return cls.of_function(function, number=int(number))
        return cls.of_function(function, known)

    @property
    def record(self) -> str:
        """The text by which logs and errors know the call: with the function, also before an id."""
        return f"{_FUNCTION}{self.function} {self.given}" if self._has_both else str(self)

    @property
    def given(self) -> str:
        """The id that a model or its provider gave; empty without one."""
        if self.function is None:
            return str(self)
        return self.removeprefix(f"{_FUNCTION} ") if self._has_both else ""

    @property
    def names_function(self) -> bool:
        """Whether it names a function, and none of its calls."""
        return self.function is not None and self == f"{_FUNCTION}{self.function}"

    @property
    def names(self) -> tuple["CallId", ...]:
        """Every id by which a result may name the call."""
        return (self,) if self.function is None else (self, CallId.of_function(self.function))

    def may_mean(self, call: "CallId") -> bool:
        """Return whether a result of this id may answer a call: it names the call, or only its function."""
        return self == call or (self.names_function and self.function == call.function)

    @property
    def _has_both(self) -> bool:
        return self.function is not None and self.startswith(f"{_FUNCTION} ")


NO_ID = CallId("")
"""Of a call that has no id at all; nothing answers it."""


class Media(NamedTuple):
    """An image, document, audio or video inside a message."""

    kind: str
    """`image`, `document`, `audio` or `video`."""
    data: str | None
    """Base64 text or `data:` URL. `None`: the message has a reference only (URL, file id)."""


class Part(NamedTuple):
    """One piece of a message that can be counted, and usually replaced, by itself."""

    kind: Kind
    path: Path
    """Keys and indexes from the message down to the value that a rewrite replaces."""
    text: str
    """What a model reads of it; empty for media. A call's text is its arguments as compact JSON."""
    form: Form
    """How a replacement text is put into its place: as it is, or as a function of its dialect makes a value of it. See
    `rewriter.replace`.
    """
    id: CallId | None = None
    """The call's id, for a call, a result, or media inside a result."""
    name: str | None = None
    """Name of the called tool."""
    media: Media | None = None

    @property
    def attached(self) -> bool:
        """True for an attached document, as opposed to typed text."""
        return "source" in self.path

    @property
    def is_sealed(self) -> bool:
        """True for reasoning that is signed or encrypted: its provider accepts it unchanged or not at all."""
        return self.kind == "reasoning" and self.form == "fixed"

    @property
    def readable(self) -> str:
        """`text` without what only its provider can read: of a sealed block its reasoning or summary in plain words,
        of a signature nothing.
        """
        if self.kind != "reasoning" or self.form == "string" or not self.text:
            return self.text
        if self.form == "signature":
            return ""
        return self.text if self.path[-1] in _PLAIN else "\n".join(_plain_texts(json.loads(self.text)))


Inner = Callable[[Any, Path, CallId | None], list[Part]]
"""Reads a block inside another one, in any dialect: the block, its path, and the id of the call that it answers."""
Reader = Callable[[Block, Path, CallId | None, Inner], list[Part]]
"""Reads a block: the block, its path, the id of the call that its message answers, and how to read blocks inside."""


def kind_of(value: Any) -> str:
    """Return the `type` of a block or an item; empty if it has none."""
    kind = value.get("type") if type(value) is dict else None
    return kind if type(kind) is str else ""


def is_compaction(value: Any) -> bool:
    """Return whether a block or an item is a compaction that represents something; one without content does not."""
    if kind_of(value) != COMPACTION:
        return False
    return bool(value.get("content") or value.get("encrypted_content"))


def compact(value: Any) -> str:
    """Return the JSON text that a provider receives for a structured value. Lone surrogates stay."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain_texts(block: dict[str, Any]) -> Iterator[str]:
    """Yield the plain words of a sealed block, and of blocks in it: thinking, a summary, and reasoning as content."""
    yield from [text for key in _PLAIN if type(text := block.get(key)) is str and text]
    for key in _HOLDERS:
        held = block.get(key)
        for item in held if type(held) is list else ():
            if type(item) is dict:
                yield from _plain_texts(item)
