"""Any past state: histories and views as they were, rewinds, forks, and erasing it all."""

import asyncio
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backscroll
from backscroll import ContextManager
from backscroll.errors import ConfigurationError, ConflictError, ReferenceNotFoundError
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.fakes import FaultyStore, count_quarter
from tests.long_run import usually
from tests.present import present
from tests.profiles import examples

TALK = MessageFactory("openai")
OPTIONS: dict[str, Any] = {"tokenizer": count_quarter, "budget": 1_500, "clear_at_least_tokens": 150}


def rounds(manager, numbers, sent):
    """Works, and notes of each request behind which message it was sent, and what."""
    for number in numbers:
        pair = (
            TALK.call([f"c{number}"], "I look.", {"path": f"m{number}.py"}),
            *TALK.results([(f"c{number}", f"value_{number} = {number * 7919}\n" * 30)]),
        )
        for message in (*pair, TALK.say("assistant", f"Seen {number}."), TALK.say("user", f"And {number + 1}?")):
            last = manager.append(message)
            sent[last] = manager.get_messages_for_request()


@pytest.fixture(params=usually(["resumed", "memory", "store"], 2))
def past(request):
    """A session of many compactions, with what was sent, held in three ways."""
    store, sent = MemoryStore(), {}
    manager = (
        ContextManager(**OPTIONS) if request.param == "memory" else ContextManager(session="s", store=store, **OPTIONS)
    )
    manager.append(TALK.say("user", "Never touch m3.py."))
    rounds(manager, range(40), sent)
    if request.param == "resumed":
        manager.close()
        manager = ContextManager(session="s", store=store, **OPTIONS)
    return manager, sent


def test_every_view_that_was_ever_sent_can_be_seen_again(past):
    manager, sent = past
    assert manager.usage().compactions > 3 or manager.view() == sent[max(sent)]
    for last, view in list(sent.items())[::7]:
        assert manager.view(at=last) == view
    assert manager.view() == manager.get_messages_for_request() == sent[max(sent)]


def test_looking_at_the_past_changes_nothing(past):
    manager, sent = past
    manager.view(at=5)
    manager.history(at=5)
    assert manager.get_messages_for_request() == sent[max(sent)]
    assert len(manager.get_messages()) == 161


def test_history_at_a_message_ends_with_it_even_after_a_rewind(past):
    """The history at a message ends with it also where it was left behind since."""
    manager, _ = past
    whole = manager.get_messages()
    manager.rewind(20)
    assert manager.get_messages() == whole[:21]
    manager.append(TALK.say("assistant", "another way"))
    assert manager.history() == manager.get_messages() == [*whole[:21], TALK.say("assistant", "another way")]
    assert manager.history(at=100) == whole[:101]
    assert manager.history(at=0) == whole[:1]
    assert manager.recall(100) == whole[100]["content"]


def test_requests_before_a_rewind_remain_visible(past):
    """What was sent before a rewind can be seen right after it."""
    manager, sent = past
    whole = manager.get_messages()
    manager.rewind(20)
    assert manager.history(at=160) == whole
    assert manager.view(at=160) == sent[160]


def test_rewind_to_the_start_is_a_new_talk_with_used_numbers(past):
    """A rewind to the very beginning is a new conversation with the old numbers used."""
    manager, _ = past
    manager.rewind(-1)
    assert manager.get_messages() == []
    assert manager.append(TALK.say("user", "again")) == 161
    assert manager.get_messages_for_request() == [TALK.say("user", "again")]


def test_what_never_was_cannot_be_gone_back_to(past):
    manager, _ = past
    actions = (manager.rewind, lambda at: manager.history(at=at), lambda at: manager.view(at=at))
    for action, wrong in product(actions, [-2, 161, 10_000, "5", True, 3.0]):
        with pytest.raises(ReferenceNotFoundError, match=r"message .* (in this session|on the current branch)"):
            action(wrong)


def test_rewound_messages_can_be_seen_but_not_returned_to(past):
    """What a rewind left behind cannot be gone back to but seen."""
    manager, _ = past
    manager.rewind(20)
    with pytest.raises(ReferenceNotFoundError, match="not on the current branch"):
        manager.rewind(100)
    assert len(manager.history(at=100)) == 101


def test_newest_view_includes_an_unstored_system_prompt():
    """The newest view is shown with a system prompt that is yet to be stored."""
    manager = ContextManager(session="s", store=MemoryStore(), **OPTIONS)
    manager.append(TALK.say("user", "hello"))
    manager.set_system_prompt_factory(lambda: "Be brief.")
    assert manager.get_messages_for_request() == manager.view()
    assert manager.view()[0]["content"] == "Be brief."


def test_a_system_prompt_of_the_past_is_shown_as_it_was():
    manager = ContextManager(session="s", store=MemoryStore(), **OPTIONS)
    sent = {}
    for number in range(30):
        manager.set_system_prompt_factory(lambda day=number: f"It is day {day // 10}.")  # type: ignore[misc]  # mypy infers no lambda with defaults
        last = manager.append(TALK.say("user", f"{number} " * 100), TALK.say("assistant", "ok " * 50))
        sent[last] = manager.get_messages_for_request()
    for last, view in sent.items():
        assert manager.view(at=last) == view
    records = [each.record.kind for each in present(manager._opened.store).read("s")]
    assert records.count("prompt") == 3


