"""Lines of a hand-over one by one: how deeds, look-ups and paths are written, and how lines get shorter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.compaction.handover.beginnings import merged_edits
from backscroll.compaction.handover.deed_lines import edits_line, line_of, looked_line
from backscroll.compaction.handover.levels import LAST, at_level, rooms_of, size
from backscroll.compaction.handover.paths import in_full, leaf, relative, root_of
from backscroll.compaction.handover.plan_steps import undone
from backscroll.compaction.handover.seen import seen
from backscroll.compaction.handover.wrote import wrote
from backscroll.history.ledger import Fact
from backscroll.history.plan import DigestLine
from backscroll.messages.deeds import Deed
from tests.compaction.handover.hand_over import Talk, chronicle_of, grown

HEAD = DigestLine(1, 40, "user", "Fix it.")
LONG = "The parser fails, because its table is read twice. " * 60


@pytest.mark.parametrize(
    ("deed", "line"),
    [
        (Deed("commit", "Round totals", key="3f2a1bc"), "commit 3f2a1bc “Round totals”"),
        (Deed("push", "main -> main"), "push: main -> main"),
        (Deed("push", "main", failed=True, outcome="rejected"), "push: main FAILED: rejected"),
        (Deed("check", "pytest", outcome="4 passed"), "check `pytest` -> 4 passed"),
        (Deed("check", "pytest", failed=True, outcome="1 failed"), "check `pytest` -> FAILED: 1 failed"),
        (Deed("run", "rm -r /srv/shop/build"), "`rm -r build`"),
        (Deed("run", "make", failed=True), "`make` -> FAILED"),
        (Deed("plan", "Plan", text="1. Move it"), "plan: 1. Move it"),
        (Deed("delegated", "find it", text="It is in a.py."), "delegated “find it”: It is in a.py."),
        (Deed("asked", "Which? [A, B]", outcome="B"), "asked the user: Which? [A, B]\nanswer: B"),
        (Deed("asked", "Which? [A, B]"), "asked the user: Which? [A, B] (no answer yet)"),
        (Deed("refused", "Bash rm x", outcome="keep it"), "the user refused Bash rm x; reason: keep it"),
        (Deed("background", "npm run dev", key="b1"), "started `npm run dev` in the background (b1)"),
        (Deed("background", "ended", outcome="done", key="b1"), "background run b1 ended: done"),
        (Deed("todo", "to-do list"), ""),
    ],
)
def test_a_deed_is_one_line(deed, line):
    assert line_of(deed, "/srv/shop/") == line


def test_changes_of_files_merge():
    edits = [Deed("edit", "created", "/a/b.py"), Deed("edit", "edited", "/a/c.py"), Deed("edit", "edited", "/a/c.py")]
    line = edits_line(edits, "/a/")
    assert line == "created b.py; edited c.py x2"
    assert merged_edits([line, "edited c.py x3; deleted d.py"]) == "created b.py; edited c.py x5; deleted d.py"
    assert merged_edits([f"edited {name}.py" for name in "abcdef"], name_all=False) == (
        "edited 6 files (a.py, b.py, c.py, …)"
    )


STEPS = "# Plan\n\n1. Move the table\n2. Round totals\n"


@pytest.mark.parametrize(
    ("deed", "line"),
    [
        (Deed("edit", "edited", "/a/b.py", text="def total(order: Order) -> int:\n    return 1\n"),
         "in b.py: def total(order: Order) -> int"),
        (Deed("edit", "edited", "/a/b.go", text="x := 1\n}\n\nfunc (t *Table) Round(n int) int {\n", removed=("Cut",)),
         "in b.go: func (t *Table) Round(n int) int ⏎ no longer Cut"),
        (Deed("edit", "created", "/a/PLAN.md", text=STEPS), "in PLAN.md: Plan:\n1. Move the table\n2. Round totals"),
        (Deed("edit", "edited", "/a/b.py", text="    return total + tax\n"), ""),
        (Deed("edit", "edited", "/a/b.py", text="def tax():\n", added="RATE = 19\npay()\n# In one land\n"),
         "in b.py: def tax() ⏎ RATE = 19 ⏎ # In one land"),
        (Deed("edit", "deleted", "/a/b.py", removed=("total",)), ""),
    ],
)  # fmt: skip  # one case a line or two
def test_an_edit_says_what_it_wrote(deed, line):
    assert wrote(deed, "/a/") == line


def test_what_edits_wrote_is_said_once_a_turn():
    talk = Talk()
    talk.say("user", "Add it.")
    for _ in range(3):
        talk.edit("/a/b.py", "x = 1", "def total(order):\n    x = 1")
    assert chronicle_of(grown(talk.groups)).count("in a/b.py: def total(order)") == 1


def test_files_that_were_only_looked_at_are_named_once():
    assert looked_line([], "") == ""
    assert looked_line(["/a/b.py", "/a/c.py", "/a/b.py"], "/a/") == "looked at b.py, c.py"


LISTING = "\n".join(f"src/cart/part_{name}.py" for name in "abcdefghi")
LONG_LISTING = "total 9\n" + "\n".join(
    f"-rw-r--r--@  1 ann staff   {size} Jan 21 15:19 {name}"
    for size, name in enumerate([".", "a.md", "b", ".git", "c"])
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"Found 9 files\n{LISTING}",
         "9 entries: cart/part_a.py, cart/part_b.py, cart/part_c.py, cart/part_d.py, cart/part_e.py, cart/part_f.py, "
         "cart/part_g.py, …"),
        (LONG_LISTING, "4 entries: a.md, b, .git, c"),
        ("src/a.py\nsrc/b.py", "src/a.py ⏎ src/b.py"),
        ("src/a.py:1: x = 1\nsrc/a.py:7: x = 2\nsrc/b.py:3: x",
         "src/a.py:1: x = 1 ⏎ :7: x = 2 ⏎ src/b.py:3: x"),
        ("\n".join(f"{number}-    total += item.price * item.count  # rounds" for number in range(30)), "30 lines"),
    ],
)  # fmt: skip  # one case a line or two
def test_a_listing_shows_names(text, said):
    assert seen(Deed("search", "total", text=text), "") == f"`total` -> {said}"


@pytest.mark.parametrize("text", ["error: unexpected argument '-n' found\ntip: use '--'", "zsh: command not found"])
def test_a_command_that_was_no_command_shows_nothing(text):
    assert seen(Deed("search", "find", text=text), "") == ""


def test_a_missing_folder_is_nothing_found():
    assert seen(Deed("search", "ls src", text="ls: src: No such file or directory"), "") == "nothing found: ls src"


def test_a_search_shows_a_short_result_or_its_files():
    short = Deed("search", "limit", key="src", text="a.py:3: limit = 5")
    assert seen(short, "") == "`limit in src` -> a.py:3: limit = 5"
    many = Deed(
        "search", "limit", text="\n".join(f"src/mod_{n % 3}.py:{n}: the limit is {n} of them" for n in range(90))
    )
    assert seen(many, "") == "`limit` -> src/mod_0.py x30, src/mod_1.py x30, src/mod_2.py x30"
    other = Deed("search", "ls", text="\n".join(f"entry number {number}" for number in range(90)))
    assert seen(other, "") == "`ls` -> 90 lines, first: entry number 0"


def test_a_failed_or_running_look_up_shows_nothing():
    assert seen(Deed("search", "x", failed=True, text="error"), "") == ""
    assert seen(Deed("search", "x", outcome="running", key="b1"), "") == ""


def test_a_file_shows_what_it_defines_and_a_document_its_outline():
    code = Deed("read", "cat", "/srv/shop/a.py", text="def total(rows):\n    pass\n\nclass Invoice:\n    pass\n")
    assert seen(code, "/srv/shop/") == "a.py defines total, Invoice"
    assert seen(Deed("read", "cat", "notes.md", text="# Notes\n\nNever push."), "").startswith("read notes.md: Notes")
    assert seen(Deed("read", "cat", "data.csv", text="1,2"), "") == ""


def test_the_root_is_the_folder_of_most_paths():
    paths = [f"/srv/user/shop/src/{name}.py" for name in "abcd"]
    assert root_of(["/srv/user/shop/docs/a.md", *paths]) == "/srv/user/shop/src/"
    assert root_of(["/srv/user/shop/docs/a.md", *paths[:2]]) == "/srv/user/shop/"
    assert root_of(paths) == "/srv/user/shop/"  # all are directly in one folder, and others will follow
    assert root_of(paths[:2]) == ""
    assert root_of(["/a/b.py", "/c/d.py", "/e/f.py"]) == ""
    assert relative("cd /srv/user/shop/src/ && ls", "/srv/user/shop/src/") == "cd  && ls"


def test_a_long_path_is_shortened_in_its_middle():
    assert in_full("/srv/shop/a.py", "/srv/") == "shop/a.py"
    assert in_full(f"src/{'folder/' * 20}last/a.py", "") == "src/…/last/a.py"
    assert in_full(f"/srv/{'folder/' * 20}last/a.py", "") == "…/last/a.py"
    assert in_full(f"/{'name' * 20}.py", "") == f"/{'name' * 20}.py"
    assert in_full("name" * 20, "") == "name" * 20
    assert in_full(f"src/{'name' * 20}.py", "") == f"src/{'name' * 20}.py"
    assert leaf("/srv/shop/src/a.py", "/srv/") == "src/a.py"


def test_steps_that_name_files_are_compared_with_changes():
    plan = "Intro\n\n1. Change `src/a.py` and b.py\n2. Write docs/c.md\n3. Tell the team (v1.2)"
    assert undone(plan, [Fact("file", 3, "/srv/src/a.py", "edited", times=1)]) == ["Write docs/c.md"]
    assert undone(plan, []) == []


KINDS = st.sampled_from(["user", "pasted", "said", "report", "note", "asked", "did", "seen", "turn", "system"])
BEGINNINGS = st.sampled_from(
    ["", "plan: ", "delegated “x”: ", "check `x` -> ", "read a.md: ", "commit 1 “x”", "`ls` -> "]
)


@given(KINDS, BEGINNINGS, st.integers(1, 60), st.integers(0, LAST))
def test_a_line_fits_the_room_of_its_level(kind, beginning, times, level):
    line = DigestLine(2, 3, kind, beginning + "The parser fails, because its table is read twice. " * times)
    _, *kept = at_level([HEAD, line], level)
    room = rooms_of(line)[level]
    assert [len(each.text) <= room for each in kept] == [True] * (room > 0)
    assert sum(len(each.text) for each in kept) <= size([line], level)
    assert at_level([HEAD, *kept], level)[1:] == kept  # what is short enough stays


def test_a_shortened_document_keeps_its_name():
    line = DigestLine(2, 2, "seen", f"read docs/CLAUDE.md: {LONG}")
    assert at_level([HEAD, line], 3)[1].text.startswith("read docs/CLAUDE.md: ")
    plan = DigestLine(2, 2, "did", f"plan: {LONG}")
    assert at_level([HEAD, plan], 3)[1].text.startswith("plan: The parser fails")


def test_later_levels_keep_the_newest_run_of_a_check():
    checks = [DigestLine(n, n, "did", f"check `pytest` -> {n} passed") for n in (2, 4)]
    assert at_level([HEAD, *checks], 2)[1:] == checks
    assert at_level([HEAD, *checks], 3)[1:] == checks[1:]


def test_later_levels_keep_commits_refusals_and_what_lasts():
    texts = [
        "commit 3f2a1bc “x”",
        "the user refused rm",
        "push: main -> main",
        "`make`",
        "edited a.py",
        "`gh pr create`",
    ]
    entry = [HEAD, *(DigestLine(2, 2, "did", text) for text in texts)]
    assert [line.text for line in at_level(entry, 6)[1:]] == [*texts[:3], *texts[4:]]
    assert [line.text for line in at_level(entry, LAST)[1:]] == texts[:3]


@pytest.mark.parametrize(
    "text",
    [
        "The migration is written.", "Docs are updated.", "All tests pass now.", "Now I understand the layout.",
        "The type check is still running; two packages are through.", "You're right.", "Perfect! The tests pass.",
    ],
)  # fmt: skip  # one list
def test_a_remark_that_only_confirms_is_left_out(text):
    talk = Talk()
    talk.say("user", "Go on.")
    talk.shell("rm -r build", "", text)
    assert "said" not in chronicle_of(grown(talk.groups))


@pytest.mark.parametrize(
    "text",
    [
        "Step 4 is done.", "`make check` passed.", "The order is paid twice.", "The lock is still held, but by nobody.",
        "Two tests failed so far.", "The run is still running. I let it end, as its order matters.",
        "Die Tests sind fertig.", "I see the issue is in how orders are counted.",
    ],
)  # fmt: skip  # one list
def test_a_remark_that_names_something_stays(text):
    talk = Talk()
    talk.say("user", "Go on.")
    talk.shell("rm -r build", "", text)
    assert f"said: {text}" in chronicle_of(grown(talk.groups))


def test_remarks_go_where_a_report_says_more():
    said = [DigestLine(n, n, "said", f"The cause is number {n}.") for n in range(2, 8)]
    report = DigestLine(9, 9, "report", "All is done.")
    assert at_level([HEAD, *said, report], 5) == [HEAD, report]
    assert at_level([HEAD, *said], 5) == [HEAD, *said[-3:]]


def test_a_pasted_task_has_more_room_than_a_log():
    steps = "\n".join(f"{number}. Sort the boxes of shelf {number}, but only by their label" for number in range(40))
    asked = DigestLine(1, 1, "pasted", f"You sort the store.\n\nRequirements:\n{steps}\n\nNever open a box.")
    log = DigestLine(1, 1, "pasted", "\n".join(f"12:00:{number:02} GET /a/{number * 77} 200" for number in range(120)))
    sizes = [len(at_level([HEAD, line], 3)[1].text) for line in (asked, log)]
    assert sizes[0] > 1_200 > sizes[1]
