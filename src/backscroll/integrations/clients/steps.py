"""What lets one generator serve callers with and without an event loop: it yields calls, and each driver makes them."""

import inspect
from collections.abc import Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[tuple[Callable[..., Any], tuple[Any, ...]], Any, T]
"""Yields a function with its arguments, gets what it returned or raised, and returns a result."""


def run(steps: Steps[T]) -> T:
    """Make the calls in the calling thread."""
    try:
        function, arguments = next(steps)
        while True:
            try:
                answer = function(*arguments)
            except BaseException as error:  # a cancelled request closes its stream, too
                function, arguments = steps.throw(error)
            else:
                function, arguments = steps.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result


async def run_async(steps: Steps[T]) -> T:
    """Make the calls on the running event loop, and await what they return."""
    try:
        function, arguments = next(steps)
        while True:
            try:
                answer = function(*arguments)
                answer = await answer if inspect.isawaitable(answer) else answer
            except BaseException as error:  # a cancelled request closes its stream, too
                function, arguments = steps.throw(error)
            else:
                function, arguments = steps.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result
