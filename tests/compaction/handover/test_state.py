"""What the state and the files say, from all that happened up to the compaction."""

import pytest

from backscroll.history.plan import DigestContent
from tests.compaction.handover.hand_over import Talk, grown, state_of, text_of
from tests.present import present


def files_of(digest):
    return [note.text for note in digest.now if note.kind == "file"]


def starting(digest, beginning):
    return [line for line in state_of(digest) if line.startswith(beginning)]


def test_the_request_is_the_newest_one_also_of_the_view():
    talk = Talk()
    talk.say("user", "Fix the parser.")
    talk.shell("make", "ok")
    talk.say("assistant", "The parser is fixed.")
    talk.say("user", "Now write its documentation.")
    assert starting(grown(talk.groups[:2], kept=talk.groups[2:3]), "Newest request") == [
        "Newest request, on which the agent has reported: Fix the parser."
    ]
    assert starting(grown(talk.groups[:2], kept=talk.groups[2:]), "Current") == [
        "Current request: Now write its documentation."
    ]


def test_a_first_message_that_stays_is_the_request():
    talk = Talk()
    talk.say("user", "Fix the parser.")
    talk.shell("make", "ok")
    talk.shell("make install", "ok")
    found = grown(talk.groups[1:2], kept=[talk.groups[0], talk.groups[2]])
    assert starting(found, "Current") == ["Current request: Fix the parser."]


def test_a_question_without_an_answer_is_open():
    talk = Talk()
    talk.say("user", "Clean up.")
    talk.say("assistant", "There are two branches left.\n\nShall I delete both?")
    found = grown(talk.groups)
    assert starting(found, "The agent asked the user, without an answer so far")[0].endswith("Shall I delete both?")
    talk.say("user", "yes")
    after = grown(talk.groups[2:], found)
    assert not starting(after, "The agent asked")
    assert "delete both?" in starting(after, "Current request: yes")[0]


def test_only_open_tasks_are_named():
    talk = Talk()
    talk.say("user", "Do three things.")
    todos = [("completed", "the parser"), ("in_progress", "the lexer"), ("pending", "the docs")]
    talk.call("TodoWrite", {"todos": [{"content": text, "status": status} for status, text in todos]}, "ok")
    assert starting(grown(talk.groups), "To-do") == ["To-do list: 1 of 3 done; in work: the lexer; open: the docs"]


def test_a_change_of_one_task_keeps_the_others():
    talk = Talk()
    talk.say("user", "Do two things.")
    talk.call("TaskCreate", {"subject": "the parser", "description": "d"}, "Task #1 created successfully: the parser")
    talk.call("TaskCreate", {"subject": "the lexer", "description": "d"}, "Task #2 created successfully: the lexer")
    first = grown(talk.groups)
    talk.call("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status")
    second = grown(talk.groups[3:], first)
    assert starting(second, "To-do") == ["To-do list: 1 of 2 done; open: the lexer"]


def test_changes_count_from_the_last_commit():
    talk = Talk()
    talk.say("user", "Fix it.")
    talk.edit("/srv/shop/one.py", "x", "y")
    assert starting(grown(talk.groups), "Changed") == ["Changed, and no commit seen: /srv/shop/one.py"]
    talk.shell('git commit -am "One"', "[main 3f2a1bc] One\n 1 file changed")
    talk.edit("/srv/shop/two.py", "x", "y")
    assert starting(grown(talk.groups), "Changed") == ["Changed since the commit 3f2a1bc “One”: /srv/shop/two.py"]


def test_a_check_says_what_changed_since():
    talk = Talk()
    talk.say("user", "Fix it.")
    talk.edit("/srv/shop/one.py", "x", "y")
    talk.shell("pytest tests", "===== 1 failed, 3 passed in 0.31s =====\nFAILED tests/test_one.py::test_a")
    first = grown(talk.groups)
    assert "FAILED" in starting(first, "Check `pytest tests`")[0]
    assert "edited since" not in starting(first, "Check `pytest tests`")[0]
    talk.edit("/srv/shop/two.py", "x", "y")
    second = grown(talk.groups[3:], first)
    assert starting(second, "Check `pytest tests`")[0].endswith("edited since: shop/two.py")


