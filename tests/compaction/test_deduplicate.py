"""Results that a later result makes redundant, and old media: what becomes a stub and what is left alone."""

import json
import re
from typing import Any

import pytest

from backscroll import ConfigurationError, ContextManager, Protection
from backscroll.compaction.candidates import Window
from backscroll.compaction.strategies.deduplicate import DeduplicateStrategy
from backscroll.history.plan import PartEdit
from tests.builders import MessageFactory
from tests.fakes import RecordingSession, count_quarter

TALK = MessageFactory("openai")
PATH = "src/app/billing.py"


def lines(name: str, first: int = 0, last: int = 60) -> str:
    """Some lines of a file of that name."""
    return "".join(f"{name}: this is line {number} of it\n" for number in range(first, last))


class Session(RecordingSession):
    """A session in which tools are called; numbers of messages are those of its results."""

    def __init__(self, strategy: Any = "deduplicate", **options: Any) -> None:
        super().__init__(**{"strategies": [strategy], "protect": Protection(recent=0.0), **options})
        self.manager.append(TALK.say("user", "go"))
        self.calls = 0

    def call(self, tool: str, arguments: Any, result: str) -> int:
        """One call with its result; answers the number of the result."""
        self.ask(tool, arguments)
        return self.answer(self.calls, result)

    def ask(self, tool: str, arguments: Any) -> int:
        """A call alone; answers which one."""
        self.calls += 1
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        function = {"name": tool, "arguments": text}
        calls = [{"id": f"c{self.calls}", "type": "function", "function": function}]
        self.manager.append({"role": "assistant", "content": None, "tool_calls": calls})
        return self.calls

    def answer(self, call: int, result: str) -> int:
        """The result of a call alone."""
        return self.manager.append(*TALK.results([(f"c{call}", result)]))

    def masked(self, end: bool = True) -> dict[int, str]:
        """What a compaction masks, with the stubs. The budget asks for one and forces nobody out."""
        if end:
            self.manager.append(TALK.say("assistant", "I have seen it"), TALK.say("user", "well done"))
        self.manager.get_messages_for_request(token_budget=1_000_000)
        budget = int(self.manager.usage().used_upper_bound / 0.8)
        self.manager.get_messages_for_request(token_budget=budget)
        self.manager.compact()
        told = self.manager.explain()
        assert {found.state for found in told} <= {"whole", "healed", "cleared"}  # arguments without JSON are healed
        view = self.manager.get_messages_for_request(token_budget=budget)
        return {found.seq: view[found.seq]["content"] for found in told if found.state == "cleared"}


def test_earlier_of_equal_calls_is_a_stub_naming_the_later():
    """Of two equal calls the earlier is a stub that names the later."""
    session = Session()
    first = session.call("run", {"command": "make test", "limit": 5}, lines("before"))
    session.call("run", {"command": "make lint", "limit": 5}, lines("lint"))
    second = session.call("run", {"limit": 5, "command": "make test"}, lines("after"))
    masked = session.masked()
    assert masked.keys() == {first}
    assert session.manager.explain()[first].reason == "deduplicate"
    note = rf"\[tool result of \d+ tokens superseded by \[ref:{second}\], recall \[ref:{first}\.0\]\]"
    assert re.fullmatch(note, masked[first])
    assert session.manager.recall(f"{first}.0", limit=10_000) == lines("before")


def test_newest_of_many_equal_calls_stays_and_stubs_name_it():
    """Of many equal calls only the newest stays and every stub names it."""
    session = Session()
    seqs = [session.call("status", {}, lines(f"status {number}")) for number in range(5)]
    masked = session.masked()
    assert list(masked) == seqs[:-1]
    assert all(f"superseded by [ref:{seqs[-1]}]" in stub for stub in masked.values())


def test_equal_calls_without_json_arguments_are_recognised():
    """Equal calls are recognised where their arguments are no JSON."""
    session = Session()
    first = session.call("run", "ls -la", lines("before"))
    session.call("run", "ls -lb", lines("other"))
    session.call("run", "ls -la", lines("after"))
    assert session.masked().keys() == {first}


@pytest.mark.parametrize("key", ["path", "file_path", "filename", "target_file", "uri"])
def test_other_tool_on_the_same_path_replaces_contained_lines(key):
    """Two tools that read one path supersede where the later holds the lines of the earlier."""
    session = Session()
    part = session.call("view_lines", {key: PATH, "from": 10, "to": 40}, lines("billing", 10, 40))
    session.call("list_files", {key: "src"}, lines("listing"))
    whole = session.call("read_file", {"file_path": PATH}, lines("billing"))
    masked = session.masked()
    assert masked.keys() == {part}
    assert f"superseded by [ref:{whole}]" in masked[part]


