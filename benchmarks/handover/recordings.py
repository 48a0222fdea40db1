"""Sessions that are cut at a point, and the questions on them. Reads files; measures nothing."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Message = dict[str, Any]
KINDS = {"G": "goal", "D": "decisions", "S": "state", "F": "files", "V": "values", "N": "next step"}
"""Kinds of questions, as keys and tables write them."""


class Point(NamedTuple):
    """Where a session was cut: its first `cut` messages are what a view is made of."""

    id: str
    source: str
    """The folder of its file in the folder of transcripts."""
    line: int
    cut: int
    keys: Path
    """Its questions."""


class Question(NamedTuple):
    """A question, with what only a grader sees: the key, which also says what is half right."""

    id: int
    kind: str
    q: str
    key: str


class Session(NamedTuple):
    """What came before the cut, and the summary that the agent itself wrote there (empty: none is recorded)."""

    messages: Sequence[Message]
    summary: str


def points(files: Iterable[Path]) -> dict[str, Point]:
    """Return the points of some files by id. The folder `keys` beside each file has its questions."""
    found = {}
    for file in files:
        for row in json.loads(file.read_text("utf-8")):
            keys = file.parent / "keys" / f"{row['id']}.json"
            found[row["id"]] = Point(row["id"], row["source"], row["line"], row["cut"], keys)
    return found


def questions(point: Point) -> list[Question]:
    """Return the questions of a point, in their order."""
    rows = json.loads(point.keys.read_text("utf-8"))["questions"]
    return [Question(row["id"], row["kind"], row["q"], row["key"]) for row in rows]


def session(point: Point, transcripts: Path) -> Session:
    """Return a session before its cut. `transcripts`: a folder of `SOURCE/norm.jsonl`, OpenAI chat, a line a session
    with the keys `messages` and, where there are any, `compactions` (`at`, `summary`).
    """
    line = (transcripts / point.source / "norm.jsonl").read_text("utf-8").splitlines()[point.line]
    row = json.loads(line)
    summaries = [each.get("summary") or "" for each in row.get("compactions") or () if each["at"] == point.cut]
    return Session(row["messages"][: point.cut], next(iter(summaries), ""))
