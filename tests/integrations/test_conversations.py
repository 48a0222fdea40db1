"""Conversations by key: as many as are in use, and the newest of the rest."""

import asyncio
import gc
import threading

import pytest

from backscroll import BackscrollWarning, ConfigurationError, StoreUnavailableError
from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.conversations import Conversations
from tests.fakes import FaultyStore, count_quarter
from tests.integrations.notes import Note, NoteTranslation, rounds

CALL = ModelCall(budget=50_000)


def table(most=4, **options):
    return Conversations(
        lambda given: Conversation(NoteTranslation(), {"tokenizer": count_quarter, **given}), options, most=most
    )


def test_each_key_has_its_own_conversation():
    found = table()
    one, two = [Note("user", "one")], [Note("user", "two")]
    assert found.get("a").view_now(one, CALL) == one
    assert found.get("b").view_now(two, CALL) == two
    assert found.get("a") is found.get("a") is not found.get("b")
    assert found.known("c") is None
    assert found.unnamed() is not found.unnamed()


def test_the_one_that_was_not_used_for_longest_is_closed():
    found = table(most=2)
    first = found.get("a")
    found.get("b")
    assert found.get("a") is first
    found.get("c")
    assert found.known("b") is None
    assert found.known("a") is first
    assert len(found) == 2


def test_a_conversation_in_use_stays():
    found = table(most=1)
    with found.use("a") as first, found.use("b"):
        assert found.get("c") is not first
        assert found.known("a") is first
    found.get("d")
    assert len(found) == 1


def test_a_closed_conversation_goes_on_from_the_store(tmp_path):
    found = table(most=1, store=f"sqlite:///{tmp_path}/agent.db", session="support")
    history = [Note("user", "begin"), *rounds(2)]
    first = found.get("a")
    first.view_now(history, CALL)
    found.get("b")
    again = found.get("a")
    assert again is not first
    assert again.session_id == "support/a"
    history += rounds(1, begin=2)
    assert again.view_now(history, CALL) == history
    found.close()
    assert len(found) == 0


def test_a_stored_session_has_one_live_conversation(tmp_path):
    store = f"sqlite:///{tmp_path}/agent.db"
    one, other = table(store=store), table(store=store)
    held = one.get("a")
    with pytest.raises(ConfigurationError, match="the session 'a' belongs to another agent"):
        other.get("a")
    other.get("b")
    one.close()
    assert other.get("a") is not held


def test_wrong_options_fail_at_construction():
    with pytest.raises(ConfigurationError, match="max_conversations"):
        table(most=0)
    with pytest.raises(ConfigurationError, match="budgte"):
        table(budgte=3)
    with pytest.raises(ConfigurationError, match="unknown scheme"):
        table(store="redis://nowhere")
    with pytest.warns(BackscrollWarning, match="`session` is 'one'"):
        table(session="one")


def test_threads_get_one_conversation():
    found, got = table(), []
    threads = [threading.Thread(target=lambda: got.append(found.get("a"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, got))) == 1


def test_a_store_that_fails_for_one_does_not_fail_another():
    store = FaultyStore()
    found = table(most=1, store=store)
    found.get("a").view_now([Note("user", "one")], CALL)
    store.fails = [StoreUnavailableError("full")] * 4
    with pytest.warns(BackscrollWarning, match="'a' was closed without"), found.use("b") as other:
        assert other.calls == 1
    store.fails = []
    found.get("c")
    assert len(found) == 1


def test_closing_goes_on_where_one_fails():
    store = FaultyStore()
    found = table(store=store)
    for key in "ab":
        found.get(key).view_now([Note("user", key)], CALL)
    store.fails = [StoreUnavailableError("full")]
    with pytest.raises(StoreUnavailableError):
        found.close()
    assert store.fails == []
    assert store.appends == 4


def test_an_operation_under_way_is_not_waited_for(tmp_path):
    async def run():
        found = table(most=1, store=f"sqlite:///{tmp_path}/agent.db")
        held = found.get("a")
        searching = asyncio.ensure_future(held.recall(query="result"))
        while not held.is_in_use:
            await asyncio.sleep(0)
        found.get("b")
        assert found.known("a") is held
        await searching
        found.get("c")
        assert found.known("a") is None

    asyncio.run(run())


def test_a_dropped_table_keeps_no_session(tmp_path):
    store = f"sqlite:///{tmp_path}/agent.db"
    gc.disable()
    try:
        table(store=store).get("a").view_now([Note("user", "one")], CALL)
        table(store=store).get("a")
    finally:
        gc.enable()
