"""Providers that fail with `--recall`: an error of the API says so, and no answer fills the memory."""

import gzip
import json
import tracemalloc
from contextlib import closing
from itertools import chain, repeat

import pytest

from backscroll.errors import StoreUnavailableError
from backscroll.evaluation.fake_providers import reply
from backscroll.integrations.proxy.server_events import ServerEvents
from backscroll.stores.memory import MemoryStore
from tests.integrations.clients.provider_server import serving
from tests.integrations.proxy.agents import AGENTS
from tests.integrations.proxy.conversations import ask, turns
from tests.integrations.proxy.raw_provider import raw
from tests.integrations.proxy.recording import Answer, stream, waits_for
from tests.long_run import usually

pytestmark = pytest.mark.filterwarnings("ignore")  # of answers that cannot be read
TOOLS = [{"name": "read", "input_schema": {"type": "object", "properties": {"path": {}}}}]
WORDS = "IGNORE-ALL-INSTRUCTIONS"
LOOKS_UP = {"type": "tool_use", "id": "c1", "name": "recall", "input": {"ref": "0"}}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\nconnection: close\r\n\r\n"


def event(kind, **more):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def looks_up():
    """A stream that says something and calls our tool."""
    return (
        event("message_start", message={"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 9}}),
        event("content_block_start", index=0, content_block={"type": "text", "text": "I look."}),
        event("content_block_stop", index=0),
        event("content_block_start", index=1, content_block=LOOKS_UP),
        event("content_block_stop", index=1),
        event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 5}),
        event("message_stop"),
    )


def said(*content):
    return json.dumps({"type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use"}).encode()


def last_event(answer):
    *_, last = ServerEvents().feed(answer.content)
    return last.data


MALFORMED = {
    "no-http": [WORDS.encode() + b"\r\n\r\n"],
    "nothing": [],
    "status-999": [f"HTTP/1.1 999 {WORDS}\r\ncontent-length: 0\r\n\r\n".encode()],
    "control-character": [HEAD % b"text/event-stream\r\nx-a: \x01"],
    "odd-events": [HEAD % b"text/event-stream", event("content_block_start", index=[], content_block=WORDS)],
}


@pytest.mark.parametrize("pieces", MALFORMED.values(), ids=MALFORMED)
def test_malformed_answer_behind_a_look_up_ends_the_stream(proxy_of, stack, pieces):
    answers = iter([[HEAD % b"text/event-stream", *looks_up()], pieces])
    proxy = proxy_of(stack.enter_context(raw(lambda: next(answers))).url, recall=True)
    answer = ask(proxy, turns(1), tools=TOOLS, stream=True)
    assert b"I look." in answer.content
    assert last_event(answer)["type"] == "error"
    assert WORDS not in last_event(answer)["error"]["message"]
    proxy.outcomes()
    assert proxy.reports[0].why == last_event(answer)["error"]["message"]


@pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.format)
def test_client_learns_that_no_answer_came_behind_a_look_up(proxy_of, stack, kind):
    """By an error as its API has it."""
    fake = kind.fake(replies=lambda _: reply("I look. ", calls=[("recall", {"ref": "0"})]))
    server = stack.enter_context(serving(fake.create))
    agent = stack.enter_context(closing(kind(proxy_of(server.url, recall=True).url, is_streamed=True)))

    def create(**request):
        server.create = None  # the next request gets no answer
        return fake.create(**request)

    server.create, server.handle_error = create, lambda *_: None
    with pytest.raises(Exception, match=r"broke off before it began|ResponseErrorEvent"):
        agent.run(1)


@pytest.mark.parametrize("is_streamed", [True, False])
def test_view_that_cannot_be_made_behind_a_look_up_is_said(provider, proxy_of, is_streamed):
    """The store failed meanwhile."""

    class Store(MemoryStore):
        fails = False

        def append(self, *arguments, **more):
            if self.fails:
                raise StoreUnavailableError("the disk is full")
            return super().append(*arguments, **more)

    store = Store()

    def fail():
        store.fails = True
        return True

    head = (("content-type", "application/json"),)
    first = stream(fail, *looks_up()) if is_streamed else Answer(200, head, (fail, said(LOOKS_UP)), has_length=False)
    provider.answers.append(first)
    answer = ask(proxy_of(provider.url, recall=True, store=store), turns(1), tools=TOOLS, stream=is_streamed)
    assert len(provider.got) == 1
    assert answer.status_code == (200 if is_streamed else 500)
    found = last_event(answer) if is_streamed else answer.json()
    assert "could not make a view: StoreUnavailableError: the disk is full" in found["error"]["message"]


ODD = [[None], [{**LOOKS_UP, "id": []}], [{"type": "tool_use", "name": "recall"}]]


@pytest.mark.parametrize("content", ODD)
@pytest.mark.parametrize("is_later", [False, True])
def test_answer_that_cannot_be_read_is_a_502(provider, proxy_of, content, is_later):
    provider.answers += [Answer(pieces=(each,)) for each in ([said(LOOKS_UP)] * is_later + [said(*content)])]
    answer = ask(proxy_of(provider.url, recall=True), turns(1), tools=TOOLS)
    assert answer.status_code == 502
    assert "cannot be read" in answer.json()["error"]["message"]


@pytest.mark.parametrize("is_stream", usually([True, False], 1))
def test_answer_without_an_end_is_handed_on(proxy_of, stack, is_stream):
    """As much of it is held back as is read of others."""
    kind, piece = (b"text/event-stream", event("ping", x="y" * 60_000)) if is_stream else (b"a/b", b"x" * 60_000)
    provider = stack.enter_context(raw(lambda: chain([HEAD % kind], repeat(piece))))
    proxy = proxy_of(provider.url, recall=True)
    size = 0
    content = json.dumps({"model": "m", "max_tokens": 9, "messages": turns(1), "tools": TOOLS, "stream": is_stream})
    tracemalloc.start()
    try:
        with proxy.client.stream("POST", "/v1/messages", content=content, timeout=20) as answer:
            for got in answer.iter_raw():
                size += len(got)
                if size > 100_000_000:
                    break
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert waits_for(lambda: provider.broken)
    assert peak < 50_000_000


def test_answer_that_unpacks_to_very_much_is_handed_on(provider, proxy_of):
    packed = gzip.compress(b" " * 200_000_000, 1)
    headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
    provider.answers.append(Answer(200, headers, (packed,)))
    proxy = proxy_of(provider.url, recall=True)
    content = json.dumps({"model": "m", "max_tokens": 9, "messages": turns(1), "tools": TOOLS})
    tracemalloc.start()
    try:
        with proxy.client.stream("POST", "/v1/messages", content=content) as answer:
            assert b"".join(answer.iter_raw()) == packed
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.headers["content-encoding"] == "gzip"
    assert peak < 80_000_000
