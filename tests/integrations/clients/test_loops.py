"""Loops over the real clients: 60 requests at a small budget, against servers that refuse what the providers refuse."""

import asyncio
import json
from contextlib import ExitStack
from itertools import pairwise

import pytest

from backscroll import AsyncContextManager, ContextManager, events
from tests.integrations.clients.apis import each
from tests.integrations.clients.loops import Loop, scripted
from tests.integrations.clients.provider_server import serving

REQUESTS, BUDGET = 60, 6_000


@pytest.fixture
def serve():
    with ExitStack() as servers:
        yield lambda create: servers.enter_context(serving(create))


def opened(api, manager, heard, **more):
    options = {"budget": BUDGET, "model": api.model, "on_event": lambda name, _: heard.append(name)}
    return manager(**options | api.options | more)


def breaks(api, bodies):
    """How often a request did not begin with the whole one before it."""
    sent = [[json.dumps(unmarked(piece)) for piece in api.sent(body)] for body in bodies]
    return sum(one != other[: len(one)] for one, other in pairwise(sent))


def unmarked(value):
    """JSON without marks, which move from request to request."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items() if key != "cache_control"}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value


@each(at_length=("responses", "interactions"))  # whose clients take three times as long
@pytest.mark.parametrize(
    ("manager", "is_streamed"),
    [pytest.param(ContextManager, False, marks=pytest.mark.long, id="whole"), (AsyncContextManager, True)],
    ids=[None, "streamed-async"],
)
@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_loop_of_60_requests_is_never_refused(serve, api, manager, is_streamed):
    """Compactions, parallel calls, images and recalls; the two refusals that are planned are answered by shorter
    requests.
    """
    provider, heard = api.fake(replies=scripted()), []
    server = serve(provider.create)
    context = opened(api, manager, heard)
    loop = Loop(api, context, server.url, is_streamed=is_streamed)

    def size(at):
        return len(json.dumps(server.bodies[at]))

    async def work():
        await loop.run(REQUESTS // 2)
        while size(-1) < 0.8 * max(map(size, range(len(server.bodies)))):
            await loop.run(1)
        server.faults += [api.too_long, api.too_long]
        refused = len(server.bodies)
        await loop.run(REQUESTS - refused)
        return refused

    refused = asyncio.run(work())
    assert server.refusals == []
    assert len(server.bodies) == REQUESTS + 2
    assert size(refused) > size(refused + 1) > size(refused + 2)
    assert heard.count(events.COMPACTION) >= 5
    assert heard.count(events.USAGE_REJECTED) == 0
    assert len(loop.recalled) >= 3
    assert any("nothing of note" in text for text in loop.recalled)
    assert all("metadata" not in piece for body in server.bodies for piece in api.sent(body))
    moved = sum(name in events.MOVES_PREFIX for name in heard)
    assert breaks(api, server.bodies) <= moved
    read, prompt = (sum(tokens) for tokens in zip(*loop.cached, strict=True))
    assert read / prompt > api.least_read
