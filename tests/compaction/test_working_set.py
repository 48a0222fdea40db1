"""What the agent works by stays in view: skills, instructions, plans, marked messages and files, each in its newest."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ConfigurationError, Protection
from backscroll.evaluation.validity import problems
from tests.fakes import RecordingSession
from tests.long_run import usually
from tests.profiles import examples

STEPS = 40
SKILL = "# Deploying\n" + "\n".join(
    f"Step {n}: deploy stage {n}, then look for D{n:04d} in its log." for n in range(16)
)  # within a tenth of 8,000 tokens, not of 4,000
NAMES = ["parse_args", "run_job", "max_retries", "queue.put", "handler", "load_config"]


class Work:
    """A session with long tool work."""

    def __init__(self, signed=False, **options):
        self.session = RecordingSession(**{"tokenizer": "estimate", "budget": 8_000} | options)
        self.manager, self.chance, self.number, self.signed = self.session.manager, random.Random(5), 0, signed
        self.manager.append({"role": "user", "content": "Deploy the service, and mend what fails."})

    def does(self, name, arguments, result, **metadata):
        """One call and its result; with signed reasoning, the parts of the call cannot be rewritten."""
        self.number += 1
        call = {"type": "tool_use", "id": f"c{self.number}", "name": name, "input": arguments}
        thought = {"type": "thinking", "thinking": "What is next?", "signature": f"s{self.number}"}
        answer = {"type": "tool_result", "tool_use_id": f"c{self.number}", "content": result}
        self.manager.append({"role": "assistant", "content": [thought, call] if self.signed else [call]})
        self.manager.append({"role": "user", "content": [answer]} | ({"metadata": metadata} if metadata else {}))

    def reads(self, path, text=None):
        lines = (f"{n}: {self.chance.choice(NAMES)}({self.chance.randrange(9_999)})" for n in range(40))
        self.does("read", {"path": path}, text or "\n".join(lines))

    def views(self, steps=STEPS):
        """Work on, and yield each view."""
        for _ in range(steps):
            self.reads(f"src/{self.chance.choice('abcdefghij')}.py")
            view = self.manager.get_messages_for_request()
            assert problems(view, self.manager.get_messages()) == []
            yield shown(view)


def shown(view):
    return json.dumps(view)


def holds(view, text):
    return json.dumps(text)[1:-1] in view


@pytest.mark.parametrize("signed", usually([True, False], 1))
@pytest.mark.parametrize("budget", usually([8_000, 16_000, 32_000], 1))
@pytest.mark.parametrize("tool", ["load_skill", "Skill"])
def test_loaded_skill_stays_in_every_view(tool, budget, signed):
    work = Work(budget=budget, signed=signed, model="claude-opus-5-5" if signed else None)
    work.does(tool, {"name": "deploying"}, SKILL)
    assert all(holds(view, SKILL) for view in work.views(STEPS if budget == 8_000 else 60))
    if budget == 8_000:
        assert work.session.compactions > 2


@pytest.mark.parametrize("path", usually(["docs/CLAUDE.md", "AGENTS.md", ".claude/skills/deploying/SKILL.md"], 1))
def test_instruction_file_stays_in_every_view(path):
    work = Work()
    work.reads(path, SKILL)
    assert all(holds(view, SKILL) for view in work.views())


def test_skill_loaded_again_is_shown_once():
    work = Work()
    work.does("load_skill", {"name": "deploying"}, SKILL)
    list(work.views(20))
    work.does("load_skill", {"name": "deploying"}, SKILL.replace("D0", "E0"))
    views = list(work.views())[20:]
    assert not any("D0013" in view for view in views)
    assert all(holds(view, SKILL.replace("D0", "E0")) for view in views)


def test_newest_plan_stays_and_older_ones_leave():
    work = Work(mode="facts")
    for done in range(5):
        todos = [{"content": f"Ship part {n} of order {done}", "status": "pending"} for n in range(20)]
        work.does("TodoWrite", {"todos": todos}, "Todos have been modified.")
        list(work.views(5))
    views = list(work.views())
    assert all(f"Ship part {n} of order 4" in view for view in views for n in range(20))
    assert not any("Ship part 7 of order 3" in view for view in views[20:])


def test_a_handover_has_no_old_plan_or_file_in_front_of_it():
    """It says them itself: the open tasks in its state, and what the file defines."""
    work = Work()
    for _ in range(3):
        work.reads("src/core.py", "def settle(order):\n" + "    check(order)\n" * 20)
    work.does("TodoWrite", {"todos": [{"content": "Ship part 1", "status": "pending"}]}, "Todos have been modified.")
    view = list(work.views())[-1]
    front, handover = view[: view.index("<summary>")], view[view.index("<summary>") :]
    assert "Ship part 1" in handover
    assert "src/core.py" in handover
    assert "Ship part 1" not in front
    assert "settle" not in front


def test_marked_message_stays_until_one_of_its_name_follows():
    work = Work()
    words = " ".join(f"The customer wants K{n:03d} blue." for n in range(60))
    work.manager.append({"role": "assistant", "content": "Go on."})
    work.manager.append({"role": "user", "content": words, "metadata": {"shelf": "order"}})
    work.manager.append({"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Begin."})
    assert all("K031" in view for view in work.views())
    newer = words.replace("K0", "L0")
    work.manager.append({"role": "assistant", "content": "Done."})
    work.manager.append({"role": "user", "content": newer, "metadata": {"shelf": "order"}})
    work.manager.append({"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Begin."})
    views = list(work.views())
    assert all("L031" in view for view in views)
    assert states_of(work, newer) == ["whole"]
    assert states_of(work, words) != ["whole"]


def states_of(work, text):
    messages = work.manager.get_messages()
    return [each.state for each in work.manager.explain() if messages[each.seq].get("content") == text]


def test_marked_result_stays_too():
    work = Work()
    work.does("fetch", {"id": 7}, SKILL, shelf=True)
    assert all(holds(view, SKILL) for view in work.views())


def test_file_lately_read_stays_whole_at_a_compaction():
    work, source = Work(mode="facts", budget=16_000), "\n".join(f"value_{n} = compute({n * 37})" for n in range(30))
    work.reads("src/core.py", source)
    while not work.session.compactions:
        work.reads(f"log/{work.number}.txt")
        work.does("grep", {"path": "src/core.py", "pattern": "x"}, "no match")
        view = shown(work.manager.get_messages_for_request())
    assert holds(view, source)


def test_edited_file_is_shown_without_what_the_edit_removed():
    work = Work(mode="facts", budget=16_000)
    source = "\n".join(f"value_{n} = compute({n * 37})" for n in range(30))
    work.reads("src/core.py", source)
    edit = {"path": "src/core.py", "old_string": "value_12 = compute(444)", "new_string": "value_12 = compute(7)"}
    work.does("edit", edit, "The file was updated.")
    while not work.session.compactions:
        work.reads(f"log/{work.number}.txt")
        work.does("grep", {"path": "src/core.py", "pattern": "x"}, "no match")
        view = work.manager.get_messages_for_request()
    results = json.dumps([message for message in view if message["role"] == "user"])
    assert "value_11 = compute(407)" in results
    assert "value_13 = compute(481)" in results
    assert "value_12 = compute(444)" not in results


def test_written_file_counts_as_its_newest_version():
    work = Work(mode="facts", budget=16_000)
    old = "\n".join(f"value_{n} = compute({n * 37})" for n in range(30))
    work.reads("src/core.py", old)
    work.does("write", {"path": "src/core.py", "content": old.replace("compute", "reckon")}, "Written.")
    while not work.session.compactions:
        work.reads(f"log/{work.number}.txt")
        work.does("grep", {"path": "src/core.py", "pattern": "x"}, "no match")
        view = shown(work.manager.get_messages_for_request())
    assert "value_17 = reckon(629)" in view
    assert "value_17 = compute(629)" not in view


def test_working_set_of_zero_spares_nothing():
    work = Work(protect=Protection(working_set=0.0))
    work.does("load_skill", {"name": "deploying"}, SKILL)
    assert not all(holds(view, SKILL) for view in work.views())


def test_instructions_larger_than_the_set_are_cut():
    work = Work(budget=4_000)
    work.does("load_skill", {"name": "deploying"}, SKILL)
    *_, last = work.views()
    assert not holds(last, SKILL)


@pytest.mark.parametrize("share", [-0.1, 1.1, "much"])
def test_working_set_out_of_range_is_refused(share):
    with pytest.raises(ConfigurationError, match="working_set"):
        Protection(working_set=share)


ACTS = st.lists(
    st.tuples(st.sampled_from(["read", "edit", "write", "skill", "todo", "log"]), st.integers(0, 3), st.integers(0, 9)),
    min_size=20,
    max_size=120,
)


@settings(max_examples=examples(12), deadline=None)
@given(ACTS, st.sampled_from([4_000, 8_000, 16_000]))
def test_views_fit_and_hold_the_newest_small_objects(acts, budget):
    """Whatever is read, written and loaded: views are valid, fit, and show the newest skill and plan."""
    work = Work(budget=budget)
    newest = {}
    for number, (what, which, size) in enumerate(acts):
        path, text = f"src/{which}.py", "\n".join(f"n{number}_{line} = f({line})" for line in range(10 + size))
        match what:
            case "read":
                work.does("read", {"path": path}, text)
            case "edit":
                work.does("edit", {"path": path, "old_string": f"n{number}", "new_string": "m"}, "ok")
            case "write":
                work.does("write", {"path": path, "content": text}, "ok")
            case "skill":
                newest["skill"] = f"How to do it, number {number}. " * 12
                work.does("load_skill", {"name": "s"}, newest["skill"])
            case "todo":
                newest["todo"] = f"Part {number} of the plan"
                work.does("todo_write", {"items": [newest["todo"]]}, "ok")
            case _:
                work.reads(f"log/{number}")
        view = work.manager.get_messages_for_request()
        assert problems(view, work.manager.get_messages()) == []
        assert work.manager.usage().used_upper_bound <= budget
        assert all(holds(shown(view), text) for text in newest.values())
