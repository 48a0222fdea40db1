"""The hand-over exam: views where a session was cut, sheets for readers, files for a grader, scores, counted faults.

    python benchmarks/handover/exam.py views --transcripts FOLDER [--makers ours16,ours8-lean,newest16,summary]
    python benchmarks/handover/exam.py sheets [--makers ours16,ours16+recall,summary+newest8] [--times 1] [--write]
    python benchmarks/handover/exam.py recall r0/e0 WORDS...|--ref N-M [OFFSET]     a reader's tool
    python benchmarks/handover/exam.py join                                the files of `grade` for a grader
    python benchmarks/handover/exam.py score [--against ours16]            the tables, from `grades` and `answers`
    python benchmarks/handover/exam.py counts --transcripts FOLDER [--makers ours16] [--each]

All take `--out` (the exam's folder, `build/handover`), `--points` (a file of points, `points.json` here, with the
folder `keys` beside it; may be given again) and `--only e0,e1`. FOLDER has `SOURCE/norm.jsonl`: OpenAI chat, a line
a session.

`views` writes `views/SESSION.MAKER.txt`; `makers.py` says which makers there are. Another version takes part when its
source comes first on PYTHONPATH and `--as old` names its makers (`old16` in place of `ours16`). Anything else takes
part as a file that one puts there. `sheets` gives each reader `rN/SESSION.txt`; readers are asked as
`prompts/reader.md` says, graders as `prompts/grader.md`. `--write` puts the checksums into
`benchmarks/handover/sheets.json`. No model is called here.
"""

import argparse
import json
import shlex
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # the packages `handover` and `peers`

from page import grid  # noqa: E402  which needs the line above

from handover import counts, makers, scores, sheets  # noqa: E402
from handover.recordings import Point, points, session  # noqa: E402

MADE = "made.json"
"""Beside the views: by which command and which version those of each maker were made."""


def views(given: argparse.Namespace, found: dict[str, Point]) -> None:
    """Write the views of each maker, and leave a store of each of ours."""
    place = given.out / "views"
    place.mkdir(parents=True, exist_ok=True)
    made = _made(given.out)
    for known in given.only:
        cut = session(found[known], given.transcripts)
        for maker in given.makers:
            name = _as(maker, given.named)
            try:
                text = makers.view(maker, cut, given.out / f"{known}.{name}.db")
            except makers.NoView as error:
                print(f"{known}.{name}: {error}", file=sys.stderr)
                continue
            (place / f"{known}.{name}.txt").write_text(text, "utf-8")
            made[name] = {"version": sheets.version(), "command": _command()}
            print(f"{known}.{name}: {makers.size(text):,} tokens", flush=True)
    (given.out / MADE).write_text(json.dumps(made, indent=1) + "\n", "utf-8")


def _made(out: Path) -> dict[str, Any]:
    file = out / MADE
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def _as(maker: str, named: str) -> str:
    return named + maker.removeprefix("ours") if named and maker.startswith("ours") else maker


def write_sheets(given: argparse.Namespace, found: dict[str, Point]) -> None:
    """Write the sheets, and their record."""
    plan = sheets.square(given.only, given.makers, given.times)
    record = sheets.write(given.out, plan, found)
    shown = {row["maker"].removesuffix(sheets.RECALL) for row in record.values()}
    made = {maker: how for maker, how in _made(given.out).items() if maker in shown}
    for file in (given.out / sheets.RECORD, *([HERE / sheets.RECORD] if given.write else [])):
        sheets.keep(file, _command(), made, record)
    print(f"{len(record)} sheets for {given.times * len(given.makers)} readers in {given.out}")


def _command() -> str:
    """Return the command that runs, with the last part of each path: folders differ from machine to machine."""
    words = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    return shlex.join(["python", "benchmarks/handover/exam.py", *words])


