"""A cancelled append is in the living manager as in its store, or in neither, and stops nothing that follows."""

import asyncio
from collections import deque
from collections.abc import Awaitable
from concurrent.futures import Future
from functools import partial
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll import AsyncContextManager, ContextManager
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory, words
from tests.fakes import count_quarter
from tests.profiles import examples

TALK = MessageFactory("openai")
OPTIONS: dict[str, Any] = {"session": "s", "tokenizer": count_quarter, "budget": 3_000, "clear_at_least_tokens": 150}


class HeldStore(MemoryStore):
    """A store that writes when it is let, in order. What is cancelled before it has begun is never written."""

    def __init__(self) -> None:
        super().__init__()
        self._held: deque[tuple[Future[Any], partial[Any]]] = deque()

    def append(self, *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        self._held.append((done, partial(super().append, *arguments, **named)))
        return done

    def begin(self) -> None:
        """Take what is held so far: from here on it is written even if its caller is cancelled."""
        for done, _ in self._held:
            if not (done.running() or done.cancelled()):
                done.set_running_or_notify_cancel()

    def write(self) -> None:
        """Write what is held."""
        self.begin()
        while self._held:
            done, work = self._held.popleft()
            if done.cancelled():
                continue
            try:
                done.set_result(work().result())
            except Exception as error:
                done.set_exception(error)


async def settled(store: HeldStore, operation: Awaitable[Any]) -> Any:
    """The result of an operation, while the store writes."""
    task = asyncio.ensure_future(operation)
    while not task.done():
        store.write()
        await asyncio.sleep(0)
    return task.result()


CANCELLED = st.tuples(
    st.sampled_from(["append", "answer", "call", "round", "view", "pin", "rewind", "compact"]),
    st.integers(0, 6),  # turns of the event loop before it is cancelled
    st.sampled_from(["held", "begun", "written"]),
    st.booleans(),  # whether the store writes before the next operation
    st.booleans(),  # whether the next operation is cancelled as well
)


def operation(manager: AsyncContextManager, kind: str, number: int, last: int) -> Awaitable[Any]:
    if kind == "append":
        return manager.append(TALK.say("assistant", words(200, f"a{number}")), TALK.say("user", f"and {number}?"))
    if kind == "answer":
        return manager.append(TALK.say("assistant", f"a{number}"))
    if kind == "call":
        return manager.append(TALK.call([f"c{number}"], "", {}))
    if kind == "round":
        result = TALK.results([(f"c{number}", words(300, f"r{number}"))])
        return manager.append(TALK.call([f"c{number}"], "", {}), *result)
    if kind == "pin":
        return manager.pin(0)
    if kind == "rewind":
        return manager.rewind(last)
    return manager.get_messages_for_request() if kind == "view" else manager.compact()


async def scenario(steps: list[tuple[str, int, str, bool, bool]]) -> None:
    store = HeldStore()
    manager = AsyncContextManager(store=store, **OPTIONS)
    last = await settled(store, manager.append(TALK.say("user", "go")))
    for number, (kind, turns, state, written, again) in enumerate(steps):
        task = asyncio.ensure_future(operation(manager, kind, number, last))
        for _ in range(turns):
            await asyncio.sleep(0)
        if state != "held":
            store.begin()
        if state == "written":
            store.write()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None, task
        if written:
            store.write()
        if again:
            continue
        reply = TALK.say("assistant", f"reply {number}")
        last = await settled(store, manager.append(reply, TALK.say("user", f"next {number}")))
        living = await settled(store, manager.get_messages())
        assert living[-2] == reply
        with ContextManager(store=store_of(store), **OPTIONS) as reopened:
            assert reopened.get_messages() == living
        view = await settled(store, manager.get_messages_for_request(token_budget=1_000_000))
        assert [message for message in living if message not in view] == []


def store_of(store: HeldStore) -> MemoryStore:
    """A copy of what is stored, which writes at once."""
    found = MemoryStore()
    for each in store.read("s"):
        found.append("s", each.position, [each.record]).result()
    return found


@given(st.lists(CANCELLED, max_size=6))
@example([("append", 1, "held", False, True), ("answer", 1, "begun", False, False)])
@settings(max_examples=examples(100), deadline=None)
def test_a_cancelled_append_is_stored_and_known_or_neither(steps):
    asyncio.run(asyncio.wait_for(scenario(steps), 60))
