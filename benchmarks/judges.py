"""What other people's judges say of views: `tessera-transcript`, `ctxdrift` and `compact-audit`, ours and the peers'.

    python benchmarks/judges.py [--budgets 8000,32000] [--only ours,contract] [--seed 1] [--tokens 80000] [--json FILE]
        [--transcripts FOLDER] [--write]

A session that really ran tools over this tree is fed to each manager, with a view before each answer.

- tessera: views with a finding: results without calls, calls without results, ids twice, empty answers.
- ctxdrift: files that the history names, and how many of them occur somewhere in the view. (The raw figures also have
  the assistant's plans; this session has none.)
- compact-audit: lines that look like decisions, constraints and errors ("high"), like edits of files and open work
  ("medium"), and how many of them are in the view word for word.

The last two look at surfaces: a paraphrase counts as lost, and what is long keeps more. They are asked at the end of
each of the last four fifths of the session. `ctxdrift` and `compact-audit` are installed by hand next to the peers: no
lock names them. `--seed` leaves out the session's beginning, in steps of twelve messages of the user.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from cache_prompts import median_and_range
from packages import missing
from page import grid, put
from peers.base import Message, arguments_of, calls_of, plain
from peers.catalog import SHIPPED, peer
from sessions import recorded, source

BUILD = Path(__file__).resolve().parent.parent / "build"
PACKAGES = ("tessera-transcript", "ctxdrift", "compact-audit")
FIFTHS = 5
_APART = 12
_LOST = re.compile(r"(\d+) ")

Row = dict[str, Any]


class Kept(NamedTuple):
    """Of so many things, so many are still there."""

    kept: int
    of: int

    @property
    def percent(self) -> float:
        """The share in percent."""
        return 100 * self.kept / self.of


def as_claude_code(message: Message) -> list[Row]:
    """Return a message as lines of a session of Claude Code, one for each call: ctxdrift reads no others' calls."""
    text = plain(message.get("content"))
    if message["role"] == "tool":
        block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
        return [{"type": "user", "message": {"role": "user", "content": [block]}}]
    said = [{"type": message["role"], "message": {"role": message["role"], "content": text}}] if text else []
    uses = [
        {"type": "tool_use", "id": known, "name": name, "input": arguments_of(arguments)}
        for known, name, arguments in calls_of(message)
    ]
    return said + [{"type": "assistant", "message": {"role": "assistant", "content": [use]}} for use in uses]


def drift(history: Sequence[Message], view: Sequence[Message]) -> tuple[Kept, Kept]:
    """Return what ctxdrift finds kept of files and of plans, where the view is all that follows a compaction."""
    import ctxdrift

    def unmarked(event: Any) -> Any:
        for marker in ctxdrift.COMPACTION_MARKERS:  # else each summary in a text is one more compaction
            event.text = re.sub(re.escape(marker), "", event.text, flags=re.IGNORECASE)
        return event

    def lost(shown: Sequence[Message]) -> tuple[int, int]:
        lines = [line for message in history for line in as_claude_code(message)]
        before = [unmarked(event) for event in ctxdrift._coerce_events(lines)]
        after = [line for message in shown for line in as_claude_code(message)]
        at = len(lines) + 1
        events = [*before, ctxdrift.Event("user", "", line_no=at)]
        for number, event in enumerate(ctxdrift._coerce_events(after), at + 1):
            event.line_no = number
            events.append(unmarked(event))
        found = ctxdrift.analyze(events, [ctxdrift.Compaction(at, "", "")])
        counts = {one.rule: int(match[1]) for one in found if (match := _LOST.match(one.message))}
        return counts.get("CD02", 0), counts.get("CD05", 0)

    all_files, all_plans = lost(())
    files, plans = lost(view)
    return Kept(all_files - files, all_files), Kept(all_plans - plans, all_plans)


