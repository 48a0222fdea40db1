"""Read a message of any dialect: role, flags and parts."""

import re
from collections.abc import Container, Sequence, Set
from typing import Any

from backscroll.messages.dialects import BARE_READERS, FIELDS, READERS, TOOL_CHANGES, open_ends, speaker
from backscroll.messages.dialects.blocks import id_of, opaque, plain
from backscroll.messages.dialects.gemini import is_content, read_parts
from backscroll.messages.dialects.openai_chat import ANSWERING, answered_by, read_calls
from backscroll.messages.dialects.response_items import (
    KEPT,
    NOT_TEXT,
    call_id,
    is_item,
    programs_of,
    role_of,
)
from backscroll.messages.dialects.responses import read_item
from backscroll.messages.parsed_message import NO_FLAGS, Flags, ParsedMessage
from backscroll.messages.parts import Block, CallId, Kind, Part, Path, compact, is_compaction, kind_of

_NO_NAME = re.compile(r"[^\w.@+-]+")
_NAME = 40  # characters of a speaker's name: `view/escaping.py` knows labels with such names
_NO_CHANGES: frozenset[int] = frozenset()
_MAY_CHANGE = TOOL_CHANGES | {"tool_result"}
"""Types of blocks that may say which tools a model has."""
_CALLS = ("tool_call", "tool_use", "function_call", "custom_tool_call")


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
    answers = answered_by(message, role) if role in ANSWERING else None
    calls = read_calls(message) if "tool_calls" in message or "function_call" in message else []
    parts: list[Part] = []
    if type(content) is str:
        if content or answers is not None:
            kind: Kind = "text" if answers is None else "result"
            parts.append(Part(kind=kind, path=("content",), text=content, form="string", id=answers))
    elif type(content) is list:
        parts = _read_blocks(content, answers, frozenset(part.id for part in calls))
        if answers is not None and not parts:
            parts.append(Part(kind="result", path=("content",), text="", form="fixed", id=answers))
    elif content is None:
        if answers is not None:
            parts.append(Part(kind="result", path=("content",), text="", form="value", id=answers))
    else:
        kind = "opaque" if answers is None else "result"
        parts.append(Part(kind=kind, path=("content",), text=compact(content), form="value", id=answers))
    twice = bool(calls) and type(content) is list and _repeats_calls(content)
    if len(message) > 2 or content is None:
        parts += [part for key, read in FIELDS if key in message for part in read(message[key])]
    rigid = twice or any(part.kind == "reasoning" and part.form in ("fixed", "signature") for part in parts)
    metadata = message.get("metadata")
    flags = read_flags(metadata) if type(metadata) is dict and metadata else NO_FLAGS
    reading_role = role if answers is None else "tool"
    reading = ParsedMessage(
        role=reading_role, parts=tuple(_by_rank(parts, role, flags) + calls), flags=flags, rigid=rigid, answers=answers
    )
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
    reading.tool_changes = _tool_changes(content, kinds)
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
    reading = ParsedMessage(
        role=speaker(message),
        parts=tuple(parts),
        flags=flags,
        rigid=any(part.is_sealed for part in parts),
        answers=None,
    )
    reading.dumped = True
    reading.by_name = any(answered.names_function for answered, _ in reading.results)
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


def _repeats_calls(content: list[Any]) -> bool:
    return any(type(block) is dict and block.get("type") in _CALLS for block in content)


# -- blocks --


def _read_blocks(content: list[Any], answers: CallId | None, listed: Container[CallId | None]) -> list[Part]:
    """Return the parts of a content list.

    Args:
        content: The blocks.
        answers: Id of the call that the whole message answers. `None`: it answers none.
        listed: Ids of calls that `tool_calls` of the same message lists.
    """
    parts: list[Part] = []
    for number, block in enumerate(content):
        path: Path = ("content", number)
        if type(block) is not dict:
            parts.append(plain(block, path, answers))
        elif _listed(block, listed):
            continue  # Amplifier and LangChain write each call twice: count it once, where `tool_calls` has it
        elif is_item(block) and block["type"] != "reasoning":
            found = read_item(block, path, _read_inner)
            parts += [opaque(block, path, None)] if found is None else found
        else:
            parts += _read_block(block, path, answers)
    return parts


def _listed(block: Block, listed: Container[CallId | None]) -> bool:
    kind = block.get("type")
    if kind in ("tool_call", "tool_use"):
        return id_of(block.get("id")) in listed
    return kind in ("function_call", "custom_tool_call") and id_of(block.get("call_id")) in listed


def _read_block(block: Block, path: Path, answers: CallId | None) -> list[Part]:
    kind = block.get("type")
    if type(kind) is str:
        if reader := READERS.get(kind):
            return reader(block, path, answers, _read_inner)
        return [opaque(block, path, answers)]
    for key, bare in BARE_READERS.items():
        if key in block:
            return bare(block, path, answers, _read_inner)
    return [opaque(block, path, answers)]


def _read_inner(block: Any, path: Path, answers: CallId | None) -> list[Part]:
    return _read_block(block, path, answers) if type(block) is dict else [plain(block, path, answers)]


def _tool_changes(content: Sequence[Any], kinds: Set[str]) -> frozenset[int]:
    """Return the numbers of the blocks that change the tools, by themselves or by what a tool returned in them.

    Args:
        content: The blocks.
        kinds: Their types.
    """
    if kinds.isdisjoint(_MAY_CHANGE):
        return _NO_CHANGES
    return frozenset([number for number, block in enumerate(content) if _changes(block)])


def _changes(block: Any) -> bool:
    kind = kind_of(block)
    if kind in TOOL_CHANGES:
        return True
    inner = block.get("content") if kind == "tool_result" else None
    return type(inner) is list and any(kind_of(each) in TOOL_CHANGES for each in inner)