def recall(given: argparse.Namespace, found: dict[str, Point]) -> None:  # noqa: ARG001  as the others
    """Print what the tool answers a reader, as often as a reader may ask."""
    name, *words = given.words
    sheet = sheets.kept(given.out)[name]
    if not sheet.maker.endswith(sheets.RECALL):
        raise SystemExit(f"{name} has no tool")
    file = given.out / f"{name}.calls"
    calls = file.read_text("utf-8").splitlines() if file.exists() else []
    if len(calls) >= sheets.CALLS:
        raise SystemExit(f"{name}: all {sheets.CALLS} calls are used")
    file.write_text("\n".join([*calls, " ".join(words)]) + "\n", "utf-8")
    maker = sheet.maker.removesuffix(sheets.RECALL)
    print(makers.recall(maker, given.out / f"{sheet.session}.{maker}.db", words))


def join(given: argparse.Namespace, found: dict[str, Point]) -> None:
    """Write what a grader gets."""
    for file in scores.join(given.out, found, sheets.kept(given.out)):
        print(file)


def score(given: argparse.Namespace, found: dict[str, Point]) -> None:
    """Print the scores, and what misled readers."""
    by_name = sheets.kept(given.out)
    record = json.loads((given.out / sheets.RECORD).read_text("utf-8"))["sheets"]
    felt = scores.felt(given.out)
    print(scores.table(scores.marks(given.out, found, by_name), record, felt, given.against))
    scores.misled(felt, by_name)


def count(given: argparse.Namespace, found: dict[str, Point]) -> None:
    """Print the faults of views that code can count: of each maker, or of each view."""
    rows: dict[str, counts.Counts] = {}
    for known in given.only:
        messages = session(found[known], given.transcripts).messages
        for maker in given.makers:
            file = given.out / "views" / f"{known}.{maker}.txt"
            if file.exists():
                name = f"{known}.{maker}" if given.each else maker
                row = counts.count(file.read_text("utf-8"), messages)
                rows[name] = rows[name] + row if name in rows else row
    head = ["", "references", "out of order", "overlapping", "lines", "under a wrong one", "rules", "not typed"]
    print(grid(head, [_written(name, rows[name]) for name in sorted(rows)]))


def _written(name: str, row: counts.Counts) -> list[str]:
    def share(part: int, whole: int) -> str:
        return f"{part} ({100 * part / whole:.1f} %)" if whole else "-"

    disorder, overlaps = share(row.disorder, row.references), share(row.overlaps, row.references)
    wrong, untyped = share(row.wrong, row.lines), share(row.untyped, row.rules)
    return [name, f"{row.references:,}", disorder, overlaps, f"{row.lines:,}", wrong, str(row.rules), untyped]


PARTS: dict[str, Callable[[argparse.Namespace, dict[str, Point]], None]] = {
    "views": views,
    "sheets": write_sheets,
    "recall": recall,
    "join": join,
    "score": score,
    "counts": count,
}


def main() -> None:
    """Run one part of the exam."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--out", type=Path, default=HERE.parent.parent / "build" / "handover")
    parser.add_argument("--points", type=Path, action="append", help="may be given again")
    parser.add_argument("--transcripts", type=Path, help="of `views` and `counts`")
    parser.add_argument("--only", help="sessions, with commas")
    parser.add_argument("--makers", default="ours16,ours8,newest16", help="with commas")
    parser.add_argument("--as", dest="named", default="", help="what to call `ours` of another version")
    parser.add_argument("--times", type=int, default=1, help="readings of each sheet")
    parser.add_argument("--write", action="store_true", help="the record of the sheets, into the project")
    parser.add_argument("--against", default="", help="a maker whose score is subtracted")
    parser.add_argument("--each", action="store_true", help="count each view by itself")
    given, words = parser.parse_known_args()
    if words and given.part != "recall":
        parser.error(f"unknown: {' '.join(words)}")
    if given.part in ("views", "counts") and given.transcripts is None:
        parser.error(f"{given.part} needs --transcripts")
    given.words, given.makers = words, given.makers.split(",")
    found = points(given.points or [HERE / "points.json"])
    given.only = given.only.split(",") if given.only else list(found)
    PARTS[given.part](given, found)


if __name__ == "__main__":
    main()
