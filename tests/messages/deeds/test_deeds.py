"""What calls of many hosts did: their kind, their target and how they ended."""

import pytest

from tests.messages.deeds.calls import deed, deeds, ended, shell

COMMIT = "[main 1a2b3c4] Round the totals\n 2 files changed, 9 insertions(+)"
PUSH = "To git.example.org:shop/till.git\n   aaaa111..bbbb222  main -> main"


def test_steps_of_a_command_are_deeds_in_order():
    command = 'cd till && npm test 2>&1 | tail -5 && git add -A && git commit -m "Round the totals" && git push'
    found = shell(command, f"Tests: 12 passed\n{COMMIT}\n{PUSH}")
    assert [(each.kind, each.what, each.key, each.failed) for each in found] == [
        ("check", "npm test", "npm test", False),
        ("commit", "Round the totals", "1a2b3c4", False),
        ("push", "main -> main", "", False),
    ]
    assert found[0].outcome == "Tests: 12 passed"


def test_reading_steps_of_a_command_are_dropped():
    assert [each.kind for each in shell("ls -la; cat a.txt; rm -rf build; git status")] == ["run"]
    look_up = deed("exec_command", {"cmd": "ls -la && git log --oneline -5"}, "a.txt\nb.txt")
    assert (look_up.kind, look_up.text, look_up.changes) == ("search", "a.txt\nb.txt", False)


def test_file_shown_by_a_command_is_read():
    shown = deed("exec_command", {"cmd": "sed -n '1,80p' docs/till.md"}, "Chunk ID: 9\nOutput:\n# Till")
    assert (shown.kind, shown.path, shown.text) == ("read", "docs/till.md", "# Till")


def test_here_documents_are_edits_and_messages_of_commits():
    written = "cat > src/till.py <<'EOF'\ndef total():\n    return 0 && 1\nEOF\n"
    command = written + "git commit -am \"$(cat <<'EOF'\nAdd a total\n\nLong.\nEOF\n)\""
    edit, commit = shell(command, "")
    assert (edit.kind, edit.what, edit.path, edit.defined) == ("edit", "created", "src/till.py", ("total",))
    assert edit.text == "def total():\n    return 0 && 1"
    assert (commit.kind, commit.what) == ("commit", "Add a total")


def test_failing_names_come_first_in_the_outcome_of_a_check():
    result = (
        "Exit code 1\n12 passed\nFAILED tests/test_till.py::test_round - assert 1 == 2\n1 failed, 12 passed in 0.4s"
    )
    (check,) = shell("CI=1 uv run pytest -q tests", result)
    assert (check.kind, check.failed, check.key) == ("check", True, "pytest tests")
    assert check.outcome.startswith("FAILED tests/test_till.py::test_round")
    assert "1 failed, 12 passed" in check.outcome


def test_commit_that_a_hook_stops_failed():
    (commit,) = shell('git commit -m "Round"', "Exit code 1\nlint: 3 errors\nerror: hook pre-commit failed")
    assert (commit.kind, commit.what, commit.failed, commit.key) == ("commit", "Round", True, "")


def test_edit_names_what_it_defines_and_removes():
    edit = deed(
        "Edit", {"file_path": "/s/t.py", "old_string": "def old_total(): 1", "new_string": "def total(): 1"}, "ok"
    )
    assert (edit.kind, edit.what, edit.path) == ("edit", "edited", "/s/t.py")
    assert (edit.defined, edit.removed, edit.failed) == (("total",), ("old_total",), False)


def test_patch_is_an_edit_for_each_file():
    patch = (
        "*** Begin Patch\n*** Update File: a.ts\n@@\n-function first() {}\n+function second() {}\n"
        "*** Add File: b.ts\n+export class Third {}\n*** Delete File: c.ts\n*** End Patch"
    )
    found = deeds("apply_patch", {"input": patch}, "Success. Updated the following files:\nM a.ts")
    assert [(each.what, each.path, each.defined) for each in found] == [
        ("edited", "a.ts", ("second",)), ("created", "b.ts", ("Third",)), ("deleted", "c.ts", ()),
    ]  # fmt: skip  # a table
    assert deeds("apply_patch", patch, None)[0].path == "a.ts"  # a custom tool's input is no JSON


def test_failed_edit_says_why():
    edit = deed(
        "edit", {"filePath": "a.ts", "oldString": "x", "newString": "y"}, "Error: oldString not found in content"
    )
    assert (edit.kind, edit.failed, edit.outcome) == ("edit", True, "Error: oldString not found in content")


TODOS = [{"content": "Read", "status": "completed"}, {"content": "Round", "status": "in_progress"}]


@pytest.mark.parametrize(("name", "key"), [("TodoWrite", "todos"), ("update_plan", "plan"), ("write_todos", "todos")])
def test_list_with_statuses_is_a_to_do_list(name, key):
    todo = deed(name, {key: TODOS}, "done")
    assert (todo.kind, todo.rows) == ("todo", (("completed", "Read"), ("in_progress", "Round")))


