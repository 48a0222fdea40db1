"""Formats a session's window for a terminal: a bar of its parts, its largest messages, its next compaction."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from backscroll.cli import screen
from backscroll.session.window_report import PARTS, WindowReport

COLORS = {
    "overhead": "bright_black",
    "system": "magenta",
    "digest": "yellow",
    "user": "green",
    "assistant": "cyan",
    "results": "blue",
    "free": "default",
}
MARKS = {"overhead": "#", "system": "s", "digest": "d", "user": "u", "assistant": "a", "results": "r", "free": "."}
"""The letters of the bar, which make it readable without colors."""
_WIDEST = 100  # columns
_NARROWEST = 20


def shown(status: WindowReport, session: str) -> Iterator[Text | Table]:
    """Yield everything that `backscroll status` prints."""
    usage, window = status.usage, status.usage.window
    used = usage.used.tokens
    yield Text(f"{screen.line(session)}, lane {screen.line(status.lane)}", style="bold")
    yield Text(
        f"{used:,} of {window:,} tokens ({_percent(used, window)}), {usage.used.source}; upper bound "
        f"{usage.used_upper_bound:,}, by which compaction decides"
    )
    yield Text(f"{usage.messages:,} of {usage.stored:,} messages, {usage.compactions:,} compactions")
    yield bar(status, max(_NARROWEST, min(_WIDEST, screen.width() - 2)))
    yield _parts(status)
    if status.usage.tools:
        yield _tools(status)
    yield _largest(status)
    yield Text(coming(status))


def bar(status: WindowReport, width: int) -> Text:
    """Return the window as a bar of `width` letters. Every nonempty part gets at least one."""
    total = sum(status.parts.values()) or 1
    letters = {part: max(1, round(status.parts[part] / total * width)) for part in PARTS if status.parts[part]}
    while sum(letters.values()) > width:
        letters[max(letters, key=lambda part: letters[part])] -= 1
    text = Text("[")
    for part, number in letters.items():
        text.append(MARKS[part] * number, style=COLORS[part])
    return text.append("]")


def _parts(status: WindowReport) -> Table:
    table = Table(title="what the window holds", title_justify="left")
    for header in ("", "part", "tokens", "share"):
        table.add_column(header, justify="right" if header in ("tokens", "share") else "left")
    for part in PARTS:
        tokens = status.parts[part]
        table.add_row(Text(MARKS[part], style=COLORS[part]), part, f"{tokens:,}", _percent(tokens, status.usage.window))
    return table


def _tools(status: WindowReport) -> Table:
    table = Table(title="tools, part of overhead", title_justify="left")
    for header in ("tool", "tokens", "share"):
        table.add_column(header, justify="left" if header == "tool" else "right", overflow="ellipsis")
    for name, tokens in sorted(status.usage.tools, key=lambda tool: -tool.tokens):
        table.add_row(Text(screen.line(name)), f"{tokens:,}", _percent(tokens, status.usage.window))
    return table


def _largest(status: WindowReport) -> Table:
    table = Table(title="largest messages", title_justify="left")
    for header in ("ref", "role", "tokens", "share", "begins"):
        table.add_column(header, justify="right" if header in ("tokens", "share") else "left", overflow="ellipsis")
    for each in status.largest:
        share = _percent(each.tokens, status.usage.window)
        cells = each.ref, each.role, f"{each.tokens:,}", share, each.beginning
        table.add_row(*(Text(screen.line(cell)) for cell in cells))
    return table


def coming(status: WindowReport) -> str:
    """Describe when the next compaction comes and what one now would do."""
    left, does = status.threshold - status.usage.used_upper_bound, status.next_compaction
    when = f"in {left:,} tokens" if left > 0 else "with the next request"
    begins = f"next compaction {when}, at {status.threshold:,} tokens; one now would "
    if does.after_tokens >= does.before_tokens:
        return begins + "save nothing: the view is at its target, or holds only what must stay"
    out = f"{does.messages_dropped:,} messages covered by the digest, {does.parts_shortened:,} parts shortened in all"
    if does.reasoning_tokens:
        out += f", {does.reasoning_tokens:,} tokens of reasoning lost, which the provider binds to what is edited"
    return f"{begins}reduce it to {does.after_tokens:,} tokens: {out}"


def as_json(status: WindowReport) -> dict[str, Any]:
    """Return the report for `json.dumps`."""
    return dataclasses.asdict(status)


def _percent(tokens: int, window: int) -> str:
    return f"{tokens / window:.1%}" if window else "-"