def test_a_check_that_passed_later_is_shown_as_passed():
    talk = Talk()
    talk.say("user", "Fix it.")
    talk.shell("pytest tests", "===== 1 failed, 3 passed in 0.31s =====")
    talk.shell("pytest tests", "===== 4 passed in 0.31s =====")
    checks = starting(grown(talk.groups), "Check")
    assert len(checks) == 1
    assert "4 passed" in checks[0]


def test_a_background_run_is_named_until_it_ends():
    talk = Talk()
    talk.say("user", "Start the server.")
    arguments = {"command": "npm run dev", "run_in_background": True}
    talk.call("Bash", arguments, "Command running in background with ID: b7f1c")
    first = grown(talk.groups)
    assert starting(first, "Started in the background") == [
        "Started in the background, no end seen: `npm run dev` (b7f1c)"
    ]
    done = "<task-notification>\n<task-id>b7f1c</task-id>\n<status>completed</status>\n</task-notification>"
    talk.say("user", done)
    assert not starting(grown(talk.groups[2:], first), "Started in the background")


def test_a_step_of_a_plan_without_a_change_is_named():
    talk = Talk()
    talk.say("user", "Plan it.")
    plan = "1. Move the lexer to `lexer.py`\n2. Write `docs/lexer.md`\n3. Tell the team"
    talk.call("ExitPlanMode", {"plan": plan}, "User has approved your plan.")
    talk.edit("/srv/shop/lexer.py", "x", "y")
    steps = starting(grown(talk.groups), "Steps of the plan")
    assert len(steps) == 1
    assert "docs/lexer.md" in steps[0]
    assert "Move the lexer" not in steps[0]


def test_a_refuted_cause_is_named():
    talk = Talk()
    talk.say("user", "Why is it slow?")
    talk.shell("time make", "3 s", "The cache is not the cause: it is hit 99 % of the time.")
    assert "The cache is not the cause" in "\n".join(starting(grown(talk.groups), "Refuted"))


def test_files_say_what_they_define_now():
    talk = Talk()
    talk.say("user", "Rename it.")
    talk.read("/srv/shop/notes.txt", "nothing of note")
    talk.edit("/srv/shop/one.py", "def old_name():\n    pass", "def new_name():\n    pass")
    talk.edit("/srv/shop/one.py", "x = 1", "x = 2")
    assert files_of(grown(talk.groups))[-1].endswith("one.py edited x2; defines new_name; no longer old_name")


def test_files_show_what_was_written_last_where_it_is_not_above():
    talk = Talk()
    talk.say("user", "Set the limits.")
    for number in range(8):
        talk.edit(
            f"/srv/shop/rule{number}.py", "pay(order)", f"LIMIT = 7{number}\n# Only for the shop in town\npay(order)"
        )
        talk.say("assistant", f"Rule {number} is set.")
        talk.say("user", "Go on.")
    digest = grown(talk.groups)
    assert "rule0.py edited" in text_of(digest)
    for number in range(8):
        assert text_of(digest).count(f"LIMIT = 7{number}") == 1, "above or with its file, not twice"
    small = text_of(grown(talk.groups, allowance=420))
    assert "LIMIT" in small.partition("Files that matter")[2]


@pytest.mark.parametrize("later", ["edit", "sed", "mv", "git stash"])
def test_lines_of_a_file_are_in_the_message_of_its_reference(later):
    talk = Talk()
    talk.say("user", "Set the limits.")
    talk.edit("/srv/shop/rule.py", "pay(order)", "LIMIT = 70\n# Only for the shop in town\npay(order)")
    talk.say("assistant", "Set.")
    shown = present(grown(talk.groups).ledger).facts
    assert [fact.written for fact in shown if fact.kind == "file"] == ["LIMIT = 70\n# Only for the shop in town"]
    if later == "edit":
        talk.edit("/srv/shop/rule.py", "pay(order)", "pay(order, now)")
    else:
        command = {"sed": "sed -i s/7/8/ rule.py", "mv": "mv rule.py rules.py", "git stash": "git stash"}[later]
        talk.shell(f"cd /srv/shop && {command}", "")
    said = {entry.seq: "\n".join(part.text for part in entry.reading.parts) for group in talk.groups for entry in group}
    for fact in present(grown(talk.groups).ledger).facts:
        assert all(line in said[fact.seq] for line in fact.written.splitlines()), fact


