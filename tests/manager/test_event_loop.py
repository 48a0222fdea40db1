"""What leaves the event loop of an async caller, and what others may do meanwhile. Threads and calls, no clocks."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from backscroll import AsyncContextManager, BudgetError, ContextManager
from backscroll.compaction.sampling import READ
from backscroll.history.memory_log import _bodies
from backscroll.manager.driver import _steps
from backscroll.ports import AcquireLock, Ask, Operation
from backscroll.session.append import append
from backscroll.session.branching import replace
from backscroll.session.request import request
from backscroll.session.window_report import window_report
from tests.builders import ASKED, FETCH, lines_of
from tests.fakes import RecordingSession, count_quarter
from tests.present import present

PATIENCE = 60.0  # seconds after which a wait counts as a deadlock; far beyond what any of these needs


class Threads:
    """A strategy that does nothing, and notes where it was asked."""

    name = "threads"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, window: Any, tokens: int) -> list[Any]:
        self.asked.append(threading.get_ident())
        return []


def long_talk(rounds: int = 12) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go on"}]
    for number in range(rounds):
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [{**FETCH, "id": f"c{number}"}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} {'some words ' * 400}"},
        ]
    return messages


def test_compactions_run_outside_of_the_event_loop():
    async def run() -> None:
        seen = Threads()
        manager = AsyncContextManager(tokenizer=count_quarter, budget=10_000, strategies=[seen, "digest"])
        await manager.append(*long_talk())
        await manager.get_messages_for_request()
        asked = len(seen.asked)
        await manager.append({"role": "assistant", "content": "so " * 9_000}, {"role": "user", "content": "go on"})
        await manager.window_report()
        assert len(seen.asked) == asked + 1
        await manager.compact()
        assert len(seen.asked) == asked + 2
        assert threading.get_ident() not in seen.asked

    asyncio.run(run())


def test_a_caller_without_an_event_loop_compacts_in_place():
    seen = Threads()
    manager = ContextManager(tokenizer=count_quarter, budget=10_000, strategies=[seen, "digest"])
    manager.append(*long_talk())
    manager.get_messages_for_request()
    manager.window_report()
    assert set(seen.asked) == {threading.get_ident()}


def asked_of(operation: Operation[Any]) -> dict[str, bool]:
    """Runs an operation; which functions it asked for, and whether each was worth a thread."""
    found: dict[str, bool] = {}
    answer = None
    try:
        while True:
            question = operation.send(answer)
            if isinstance(question, AcquireLock):
                answer = None
                continue
            assert isinstance(question, Ask)
            name = getattr(getattr(question.function, "func", question.function), "__name__", "?")
            found[name] = found.get(name, False) or question.heavy
            answer = question.function(*question.arguments)
            answer = answer.result() if isinstance(answer, Future) else answer
    except StopIteration:
        return found


def test_what_is_done_with_large_texts_asks_for_a_thread():
    manager = ContextManager(tokenizer=count_quarter, budget=20_000)
    session, text = manager._session, lines_of(2 * READ)
    head = [{"role": "user", "content": "go"}, ASKED]
    result = {"role": "tool", "tool_call_id": "c1", "content": text}
    manager.append({"role": "user", "content": "the first count is always worth one"})
    assert asked_of(append(session, head)) == {"measure": False}
    assert asked_of(append(session, [result])) == {"measure": True}
    assert asked_of(request(session, None, None, "main"))["_fit"]
    assert asked_of(request(session, None, None, "main")).get("_fit") is None  # nothing was due
    many = 2 * present(manager._session.events).together  # of which one half leaves the view at least
    asked_of(append(session, [{"role": "assistant", "content": "so " * 400}] * many))
    asked_of(append(session, [{"role": "user", "content": "so " * 24_000}, {"role": "user", "content": "go on"}]))
    assert asked_of(request(session, None, None, "main"))["_bodies"]
    assert asked_of(manager._recall(query="line_7"))["add"]
    assert asked_of(manager._recall(query="line_8"))["_look"]
    assert asked_of(manager._recall(pattern="line_7"))["list"]
    assert asked_of(manager._recall(3, lines=(2, 3)))["_page"]
    assert asked_of(manager._recall(3, limit=100_000))["_page"]
    assert not asked_of(manager._recall(3))["_page"]
    assert asked_of(window_report(session, "main"))["_report"]
    assert asked_of(replace(session, [*head, result]))["measure"]


def test_many_short_texts_are_counted_and_stored_in_a_thread(tmp_path):
    calls = [{**FETCH, "id": f"c{number}"} for number in range(100)]
    results = [{"role": "tool", "tool_call_id": f"c{number}", "content": lines_of(1_000)} for number in range(100)]
    with ContextManager(tokenizer=count_quarter, store=f"sqlite:///{tmp_path}/a.db", session="one") as manager:
        session = manager._session
        manager.append({"role": "user", "content": "the first count is always worth one"})
        head = asked_of(append(session, [{"role": "assistant", "content": None, "tool_calls": calls}]))
        assert head == {"measure": False, "append": False}
        assert asked_of(append(session, results[:9])) == {"measure": False, "append": False}
        assert asked_of(append(session, results[9:])) == {"measure": True, "encode_all": True, "append": True}
        assert len(manager.get_messages_for_request()) == 102


def test_a_page_of_several_messages_joins_no_more_than_it_needs():
    manager = ContextManager(tokenizer=count_quarter)
    manager.append(*({"role": "user", "content": f"{number} {'word ' * 20_000}"} for number in range(20)))
    manager._begin_recalling()
    operation = manager._recall("0-19")
    question = operation.send(None)
    while not isinstance(question, Ask):
        question = operation.send(None)
    operation.close()
    assert len("".join(question.arguments[0])) == pytest.approx(100_030, abs=20)


# -- while something runs elsewhere --


class Held:
    """A strategy that waits until it may go on."""

    name = "held"

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, window: Any, tokens: int) -> list[Any]:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        return []


async def begun(held: Held) -> None:
    assert await asyncio.to_thread(held.begun.wait, PATIENCE)


def test_other_tasks_run_while_a_view_is_compacted():
    async def run() -> None:
        held = Held()
        manager = AsyncContextManager(tokenizer=count_quarter, budget=10_000, strategies=[held, "digest"])
        await manager.append(*long_talk())
        request = asyncio.ensure_future(manager.get_messages_for_request())
        await begun(held)
        assert manager.usage().compactions == 0
        manager.observe_usage(input_tokens=5)  # of no view: it is ignored, and said so behind the request
        held.go_on.set()
        assert len(await asyncio.wait_for(request, PATIENCE)) < 25
        with pytest.warns(match="was ignored"):
            await manager.append({"role": "user", "content": "next"})
        assert manager.usage().compactions == 1

    asyncio.run(run())


def test_a_request_given_up_in_a_compaction_changes_nothing():
    async def run() -> None:
        held = Held()
        manager = AsyncContextManager(tokenizer=count_quarter, budget=10_000, strategies=[held, "digest"])
        twin = AsyncContextManager(tokenizer=count_quarter, budget=10_000, strategies=[Threads(), "digest"])
        for each in (manager, twin):
            await each.append(*long_talk())
        request = asyncio.ensure_future(manager.get_messages_for_request())
        await begun(held)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        await asyncio.wait_for(manager.append({"role": "user", "content": "next"}), PATIENCE)  # the lock is free
        assert manager.usage().compactions == 0
        held.go_on.set()
        await twin.append({"role": "user", "content": "next"})
        assert await manager.get_messages_for_request() == await twin.get_messages_for_request()
        assert manager.usage().compactions == 1

    asyncio.run(run())


def test_a_compaction_given_up_while_it_packs_is_reported_later():
    recorded = RecordingSession(budget=10_000, strategies=["digest"])
    manager = recorded.manager
    manager.append(*long_talk(40))
    steps = _steps(manager._opened, request(manager._session, None, None, "main"))
    answer = None
    while not (isinstance(question := steps.send(answer), Ask) and question.function is _bodies):
        answer = None
        if isinstance(question, AcquireLock):
            manager._opened.turnstile.acquire()
        else:
            answer = question.function(*question.arguments)
    steps.close()
    assert recorded.compactions == 0
    manager.append({"role": "assistant", "content": "done"}, {"role": "user", "content": "next"})
    assert recorded.compactions == 1
    assert manager.get_messages()[-1] == {"role": "user", "content": "next"}
    assert len(manager.get_messages()) == 83


def test_threads_waiting_for_the_lock_do_not_hold_its_holder_up():
    """The event loop's own threads are few. Where all of them wait for a session's lock, its holder needs another."""

    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        manager = AsyncContextManager(tokenizer=count_quarter, budget=10_000)
        await manager.append(*long_talk())
        turnstile = manager._opened.turnstile
        turnstile.acquire()
        search = asyncio.ensure_future(manager.recall(query="words"))
        while not turnstile._waiting:
            await asyncio.sleep(0)

        def wait_too() -> None:
            turnstile.acquire()
            turnstile.release()

        waiter = asyncio.ensure_future(asyncio.to_thread(wait_too))
        while len(turnstile._waiting) < 2:
            await asyncio.sleep(0)
        turnstile.release()
        assert await asyncio.wait_for(search, PATIENCE)
        await waiter

    asyncio.run(run())


def test_what_fails_in_a_thread_fails_the_request():
    async def run() -> None:
        manager = AsyncContextManager(tokenizer=count_quarter, budget=1_000)
        await manager.append({"role": "user", "content": "x " * 4_000, "metadata": {"pinned": True}})
        with pytest.raises(BudgetError, match="pinned or critical"):
            await manager.get_messages_for_request()
        await manager.unpin(0)
        assert await manager.get_messages_for_request()

    asyncio.run(run())
