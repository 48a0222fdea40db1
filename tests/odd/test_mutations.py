"""Each rule of the healer is needed: without it, a walk over odd histories finds a fault.

A mutated copy of the package is walked in a process of its own. So nothing here is patched.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import backscroll

SOURCE = Path(backscroll.__file__).parent
TESTS = Path(__file__).resolve().parents[2]
WALK = """
import sys
from tests.odd.walk import Walk
for seed in range(60):
    for dialect in sys.argv[1:]:
        walk = Walk(dialect, seed)
        try:
            walk.run(20)
        except Exception as error:
            walk.faults.append(repr(error))
        if walk.faults:
            print(dialect, seed, walk.faults[0][:300])
            sys.exit(1)
"""
MUTATIONS = {
    "second_result": (
        "view/group_rendering.py",
        "_late(message, entry, group, notes) if heals",
        "leave_out(message, group.orphans[entry.seq]) if heals",
        "openai",
    ),
    "late_result": ("history/groups.py", "and went_on(passed, match[1], match[0]):", "and False:", "openai"),
    "late_on_lane": (
        "compaction/lane_state.py",
        "new = sorted({*plan.waited, *calls})[-MOST_OPEN:]",
        "new = list(plan.waited)",
        "openai",
    ),
    "words_where_typed": (
        "history/groups.py",
        "if reading.is_user_turn:  # words stay where they were typed",
        "if False:",
        "anthropic",
    ),
    "unknown_call": ("view/rendering.py", "    if not tool:\n", "    if not tool:\n        return '', ''\n", "openai"),
    "server_pair": (
        "messages/dialects/__init__.py",
        "return tuple(calls), tuple(results)",
        "return (), ()",
        "anthropic",
    ),
    "cut_arguments": (
        "messages/dialects/blocks.py",
        'return call if type(arguments) is str and is_object(arguments) else {**call, "arguments": "{}"}',
        "return call",
        "openai",
    ),
    "cut_input": (
        "messages/dialects/blocks.py",
        "return call if type(call.get(key)) is dict else {**call, key: {}}",
        "return call",
        "bedrock",
    ),
    "empty_text": (
        "messages/dialects/blocks.py",
        "return type(text) is str and (not text or text.isspace())",
        "return False",
        "anthropic",
    ),
    "empty_answer": ("messages/healing.py", '        if role != "user":\n            return None\n', "", "anthropic"),
    "lone_surrogate": ("messages/healing.py", "    if _has_lone(message):", "    if False:", "anthropic"),
    "reasoning_alone": (
        "messages/dialects/responses.py",
        'kind_of(left[-1]) == "reasoning"',
        'kind_of(left[-1]) == "none"',
        "responses",
    ),
    "open_call": ("view/group_rendering.py", "if group.open_calls else ():", "if False else ():", "openai"),
    "result_not_text": (
        "messages/dialects/blocks.py",
        'return {**holder, key: "" if value is None else compact(value)}',
        "return holder",
        "openai",
    ),
    "data_twice": (
        "messages/same_data.py",
        "    return text if found is value else compact(found)",
        "    return text",
        "openai",
    ),
    "roles_alternate": (
        "messages/dialects/bedrock.py",
        "return _detects(message) or _detects(other)",
        "return False",
        "bedrock",
    ),
}
"""By rule: the file, a line of it, what replaces that, and a dialect that has the rule."""


@pytest.mark.long
@pytest.mark.parametrize("rule", MUTATIONS)
def test_walk_finds_each_rule_of_the_healer_that_is_gone(rule: str, tmp_path: Path) -> None:
    file, old, new, dialect = MUTATIONS[rule]
    shutil.copytree(SOURCE, tmp_path / "backscroll", ignore=shutil.ignore_patterns("__pycache__"))
    mutated = tmp_path / "backscroll" / file
    source = mutated.read_text(encoding="utf-8")
    assert source.count(old) == 1, f"{file} no longer has this line: {old}"
    mutated.write_text(source.replace(old, new), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(TESTS)])}
    line = [sys.executable, "-W", "ignore", "-c", WALK, dialect]
    done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith(dialect), done.stderr