def test_single_task_is_one_row_with_its_id():
    made = deed("TaskCreate", {"subject": "Round", "description": "All totals"}, "Task #3 created successfully: Round")
    done = deed("TaskUpdate", {"taskId": "3", "status": "completed"}, "Updated task #3 status")
    assert (made.kind, made.key, made.rows) == ("todo", "3", (("pending", "Round"),))
    assert (done.key, done.rows) == ("3", (("completed", ""),))


def test_question_keeps_its_options_and_the_whole_answer():
    questions = [{"question": "Which rounding?", "options": [{"label": "Half up"}, {"label": "Half even"}]}]
    begin, end = "User has answered your questions: ", ". You can now continue with the user's answers in mind."
    answer = f'{begin}"Which rounding?"="Half even"{end}'
    asked = deed("AskUserQuestion", {"questions": questions}, answer)
    assert (asked.kind, asked.what) == ("asked", "Which rounding? [Half up, Half even]")
    assert asked.outcome == "Half even"
    other = deed("ask_user", {"question": "Which?", "choices": ["a", "b"]}, "User selected: b")
    assert (other.kind, other.what, other.outcome) == ("asked", "Which? [a, b]", "b")


def test_question_to_a_knowledge_base_is_a_look_up():
    assert deed("ask_question", {"repoName": "a/b", "question": "How?"}, '{"result":"So."}').kind == "search"


def test_delegated_task_keeps_its_report():
    order = {
        "description": "Review rounding",
        "prompt": "Review how totals are rounded and report.",
        "subagent_type": "x",
    }
    report = deed("Task", order, "Two places round twice.")
    assert (report.kind, report.what, report.text) == ("delegated", "Review rounding", "Two places round twice.")
    launched = "Async agent launched successfully.\nagentId: k7 (internal ID)"
    assert (deed("Task", order, launched).key, deed("Task", order, launched).outcome) == ("k7", "running")


def test_refusal_keeps_what_the_user_said():
    said = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nUse cents."
    refused = deed("ExitPlanMode", {"plan": "# Rounding\n1. Floats"}, said)
    assert (refused.kind, refused.outcome, refused.text) == ("refused", "Use cents.", "# Rounding\n1. Floats")
    cline = deed(
        "execute_command", {"command": "rm -r x"}, "The user denied this operation.\n<feedback>\nNot now\n</feedback>"
    )
    assert (cline.kind, cline.what, cline.outcome) == ("refused", "execute_command rm -r x", "Not now")


def test_approved_plan_is_a_plan():
    plan = deed(
        "ExitPlanMode", {"plan": "# Rounding\n1. Cents"}, "User has approved your plan. You can now start coding."
    )
    assert (plan.kind, plan.what, plan.text, plan.changes) == ("plan", "Rounding", "# Rounding\n1. Cents", False)


def test_background_run_starts_and_ends():
    start = deed(
        "Bash", {"command": "npm run dev", "run_in_background": True}, "Command running in background with ID: b4"
    )
    assert (start.kind, start.what, start.key) == ("background", "npm run dev", "b4")
    assert ended("KillShell", {"shell_id": "b4"}, "Successfully killed shell: b4") == ("b4",)
    assert ended("BashOutput", {"bash_id": "b4"}, "<status>running</status>\n\n<stdout>\nup\n</stdout>") == ()


def test_end_of_a_yielded_command_has_its_outcome():
    running = "Wall time: 9 seconds\nProcess running with session ID 698\nOutput:\nstarting"
    assert deed("exec_command", {"cmd": "bun test"}, running).key == "698"
    result = "Wall time: 9 seconds\nProcess exited with code 1\nOutput:\n3 failed, 4 passed"
    end = deed("write_stdin", {"session_id": 698, "chars": ""}, result)
    assert (end.kind, end.what, end.key, end.failed, end.outcome) == (
        "background",
        "ended",
        "698",
        True,
        "3 failed, 4 passed",
    )
    assert ended("write_stdin", {"session_id": 698, "chars": ""}, result) == ("698",)
    assert deed("write_stdin", {"session_id": 698, "chars": ""}, running).kind == "search"


def test_service_calls_have_target_and_outcome():
    read = deed("get_order_details", {"order_id": "#W1"}, '{"order_id":"#W1","status":"delivered"}')
    done = deed("refund_order", {"order_id": "#W1"}, '{"order_id":"#W1","status":"refunded"}')
    assert (read.kind, read.what) == ("search", "get_order_details(order_id=#W1)")
    assert (done.kind, done.what, done.changes) == ("run", "refund_order(order_id=#W1)", True)
    assert done.outcome == "status refunded, order_id #W1"


def test_unknown_tool_is_a_deed_only_if_its_result_is_no_listing():
    rows = "\n".join(f"src/part{number}.py:{number}: value" for number in range(9))
    assert deed("zorb", {"x": 1}, rows).kind == "search"
    assert deed("zorb", {"x": 1}, "Zorbed successfully.").kind == "run"


def test_nothing_found_is_said():
    assert deed("Grep", {"pattern": "total", "path": "src"}, "No matches found").outcome == "nothing found"


def test_cut_off_arguments_are_read_up_to_the_cut():
    assert deed("bash", '{"command":"git push origin ma', "").what == "git push origin ma"
    assert deed("Write", '{"file_path":"/s/t.py","content":"def total(): 1', None).path == "/s/t.py"
