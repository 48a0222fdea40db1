"""Draws `concepts/window.svg`: what a session keeps, and what its newest view shows, by `explain` and `get_request`.

    python docs/draw_window.py            writes the picture
    python docs/draw_window.py --check    writes nothing; exit code 1 if the picture is stale

The session is made up here, so that the same code draws the same picture. All else is asked of the manager.
"""

import argparse
import sys
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from backscroll import ContextManager, RequestSnapshot
from backscroll.compaction.modes import STANDARD

PICTURE = Path(__file__).resolve().parent / "concepts/window.svg"
BUDGET, LOGS = 8_000, 30
WIDTH, HEIGHT, LEFT, BAR = 742, 322, 1, 46
QUESTIONS = ("Which log shows a crash? Never change one.", "What happened before it?", "Does it happen elsewhere?")
STATES = {"whole": "whole", "excerpted": "cut", "digested": "gone"}
"""The class of the style of each state of a message."""
STYLE = """
.text { font: 13px system-ui, sans-serif; fill: var(--color-foreground-primary, #1f2328); }
.soft { font: 12px system-ui, sans-serif; fill: var(--color-foreground-secondary, #59636e); }
.on { font: 12px system-ui, sans-serif; fill: #ffffff; }
.frame { fill: none; stroke: var(--color-foreground-secondary, #59636e); stroke-width: 1; }
.mark { stroke: var(--color-foreground-primary, #1f2328); stroke-width: 1; stroke-dasharray: 3 3; }
.whole { fill: #2563a8; } .cut { fill: #7a5195; } .digest { fill: #a05a00; }
.gone { fill: var(--picture-gone, #ccd3da); }
@media (prefers-color-scheme: dark) {
  .text { fill: var(--color-foreground-primary, #f0f6fc); } .soft { fill: var(--color-foreground-secondary, #9198a1); }
  .frame { stroke: var(--color-foreground-secondary, #9198a1); }
  .mark { stroke: var(--color-foreground-primary, #f0f6fc); }
  .gone { fill: var(--picture-gone, #454c54); }
}
"""


class Piece(NamedTuple):
    """A stretch of a bar."""

    kind: str
    tokens: int


class Seen(NamedTuple):
    """What the manager says of the session."""

    kept: list[Piece]
    sent: list[Piece]
    messages: tuple[int, int]
    """In the history, and in the view."""
    threshold: int
    target: int
    free: int


def session() -> Seen:
    """A session of three questions, each with a number of logs read for it."""
    with ContextManager(budget=BUDGET, plan_ahead=False) as context:
        for turn, question in enumerate(QUESTIONS):
            context.append({"role": "user", "content": question})
            for number in range(turn * LOGS, turn * LOGS + LOGS):
                asked = {"name": "read_log", "arguments": f'{{"number": {number}}}'}
                call = {"id": f"call_{number}", "type": "function", "function": asked}
                minutes = range(200 if number % 10 == 1 else 40)  # a view cuts a long one among its newest
                lines = [f"{minute:02}:{number:02} worker {minute * number % 7} is well" for minute in minutes]
                context.append({"role": "assistant", "content": None, "tool_calls": [call]})
                log = {"role": "tool", "tool_call_id": call["id"], "content": "\n".join(lines)}
                context.append(log)
                context.get_messages_for_request()
            context.append({"role": "assistant", "content": f"I read the logs up to {turn * LOGS + LOGS - 1}."})
        context.append({"role": "user", "content": "Read the next ones."})
        view = context.get_messages_for_request()
        explained, report = context.explain(), context.window_report()
        snapshot = context.get_request(context.list_requests()[-1].at)
        states = [STATES[status.state] for status in explained]
        kept = _pieces(states, [status.role for status in explained], [status.tokens for status in explained])
        sizes = (len(explained), len(view))
        target = int(STANDARD.target_usage * BUDGET)
        return Seen(kept, _sent(snapshot), sizes, report.threshold, target, report.parts["free"])


