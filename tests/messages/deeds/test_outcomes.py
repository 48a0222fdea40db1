"""How calls ended: failures, counts, what a service answered, and what says nothing."""

import json
import re

import pytest

from backscroll.messages.deeds.check_results import check_ending
from backscroll.messages.deeds.ending import Ending
from backscroll.messages.deeds.envelopes import unframed
from backscroll.messages.deeds.frames import REFUSALS
from backscroll.messages.deeds.listings import is_listing
from backscroll.messages.deeds.names import changed_names, names_in
from backscroll.messages.deeds.outcomes import MOST, ending_of, joined, shows_nothing
from backscroll.messages.deeds.patches import edits_in, is_patch, replaced_in
from backscroll.messages.deeds.verbs import reads_by_name
from tests.messages.deeds.calls import deed, deeds, ended


def check(text: str) -> Ending:
    return check_ending(unframed(text))


def end(text: str) -> Ending:
    return ending_of(unframed(text))


PASSED = [
    ("", "ok, no output"),
    ("$ tsc --noEmit\n> app@1.0.0 check", "ok, no output"),
    ("ok  \texample.org/a\t0.2s\nok  \texample.org/b\t(cached)", "2 packages ok"),
    ("ok  \texample.org/a\t0.2s [no tests to run]", "1 package ok, 1 without tests to run"),
    ("--- PASS: TestA (0.1s)\n--- PASS: TestB (0.1s)\nPASS", "2 tests passed"),
    ("=== 12 passed, 1 skipped in 0.4s ===", "12 passed, 1 skipped in 0.4s"),
    (" Test Files  2 passed (2)\n      Tests  9 passed (9)", "Test Files  2 passed (2); Tests  9 passed (9)"),
    (" 27 pass\n 0 fail\nRan 27 tests across 2 files. [1.3s]", "27 pass; 0 fail; Ran 27 tests across 2 files. [1.3s]"),
    ("All checks passed!", "All checks passed!"),
    ("0 issues.\nFinished in 5.03s", "0 issues."),
    ("vite v6 building\n✓ built in 2.1s", "✓ built in 2.1s"),
    ("Success: no issues found in 3 source files", "Success: no issues found in 3 source files"),
    ("Error: printed by a test\n12 passed in 0.4s", "12 passed in 0.4s"),
    ("    a_test.go:12: expected, and got it\nok  \texample.org/a\t0.2s", "1 package ok"),
    ("12 problems (0 errors, 12 warnings)", "12 problems (0 errors, 12 warnings)"),
    ("Found 3 errors (3 fixed, 0 remaining).", "Found 3 errors (3 fixed, 0 remaining)."),
    ("BUILD SUCCESSFUL in 3s", "BUILD SUCCESSFUL in 3s"),
]


@pytest.mark.parametrize(("text", "outcome"), PASSED)
def test_check_that_passed_counts(text, outcome):
    ending = check(text)
    assert not ending.failed
    assert ending.outcome.split() == outcome.split()


FAILED = [
    ("Exit code 1\n--- FAIL: TestRound (0.02s)\n    till_test.go:12: got 1\nFAIL", "--- FAIL: TestRound"),
    ("FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 2 passed in 0.1s", "FAILED tests/test_a.py::test_b"),
    ("(fail) rounds per line [0.02ms]\n 1 fail", "(fail) rounds per line"),
    ("3 failed, 0 errors in 0.4s", "3 failed, 0 errors in 0.4s"),
    ('12 pass\n0 fail\nerror: script "lint" exited with code 1', 'error: script "lint" exited with code 1'),
    ("FAIL\texample.org/a [build failed]\nok  \texample.org/b\t0.2s", "FAIL example.org/a [build failed]"),
    ("src/a.ts(4,2): error TS2: odd", "src/a.ts(4,2): error TS2: odd"),
    ("src/a.go:5:13: too many errors", "src/a.go:5:13: too many errors"),
    ("npm error code 1", "npm error code 1"),
    ("not ok 3 - rounds", "not ok 3 - rounds"),
    ("src/a.ts(4,2): error TS2304: Cannot find name 'x'.\nFound 1 error.", "src/a.ts(4,2): error TS2304"),
    ("Process exited with code 2\nOutput:\nsrc/a.go:4:2: undefined: x", "src/a.go:4:2: undefined: x"),
    ("Exit code 3\n", "exit code 3"),
    ("Traceback (most recent call last):\n  File x\nValueError: odd", "ValueError: odd"),
    ("  \u00d7 This import is unused.\nFound 2 errors.", "\u00d7 This import is unused."),
    ("error[E0308]: mismatched types\n --> src/a.rs:4:9", "error[E0308]: mismatched types"),
]


