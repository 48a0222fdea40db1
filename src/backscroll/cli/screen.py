"""Text from transcripts made safe and readable for a terminal. Everything printed passes through here; nothing is read.

A transcript holds what tools printed: escape sequences that recolour, retitle or rewrite a terminal, and direction
marks that make text read differently from what it is. They are shown as escapes and never sent.
"""

import os
import re
import sys
from io import StringIO

from rich.console import Console, RenderableType
from rich.text import Text

from backscroll.evaluation.transcript import Message
from backscroll.messages import read_message

_PIPE_WIDTH = 200  # columns where no terminal sets a width: wide enough that no table is cut
# C0 without tab and newline, DEL and C1, direction marks, line separators, surrogates
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    r"""`text` with every character that could steer a terminal as an escape such as `\x1b`; line ends are kept."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """`clean`, on one line."""
    return clean(text).replace("\n", "\\n").replace("\t", " ")


def width() -> int:
    """Columns that standard output has, in characters."""
    return Console().width if sys.stdout.isatty() else _PIPE_WIDTH


def show(*items: RenderableType) -> None:
    """Prints to standard output. A reader that went away (`| head`) ends the output, not the program."""
    buffer = StringIO()
    console = Console(file=buffer, force_terminal=sys.stdout.isatty(), width=width())
    for item in items:
        console.print(item, soft_wrap=isinstance(item, Text), highlight=False)
    write(buffer.getvalue())


def write(text: str) -> None:
    """Writes to standard output as it is, with what its encoding lacks as escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # the interpreter flushes once more when it ends; give that something to write to
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def message(number: int | str, shown: Message, tokens: int, more: str = "") -> Text:
    """One message: a header with its number or reference, role, tokens and what `more` there is, then its parts."""
    text = Text()
    text.append(f"[{number}] {line(str(shown['role']))}", style="bold")
    text.append(f"  {tokens:,} tokens{f', {line(more)}' if more else ''}\n", style="dim")
    for part in read_message(shown).parts:
        body = clean(part.text)
        if part.kind == "call":
            text.append(f"-> {line(part.name or '?')} {line(part.id or '')}\n", style="cyan")
        elif part.kind == "result":
            text.append(f"<- {line(part.id or '')}\n", style="green")
        elif part.kind != "text":
            label = part.media.kind if part.media else part.kind
            text.append(f"({line(label)})\n", style="magenta")
        if body:
            text.append(body if body.endswith("\n") else body + "\n")
    return text