def audit(history: Sequence[Message], view: Sequence[Message]) -> tuple[Kept, Kept]:
    """Return what compact-audit finds kept: of high severity, and of medium."""
    from compact_audit.audit import audit as audited
    from compact_audit.extract import extract

    lines = [line for message in history for line in spoken(message).splitlines() if line.strip()]
    totals = audited(extract(lines), "\n".join(map(spoken, view)))["totals"]

    def kept(*categories: str) -> Kept:
        found = sum(totals[one]["kept"] for one in categories)
        return Kept(found, found + sum(totals[one]["dropped"] for one in categories))

    return kept("decision", "constraint", "error"), kept("file_edit", "todo")


def spoken(message: Message) -> str:
    """Return the text of a message, and of its calls."""
    calls = [f"{name} {arguments}" for _, name, arguments in calls_of(message)]
    return "\n".join([plain(message.get("content")), *calls])


def run(known: str, budget: int, messages: Sequence[Message]) -> Row:
    """Feed a session to a manager, and have its views judged."""
    import tessera

    answers = [at for at, message in enumerate(messages) if at and message["role"] == "assistant"]
    asked = {answers[len(answers) * part // FIFTHS - 1] for part in range(2, FIFTHS + 1)}
    found: dict[str, list[Kept]] = {"files": [], "plans": [], "high": [], "medium": []}
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        loop, manager = asyncio.new_event_loop(), peer(known, judged=True)(budget, Path(folder))

        async def made() -> Sequence[Any]:
            return await manager.view()

        for at, message in enumerate(messages):
            if at in answers:
                view = manager.written(loop.run_until_complete(made()))
                broken += not tessera.inspect([*view], adapter="openai").is_valid
                if at in asked:
                    for name, kept in zip(
                        found, (*drift(messages[:at], view), *audit(messages[:at], view)), strict=True
                    ):
                        found[name].append(kept)
            loop.run_until_complete(manager.add(manager.read(message)))
        manager.close()
        loop.close()
    return {"who": known, "budget": budget, "views": len(answers), "broken": broken, **found}


def table(rows: Sequence[Row]) -> str:
    """Return a table: the middle of what was found in the session, with its range; `-` where nothing was to be kept."""

    def share(row: Row, name: str) -> str:
        shares = [Kept(*kept).percent for kept in row[name] if Kept(*kept).of]
        return median_and_range(shares, ".0f") + " %" if shares else "-"

    lines = [
        [
            f"{row['budget']:,}",
            peer(row["who"]).name,
            f"{row['broken']} of {row['views']}",
            *(share(row, name) for name in ("files", "high", "medium")),
        ]
        for row in rows
    ]
    head = ["budget", "", "tessera: refused", "ctxdrift: files", "compact-audit: high", "medium"]
    return grid(head, lines)


def main() -> None:
    """Judge, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", default="8000,32000")
    parser.add_argument("--only", default=",".join(SHIPPED))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=80_000, help="of the session")
    parser.add_argument("--transcripts", type=Path, help="a folder whose longest session is taken instead")
    parser.add_argument("--json", type=Path, default=BUILD / "judges.json", help="where the raw figures go")
    parser.add_argument("--write", action="store_true", help="the table of benchmarks/README.md")
    given = parser.parse_args()
    if absent := missing(PACKAGES):
        print(f"skipped: {' and '.join(absent)} not installed: pip install --no-deps {' '.join(absent)}")
        return
    BUILD.mkdir(exist_ok=True)
    if given.transcripts:
        messages = source(given.transcripts)
    else:
        messages = recorded(BUILD / "judged_session.jsonl", given.tokens)
    begins = [at for at, message in enumerate(messages) if message["role"] == "user"]
    system = [message for message in messages if message["role"] == "system"][:1]
    messages = system + messages[begins[_APART * given.seed % len(begins)] :]
    rows = []
    for budget in map(int, given.budgets.split(",")):
        for known in given.only.split(","):
            rows.append(run(known, budget, messages))
            given.json.write_text(
                json.dumps({"versions": {one: version(one) for one in PACKAGES}, "rows": rows}, indent=1), "utf-8"
            )
    print(table(rows))
    if given.write:
        put("judges", table(rows))


if __name__ == "__main__":
    main()