# -- forks --


def test_fork_starts_from_the_same_view_and_diverges():
    """A fork goes on from the same view and both go their own way."""
    manager, sent = ContextManager(session="s", store=MemoryStore(), **OPTIONS), {}
    manager.append(TALK.say("user", "Begin."))
    rounds(manager, range(30), sent)
    fork = manager.fork("other")
    assert (fork.session_id, fork.get_messages_for_request()) == ("other", sent[max(sent)])
    assert fork.append(TALK.say("assistant", "Mine.")) == 121
    assert manager.append(TALK.say("assistant", "No, mine.")) == 121
    assert fork.get_messages()[:-1] == manager.get_messages()[:-1]
    assert (fork.recall(121), manager.recall(121)) == ("Mine.", "No, mine.")


def test_fork_of_the_past_starts_with_the_view_of_that_moment():
    """A fork of the past begins where it was made with the view of that moment."""
    manager, sent = ContextManager(session="s", store=MemoryStore(), **OPTIONS), {}
    manager.append(TALK.say("user", "Begin."))
    rounds(manager, range(30), sent)
    fork = manager.fork(at=48)
    assert fork.get_messages() == manager.get_messages()[:49]
    assert fork.get_messages_for_request() == sent[48]
    rounds(fork, range(100, 105), {})
    assert len(fork.fork(at=50).get_messages()) == 51


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=12), st.integers(0, 9), st.booleans())
@settings(max_examples=examples(60))
def test_fork_keeps_the_pins_that_a_rewind_keeps(pins, at, resumed):
    """A fork at a message and a rewind to it agree on what is pinned, also where it was pinned later."""
    store = MemoryStore()
    manager = ContextManager(session="s", store=store, **OPTIONS)
    for number in range(10):
        manager.append(TALK.say("user" if number % 2 else "assistant", f"{number} " * 200))
        if pins:
            seq, pinned = pins.pop()
            (manager.pin if pinned else manager.unpin)(min(seq, number))
    if resumed:
        manager.close()
        manager = ContextManager(session="s", store=store, **OPTIONS)
    for seq, pinned in pins:
        (manager.pin if pinned else manager.unpin)(seq)
    fork = manager.fork("t", at=at)
    manager.rewind(at)
    assert fork.get_messages() == manager.get_messages()
    reasons = [[each.reason == "pinned" for each in one.explain()] for one in (fork, manager)]
    assert reasons[0] == reasons[1]


def test_fork_keeps_a_pin_that_was_made_later():
    """The rule that was pinned after the fork's place stays pinned in the fork."""
    manager = ContextManager(session="s", store=MemoryStore(), **OPTIONS)
    for number in range(6):
        manager.append(TALK.say("user" if number % 2 else "assistant", f"{number}"))
    manager.pin(1)
    assert manager.fork("t", at=3).explain()[1].reason == "pinned"


def test_a_fork_of_nothing_is_a_new_session():
    fork = ContextManager(session="s", store=MemoryStore(), **OPTIONS).fork("t")
    assert fork.append(TALK.say("user", "hello")) == 0


def test_fork_needs_a_forking_store_and_a_free_name():
    """Forks need a store that can fork and a name that is free."""
    with pytest.raises(ConfigurationError, match="pass a `store`"):
        ContextManager(**OPTIONS).fork()
    with pytest.raises(ConfigurationError, match="cannot fork"):
        ContextManager(**{"session": "s", "store": FaultyStore(), **OPTIONS}).fork()
    manager = ContextManager(session="s", store=MemoryStore(), **OPTIONS)
    manager.append(TALK.say("user", "hello"))
    manager.fork("t")
    with pytest.raises(ConflictError, match="session 't' exists already"):
        manager.fork("t")
    with pytest.raises(ReferenceNotFoundError):
        manager.fork("u", at=7)


def test_the_async_manager_does_all_of_it_too():
    async def run():
        manager = backscroll.AsyncContextManager(session="s", store=MemoryStore(), **OPTIONS)
        await manager.append(TALK.say("user", "one"), TALK.say("assistant", "two"), TALK.say("user", "three"))
        fork = await manager.fork(at=1)
        await manager.rewind(0)
        assert [len(await each.history()) for each in (manager, fork)] == [1, 2]
        assert await manager.view(at=2) == await manager.history(at=2)
        with pytest.raises(ConflictError, match="forks"):
            await manager.delete()
        await manager.delete(cascade=True)
        return (
            await manager.get_messages()
            + await backscroll.AsyncContextManager(session="s", store=fork._opened.store).get_messages()
        )

    assert asyncio.run(run()) == []


# -- erasing --


@pytest.mark.parametrize("where", [{}, {"store": MemoryStore(), "session": "s"}])
def test_an_erased_session_is_new_again_and_knows_nothing(where):
    manager = ContextManager(**where, **OPTIONS)
    manager.append(TALK.say("user", "the word is xyzzy"), idempotency_key="a")
    manager.pin(0)
    manager.get_messages_for_request()
    assert manager.recall(query="xyzzy").hits
    manager.delete()
    assert manager.get_messages() == []
    assert manager.recall(query="xyzzy").hits == ()
    assert manager.append(TALK.say("user", "new"), idempotency_key="a") == 0
    assert manager.get_messages_for_request() == [TALK.say("user", "new")]
    assert manager.explain()[0].reason != "pinned"
