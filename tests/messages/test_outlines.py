"""Texts of lines are recognized, and their lines stay with the headings that they are under."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages.structure import cut_lines, line_pieces
from backscroll.messages.structure.outline import outline
from tests.present import present

REF = "[ref:7.0]"
TABLE = [
    "| id | name | state |",
    "| --- | :-- | ---: |",
    *(f"| {number} | row {number} | open |" for number in range(30)),
]
CSV = ["order_id,customer,total", *(f"o{number},Customer {number},{number * 7}.50" for number in range(30))]
COLUMNS = [
    "NAME        READY  STATUS    AGE",
    *(f"worker-{number:02}   1/1    Running   {number}d" for number in range(30)),
]
LOG = [f"2026-03-0{number % 9 + 1} 10:00:{number:02} INFO worker {number} took {number * 3} ms" for number in range(30)]
TRACE = [
    "2026-03-09 11:00:00 ERROR job 17 failed",
    "Traceback (most recent call last):",
    '  File "a.py", line 3',
    "KeyError: 'x'",
]
DIFF = """diff --git a/src/one.py b/src/one.py
index 1..2 100644
--- a/src/one.py
+++ b/src/one.py
@@ -10,4 +10,4 @@ def one():
 before
-old_value = 1
+new_value = 1
 after
diff --git a/src/two.py b/src/two.py
--- a/src/two.py
+++ b/src/two.py
@@ -3,2 +3,3 @@
 context
+added_line = 2""".splitlines()
GREP = [f"src/module_{number}.py:{number + 10}:    call_it({number})" for number in range(20)]
GROUPED = [
    "src/one.py",
    "12:def one():",
    "14:    return one_value",
    "",
    "src/two.py",
    "3:def two():",
    "9:    two_value = 2",
]
FOLDERS = ["src/app:", "main.py", "views.py", "", "src/lib:", "tools.py", "types.py"]
LISTED = [f"./src/module_{number}/part.py" for number in range(20)]
LONG = ["total 4", *(f"-rw-r--r--  1 me staff  {number} Mar  1 10:00 file_{number}.py" for number in range(9))]
TREE = [".", "├── src", "│   ├── app.py", "│   └── lib", "│       └── tools.py", "└── tests", "    └── test_app.py"]
XML = [
    "<orders>",
    '  <order id="1">',
    "    <name>One</name>",
    "  </order>",
    '  <order id="2">',
    "    <name>Two</name>",
    "  </order>",
    "</orders>",
]
PROSE = [
    "We met on Monday.",
    "Nothing was decided: all wait.",
    "The next meeting is in May.",
    "I will write to you.",
    "So long.",
    "Bye.",
]
CODE = [
    "def one(value):",
    '    """Return it."""',
    "    if value:",
    "        return value",
    "    return None",
    "",
    "x = one(2)",
]


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (TABLE, "table"), (CSV, "csv"), (COLUMNS, "columns"), (LOG, "log"), ([*LOG[:9], *TRACE], "log"), (DIFF, "diff"),
        (GREP, "grep"), (GROUPED, "grep"), (FOLDERS, "listing"), (LISTED, "listing"), (LONG, "listing"), (TREE, "tree"),
        (XML, "markup"), (PROSE, None), (CODE, None), (CSV[:3], None), ([], None),
    ],
)  # fmt: skip
def test_outline_of_lines_names_their_kind(lines, kind):
    found = outline(lines)
    assert (found and found.kind) == kind


@pytest.mark.parametrize(
    ("lines", "line", "headings"),
    [
        (DIFF, "+new_value = 1", ["@@ -10,4 +10,4 @@ def one():", "diff --git a/src/one.py b/src/one.py"]),
        (DIFF, "+added_line = 2", ["@@ -3,2 +3,3 @@", "diff --git a/src/two.py b/src/two.py"]),
        (GROUPED, "9:    two_value = 2", ["src/two.py"]),
        (FOLDERS, "types.py", ["src/lib:"]),
        (TREE, "│       └── tools.py", ["│   └── lib", "├── src", "."]),
        (XML, "    <name>Two</name>", ['  <order id="2">', "<orders>"]),
        ([*LOG[:9], *TRACE], "KeyError: 'x'", [TRACE[0]]),
    ],
)
def test_line_of_an_outline_is_under_its_headings(lines, line, headings):
    found, at, above = present(outline(lines)).headings, lines.index(line), []
    while (at := found[at]) >= 0:
        above.append(lines[at])
    assert above == headings


def spans(lines):
    """The places of all lines but the first and the last."""
    found, at = [], 0
    for line in lines:
        found.append((at, at + len(line)))
        at += len(line) + 1
    return found[1:-1]


def test_table_cut_keeps_its_header_and_counts_its_rows():
    text = "\n".join(TABLE)
    split = present(line_pieces(text, len(TABLE[0]) + 1, len(TABLE[-1]), spans(TABLE)))
    assert text[: split.head].splitlines() == TABLE[:2]
    row = next(piece for piece in split.pieces if "row 17" in text[piece.start : piece.end])
    shown = cut_lines(text, split.head, split.tail, [(row.start, row.end)], REF, kind=split.kind).splitlines()
    left_out = (
        f"[... {len(text) - split.head - split.tail - (row.end - row.start)} characters left out, recall {REF} ...]"
    )
    assert shown == [*TABLE[:2], left_out, "[... 17 rows ...]", TABLE[19], "[... 11 rows ...]", TABLE[-1]]


def test_log_cut_says_what_is_like_the_line_before():
    text = "\n".join(LOG)
    first = spans(LOG)[0]
    shown = cut_lines(text, len(LOG[0]), len(LOG[-1]), [first], REF, kind="log").splitlines()
    assert shown[2:] == [LOG[1], "[... 27 more like this ...]", LOG[-1]]


KINDS = [TABLE, CSV, COLUMNS, [*LOG[:9], *TRACE], DIFF, GREP, GROUPED, FOLDERS, LONG, TREE, XML]


@given(st.sampled_from(KINDS), st.data())
def test_lines_cut_hold_nothing_but_lines_and_marks(lines, data):
    """In their order, and no text is made up."""
    text = "\n".join(lines)
    split = present(line_pieces(text, len(lines[0]) + 1, len(lines[-1]), spans(lines)))
    kept = sorted(data.draw(st.sets(st.sampled_from(split.pieces)))) if split.pieces else []
    places = [(piece.start, piece.end) for piece in kept]
    shown = cut_lines(text, split.head, split.tail, places, REF, kind=split.kind).splitlines()
    left, expected = iter(lines), [line for line in shown if not line.startswith("[... ") and line != "[...]"]
    assert all(any(line == other for other in left) for line in expected)
    assert {text[start:end] for start, end in places} <= {*expected, ""}


@given(st.lists(st.text(st.sampled_from('ab1 |,\t:-+@/<>│├─└."{}[]'), max_size=30), max_size=20))
def test_any_lines_have_headings_before_them(lines):
    found = outline(lines)
    if found is not None:
        assert len(found.headings) == len(lines)
        assert all(-1 <= heading < number for number, heading in enumerate(found.headings))
