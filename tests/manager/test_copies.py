"""Managers where they cannot go: copies, pickles, and the child of a fork, which gets an error and never waits."""

import asyncio
import copy
import os
import pickle
import signal
import threading
import time
from itertools import product

import pytest

from backscroll import AsyncContextManager, ConfigurationError, ContextManager
from tests.fakes import count_quarter
from tests.long_run import usual_sets

HELLO = {"role": "user", "content": "Hello!"}
LIMIT = 20  # seconds


@pytest.mark.parametrize("manager", [ContextManager, AsyncContextManager])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_of_a_manager_are_refused(manager, copied):
    with pytest.raises(ConfigurationError, match=r"cannot be copied or pickled: `fork\(\)` makes a session of its own"):
        copied(manager(tokenizer=count_quarter))


def outcome_in_child(use):
    """What a function raises in a forked child, as text; empty if it returns, and "hangs" if it takes too long."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            use()
            os.write(writer, b"")
        except BaseException as error:
            os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    end = time.monotonic() + LIMIT
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hangs"
        time.sleep(0.01)
    with os.fdopen(reader, "rb") as found:
        return found.read().decode()


def uses(manager):
    """What a program does with a manager, each as a function without arguments."""
    calls = [
        lambda: manager.append(HELLO),
        manager.get_messages_for_request,
        manager.get_messages,
        lambda: manager.recall(query="hello"),
        lambda: manager.compact(focus=None),
        manager.close if isinstance(manager, ContextManager) else manager.aclose,
    ]
    if isinstance(manager, ContextManager):
        return calls

    def running(call):
        async def run():
            await call()

        return lambda: asyncio.run(run())

    return [running(call) for call in calls]


MEMORY, SQLITE, JSONL = None, "sqlite:///{}/agent.db", "jsonl:///{}/sessions"
COPIES = list(product((ContextManager, AsyncContextManager), (MEMORY, SQLITE, JSONL), (False, True)))
FIRST_COPIES = [
    (ContextManager, MEMORY, True),
    (AsyncContextManager, SQLITE, True),
    (ContextManager, SQLITE, False),
    (AsyncContextManager, JSONL, False),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    ("kind", "store", "busy"), usual_sets([*FIRST_COPIES, *(each for each in COPIES if each not in FIRST_COPIES)], 4)
)
def test_manager_in_a_forked_child_raises_and_never_waits(tmp_path, kind, store, busy):
    """Also if a thread, which the child lacks, held the session's lock when it was forked. The parent goes on."""
    address = None if store is None else store.format(tmp_path)
    manager = kind(tokenizer=count_quarter, store=address)
    add = uses(manager)[0]
    add()
    done = threading.Event()
    holder = threading.Thread(target=lambda: (manager._opened.turnstile.acquire(), done.wait()))
    if busy:
        holder.start()
        while not manager._opened.turnstile.is_taken:
            time.sleep(0.001)
    for use in uses(manager):
        assert "belongs to process" in outcome_in_child(use)
    if busy:
        done.set()
        holder.join()
        manager._opened.turnstile.release()
    add()
    found = manager.get_messages()
    assert (asyncio.run(found) if asyncio.iscoroutine(found) else found) == [HELLO, HELLO]


def test_async_manager_without_asyncio_says_what_it_needs():
    """As under trio, which runs coroutines without a loop of asyncio."""
    step = AsyncContextManager(tokenizer=count_quarter).append(HELLO)
    with pytest.raises(ConfigurationError, match=r"needs an event loop of asyncio, .*: with trio, call a"):
        step.send(None)
