"""Makes text from transcripts safe and readable for a terminal. All output passes through here.

Transcripts hold what tools printed: escape sequences that recolor, retitle or rewrite a terminal, and direction marks
that make text read differently. These are printed as escapes, never sent.
"""

import os
import re
import sys
from io import StringIO

from rich.console import Console, RenderableType
from rich.text import Text

from backscroll.evaluation.transcript import Message
from backscroll.messages import read_message

_PIPE_WIDTH = 200  # columns without a terminal: wide enough for every table
# C0 without tab and newline, DEL and C1, direction marks, line separators, surrogates
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Return `text` with every character that could control a terminal as an escape such as `\x1b`; line ends are
    kept.
    """
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """Return `clean(text)` on one line."""
    return clean(text).replace("\n", "\\n").replace("\t", " ")


def width() -> int:
    """Return the width of standard output in columns."""
    return Console().width if sys.stdout.isatty() else _PIPE_WIDTH


def show(*items: RenderableType) -> None:
    """Print to standard output. A closed reader (`| head`) ends the output, not the program."""
    buffer = StringIO()
    console = Console(file=buffer, force_terminal=sys.stdout.isatty(), width=width())
    for item in items:
        console.print(item, soft_wrap=isinstance(item, Text), highlight=False)
    write(buffer.getvalue())


def write(text: str) -> None:
    """Write to standard output, with escapes for characters that its encoding lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # the interpreter flushes again at exit and would fail on the closed pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def message(number: int | str, shown: Message, tokens: int, more: str = "") -> Text:
    """Format a message: a header with number or reference, role, tokens and `more`, then its parts."""
    text = Text()
    reading = read_message(shown)
    text.append(f"[{number}] {line(reading.role)}", style="bold")
    text.append(f"  {tokens:,} tokens{f', {line(more)}' if more else ''}\n", style="dim")
    for part in reading.parts:
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
