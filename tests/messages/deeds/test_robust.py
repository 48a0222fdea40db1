"""Whatever a model calls and a tool returns: deeds are read, twice alike, within a bounded size and in linear time."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages.deeds import deeds_of, ended_runs, without_envelope
from backscroll.messages.deeds.arguments import arguments_of
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.patches import edits_in, replaced_in
from backscroll.messages.deeds.shell import steps_of
from tests.messages.deeds.calls import call_part, deeds, result_part

NAMES = st.sampled_from(
    ["Bash", "Edit", "Task", "ask_user", "write_stdin", "get_order", "zorb", "TaskUpdate", "git_commit", "", "__", "é"]
)
KEYS = st.sampled_from(
    [
        "command", "path", "content", "old_string", "new_string", "edits", "todos", "plan", "questions", "question",
        "options", "prompt", "description", "taskId", "status", "query", "code", "input", "diff", "url", "files",
        "session_id", "chars", "action", "method", "tool_name", "arguments",
    ]
)  # fmt: skip  # a list
PIECES = st.sampled_from(
    [
        "git commit -m 'a'", "&&", ";", "\n", "<<EOF\n", "EOF\n", "'", '"', "\\", "$(", ")", "> a.py", "| tee b",
        "cat ", "*** Begin Patch\n", "*** Update File: a\n", "+def a_b():\n", "Exit code 1\n",

        "<status>running</status>", "\x1b[0m", "[main 1a2b3c4] a\n", "FAILED a\n", "1 failed",
        "User rejected", "{", "}", "[", "\x00", "\ud800", "1: ", "xargs ",
    ]
)  # fmt: skip  # a list
TEXTS = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=12).map("".join))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(KEYS, TEXTS), inner, max_size=3)),
    max_leaves=8,
)
ARGUMENTS = st.one_of(
    TEXTS,
    st.dictionaries(st.one_of(KEYS, TEXTS), VALUES, max_size=5).map(json.dumps),
    st.dictionaries(KEYS, TEXTS, max_size=4).map(json.dumps).flatmap(lambda text: st.just(text[: len(text) * 2 // 3])),
)


@given(NAMES, ARGUMENTS, st.one_of(st.none(), TEXTS))
def test_any_call_has_deeds(name, arguments, result):
    call, answer = call_part(name, arguments), result_part(result)
    found = deeds_of(call, answer)
    assert found
    assert found == deeds_of(call, answer)
    assert ended_runs(call, answer) == ended_runs(call, answer)
    for each in found:
        assert isinstance(each, Deed)
        assert "\n" not in each.outcome or each.kind in ("asked", "refused")
        assert (len(each.outcome) <= 300, each.kind in ("asked", "refused")) != (False, False)
        assert max(len(each.what), len(each.path)) <= 1_000
        assert len(each.key) <= 200
        assert len(each.text) <= 40_010


@given(TEXTS)
def test_frame_takes_nothing_from_a_text_twice(text):
    body, _, _ = without_envelope(text)
    assert len(body) <= len(text)


@given(st.dictionaries(KEYS, TEXTS, min_size=1, max_size=4), st.integers(0, 200))
def test_members_before_the_cut_of_arguments_are_read(arguments, cut):
    text = json.dumps(arguments)[:cut]
    read = arguments_of(text)
    for key, value in read.items():
        assert key == "input" or arguments[key].startswith(value)


RUNS = [
    "a", "A", "1", " ", "\n", "\t", '"', "'", "\\", "(", ")", "<", "<<", "<<A\n", "|", "&", ";", "-", " -", "--x ",
    "A=1 ", ".", "/", "a.b ", "*", "[", "{", "#", "$(", "`", "x=$(", "xargs ", "do ", "time ", "sudo -x ", "git -C a ",
    "cat x.py ", "rm a.b ",
    "\x1b[", "\x1b]0;", "<system-reminder>", "1→", "Error: ", "FAILED a ", "1 failed ", "+++ b/a\n--- a/a\n",
    "export ", '"a": ', '{"a":', "[[", "(Open file: x)\n", '-m "\\"', "> a ", "\u2028", "_", "a_", "--x=-y ", "'a' ",
    "| head ", "-c '", "open(a, ", "UPDATE a ", "INSERT ",
]  # fmt: skip  # a list
SIZE = 30_000
MOST = 10  # seconds of processor time: linear code takes 0.2 to 2, a pattern that tries all ways to split minutes


@pytest.mark.parametrize("run", RUNS, ids=repr)
def test_long_runs_of_one_piece_take_linear_time(run):
    """Lengths are bounded, so that only a pattern that backtracks could take longer."""
    text = (run * SIZE)[:SIZE]
    began = time.process_time()
    for between in (
        f"a{text}b",
        f"(a{text}b)",
        f"git push {text}b",
        f"sh -c '{text}b'",
        f"SHOW a{text}b",
        f"sed -i {text}b",
    ):
        deeds("Bash", {"command": between}, f"a{text}b")
        deeds("zorb", {"query": between, "question": between, "options": ["a"]}, f"Answer: {text}b")
    deeds("Bash", {"command": text}, f"Exit code 1\n{text}")
    deeds("Bash", {"command": f"git commit {text}"}, text)
    deeds("Edit", {"file_path": text[:900], "old_string": text, "new_string": text}, text)
    deeds("zorb", f"{{{text}", text)
    deeds(text, {"query": text, "code": text}, text)
    steps_of(f"cat > a <<EOF\n{text}")
    edits_in(text)
    replaced_in(text)
    without_envelope(text)
    assert time.process_time() - began < MOST


def test_huge_arguments_and_results_are_bounded():
    huge = "def total(): return 0\n" * 200_000
    (edit,) = deeds("Write", {"file_path": "a.py", "content": huge}, huge)
    assert (edit.kind, edit.path) == ("edit", "a.py")
    assert len(edit.text) <= 40_010
    (look_up,) = deeds("Read", {"file_path": "a.py"}, huge)
    assert len(look_up.text) <= 40_010


def test_long_names_and_keys_are_bounded():
    long = "a" * 90_000
    for arguments in (
        {"path": long},
        {"taskId": long, "status": "done"},
        {"command": long},
        {"bash_id": long},
        {"a": long},
    ):
        for name in (long, "TaskUpdate", "BashOutput", "bash"):
            for result in (None, long, f"The user denied this operation. {long}"):
                for each in deeds(name, arguments, result):
                    assert max(len(each.what), len(each.path), len(each.key)) <= 1_000


def test_deep_arguments_are_read():
    assert deeds("zorb", "[" * 100_000, None)[0].kind == "run"
    assert deeds("zorb", '{"a":' * 100_000, None)[0].kind == "run"
    assert deeds("Bash", {"command": "X=$(" * 5_000}, None)
    assert deeds("Bash", {"command": "(" * 5_000 + "ls" + ")" * 5_000}, None)
    assert deeds("Bash", {"command": "xargs " * 5_000}, None)