def test_few_changed_lines_and_other_indents_count_as_equal():
    """A few changed lines and other indents still count as the same."""
    session = Session()
    first = session.call("read_file", {"path": PATH}, lines("billing").replace("billing: ", "  billing: "))
    changed = lines("billing").replace("line 7 ", "line seven ").replace("billing: ", "    billing: ")
    session.call("cat", {"path": PATH}, changed)
    assert session.masked().keys() == {first}


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("read_file", {"path": "src/app/orders.py"}, lines("billing")),
        ("read_file", {"path": PATH, "from": 30}, lines("billing", 30, 60)),
        ("write_file", {"path": PATH}, lines("billing", 20, 90)),
        ("write_file", {"path": PATH}, "done"),
        ("search", {"query": PATH}, lines("billing")),
        ("grep_file", {"path": [PATH]}, lines("billing")),
        ("stat", {"path": PATH}, lines("mode, owner and times")),
        ("cat", "src/app/billing.py", lines("billing")),
    ],
    ids=["other path", "half", "overlap", "written", "no path", "list of paths", "other content", "no json"],
)
def test_different_later_result_leaves_the_earlier_alone(tool, arguments, result):
    """A later result that does not stand for it leaves an earlier one alone."""
    session = Session()
    session.call("read_file", {"path": PATH}, lines("billing"))
    session.call(tool, arguments, result)
    assert session.masked() == {}


def test_share_and_size_of_equal_results_are_options():
    """How much has to be the same and from which size can be set."""
    for strategy, expected in ((DeduplicateStrategy(same=0.5), 1), (DeduplicateStrategy(same=0.5, over=5_000), 0)):
        session = Session(strategy)
        session.call("read_file", {"path": PATH}, lines("billing"))
        session.call("read_file", {"path": PATH, "from": 20}, lines("billing", 20, 90))
        assert len(session.masked()) == expected


def test_short_results_stay_for_a_stub_is_no_shorter():
    session = Session()
    session.call("run", {"command": "git status"}, "nothing to commit")
    session.call("run", {"command": "git status"}, "one file changed")
    session.call("run", {"command": "git diff"}, lines("diff"))
    assert session.masked() == {}


def test_results_that_the_model_has_not_seen_stay_until_it_has():
    session = Session()
    session.call("run", {"command": "make"}, lines("make"))
    asked = [session.ask("status", {}) for _ in range(3)]
    unseen = [session.answer(number, lines(f"status {number}")) for number in asked]
    assert session.masked(end=False) == {}
    assert session.masked().keys() == set(unseen[:-1])


def test_pinned_and_newest_results_stay():
    session = Session()
    pinned = session.call("status", {}, lines("status 1"))
    session.manager.pin(pinned)
    later = session.call("status", {}, lines("status 2"))
    session.call("status", {}, lines("status 3"))
    assert session.masked().keys() == {later}


def test_results_that_stand_nearest_to_the_end_stay():
    session = Session(protect=Protection(recent=0.9))
    far = session.call("status", {}, lines("status 1"))
    for number in range(8):
        session.call("run", {"command": f"step {number}"}, lines(f"step {number}"))
    near = session.call("status", {}, lines("status 2"))
    session.call("status", {}, lines("status 3"))
    assert session.masked().keys() == {far}
    assert near not in session.masked(end=False)


def test_replaced_result_does_not_replace_others():
    """A result that was superseded once does not supersede others."""
    session = Session()
    first = session.call("read_file", {"path": PATH}, lines("billing"))
    assert session.masked() == {}
    second = session.call("read_file", {"path": PATH}, lines("billing"))
    assert session.masked().keys() == {first}
    third = session.call("cat", {"path": PATH}, lines("billing"))
    masked = session.masked()
    assert masked.keys() == {first, second}
    assert f"superseded by [ref:{third}]" in masked[second]


def test_a_later_result_that_is_a_stub_itself_supersedes_nothing():
    class MaskThird:
        name = "third"

        def __call__(self, window: Window, tokens: int) -> list[PartEdit]:
            third = list(window.candidates("result"))[2]
            edit = window.mask(third, self.name)
            return [edit] if edit is not None else []

    session = Session(strategies=[MaskThird(), "deduplicate"])
    session.call("status", {}, lines("status 1"))
    for number in range(6):
        if number == 1:
            stub = session.call("status", {}, lines("status 2"))
        session.call("run", {"command": f"step {number}"}, lines(f"step {number}"))
    assert session.masked().keys() == {stub}


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "bedrock"])
def test_old_pictures_become_stubs_and_the_newest_stays(dialect):
    talk = MessageFactory(dialect)
    manager = ContextManager(tokenizer=count_quarter, strategies=["deduplicate"], protect=Protection(recent=0.0))
    manager.append(talk.say("user", "look at these"))
    for number in range(4):
        manager.append(talk.picture(f"picture {number}"), talk.say("assistant", f"seen {number}"))
    manager.get_messages_for_request(token_budget=1_000_000)
    budget = int(manager.usage().used_upper_bound / 0.8)
    manager.get_messages_for_request(token_budget=budget)
    manager.compact()
    states = {found.seq: (found.state, found.reason) for found in manager.explain()}
    view = manager.get_messages_for_request(token_budget=budget)
    for number, seq in enumerate((1, 3, 5)):
        assert states[seq] == ("cleared", "deduplicate")
        (shown,) = [str(message) for message in view if f"picture {number}" in str(message)]
        assert re.search(rf"\[image of [\d,]+ tokens left out, recall \[ref:{seq}\.1\]\]", shown)
    assert states[7][0] == "whole"
    assert view[-2:] == manager.get_messages()[-2:]


@pytest.mark.parametrize("options", [{"over": -1}, {"same": 0}, {"same": 0.0}, {"same": 1.01}, {"same": -0.5}])
def test_figures_that_can_never_work_are_refused(options):
    with pytest.raises(ConfigurationError, match="`over` must be at least 0"):
        DeduplicateStrategy(**options)