@pytest.mark.parametrize(("text", "beginning"), FAILED)
def test_check_that_failed_names_what_failed_first(text, beginning):
    ending = check(text)
    assert ending.failed
    assert ending.outcome.startswith(beginning)


def test_failing_names_errors_and_counts_are_bounded():
    names = "\n".join(f"FAILED tests/test_{number}.py::test_of_a_very_long_name_{number}" for number in range(40))
    ending = check(f"{names}\n{'x' * 90_000}\n40 failed, 2 passed in 0.1s")
    assert len(ending.outcome) <= MOST
    assert ending.outcome.count("FAILED") <= 4
    assert joined(["a", "b", "a"]) == "a; b"
    assert len(joined(["x" * 900])) <= MOST


@pytest.mark.parametrize(
    ("text", "failed", "outcome"),
    [
        ("Error: no such order", True, "Error: no such order"),
        ("ok", False, ""),
        ("apply_patch verification failed: no such lines", True, "apply_patch verification failed: no such lines"),
        ("Edit applied successfully.", False, ""),
        ("The file /s/a.py has been updated.", False, ""),
        ("Success. Updated the following files:\nM a.py", False, ""),
        ("✓ Created issue: a-1", False, "✓ Created issue: a-1"),
        ("Exit code 2\nlong\nfatal: no branch\nmore", True, "fatal: no branch"),
        ("Process exited with code 0\nOutput:\nError: harmless", False, "Error: harmless"),
        ("", False, ""),
        ("---\n\n$ run\nend", False, "end"),
    ],
)
def test_call_ended(text, failed, outcome):
    assert end(text) == Ending(failed, outcome)


@pytest.mark.parametrize(
    ("value", "failed", "outcome"),
    [
        ({"order_id": "#W1", "status": "refunded"}, False, "status refunded, order_id #W1"),
        ({"id": 7, "url": "https://x.org/7", "items": []}, False, "id 7, url https://x.org/7"),
        ({"error": {"message": "no funds"}}, True, "error no funds"),
        ({"success": False, "message": "no"}, True, "message no"),
        ({"ok": True, "error": None}, False, ""),
        ({"issue": {"number": 4, "state": "open"}}, False, "number 4, state open"),
        ([{"id": 3}], False, "id 3"),
    ],
)
def test_answer_of_a_service_is_its_fields(value, failed, outcome):
    assert end(json.dumps(value)) == Ending(failed, outcome)


@pytest.mark.parametrize(
    "text", ["", "[]", "No matches found", "No files found", "Found 0 results", "null", "Not found."]
)
def test_result_that_shows_nothing(text):
    assert shows_nothing(text)
    assert not shows_nothing(f"{text or 'x'} a\nb\nc\nd")


LISTS = [
    "[1, 2]",
    '{"a": 1, "b": 2, "c": 3}',
    "\n".join(f"src/a{n}.py:{n}: x" for n in range(8)),
    "line of prose\n" * 12,
]
NO_LISTS = ["", "Order refunded successfully.", '{"id": 1, "status": "done", "url": "x"}', '{"id": 1}', "one line"]


@pytest.mark.parametrize(("text", "lists"), [(text, True) for text in LISTS] + [(text, False) for text in NO_LISTS])
def test_listing_is_no_confirmation(text, lists):
    assert is_listing(text) is lists


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("get_order", True), ("order_status", True), ("mcp__shop__refundOrder", False), ("book_room", False),
        ("listBooks", True), ("browser_click", False), ("HTTPGet", True), ("pods_log", True), ("zorb", None),
        ("", None), ("delete_history", False), ("shop.orders/search", True), ("x__", None),
    ],
)  # fmt: skip  # a table
def test_first_verb_of_a_name_decides(name, reads):
    assert reads_by_name(name) is reads


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("export default class Till {}\nfunction total() {}\nconst RATE = 8;", ("Till", "total", "RATE")),
        ("async def total():\n    pass\nRATE: int = 8\nclass Till(Base):", ("total", "Till", "RATE")),
        ("func (t *Till) Total() int {\ntype Rate struct {", ("Total", "Rate")),
        ("pub(crate) fn total() {}\nimpl Till {}", ("total", "Till")),
        ("interface Rate {}\nexport const total = () => 1", ("Rate", "total")),
        ("x = 1", ()),
    ],
)
def test_names_that_code_defines(code, names):
    assert names_in(code) == names


def test_names_of_an_edit_are_those_that_are_new_and_gone():
    assert changed_names("def one(): 1\ndef two(): 1", "def two(): 2\ndef three(): 1") == (("three",), ("one",))
    assert len(names_in("\n".join(f"def name_{number}(): 1" for number in range(99)))) == 24


