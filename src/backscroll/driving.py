"""Driving operations: answering what the core asks, awaiting or waiting, and emitting events. Decides nothing.

Both drivers do the same with the same generators. Events are taken while the lock is held, so that they are in order,
and emitted after it is released, so that a handler may use the session.
"""

import asyncio
import inspect
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from backscroll.opening import DEGRADED, Opened, warn
from backscroll.ports import Ask, Event, Exclusive, Operation

T = TypeVar("T")


async def drive_async(opened: Opened, operation: Operation[T]) -> T:
    """Runs an operation on the present event loop."""
    held = False
    answer: Any = None
    try:
        while True:
            question = operation.send(answer)
            if isinstance(question, Exclusive):
                await opened.turnstile.acquire_async()
                held, answer = True, None
            else:
                answer = await _answer_async(question)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        if held:
            reports = _take(opened)
            opened.turnstile.release()
            for report in reports:
                await _emit_async(opened, report)


def drive(opened: Opened, operation: Operation[T]) -> T:
    """Runs an operation in the calling thread; awaitables run in an event loop of their own."""
    held = False
    answer: Any = None
    try:
        while True:
            question = operation.send(answer)
            if isinstance(question, Exclusive):
                opened.turnstile.acquire()
                held, answer = True, None
            else:
                answer = _answer(question)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        if held:
            reports = _take(opened)
            opened.turnstile.release()
            for report in reports:
                _emit(opened, report)


async def _answer_async(question: Ask) -> Any:
    try:
        if question.heavy:
            return await asyncio.to_thread(question.function, *question.arguments)
        answer = question.function(*question.arguments)
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:
        if question.tolerant:
            return error
        raise


def _answer(question: Ask) -> Any:
    try:
        answer = question.function(*question.arguments)
        return _run(answer) if inspect.isawaitable(answer) else answer
    except Exception as error:
        if question.tolerant:
            return error
        raise


def _run(answer: Any) -> Any:
    """Runs an awaitable for a caller that cannot await: in a thread of its own, as this one may have a running loop."""
    with ThreadPoolExecutor(1) as helper:
        return helper.submit(asyncio.run, _awaited(answer)).result()


async def _awaited(answer: Any) -> Any:
    return await answer


def _take(opened: Opened) -> list[Event]:
    outbox = opened.session.outbox
    return [outbox.popleft() for _ in range(len(outbox))]


async def _emit_async(opened: Opened, report: Event) -> None:
    name, payload = report
    if name in DEGRADED:
        warn(name, payload)
    if opened.on_event is None:
        return
    try:
        answer = opened.on_event(name, payload)
        if inspect.isawaitable(answer):
            await answer
    except Exception as error:
        _failed(name, error)


def _emit(opened: Opened, report: Event) -> None:
    name, payload = report
    if name in DEGRADED:
        warn(name, payload)
    if opened.on_event is None:
        return
    try:
        answer = opened.on_event(name, payload)
        if inspect.isawaitable(answer):
            _run(answer)
    except Exception as error:
        _failed(name, error)


def _failed(name: str, error: Exception) -> None:
    """A listener's fault must not fail the conversation, nor go unnoticed."""
    warnings.warn(f"on_event raised {error!r} for {name}", RuntimeWarning, stacklevel=3)
