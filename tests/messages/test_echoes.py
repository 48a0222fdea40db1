"""What recall asked and answered: no hit of later searches, no line of a digest, and the first to be cleared."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager, Protection
from backscroll.messages import read_message
from backscroll.messages.echoes import Echoes, recalls
from tests.builders import DIALECTS, MessageFactory
from tests.views import in_a_row

Message = dict[str, Any]
QUERY = "wombat burrow"
ALL = pytest.mark.parametrize("dialect", DIALECTS)


def called(dialect: str, name: str, tool: str, arguments: dict[str, Any]) -> Message:
    """A call of this tool."""
    message = MessageFactory(dialect).call([name], "", arguments)
    renamed: Message = json.loads(json.dumps(message).replace('"run"', f'"{tool}"'))
    return renamed


def session_after(dialect: str, rounds: int = 50) -> tuple[ContextManager, MessageFactory]:
    """A session whose wombats are no longer in its view."""
    manager, talk = ContextManager(budget=4_000), MessageFactory(dialect)
    manager.append(talk.say("user", "Read everything."))
    for number in range(rounds):
        found = "\n".join(
            f"{number}.{line} wombat burrow, row {line}" if number < 3 else "-" * 60 for line in range(20)
        )
        manager.append(called(dialect, f"c{number}", "read", {"n": number}), *talk.results([(f"c{number}", found)]))
        manager.get_messages_for_request()
    return manager, talk


@ALL
@pytest.mark.parametrize(("way", "tool"), [("query", "recall"), ("pattern", "mcp__backscroll__search")])
def test_search_asked_ten_times_answers_ten_times_the_same(dialect, way, tool):
    """Neither the questions nor the answers of recall are among what it finds."""
    manager, talk = session_after(dialect)
    answers = []
    for number in range(10):
        asked: dict[str, Any] = {way: QUERY}
        answers.append(str(manager.recall(**asked)))
        name = f"recall-{number}"
        manager.append(called(dialect, name, tool, asked), *talk.results([(name, answers[-1])]))
        manager.get_messages_for_request()
    assert "wombat burrow, row 3" in answers[0]
    assert answers == answers[:1] * 10


@ALL
def test_digest_holds_no_line_of_what_was_recalled(dialect):
    """An answer of recall that leaves the view leaves only its reference."""
    manager, talk = session_after(dialect, 3)
    for number in range(4):
        name = f"recall-{number}"
        echo = "\n".join(f"echo {number}.{line} of src/wombat_{line}.py, error 77" for line in range(20))
        manager.append(called(dialect, name, "recall", {"query": f"what {number}"}), *talk.results([(name, echo)]))
    manager.append(talk.say("assistant", "All is read."))
    for number in range(60):
        read = called(dialect, f"d{number}", "read", {"path": f"src/wombat_{number}.py"})
        found = "\n".join(f"value_{number}_{line} = {line * number}" for line in range(60))
        manager.append(read, *talk.results([(f"d{number}", found)]), talk.say("assistant", f"Part {number}. " * 20))
        view = manager.get_messages_for_request()
    assert {found.state for found in manager.explain() if 7 <= found.seq < 15} == {"digested"}
    assert "echo " not in json.dumps(view)
    assert "what 3" not in json.dumps(view)
    assert "echo 2.7 of" in manager.recall(pattern="echo 2.7", ref="0-40")


@ALL
def test_recalled_results_are_cleared_first(dialect):
    """A compaction takes what recall brought back before it takes anything else."""
    manager, talk = (
        ContextManager(budget=6_000, protect=Protection(recent=0.0), clear_at_least_tokens=None),
        MessageFactory(dialect),
    )
    manager.append(talk.say("user", "Read everything."))
    for number in range(8):
        tool = "recall" if number == 5 else "read"
        found = "\n".join(f"{number}.{line} of the file, word for word" for line in range(60))
        manager.append(called(dialect, f"c{number}", tool, {"n": number}), *talk.results([(f"c{number}", found)]))
        manager.append(talk.say("assistant", f"I have read {number}."))
        if len(json.dumps(manager.get_messages_for_request())) < len(json.dumps(in_a_row(manager.get_messages()))):
            break
    states = {found.seq: found.reason for found in manager.explain() if found.state == "cleared"}
    echo = 2 + 3 * 5
    assert number >= 6, "the answer of recall was seen before the view was compacted"
    assert echo in states


names = st.sampled_from(["recall", "retrieve_offloaded_content", "read"])
steps = st.lists(st.one_of(st.tuples(st.sampled_from("abc"), names), st.sampled_from("abc")), max_size=20)


@given(st.sampled_from(DIALECTS), steps)
def test_echoes_are_recalls_and_the_results_of_the_newest_call(dialect, found):
    """Ids are used again: a result is an echo if the newest call of its id is one of recall."""
    echoes, newest = Echoes(), dict[str, str]()
    for step in found:
        if isinstance(step, tuple):
            name, tool = step
            newest[name] = tool
            reading = read_message(called(dialect, name, tool, {}))
            expected = tool != "read"
        else:
            reading = read_message(MessageFactory(dialect).results([(step, "found")])[0])
            expected = newest.get(step, "read") != "read"
        parts = [number for number, part in enumerate(reading.parts) if part.id is not None]
        assert echoes.of(reading) == (frozenset(parts) if expected else frozenset())


@pytest.mark.parametrize(
    ("tool", "is_ours"),
    [
        *[("recall", True), ("mcp__backscroll__search", True), ("mcp__backscroll__read", True)],
        *[("backscroll_search", True), ("plugin.backscroll/read", True), ("mcp__backscroll__sessions", False)],
        *[("read", False), ("search", False), ("mcp__files__read", False), ("notbackscroll_search", False)],
    ],
)
def test_tools_of_the_mcp_server_are_known_by_name(tool, is_ours):
    assert recalls(tool) == is_ours