def _sent(snapshot: RequestSnapshot) -> list[Piece]:
    """The pieces of a view."""
    shown = [item for item in snapshot.lines if item.message is not None]
    kinds = ["digest" if item.kind in ("digest", "bridge") else STATES[item.state] for item in shown]
    return _pieces(kinds, [item.role for item in shown], [item.tokens for item in shown])


def _pieces(kinds: list[str], roles: list[str], tokens: list[int]) -> list[Piece]:
    """One piece for each message; a call has the kind of its result."""
    last = len(kinds) - 1
    calls = [role == "assistant" and roles[min(at + 1, last)] == "tool" for at, role in enumerate(roles)]
    kinds = [kinds[at + 1] if calls[at] else kind for at, kind in enumerate(kinds)]
    return [Piece(kind, size) for kind, size in zip(kinds, tokens, strict=True)]


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Neighbors of one kind as one piece."""
    return [Piece(kind, sum(each.tokens for each in found)) for kind, found in groupby(pieces, lambda each: each.kind)]


def bar(pieces: list[Piece], top: int, scale: float) -> list[str]:
    """The rectangles of a bar, each with its tokens where they fit."""
    drawn, at = [], float(LEFT)
    for piece in _merged(pieces):
        width = piece.tokens * scale
        drawn.append(f'<rect class="{piece.kind}" x="{at:.1f}" y="{top}" width="{width:.1f}" height="{BAR}"/>')
        if width > 44:
            style = "text" if piece.kind == "gone" else "on"
            middle = f'x="{at + width / 2:.1f}" y="{top + BAR / 2 + 4:.0f}"'
            drawn.append(f'<text class="{style}" {middle} text-anchor="middle">{piece.tokens:,}</text>')
        at += width
    return drawn


def text(words: str, x: float, y: float, style: str = "text", anchor: str = "start") -> str:
    """A line of text."""
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def picture() -> str:
    """The whole picture."""
    seen, room = session(), WIDTH - 2 * LEFT
    all_tokens = sum(piece.tokens for piece in seen.kept)
    wide, narrow = room / BUDGET, room / all_tokens
    part = LEFT + BUDGET * narrow
    drawn = [text(f"History: {seen.messages[0]} messages, {all_tokens:,} tokens, each kept as it was added", LEFT, 20)]
    drawn += bar(seen.kept, 30, narrow)
    drawn += [f'<path class="frame" d="M{LEFT} 84 v8 H{part:.1f} v-8"/>', text("8,000 tokens", part + 8, 92, "soft")]
    sent = sum(piece.tokens for piece in seen.sent)
    drawn += [text(f"View: {seen.messages[1]} messages, about {sent:,} tokens of the budget of {BUDGET:,}", LEFT, 140)]
    drawn += bar(seen.sent, 166, wide)
    drawn.append(f'<rect class="frame" x="{LEFT}" y="166" width="{room}" height="{BAR}"/>')
    for tokens, name in ((seen.target, "target"), (seen.threshold, "threshold")):
        at = LEFT + tokens * wide
        drawn.append(f'<line class="mark" x1="{at:.1f}" y1="158" x2="{at:.1f}" y2="{166 + BAR + 6}"/>')
        drawn.append(text(f"{name} {tokens:,}", at, 166 + BAR + 20, "soft", "middle"))
    legend = (("whole", "sent whole"), ("cut", "sent shortened"), ("gone", "left out, one recall away"))
    at = LEFT
    for kind, words in (*legend, ("digest", "the hand-over, which says what is left out")):
        drawn += [f'<rect class="{kind}" x="{at}" y="268" width="14" height="14"/>', text(words, at + 20, 280, "soft")]
        at += 20 + len(words) * 6.3 + 26
    last = "A compaction starts at the threshold and ends at the target. It changes the view alone."
    drawn.append(text(last, LEFT, 314))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *drawn, "</svg>", ""])


def main() -> int:
    """Draws, or checks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the picture is stale")
    check: bool = parser.parse_args().check
    new = picture()
    if check and (not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != new):
        print("docs/concepts/window.svg is stale; run: python docs/draw_window.py", file=sys.stderr)
        return 1
    if not check:
        PICTURE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
