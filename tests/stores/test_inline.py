"""Who performs an append: the caller, if it is alone and that takes no time, or the thread that writes."""

import asyncio
import contextlib
import os
from concurrent.futures import as_completed, wait

import pytest

from backscroll import AsyncContextManager, ConflictError
from backscroll.ports import Record
from backscroll.stores.group_commit import Finished
from backscroll.stores.sqlite import SqliteStore
from tests.stores.programs import appended, record
from tests.stores.running import blocked, other

MANY = 40  # appends, more than an event loop performs in a row


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path / "a.db", "normal")
    appended(store, "a", MANY)
    yield store
    assert list(store.verify()) == []
    store.close()


def appends(store, session, number, body=b"{}"):
    """Append one by one, and await what is not done at once; how many were."""
    at_once = 0
    begin = store.length(session)

    async def run():
        nonlocal at_once
        for at in range(begin, begin + number):
            pending = store.append(session, at, [Record("k", None, body, 1)])
            at_once += type(pending) is Finished  # the thread may be done by now, too
            await asyncio.wrap_future(pending)

    asyncio.run(run())
    assert store.length(session) == begin + number
    return at_once


def test_lone_append_is_done_when_it_returns(store):
    pending = [store.append("a", at, [record("a", at)]) for at in range(MANY, 2 * MANY)]
    assert [each.done() for each in pending] == [True] * MANY
    assert {each.result() for each in pending} == {store.tip("a").incarnation}


def test_result_of_a_lone_append_is_a_future(store):
    def begun(at):
        return store.append("a", at, [record("a", at)])

    done, heard = begun(MANY), []
    done.add_done_callback(heard.append)
    assert heard == [done]
    assert (done.running(), done.cancel(), done.cancelled(), done.exception()) == (False, False, False, None)
    with blocked(store.path):
        late = begun(MANY + 1)
        assert wait([done, late], timeout=0).done == {done}
    assert set(as_completed([done, late])) == {done, late}
    failed = store.append("a", 0, [record("a", 0)])
    with pytest.raises(ConflictError):
        failed.result()


def test_event_loop_commits_itself_while_that_is_fast(store):
    assert appends(store, "a", 4 * MANY) > 0


def test_event_loop_gives_other_tasks_a_turn(store):
    turns, seen = 0, []

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def run():
        beside = asyncio.create_task(others())
        async with AsyncContextManager(store=store, session="b", tokenizer=len) as manager:
            for number in range(4 * MANY):
                await manager.append({"role": "user", "content": f"message {number}"})
                seen.append(turns)
        beside.cancel()

    asyncio.run(run())
    in_a_row = max(seen.count(turn) for turn in set(seen))
    assert 1 < in_a_row < MANY


def test_event_loop_leaves_large_appends_to_the_thread(store):
    assert appends(store, "a", MANY, bytes(100_000)) == 0


def test_event_loop_leaves_long_logs_to_the_thread(store):
    def written():
        return os.stat(store.path).st_mtime_ns

    async def run():
        seen = [(False, written())]
        for at in range(MANY, 5 * MANY):
            before = written()
            pending = store.append("a", at, [Record("k", None, bytes(50_000), 1)])
            at_once = type(pending) is Finished  # the thread may be done by now, too
            seen.append((at_once, written()))
            assert not at_once or seen[-1][1] == before, "an event loop does not copy the log to the file"
            await asyncio.wrap_future(pending)
        return seen

    seen = asyncio.run(run())
    assert any(at_once for at_once, _ in seen)
    assert len({time for _, time in seen}) > 1, "the thread does"


def test_sessions_of_one_event_loop_share_commits(store):
    names = [f"session {number}" for number in range(30)]

    async def run():
        pending = [store.append(name, 0, [record(name, 0)]) for name in names]
        await asyncio.gather(*map(asyncio.wrap_future, pending))

    before = commits(store)
    asyncio.run(run())
    assert commits(store) - before < len(names) / 2


def commits(store):
    with contextlib.closing(other(store.path)) as connection:
        return connection.execute("select next from log where name = ''").fetchone()[0]


def test_append_does_not_wait_for_another_process(store):
    async def run():
        with blocked(store.path):
            pending = store.append("a", MANY, [record("a", MANY)])
            await asyncio.sleep(0.05)
            assert not pending.done()
        await asyncio.wrap_future(pending)

    for _ in range(2):
        appends(store, "b", MANY)
    asyncio.run(run())
    assert store.length("a") == MANY + 1
    assert appends(store, "b", 10) == 0, "the next ones show first that the file is fast again"