def test_values_of_a_test_are_not_shown_with_its_file():
    talk = Talk()
    talk.say("user", "Set the limits.")
    for name in ("rule.py", "test_rule.py", "tests/rule.spec.ts"):
        talk.edit(f"/srv/shop/{name}", "pay(order)", "LIMIT = 70\n# Only for the shop in town\npay(order)")
    talk.say("assistant", "Set.")
    files = [fact for fact in present(grown(talk.groups).ledger).facts if fact.kind == "file"]
    assert [fact.written != "" for fact in files] == [True, False, False]


def test_paths_are_relative_to_their_common_folder():
    talk = Talk()
    talk.say("user", "Change them.")
    for name in ("one", "two", "three"):
        talk.edit(f"/home/user/work/shop/src/{name}.py", "x", "y")
    found = grown(talk.groups)
    assert files_of(found) == ["src/one.py edited", "src/three.py edited", "src/two.py edited"]
    assert "Paths are relative to /home/user/work/shop/" in state_of(found)


def test_the_state_is_empty_where_it_has_no_room():
    talk = Talk()
    talk.say("user", "Fix the parser.")
    assert grown(talk.groups, allowance=12).now == ()


@pytest.mark.parametrize(
    ("words", "is_rule"),
    [
        ("Never push to main.", True),
        ("Don't delete the fixtures.", True),
        ("Always run the linter, what fails must be fixed.", True),
        ("shouldn't the url always be remote", False),
        ("Must every eval always have an oracle?", False),
        ("why do we always squash", False),
    ],
)
def test_a_question_is_no_rule_of_the_user(words, is_rule):
    talk = Talk()
    talk.say("user", words)
    talk.shell("make", "ok")
    assert bool(starting(grown(talk.groups), "The user's rule")) is is_rule


def after_a_newer_request(rule: str) -> DigestContent:
    """A hand-over of a request with a rule, and of a newer one."""
    talk = Talk()
    talk.say("user", f"Look at the cart. {rule}")
    talk.shell("make", "ok")
    talk.say("assistant", "It works.")
    talk.say("user", "Then fix the rounding and commit.")
    talk.shell("make", "ok")
    return grown(talk.groups)


@pytest.mark.parametrize(
    "limit",
    [
        "Don't fix anything, but just validate that it works.",
        "Do not commit yet.",
        "Don't change the code for now, only look at the log.",
        "Don't implement it, just give me a plan.",
        "do not push anything",
        "Bitte noch nichts ändern, du darfst das noch nicht tun.",
    ],
)
def test_a_limit_of_one_request_ends_with_it(limit):
    found = after_a_newer_request(limit)
    assert starting(found, "The user's rule") == []
    assert limit.split()[1] in text_of(found)


def test_a_limit_of_the_current_request_holds():
    talk = Talk()
    talk.say("user", "Look at the cart. Don't fix anything, but just validate that it works.")
    talk.shell("make", "ok")
    assert starting(grown(talk.groups), "The user's rule") != []


@pytest.mark.parametrize(
    "rule",
    [
        "Never commit anything before I say so.",
        "Don't push to main.",
        "Do not edit the fixtures.",
        "Don't just delete tests that fail.",
        "From now on you must not change the schema.",
        "Don't use var, only let and const.",
        "Always run the tests before you commit.",
    ],
)
def test_a_rule_outlives_its_request(rule):
    assert starting(after_a_newer_request(rule), "The user's rule") == [f"The user's rule: {rule}"]


