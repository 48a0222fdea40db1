"""Sessions whose store was repaired: what was lost is told, and everything else goes on."""

import random

import pytest

from backscroll import ContextManager
from backscroll.evaluation.validity import problems
from backscroll.ports import LOST, Record
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.fakes import count_quarter
from tests.long_run import usually

TALK = MessageFactory("openai")
WHY = "this record was not as it was written when its database was repaired"


def opened(store):
    return ContextManager(session="s", store=store, tokenizer=count_quarter, budget=3_000, clear_at_least_tokens=150)


def work(manager, rounds):
    for number in rounds:
        manager.append(
            TALK.call([f"c{number}"], "I look.", {"path": f"m{number}.py"}), idempotency_key=f"call {number}"
        )
        manager.append(*TALK.results([(f"c{number}", f"value_{number} = {number * 7919}\n" * 40)]))
        if number % 9 == 8:
            manager.append(TALK.say("assistant", f"Done with {number}."), TALK.say("user", f"Go on after {number}."))
        manager.get_messages_for_request()


@pytest.fixture(scope="module")
def kept():
    """The records of a session of many compactions, with checkpoints, and its messages."""
    store = MemoryStore()
    manager = opened(store)
    manager.append(TALK.say("system", "Be brief."), TALK.say("user", "Never touch m3.py."))
    work(manager, range(60))
    manager.get_messages_for_request(token_budget=1_500, lane="small")
    manager.close()
    return [stored.record for stored in store.read("s")], manager.get_messages()


def repaired(records, places):
    """A store in which these records are lost."""
    store = MemoryStore()
    left = [Record(LOST, each.seq, WHY.encode(), 0) if at in places else each for at, each in enumerate(records)]
    store.append("s", 0, left).result()
    return store


def goes_on(records, messages, places):
    """Resumes, looks at everything, works, and resumes again."""
    lost = {records[at].seq for at in places} - {None}
    store = repaired(records, places)
    for begins in (60, 70):
        manager = opened(store)
        back = manager.get_messages()
        assert len(back) >= len(messages)
        for seq, (is_there, was_there) in enumerate(zip(back, messages, strict=False)):
            if seq in lost:
                assert is_there["content"] == f"[this message was lost: {WHY}]"
            else:
                assert is_there == was_there
        assert wrong(manager.get_messages_for_request(), back, lost) == []
        work(manager, range(begins, begins + 10))
        assert wrong(manager.get_messages_for_request(), manager.get_messages(), lost) == []
        assert manager.recall(query="value_9").hits
        manager.close()


def wrong(view, history, lost):
    """What is wrong with a view. Where the first user message is lost, the next one may have been folded before."""
    return [each for each in problems(view, history) if not (1 in lost and each.startswith("the first user message"))]


@pytest.mark.parametrize("most", usually([2, 5], 1))
@pytest.mark.parametrize("kind", usually(["message", "plan", "lane", "settled", "checkpoint", "id", "request"], 4))
def test_lost_record_is_reported_and_the_session_goes_on(kept, kind, most):
    """One lost record of any kind is reported and the session goes on."""
    records, messages = kept
    places = [at for at, each in enumerate(records) if each.kind == kind]
    assert places
    for at in random.Random(kind).sample(places, min(most, len(places))):
        try:
            goes_on(records, messages, {at})
        except Exception as error:
            error.add_note(f"record {at}, a {kind}, of {len(records)}")
            raise


def test_the_last_records_may_be_lost(kept):
    records, messages = kept
    for number in (1, 2, 5):
        goes_on(records, messages, set(range(len(records) - number, len(records))))


@pytest.mark.parametrize("share", [0.02, 0.2, 1.0])
def test_many_lost_records_leave_what_is_left(kept, share):
    records, messages = kept
    chance = random.Random(share)
    goes_on(records, messages, {at for at in range(len(records)) if chance.random() < share})
