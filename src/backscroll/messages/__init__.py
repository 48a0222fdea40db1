"""The one room that looks inside a message. Every dialect is read and rewritten here, and nowhere else.

- `strict.py`   what may be kept: strictly JSON, with a role; and the private copy of it
- `copying.py`  copies of many messages that were accepted before
- `parts.py`    the vocabulary: what a part is
- `reading.py`  role, flags and parts (text, reasoning, call, result, media, opaque) of a message in any dialect
- `blocks.py`   the shapes of content blocks: one small reader for each shape
- `rewriting.py` replacing the text of a part, leaving blocks out, making the few synthetic messages of a view

Dialects: OpenAI chat, Amplifier, Anthropic blocks and Bedrock Converse. They are told apart shape by shape, never by a
setting, because real histories mix them. Messages are never converted from one dialect into another.
"""

from backscroll.messages.copying import Copier
from backscroll.messages.parts import Media, Part
from backscroll.messages.reading import SYSTEM_ROLES, Flags, Reading, read_message
from backscroll.messages.rewriting import block_at
from backscroll.messages.strict import Message, Redact, accept, copy_message

__all__ = [
    "SYSTEM_ROLES",
    "Copier",
    "Flags",
    "Media",
    "Message",
    "Part",
    "Reading",
    "Redact",
    "accept",
    "block_at",
    "copy_message",
    "read_message",
]