def test_a_request_that_goes_on_names_what_with():
    talk = Talk()
    talk.say("user", "Fix the parser.")
    talk.shell("make", "ok")
    talk.say("assistant", "The lexer is done.")
    talk.say("user", "ok, continue please")
    talk.shell("make", "ok")
    talk.say("user", "go on")
    expected = "Current request: go on\nwhich goes on with: Fix the parser."
    assert starting(grown(talk.groups), "Current") == [expected]
    talk.say("user", "continue with the docs of the parser")
    assert starting(grown(talk.groups), "Current") == ["Current request: continue with the docs of the parser"]


def test_notices_of_machines_are_no_request():
    talk = Talk()
    talk.say("user", "Fix the parser.")
    talk.shell("make", "ok")
    talk.say("user", "[Request interrupted by user]")
    talk.say("user", "<task-notification>\n<task-id>b7</task-id>\n<status>completed</status>\n</task-notification>")
    assert starting(grown(talk.groups), "Current") == ["Current request: Fix the parser."]


def test_a_long_request_that_the_view_shows_is_not_repeated():
    talk = Talk()
    talk.say("user", "Fix the parser.\n" + "\n".join(f"- rule {number} of the grammar" for number in range(60)))
    talk.shell("make", "ok")
    talk.shell("make install", "ok")
    shown = starting(grown(talk.groups[1:2], kept=[talk.groups[0], talk.groups[2]]), "Current")
    pasted = "(pasted) 1,505 characters, “Fix the parser.”"
    assert shown == [f"Current request: {pasted} (all of it is in message 0, which is shown)"]
    assert "rule 3 of the grammar" in starting(grown(talk.groups), "Current")[0]


def test_points_of_a_request_without_a_change_are_named():
    talk = Talk()
    talk.say("user", "Build it:\n1. Move the lexer to `lexer.py`\n2. Mark `types.py` as old\n3. Tell the team")
    talk.edit("/srv/shop/lexer.py", "x", "y")
    talk.say("assistant", "All is done.")
    points = starting(grown(talk.groups), "Points of the request")
    assert points == ["Points of the request without a change of the files they name: Mark `types.py` as old"]
    talk.say("user", "Thanks. Why is it slow?")
    assert starting(grown(talk.groups), "Points of the request") == []


def test_a_list_that_the_work_does_not_follow_is_no_plan():
    talk = Talk()
    talk.say("user", "These fail:\n- test_a.py is slow\n- test_b.py is slow\nFind out why.")
    talk.edit("/srv/shop/lexer.py", "x", "y")
    assert starting(grown(talk.groups), "Points") == []


def test_a_step_whose_change_was_taken_back_is_not_done():
    talk = Talk()
    talk.say("user", "Plan it.")
    talk.call("ExitPlanMode", {"plan": "1. Split `lexer.py`\n2. Split `parser.py`"}, "User has approved your plan.")
    talk.edit("/srv/shop/lexer.py", "x", "y")
    talk.edit("/srv/shop/parser.py", "x", "y")
    assert starting(grown(talk.groups), "Steps") == []
    talk.shell("git checkout -- /srv/shop/parser.py")
    assert starting(grown(talk.groups), "Steps")[0].endswith(": Split `parser.py`")


def test_facts_of_the_tail_are_in_the_state():
    """The state is as of the compaction, also about messages that the view shows."""
    talk = Talk()
    talk.say("user", "Fix it.")
    talk.edit("/srv/shop/one.py", "x", "y")
    talk.shell("pytest tests", "===== 1 failed, 3 passed in 0.31s =====")
    todos = [{"content": "the docs", "status": "in_progress"}]
    talk.call("TodoWrite", {"todos": todos}, "ok")
    folded = len(talk.groups)
    talk.shell("git checkout -- /srv/shop/one.py")
    talk.shell("pytest", "===== 4 passed in 0.31s =====")
    talk.call("TodoWrite", {"todos": [{"content": "the docs", "status": "completed"}]}, "ok")
    digest = grown(talk.groups[:folded], kept=talk.groups[folded:])
    assert state_of(digest) == [
        "Current request: Fix it.",
        "To-do list: 1 of 1 done; nothing is open",
        "Check `pytest` -> 4 passed in 0.31s",
    ]
    assert "; newer messages below override it:" in text_of(digest)
