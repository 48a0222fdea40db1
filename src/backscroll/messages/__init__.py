"""The one room that looks inside a message. Every dialect is read and rewritten here, and nowhere else.

- `validation.py`  which messages are accepted (strictly JSON, with a role), and the private copy
- `copying.py`     copies of accepted messages, of one or of many
- `answers.py`     the message in a client's response, and which of its fields a request accepts
- `parts.py`       the vocabulary: blocks as they came, parts as they are read, and ids of calls
- `parsed_message.py` a message as it was read: role, flags and parts (text, reasoning, call, result, media, opaque)
- `reader.py`      reads a message of any dialect
- `dialects/`      one file a dialect: its blocks, roles, calls, results, usage, and what its provider refuses
- `pairing.py`     which result answers which call
- `counted.py`     tokens that a provider counted
- `cache_marks.py` marks for a prompt cache in blocks
- `healing.py`     a message without what its provider refuses, by the `heals` of the dialects
- `heal_rules.py`  the names of what is healed
- `late_results.py` a result as text, where it can no longer follow its call
- `same_data.py`   the same data twice inside one result
- `tools.py`       definitions of tools, read and written
- `echoes.py`      calls of recall tools and their results, which repeat other messages
- `back_references.py` results that only refer to an earlier one, as their clients write them
- `prose/`         what people and models write, shortened by its structure
- `inserted/`      what a user's message holds that its user did not type
- `shapes.py`      what a new message must be, and what its provider would refuse in it
- `compactions.py` compactions by a provider: opaque blocks and items, and what a user's function returned of them
- `rounds.py`      moving result blocks directly behind their calls, as providers require
- `reasoning.py`   where a model's reasoning is, and the message without it
- `file_names.py`  the names by which hosts call a file among the arguments of a call
- `deed_kind.py`   the kinds of deeds
- `deeds/`         what calls of tools did, and how each ended
- `statements/`    what users state as facts, and which statement replaces an older one
- `structure/`     long texts as what they are: JSON, tables, logs, diffs, listings and others
- `clutter.py`     what hosts and programs add to a result for their own use, and the result without it
- `recall_lead.py` the words before a reference
- `rewriter.py`    replacing the text of a part, removing blocks, making the few synthetic messages of a view

Dialects are detected per block, never by a setting, because real histories mix them. Messages are never converted from
one dialect into another.
"""

from backscroll.messages.answers import sendable
from backscroll.messages.copying import Copier, copy_message
from backscroll.messages.dialects import speaker
from backscroll.messages.dialects.response_items import holds_compaction, in_a_row
from backscroll.messages.pairing import paired
from backscroll.messages.parsed_message import SYSTEM_ROLES, Flags, ParsedMessage
from backscroll.messages.parts import Media, Message, Part
from backscroll.messages.reader import read_message
from backscroll.messages.reasoning import without_reasoning
from backscroll.messages.rewriter import block_at
from backscroll.messages.shapes import check_shape, read_new
from backscroll.messages.validation import (
    MAX_DEPTH,
    Redact,
    accept_text,
    all_validated,
    numbered,
    same_json,
    validated,
)

__all__ = [
    "MAX_DEPTH",
    "SYSTEM_ROLES",
    "Copier",
    "Flags",
    "Media",
    "Message",
    "ParsedMessage",
    "Part",
    "Redact",
    "accept_text",
    "all_validated",
    "block_at",
    "check_shape",
    "copy_message",
    "holds_compaction",
    "in_a_row",
    "numbered",
    "paired",
    "read_message",
    "read_new",
    "same_json",
    "sendable",
    "speaker",
    "validated",
    "without_reasoning",
]
