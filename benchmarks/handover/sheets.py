"""Who reads what, and the sheets: in a Latin square each reader sees each session once, and all makers alike often.

The exam's folder has `r0/e0.txt`: the sheet of reader `r0` on the session `e0`. `sheets.json` says what made each, with
a checksum; readers get only their own folder and `prompts/reader.md`.
"""

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import backscroll
from handover.makers import size
from handover.recordings import Point, questions

RECALL = "+recall"
"""Ends the name of a maker whose readers get a tool for what its view leaves out."""
CALLS = 12
"""Calls of that tool on one sheet, one for each question of a long session: with many more a reader reads the session
again, with fewer the sheet does not show what the tool can do.
"""
RECORD = "sheets.json"


class Sheet(NamedTuple):
    """One reading: of one session by one reader."""

    reader: str
    session: str
    maker: str

    @property
    def name(self) -> str:
        """As its file is named, without the ending."""
        return f"{self.reader}/{self.session}"


def square(sessions: Sequence[str], makers: Sequence[str], times: int = 1) -> list[Sheet]:
    """Return who reads what: each reader each session once, each session as each maker made it `times` times."""
    count = len(makers)
    return [
        Sheet(f"r{reader}", session, makers[(number + reader) % count])
        for reader in range(count * times)
        for number, session in enumerate(sessions)
    ]


def text(point: Point, view: str, *, tool: str = "") -> str:
    """Return a sheet. `tool`: how to call the tool; empty: there is none."""
    asked = "\n".join(f"{one.id}. {one.q}" for one in questions(point))
    offered = f"\nA tool for what was left out, at most {CALLS} calls: {tool}\n" if tool else ""
    begin = "You take over this session. This is all that you get."
    return f"{begin}{offered}\n\n## CONTEXT\n{view}\n\n## QUESTIONS\n{asked}\n"


def write(out: Path, plan: Sequence[Sheet], points: Mapping[str, Point]) -> dict[str, Any]:
    """Write the sheets of a plan whose views are in `out/views`, and return what is on record of each."""
    record = {}
    for sheet in plan:
        view = out / "views" / f"{sheet.session}.{sheet.maker.removesuffix(RECALL)}.txt"
        if not view.exists():
            print(f"{sheet.name}: no {view.name}, so {sheet.reader} does not read {sheet.session}")
            continue
        call = f"python benchmarks/handover/exam.py recall {sheet.name} WORDS... (or --ref N-M)"
        shown = view.read_text("utf-8")
        written = text(points[sheet.session], shown, tool=call if sheet.maker.endswith(RECALL) else "")
        place = out / f"{sheet.name}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(written, "utf-8")
        checksum = hashlib.sha256(written.encode()).hexdigest()
        record[sheet.name] = {"maker": sheet.maker, "tokens": size(shown), "sha256": checksum}
    return record


def version() -> str:
    """Return the last commit that changed the code which makes the views, with a `+` where that has changed since."""
    ask = ["git", "-C", str(Path(backscroll.__file__).parent)]
    commit = subprocess.run([*ask, "log", "-1", "--format=%h", "--", "."], capture_output=True, text=True, check=False)
    changed = subprocess.run([*ask, "status", "--porcelain", "--", "."], capture_output=True, text=True, check=False)
    return (commit.stdout.strip() or backscroll.__version__) + ("+" if changed.stdout.strip() else "")


def keep(file: Path, command: str, views: Mapping[str, Any], sheets: Mapping[str, Any]) -> None:
    """Keep the record of sheets. `command` makes them again of the views; `views`: how each maker's were made."""
    row = {"command": command, "views": dict(views), "sheets": dict(sheets)}
    file.write_text(json.dumps(row, indent=1) + "\n", "utf-8")


def kept(out: Path) -> dict[str, Sheet]:
    """Return the sheets on record in a folder, by name."""
    rows = json.loads((out / RECORD).read_text("utf-8"))["sheets"]
    found: dict[str, Sheet] = {}
    for name, row in rows.items():
        reader, _, known = name.partition("/")
        found[name] = Sheet(reader, known, maker=row["maker"])
    return found
