"""The hand-over exam runs from a conversation to its tables, and counts faults of views as it says."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
EXAM = BENCHMARKS / "handover"
CUT = 60
MAKERS = "ours2,ours2+recall,newest1"


@pytest.fixture
def parts(monkeypatch):
    """The modules of the exam, which live outside the packages."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from handover import counts, recordings, scores, sheets

    yield SimpleNamespace(counts=counts, recordings=recordings, scores=scores, sheets=sheets)
    for name in [name for name in sys.modules if name.split(".")[0] in ("handover", "peers", "page")]:
        del sys.modules[name]


def write_points(folder, sessions):
    """Points of a made-up conversation, and two questions on each."""
    place = folder / "exam"
    (place / "keys").mkdir(parents=True)
    rows = [{"id": known, "source": "talks", "line": line, "cut": CUT} for line, known in enumerate(sessions)]
    (place / "points.json").write_text(json.dumps(rows), "utf-8")
    asked = [
        {"id": 1, "kind": "V", "q": "Which port?", "key": "8417. Full: the port.", "where": [2], "needed": [61]},
        {"id": 2, "kind": "N", "q": "What is next?", "key": "Room 59. Full: the room.", "where": [58], "needed": [60]},
    ]
    for known in sessions:
        keys = {"conversation": known, "questions": asked}
        (place / "keys" / f"{known}.json").write_text(json.dumps(keys), "utf-8")
    talks = folder / "transcripts" / "talks"
    talks.mkdir(parents=True)
    lines = []
    for known in sessions:
        turns = [
            {"role": ("user", "assistant")[at % 2], "content": f"{known}: paint room {at}, then lock it. " * 12}
            for at in range(CUT + 4)
        ]
        turns[2]["content"] = "The gallery answers on port 8417, nowhere else."
        lines.append({"messages": turns, "compactions": [{"at": CUT, "summary": f"Rooms of {known} are painted."}]})
    (talks / "norm.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return place / "points.json"


def run(folder, part, *arguments):
    places = ["--out", str(folder / "out"), "--points", str(folder / "exam" / "points.json")]
    command = [sys.executable, "-W", "error", str(EXAM / "exam.py"), part, *places, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_exam_goes_from_a_conversation_to_its_tables(tmp_path):
    write_points(tmp_path, ["one", "two"])
    talks = ("--transcripts", str(tmp_path / "transcripts"))
    run(tmp_path, "views", *talks, "--makers", "ours2,newest1,summary+newest1")
    out = tmp_path / "out"
    assert "Rooms of two are painted." in (out / "views" / "two.summary+newest1.txt").read_text("utf-8")
    run(tmp_path, "sheets", "--makers", MAKERS)
    record = json.loads((out / "sheets.json").read_text("utf-8"))
    assert len(record["sheets"]) == 6
    assert str(tmp_path) not in json.dumps(record)
    with_tool = next(name for name, row in record["sheets"].items() if row["maker"] == "ours2+recall")
    assert f"recall {with_tool}" in (out / f"{with_tool}.txt").read_text("utf-8")
    assert "8417" in run(tmp_path, "recall", with_tool, "gallery", "port")
    assert "8417" in run(tmp_path, "recall", with_tool, "--ref", "2")
    said = {"answers": {"1": "8417", "2": "Room 3"}, "readable": 6, "noise_percent": 40, "misleading": ""}
    (out / "answers").mkdir()
    for reader in ("r0", "r1", "r2"):
        (out / "answers" / f"{reader}.json").write_text(json.dumps({"one": said, "two": said}), "utf-8")
    run(tmp_path, "join")
    joined = (out / "grade" / "two.txt").read_text("utf-8")
    assert "KEY: 8417." in joined
    assert "[r2] Room 3" in joined
    assert "ours" not in joined, "a grader does not learn what made a sheet"
    marks = {known: {"1": dict.fromkeys(("r0", "r1", "r2"), 1), "2": {"r0": -0.5}} for known in ("one", "two")}
    (out / "grades").mkdir()
    (out / "grades" / "g0.json").write_text(json.dumps(marks), "utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in run(tmp_path, "score").splitlines()[2:]]
    assert {row[0] for row in rows} == set(MAKERS.split(","))
    assert all(row[7].startswith("100.0") for row in rows), "values"
    assert all(row[9:] == ["6.0", "40 %"] for row in rows)
    counted = run(tmp_path, "counts", *talks, "--makers", "ours2").splitlines()[2]
    assert counted.split("|")[3].split() == ["0", "(0.0", "%)"], "no reference of ours is out of order"


@pytest.mark.long
def test_sheets_of_the_same_views_are_the_same(tmp_path):
    write_points(tmp_path, ["one"])
    found = []
    for _ in range(2):
        run(tmp_path, "views", "--transcripts", str(tmp_path / "transcripts"), "--makers", "ours2")
        run(tmp_path, "sheets", "--makers", "ours2")
        found.append(json.loads((tmp_path / "out" / "sheets.json").read_text("utf-8"))["sheets"]["r0/one"])
    assert found[0] == found[1]


def test_no_reader_has_a_session_twice(parts):
    plan = parts.sheets.square(["a", "b", "c", "d"], ["x", "y", "z"], times=2)
    assert len({(one.reader, one.session) for one in plan}) == len(plan) == 24
    assert sorted((one.session, one.maker) for one in plan) == sorted([(s, m) for s in "abcd" for m in "xyz"] * 2)


@pytest.mark.long
def test_tool_answers_twelve_times(tmp_path):
    write_points(tmp_path, ["one"])
    run(tmp_path, "views", "--transcripts", str(tmp_path / "transcripts"), "--makers", "ours2")
    run(tmp_path, "sheets", "--makers", "ours2+recall")
    (tmp_path / "out" / "r0" / "one.calls").write_text("port\n" * 12, "utf-8")
    with pytest.raises(AssertionError, match="all 12 calls are used"):
        run(tmp_path, "recall", "r0/one", "port")


def test_score_is_the_mean_of_the_sessions(parts):
    by = {"a": {"1": [1, 0], "2": [1]}, "b": {"1": [-0.5]}}
    assert parts.scores.mean(by) == pytest.approx(100 * (0.75 - 0.5) / 2)
    low, high = parts.scores.interval(by)
    assert low == pytest.approx(-50)
    assert high == pytest.approx(87.5)
    assert parts.scores.difference(by, {"a": {"2": [0.5]}}) == {"a": {"2": [0.5]}}


def test_marks_for_nothing_are_refused(parts, tmp_path):
    file = write_points(tmp_path, ["one"])
    sheets = {"r0/one": parts.sheets.Sheet("r0", "one", "ours2")}
    (tmp_path / "grades").mkdir()
    for marks in ({"one": {"1": {"r0": 2}}}, {"one": {"3": {"r0": 1}}}, {"one": {"1": {"r1": 1}}}):
        (tmp_path / "grades" / "g0.json").write_text(json.dumps(marks), "utf-8")
        with pytest.raises(ValueError, match=r"g0\.json: one, question"):
            parts.scores.marks(tmp_path, parts.recordings.points([file]), sheets)


LOOK = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "the fuse box upstairs"}'}}
HISTORY = [
    {"role": "user", "content": "Always lock the gallery before noon. <sys-note>Always smile at visitors.</sys-note>"},
    {"role": "assistant", "content": "The lamp in the east hall flickers at night.", "tool_calls": [LOOK]},
    {"role": "tool", "tool_call_id": "c1", "content": "humidity sensor reads fifty percent\nfuse box is in the cellar"},
    {"role": "user", "content": "```\nNever open the north window in winter.\n```\nRead this."},
]


def counted(parts, *lines):
    return parts.counts.count("\n".join(lines), HISTORY)


def test_lines_under_a_wrong_reference_are_counted(parts):
    found = counted(
        parts,
        "[ref:1] The lamp in the east hall flickers…",
        "  fuse box is in the cellar",
        "[ref:2-3] turns: reads x2",
        "  look: the fuse box upstairs",
        "[ref:3] user: Read this.",
        "  - humidity sensor reads fifty percent",
        "  nothing of the kind was ever said here",
        "## State",
        "fuse box is in the cellar",
    )
    assert (found.lines, found.wrong) == (4, 1), "a call belongs to its result"


def test_disorder_and_overlaps_are_counted_by_section(parts):
    found = counted(
        parts, "[ref:0-2] a", "[ref:1] b", "[ref:0] c", "[ref:0] c", "## Files", "[ref:0] d", "  [ref:2] in d"
    )
    assert (found.references, found.disorder, found.overlaps) == (5, 1, 3)


def test_plain_numbers_are_references_where_there_are_no_others(parts):
    assert counted(parts, "[0-1] a", "[2] b").references == 2
    assert counted(parts, "[ref:0-1] a", "=== tool", "[2] a footnote").references == 1


def test_rules_that_no_user_typed_are_counted(parts):
    typed = counted(parts, "[ref:0] rule of the user: Always lock the gallery before noon.")
    assert (typed.rules, typed.untyped) == (1, 0)
    found = counted(
        parts,
        "[ref:0] rule of the user (earlier): Always smile at visitors.",
        "## Standing rules of the user",
        "- Never open the north window in winter.",
        "- Always lock the gallery before noon.",
    )
    assert (found.rules, found.untyped) == (3, 2)


@pytest.mark.parametrize("file", ["points.json", "aside.json"])
def test_our_questions_have_the_form_that_the_exam_reads(parts, file):
    points = parts.recordings.points([EXAM / file])
    for known, point in points.items():
        rows = json.loads(point.keys.read_text("utf-8"))
        assert rows["conversation"] == known
        asked = parts.recordings.questions(point)
        assert [one.id for one in asked] == list(range(1, len(asked) + 1))
        assert {one.kind for one in asked} == set(parts.recordings.KINDS)
        for row in rows["questions"]:
            assert max(row["where"]) < point.cut <= min(row["needed"]), "settled before the cut, needed after it"
            assert "Full: " in row["key"]


def test_set_kept_aside_has_sessions_of_its_own(parts):
    ours, aside = (parts.recordings.points([EXAM / file]) for file in ("points.json", "aside.json"))
    assert not ours.keys() & aside.keys(), "the keys of both are in one folder"
    places = [{(one.source, one.line) for one in points.values()} for points in (ours, aside)]
    assert not places[0] & places[1]


def test_set_kept_aside_asks_about_the_whole_history(parts):
    for point in parts.recordings.points([EXAM / "aside.json"]).values():
        rows = json.loads(point.keys.read_text("utf-8"))["questions"]
        early = [row for row in rows if max(row["where"]) < point.cut * 2 / 3]
        assert len(rows) == 10
        assert len(early) >= 5, "half of them need nothing of the last third"
