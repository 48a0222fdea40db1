"""What the grader gets, and what the marks say: scores by maker and by kind of question, with bootstrap intervals."""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from page import grid

from handover.recordings import KINDS, Point, questions
from handover.sheets import Sheet

MARKS = (1, 0.5, 0, -0.5)
SAMPLES = 4_000
"""Of the bootstrap. From seed to seed its bounds move by one point; with 1,000 by two, with 16,000 by half of one."""
LOW, HIGH = 0.025, 0.975
By = Mapping[str, Mapping[str, Sequence[float]]]
"""Marks by session and question: one for each reader and grader."""


class Mark(NamedTuple):
    """What one grader gives one answer."""

    sheet: Sheet
    question: int
    kind: str
    value: float


def join(out: Path, points: Mapping[str, Point], sheets: Mapping[str, Sheet]) -> list[Path]:
    """Write the questions, keys and answers of each session into `out/grade`, without what made the sheets."""
    answers = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((out / "answers").glob("r*.json"))}
    (out / "grade").mkdir(exist_ok=True)
    files = []
    for session in dict.fromkeys(sheet.session for sheet in sheets.values()):
        said = {reader: given[session]["answers"] for reader, given in answers.items() if session in given}
        parts = []
        for one in questions(points[session]):
            lines = [f"  [{reader}] {given.get(str(one.id), '(no answer)')}" for reader, given in said.items()]
            head = f"## {session} question {one.id} ({KINDS[one.kind]})\n{one.q}\nKEY: {one.key}"
            parts.append("\n".join([head, *lines]))
        files.append(out / "grade" / f"{session}.txt")
        files[-1].write_text("\n\n".join(parts) + "\n", "utf-8")
    return files


def marks(out: Path, points: Mapping[str, Point], sheets: Mapping[str, Sheet]) -> list[Mark]:
    """Return all marks of `out/grades`.

    Raises:
        ValueError: a mark is none of `MARKS`, or is for a sheet or a question that there is not.
    """
    found = []
    kinds = {session: {str(one.id): one.kind for one in questions(point)} for session, point in points.items()}
    for file in sorted((out / "grades").glob("*.json")):
        for session, rows in json.loads(file.read_text("utf-8")).items():
            for question, by_reader in rows.items():
                for reader, value in by_reader.items():
                    sheet, kind = sheets.get(f"{reader}/{session}"), kinds.get(session, {}).get(question)
                    if sheet is None or kind is None or value not in MARKS:
                        raise ValueError(f"{file.name}: {session}, question {question}, {reader}: {value!r}")
                    found.append(Mark(sheet, int(question), kind, float(value)))
    return found


def by_session(some: Sequence[Mark]) -> dict[str, dict[str, list[float]]]:
    """Return marks by session and question."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in some:
        found[one.sheet.session][str(one.question)].append(one.value)
    return found


def mean(by: By) -> float:
    """Return the mean of the sessions in percent, each question of a session weighing the same."""
    return 100 * fmean(fmean(fmean(values) for values in rows.values()) for rows in by.values())


def interval(by: By, seed: int = 1) -> tuple[float, float]:
    """Return the bounds of the 95 % interval of `mean`: sessions are drawn again, and in each its questions. Questions
    of one session are alike, so that questions drawn from all sessions at once would give too narrow an interval.
    """
    chance, sessions = random.Random(seed), [[fmean(values) for values in rows.values()] for rows in by.values()]

    def once() -> float:
        drawn = chance.choices(sessions, k=len(sessions))
        return 100 * fmean(fmean(chance.choices(rows, k=len(rows))) for rows in drawn)

    means = sorted(once() for _ in range(SAMPLES))
    return means[int(LOW * SAMPLES)], means[int(HIGH * SAMPLES)]


def difference(one: By, other: By) -> dict[str, dict[str, list[float]]]:
    """Return by how much each question that both have was answered better from the first."""
    found = {}
    for session, rows in one.items():
        if both := [known for known in rows if known in other.get(session, {})]:
            found[session] = {known: [fmean(rows[known]) - fmean(other[session][known])] for known in both}
    return found


def shown(by: By, signed: bool = False) -> str:
    """Write a mean with its interval."""
    if not by:
        return "-"
    low, high = interval(by)
    return f"{mean(by):{'+' if signed else ''}.1f} ({low:.0f} to {high:.0f})"


def table(found: Sequence[Mark], record: Mapping[str, Any], felt: Mapping[str, Any], against: str = "") -> str:
    """Return the scores by maker. `felt`: what the readers say of each sheet; `against`: a maker to subtract."""
    makers = list(dict.fromkeys(row["maker"] for row in record.values()))
    own = {maker: [one for one in found if one.sheet.maker == maker] for maker in makers}
    head = ["", "tokens", "score", *KINDS.values(), "readable", "noise", *([f"over {against}"] if against else [])]

    def row(maker: str) -> list[str]:
        names = [name for name, each in record.items() if each["maker"] == maker]
        by = by_session(own[maker])
        sizes = [record[name]["tokens"] for name in names]
        kinds = [shown(by_session([one for one in own[maker] if one.kind == kind])) for kind in KINDS]
        said = [felt[name] for name in names if name in felt]
        judged = [_average(said, "readable", "{:.1f}"), _average(said, "noise_percent", "{:.0f} %")]
        more = [shown(difference(by, by_session(own[against])), signed=True)] if against else []
        return [maker, f"{min(sizes):,} to {max(sizes):,}", shown(by), *kinds, *judged, *more]

    return grid(head, [row(maker) for maker in makers if own[maker]])


def _average(said: Sequence[Mapping[str, Any]], key: str, form: str) -> str:
    return form.format(fmean(float(each.get(key, 0)) for each in said)) if said else "-"


def felt(out: Path) -> dict[str, Any]:
    """Return what readers say of their sheets, by the sheet's name."""
    files = sorted((out / "answers").glob("r*.json"))
    return {f"{file.stem}/{name}": row for file in files for name, row in json.loads(file.read_text("utf-8")).items()}


def misled(felt_by: Mapping[str, Any], sheets: Mapping[str, Sheet], show: Callable[[str], object] = print) -> None:
    """Show what misled readers, by maker."""
    for name, said in felt_by.items():
        if name in sheets and said.get("misleading"):
            show(f"{sheets[name].maker}, {name}: {said['misleading']}")
