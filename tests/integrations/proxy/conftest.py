"""A proxy before a provider, for each test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integrations.proxy.recording import Recording, recording

pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests.integrations.proxy.harness import Running, proxied


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Ends what a test began."""
    with ExitStack() as found:
        yield found


@pytest.fixture
def provider(stack: ExitStack) -> Recording:
    """A provider that keeps what it gets."""
    return stack.enter_context(recording())


@pytest.fixture
def proxy_of(stack: ExitStack) -> Callable[..., Running]:
    """Begins a proxy before an address."""

    def begin(provider: str, **settings: Any) -> Running:
        return stack.enter_context(proxied(provider, **settings))

    return begin
