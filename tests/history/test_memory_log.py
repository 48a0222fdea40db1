"""The log of a session without a store: what no view shows is packed, and reads as it happened."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings

from backscroll import ContextManager
from backscroll.history.log import PlanRecorded
from backscroll.history.packing import PlanEvent, pack_plans, unpack_plans, visible
from backscroll.history.plan import Digest, DigestContent, DigestLine, Plan
from tests.builders import ASK, BUDGETS, MessageFactory, conversations
from tests.fakes import RecordingSession, count_quarter
from tests.present import present

TALK = MessageFactory("openai")
BUDGET = 4_000


def worked(rounds: int) -> ContextManager:
    """A session of results of about 500 characters, with a view after each."""
    manager = ContextManager(budget=BUDGET, tokenizer=count_quarter)
    manager.append(TALK.say("user", "Read the files."))
    for number in range(rounds):
        manager.append(TALK.call([f"c{number}"], f"{number}", {}))
        manager.append(*TALK.results([(f"c{number}", f"line {number} of the file\n" * 25)]))
        manager.get_messages_for_request()
    return manager


def test_a_session_without_a_store_holds_its_views_alone():
    held = {rounds: len(worked(rounds)._session.history._held) for rounds in (200, 600)}
    assert held[200] < 100
    assert held[600] < 1.2 * held[200]


def test_old_events_take_less_than_their_text():
    manager = worked(600)
    log = present(manager._session.events)
    assert len(log._recent) < 400
    packed = sum(len(chunk.messages) + len(chunk.others) for chunk in log._chunks)
    assert packed < 0.5 * sum(len(str(message["content"])) for message in manager.get_messages())


def test_what_was_packed_is_returned_whole():
    manager = worked(300)
    messages = manager.get_messages()
    assert [message["content"] for message in messages[2::2]] == [
        f"line {number} of the file\n" * 25 for number in range(300)
    ]
    assert "line 3 of the file" in str(manager.recall("8"))
    manager.rewind(10)
    assert manager.get_messages() == messages[:11]
    assert "line 4 of the file" in str(manager.get_messages_for_request())


def comparable(event: Any) -> Any:
    """An event as it is read later: of an old plan only what views need."""
    return (event.lane, visible(event.plan)) if isinstance(event, PlanEvent) else event


@settings(deadline=None)
@given(conversations(most=40), BUDGETS, ASK)
def test_packed_events_read_as_they_happened(messages, budget, ask):
    happened: list[Any] = []
    watched = RecordingSession(clear_at_least_tokens=200)
    log: Any = watched.manager._session.events
    log.together, keep = 2, log.append
    log.append = lambda event: (happened.append(event), keep(event))  # type: ignore[func-returns-value]  # noted, and then handed on
    for number, message in enumerate(messages):
        watched.manager.append(message)
        if ask >> (number % 25) & 1:
            watched.view(budget)
    assert [comparable(event) for event in log] == [comparable(event) for event in happened]


def planned(at: int, notes: list[DigestLine]) -> tuple[int, PlanEvent]:
    content = DigestContent(tuple(notes), (("word", 0.5),), (), 9, begun=(0,))
    return at, PlanRecorded("main", Plan((Digest(0, at),), at, digest=content, last=at), (1, 2), 3, 4)


def test_packed_plans_write_each_shared_note_once():
    notes = [DigestLine(number, number, "turn", f"look({number})") for number in range(40)]
    events = [planned(at, notes[: at + 1]) for at in range(30)]
    found = unpack_plans(pack_plans(events))
    assert found == {at: replace(event, plan=visible(event.plan)) for at, event in events}
    assert len(pack_plans(events)) < 3 * len(pack_plans(events[-1:]))
