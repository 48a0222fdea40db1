"""Drivers of operations: call what the core asks for, wait or await, and emit events.

The work around an operation (lock, events, failing listeners) is one generator too, so the two drivers differ only in
how they wait. Events are collected while the lock is held, which keeps them in order, and emitted after its release, so
that a handler may use the session.
"""

import inspect
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from backscroll import events
from backscroll.manager.assembly import SessionRuntime
from backscroll.manager.lock import Forks, forked, running_loop
from backscroll.manager.threads import in_thread
from backscroll.notices import warn
from backscroll.ports import AcquireLock, Ask, Notification, Operation
from backscroll.session.past import newest_request

T = TypeVar("T")
_REQUESTS = ("request", "request_with_indexes")
_VALUES = frozenset((type(None), int, float, str, tuple, list, dict))


async def run_async(opened: SessionRuntime, operation: Operation[T]) -> T:
    """Run an operation on the running event loop."""
    if opened.telemetry is None:
        return await _driven_async(opened, operation)
    with opened.telemetry.operation(_name(operation)):
        return await _driven_async(opened, operation)


def run_sync(opened: SessionRuntime, operation: Operation[T]) -> T:
    """Run an operation in the calling thread; awaitables run in an event loop of their own."""
    if opened.telemetry is None:
        return _driven(opened, operation)
    with opened.telemetry.operation(_name(operation)):
        return _driven(opened, operation)


async def run_async_each(opened: SessionRuntime, steps: Generator[Operation[Any], Any, T]) -> T:
    """Run operations in order, each with its own hold of the lock, and send each result or error back."""
    try:
        operation = next(steps)
        while True:
            try:
                answer = await run_async(opened, operation)
            except Exception as error:
                operation = steps.throw(error)
            else:
                operation = steps.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        steps.close()


def run_sync_each(opened: SessionRuntime, steps: Generator[Operation[Any], Any, T]) -> T:
    """Run operations in order in the calling thread, as `run_async_each` does."""
    try:
        operation = next(steps)
        while True:
            try:
                answer = run_sync(opened, operation)
            except Exception as error:
                operation = steps.throw(error)
            else:
                operation = steps.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        steps.close()


def _name(operation: Any) -> str:
    """Return the name of a generator's function."""
    return str(operation.__name__).strip("_")


async def _driven_async(opened: SessionRuntime, operation: Operation[T]) -> T:
    steps, answer = _steps(opened, operation), None
    try:
        while True:
            question = steps.send(answer)
            if isinstance(question, AcquireLock):
                await opened.turnstile.acquire_async()
                answer = None
            else:
                answer = await _answer_async(question)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        steps.close()


def _driven(opened: SessionRuntime, operation: Operation[T]) -> T:
    steps, answer = _steps(opened, operation), None
    try:
        while True:
            question = steps.send(answer)
            if isinstance(question, AcquireLock):
                opened.turnstile.acquire()
                answer = None
            else:
                answer = _answer(question)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        steps.close()


def run_unlocked(operation: Operation[T]) -> T:
    """Run an operation in the calling thread, for callers that hold the lock or need none. Reports stay queued."""
    answer = None
    try:
        while True:
            question = operation.send(answer)
            assert isinstance(question, Ask)
            answer = _answer(question)
            if isinstance(answer, Exception) and not question.tolerant:
                raise answer
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        operation.close()


async def run_unlocked_async(operation: Operation[T]) -> T:
    """Run an operation on the running event loop, as `run_unlocked` does."""
    answer = None
    try:
        while True:
            question = operation.send(answer)
            assert isinstance(question, Ask)
            answer = await _answer_async(question)
            if isinstance(answer, Exception) and not question.tolerant:
                raise answer
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        operation.close()


def _steps(opened: SessionRuntime, operation: Operation[T]) -> Operation[T]:
    """Run the operation under the lock, then emit its reports. An `Ask` is answered by its value or its exception."""
    if opened.turnstile.forks != Forks.number:  # before anything waits for a thread that this process lacks
        raise forked(opened.turnstile.process)
    held = cancelled = False
    answer: Any = None
    failure: Exception | None = None
    result: Any = None
    reports: list[Notification] = []
    try:
        while failure is None:
            question = operation.send(answer)
            answer = yield question
            held = held or isinstance(question, AcquireLock)
            if isinstance(question, Ask) and isinstance(answer, Exception) and not question.tolerant:
                failure = answer
    except StopIteration as stop:
        result = stop.value
    except Exception as error:
        failure = error
    except GeneratorExit:
        cancelled = True  # what was done is reported behind the next operation
        raise
    finally:
        if held:
            pending = opened.session.pending_notifications
            reports = [pending.popleft() for _ in range(len(pending))] if pending and not cancelled else []
            opened.turnstile.release()
    for name, payload in reports:
        yield from _emit(opened, name, payload)
    if opened.telemetry is not None and _name(operation) in _REQUESTS and (newest := newest_request(opened.session)):
        opened.telemetry.shown(*newest)
    if failure is not None:
        raise failure
    done: T = result
    return done


def _emit(opened: SessionRuntime, name: str, payload: dict[str, Any]) -> Operation[None]:
    """Emit one event. A failing listener must neither fail the conversation nor go unnoticed."""
    if opened.telemetry is not None:
        opened.telemetry.heard(name, payload)
    if name in events.WARNINGS and name != events.TOKENIZER_FALLBACK:  # the tokenizer has warned already
        warn(events.sentence(name, payload))
    if opened.on_event is not None:
        answer = yield Ask(opened.on_event, (name, payload))
        if isinstance(answer, Exception):
            warn(f"`on_event` raised {answer!r} for the event {name}; the session continues: fix that function")


async def _answer_async(question: Ask) -> Any:
    try:
        if question.heavy:
            running_loop()
            answer = await _awaited(in_thread(question.function, question.arguments))
        else:
            answer = question.function(*question.arguments)
        if isinstance(answer, Future):
            return answer.result() if answer.done() else await _awaited(answer)
        return await answer if _is_awaitable(answer) else answer
    except Exception as error:
        return error


async def _awaited(work: Future[Any]) -> Any:
    import asyncio  # noqa: PLC0415  programs without an event loop never load it

    return await asyncio.wrap_future(work, loop=running_loop())


def _is_awaitable(answer: Any) -> bool:
    """Return whether to await an answer. Called at every step, so it checks common types first."""
    return type(answer) not in _VALUES and inspect.isawaitable(answer)


def _answer(question: Ask) -> Any:
    try:
        answer = question.function(*question.arguments)
        if isinstance(answer, Future):
            return answer.result()
        return _run(answer) if _is_awaitable(answer) else answer
    except Exception as error:
        return error


def _run(awaitable: Any) -> Any:
    """Run an awaitable in a thread of its own: the calling thread may have a running loop."""
    import asyncio  # noqa: PLC0415  likewise

    async def awaited() -> Any:
        return await awaitable

    with ThreadPoolExecutor(1) as helper:
        return helper.submit(asyncio.run, awaited()).result()