DIFF = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-def one(): 1
+def two(): 1
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
--- a/old.py
+++ /dev/null
"""


def test_unified_diff_is_an_edit_for_each_file():
    assert is_patch(DIFF)
    assert [(each.path, each.how, each.old, each.new) for each in edits_in(DIFF)] == [
        ("a.py", "edited", "def one(): 1", "def two(): 1"), ("new.py", "created", "", "x"),
        ("old.py", "deleted", "", ""),
    ]  # fmt: skip  # a table
    assert [each.kind for each in deeds("apply", {"patch": DIFF}, "ok")] == ["edit"] * 3


def test_moved_file_is_edited_under_its_new_name():
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** End Patch"
    assert [(each.path, each.new) for each in edits_in(patch)] == [("b.py", "y")]


def test_blocks_that_search_and_replace():
    blocks = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n------- SEARCH\nz\n=======\n+++++++ REPLACE"
    assert replaced_in(blocks) == ("x\nz", "y")
    assert replaced_in("no blocks") is None
    edit = deed("replace_in_file", {"path": "a.py", "diff": blocks}, "saved")
    assert (edit.kind, edit.what, edit.text) == ("edit", "edited", "y")


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("write", {"filePath": "a", "content": ""}, [("created", "a")]),
        ("create_file", {"path": "a", "contents": "x"}, [("created", "a")]),
        ("multi_edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, [("edited", "a")]),
        ("push_files", {"files": [{"path": "a", "content": "x"}]}, [("edited", "a")]),
        ("NotebookEdit", {"notebook_path": "a", "new_source": "x", "edit_mode": "delete"}, [("deleted", "a")]),
        ("delete_file", {"path": "a"}, [("deleted", "a")]),
        ("move_file", {"source": "a/x", "destination": "b/x"}, [("deleted", "a/x"), ("created", "b/x")]),
        ("str_replace_editor", {"command": "undo_edit", "path": "a"}, [("edited", "a")]),
        ("apply_patch_call", {"operation": {"type": "update_file", "path": "a", "diff": "@@\n-x"}}, [("edited", "a")]),
    ],
)  # fmt: skip  # a table
def test_edits_of_many_hosts(name, arguments, found):
    assert [(each.what, each.path) for each in deeds(name, arguments, "ok") if each.kind == "edit"] == found


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("str_replace_editor", {"command": "view", "path": "a"}),
        ("search_files", {"path": "a", "content": "x"}),
        ("create_directory", {"path": "a"}),
        ("delete_directory", {"path": "a"}),
    ],
)
def test_calls_with_a_path_that_edit_no_file(name, arguments):
    assert "edit" not in [each.kind for each in deeds(name, arguments, "ok")]


@pytest.mark.parametrize(
    ("name", "arguments", "reads"),
    [
        ("http", {"method": "GET", "url": "x"}, True), ("http", {"method": "POST", "url": "x"}, False),
        ("db", {"sql": "select 1"}, True), ("db", {"sql": "DELETE FROM a"}, False),
        ("search", {"query": "create a table"}, True), ("api", {"query": "mutation { x }"}, False),
        ("python", {"code": "print(1)"}, True), ("python", {"code": "open('a', 'w')"}, False),
        ("page", {"function": "() => document.title"}, True), ("page", {"function": "() => a.click()"}, False),
        ("computer", {"action": "screenshot"}, True), ("computer", {"action": "left_click"}, False),
        ("use_mcp_tool", {"tool_name": "get_a", "arguments": '{"id": 1}'}, True),
        ("use_mcp_tool", {"tool_name": "close_a", "arguments": {"id": 1}}, False),
        ("zorb", {"query": "x"}, True),
    ],
)  # fmt: skip  # a table
def test_arguments_say_whether_a_call_reads(name, arguments, reads):
    assert deed(name, arguments, "x").changes is not reads


def test_commits_by_tools_of_their_own():
    commit = deed("git_commit", {"message": "Round totals\n\nLong."}, "Committed with hash 1a2b3c4d")
    assert (commit.kind, commit.what, commit.key) == ("commit", "Round totals", "1a2b3c4d")
    push = deed("mcp__git__git_push", {"remote": "origin", "branch": "main"}, "Error: denied")
    assert (push.kind, push.what, push.failed) == ("push", "origin main", True)


def test_push_that_is_rejected_failed():
    text = " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs"
    assert deed("bash", {"command": "git push"}, text).failed
    assert deed("bash", {"command": "git push"}, "Everything up-to-date").outcome == "everything up-to-date"


def test_runs_that_ended_are_named_once_they_did():
    over = "<status>completed</status>\n<exit_code>0</exit_code>\n<stdout>\n9 passed\n</stdout>"
    assert ended("BashOutput", {"bash_id": "b1"}, over) == ("b1",)
    assert deed("BashOutput", {"bash_id": "b1"}, over).outcome == "9 passed"
    assert ended("read_bash", {"shellId": "4"}, "shellId: 4 was already stopped via stop_bash.") == ("4",)
    assert ended("get_order", {"id": "4"}, '{"status": "completed"}') == ()
    assert ended("TaskUpdate", {"taskId": "4", "task_id": "4", "status": "completed"}, "done") == ()
    assert ended("BashOutput", {"bash_id": "b1"}, None) == ()


def test_report_of_an_agent_that_ran_behind_its_call():
    text = "<task_id>k7</task_id>\n<status>completed</status>\n<output>\nTwo places round twice.\n</output>"
    report = deed("TaskOutput", {"task_id": "k7"}, text)
    assert (report.kind, report.what, report.key, report.text) == (
        "background",
        "ended",
        "k7",
        "Two places round twice.",
    )


def test_words_typed_into_a_run_are_a_deed():
    running = "Process running with session ID 9\nOutput:\nSure?"
    typed = deed("write_stdin", {"session_id": 9, "chars": "y\n"}, running)
    assert (typed.kind, typed.what, typed.key) == ("run", "typed 'y\\n' into run 9", "9")


def test_questions_of_many_hosts():
    cline = deed("ask_followup_question", {"question": "Line?", "options": '["a"]'}, "<answer>\na\n</answer>")
    assert (cline.kind, cline.what, cline.outcome) == ("asked", "Line?", "a")
    human = deed("human_input", {"prompt": "Line?"}, "yes, per line")
    assert (human.kind, human.what, human.outcome) == ("asked", "Line?", "yes, per line")
    two = [{"question": "A?", "options": ["x", "y"]}, {"question": "B?"}]
    answer = (
        'User has answered your questions: "A?"="x", "B?"="no". You can now continue with the user\'s answers in mind.'
    )
    asked = deed("question", {"questions": two}, answer)
    assert (asked.what, asked.outcome) == ("A? [x, y] / B?", '"A?"="x", "B?"="no"')


REFUSED = [
    ("The user doesn't want to proceed with this tool use. The user said:\nUse cents.", "Use cents."),
    ("[Request interrupted by user for tool use]", ""),
    ("exec command rejected by user", ""),
    ("The user rejected permission to use this specific tool call with the following feedback: use sed", "use sed"),
    ("[Operation Cancelled] Reason: User did not allow tool call", ""),
    ("Error: The user denied this operation.\n<feedback>\nNot now\n</feedback>", "Not now"),
    ("User rejected the tool call. Reason: too slow", "too slow"),
]
"""One for each row of `REFUSALS`, in their order."""


@pytest.mark.parametrize(("row", "example"), list(zip(REFUSALS, REFUSED, strict=True)), ids=lambda pair: pair[0][:40])
def test_refusals_of_many_hosts(row, example):
    result, said = example
    assert re.search(row[1], result, re.IGNORECASE)
    refused = deed("bash", {"command": "rm -r a"}, result)
    assert (refused.kind, refused.what, refused.outcome) == ("refused", "bash rm -r a", said)


def test_a_file_that_holds_the_words_of_a_refusal_is_read():
    assert deed("Read", {"file_path": "a.md"}, "# Notes\n" * 60 + "The user rejected this.").kind == "read"
    assert deed("get_user", {"id": 1}, "User declined on 3 May").kind == "search"


def test_page_that_begins_like_an_error_is_shown():
    page = deed("Read", {"file_path": "a.md"}, "Error handling\n" + "is as follows.\n" * 20)
    assert (page.failed, page.outcome) == (False, "")
    missing = deed("Read", {"file_path": "a.md"}, "Error: no such file")
    assert (missing.failed, missing.outcome) == (True, "Error: no such file")


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("create_subscription", {"plan": "pro", "customer": "c1"}, "run"),
        ("update_items", {"items": [{"name": "lamp", "status": "shipped"}]}, "run"),
        ("generate_image", {"prompt": "a lamp on a desk", "description": "lamp"}, "run"),
        ("list_agents", {"query": "billing"}, "search"),
        ("send_message_to_agent", {"agent_id": "a1", "message": "Go on with taxes."}, "delegated"),
        ("get_task", {"task_id": "7"}, "search"),
        ("WebFetch", {"url": "https://x.org", "prompt": "What does it say?"}, "search"),
    ],
)
def test_arguments_that_only_look_like_those_of_an_agent(name, arguments, kind):
    assert deed(name, arguments, "done").kind == kind


def test_result_in_an_object_is_taken_out():
    assert deed("get_rate", {}, '{"result": "8 percent"}').text == "8 percent"
