"""What fails here never stops a request, unless the user wants that."""

import socket
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from backscroll import ContextManager
from backscroll.cli.redaction.redaction import Redaction
from backscroll.errors import StoreUnavailableError
from backscroll.integrations.proxy.store_rest import StoreRest
from backscroll.stores.addresses import open_store
from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.conversations import ask, body_of, sent, turns

BUDGET = 4_000
pytestmark = pytest.mark.filterwarnings("ignore:conversations go on in memory")


class FailingStore(MemoryStore):
    """A store whose machine is away for a while."""

    is_away = False

    def append(self, *given, **named):
        if self.is_away:
            raise StoreUnavailableError("the disk is full")
        return super().append(*given, **named)

    def read(self, *given, **named):
        if self.is_away:
            raise StoreUnavailableError("the disk is full")
        return super().read(*given, **named)

    def sessions(self):
        if self.is_away:
            raise StoreUnavailableError("the disk is full")
        return super().sessions()


@pytest.mark.parametrize("begins", ["away", "there"])
def test_store_that_fails_does_not_stop_a_conversation(provider, proxy_of, begins):
    """It goes on in memory, with views that fit."""
    store = FailingStore()
    store.is_away = begins == "away"
    proxy, history = proxy_of(provider.url, budget=BUDGET, store=store), turns(30)
    ask(proxy, history[:31])
    store.is_away = True
    for number in range(33, 62, 2):
        assert ask(proxy, history[:number]).status_code == 200
    assert set(proxy.outcomes(16)) == {"compacted"}
    assert max(report.input_tokens for report in proxy.reports) < BUDGET


def test_store_that_is_back_has_everything_again(provider, proxy_of):
    store, history = FailingStore(), turns(6)
    proxy = proxy_of(provider.url, store=store, store_rest=0.0)
    ask(proxy, history[:5])
    store.is_away = True
    ask(proxy, history[:9])
    store.is_away = False
    ask(proxy, history)
    (name,) = store.sessions()
    with ContextManager(store=store, session=name) as context:
        assert [message["role"] for message in context.get_messages()] == [message["role"] for message in history]


@pytest.mark.parametrize("strict", [False, True])
def test_request_without_a_view_goes_on_or_is_refused_if_strict(provider, proxy_of, strict):
    """A required message that can never fit: no view can be made."""
    proxy = proxy_of(provider.url, budget=1_000, strict=strict)
    history = turns(2)
    answer = ask(proxy, history, tools=[{"name": "t", "description": "x " * 3_000, "input_schema": {}}])
    assert proxy.outcomes() == ["refused" if strict else "not managed"]
    assert answer.status_code == (500 if strict else 200)
    if strict:
        assert "could not make a view" in answer.json()["error"]["message"]
        assert provider.got == []
    else:
        assert provider.got[0].body == body_of(
            history, tools=[{"name": "t", "description": "x " * 3_000, "input_schema": {}}]
        )
        assert "BudgetError" in proxy.reports[0].why


def test_view_that_fits_again_is_sent_after_one_that_did_not(provider, proxy_of):
    proxy, history = proxy_of(provider.url, budget=1_000), turns(30)
    ask(proxy, history, tools=[{"name": "t", "description": "x " * 6_000, "input_schema": {}}])
    ask(proxy, history)
    assert proxy.outcomes(2) == ["not managed", "compacted"]
    assert len(sent(provider.got[1])) < len(history)


def test_secrets_are_not_stored_and_views_keep_what_was_said(provider, proxy_of):
    """The model has seen the client's own words: views show them where they are whole, and quote none of them."""
    key = "sk-ant-" + "a1" * 20
    store = MemoryStore()
    redact = Redaction(["secrets"]).message
    proxy, history = proxy_of(provider.url, budget=BUDGET, store=store, options={"redact": redact}), turns(30)
    history[0]["content"][0]["text"] += f" The key is {key}."
    history[2]["content"][0]["content"] += key
    for number in range(31, 62, 2):
        ask(proxy, history[:number])
    assert proxy.outcomes(16)[-1] == "compacted"
    assert sent(provider.got[-1])[0] == history[0]
    assert provider.got[-1].body.count(key.encode()) == 1
    (name,) = store.sessions()
    with ContextManager(store=store, session=name) as context:
        assert key not in str(context.get_messages())
    assert key not in str(list(store.read(name)))


def test_edit_is_undone_after_a_request_that_had_no_view(provider, proxy_of):
    """The edit was loaded before its view failed, so the next request is compared with all of it."""
    store, history = MemoryStore(), turns(30)
    edited = [*history[:2], turns(1, "other")[2] | {"content": [{**history[2]["content"][0], "content": "other"}]}]
    proxy = proxy_of(provider.url, budget=1_000, store=store)
    ask(proxy, history)
    ask(proxy, [*edited, *history[3:]], tools=[{"name": "t", "description": "x " * 6_000, "input_schema": {}}])
    ask(proxy, history)
    assert proxy.outcomes(3) == ["compacted", "not managed", "compacted"]
    (name,) = store.sessions()
    with ContextManager(store=store, session=name) as context:
        assert context.get_messages()[2]["content"] == history[2]["content"]


class HangingStore(MemoryStore):
    """A store whose server does not answer, for a while."""

    def __init__(self):
        super().__init__()
        self.is_back = threading.Event()
        self.thread = ThreadPoolExecutor(1)
        self.asked = 0

    def append(self, *given, **named):
        self.asked += 1

        def work():
            self.is_back.wait(30)
            return super(HangingStore, self).append(*given, **named).result()

        return self.thread.submit(work)


def test_store_that_hangs_does_not_stop_a_conversation(provider, proxy_of):
    store = HangingStore()
    proxy, history = proxy_of(provider.url, budget=BUDGET, store=store, store_timeout=0.3), turns(30)
    try:
        for number in range(51, 62, 2):
            assert ask(proxy, history[:number]).status_code == 200
        assert proxy.outcomes(6) == ["compacted"] * 6
        assert store.asked == 1  # all others go on at once
    finally:
        store.is_back.set()
        store.thread.shutdown()


def test_rest_of_a_store_grows_until_it_answers():
    """And only one request at a time tries it: all others go on in memory at once."""
    rest = StoreRest(30)
    assert [rest.begin(0.0), rest.begin(0.0)] == [True, True]
    assert rest.fail(5.0) == 30
    assert rest.fail(6.0) == 29  # of the same time
    now, rests = 35.0, []
    for _ in range(7):
        assert not rest.begin(now - 1)
        assert rest.is_over(now)
        assert [rest.begin(now), rest.begin(now)] == [True, False]
        rests.append(rest.fail(now))
        now += rests[-1]
    assert rests == [60, 120, 240, 480, 600, 600, 600]
    assert rest.begin(now)
    rest.end(has_answered=False)  # the client left meanwhile
    assert rest.begin(now)
    rest.end(has_answered=True)
    assert [rest.begin(now), rest.begin(now)] == [True, True]
    assert rest.fail(now) == 30


def test_locked_store_is_waited_for_once(provider, proxy_of, tmp_path):
    """Another program holds the file; the request after its end is stored."""
    path = tmp_path / "a.db"
    with closing(open_store(path)) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        proxy, history = proxy_of(provider.url, store=store, store_timeout=0.3, store_rest=1.0), turns(6)
        ask(proxy, history[:3])
        other.execute("begin immediate")
        for number in (5, 7, 9):
            assert ask(proxy, history[:number]).status_code == 200
        other.execute("rollback")
        threading.Event().wait(1.1)
        ask(proxy, history)
        assert proxy.outcomes(5) == ["as it came"] * 5
        (name,) = store.sessions()
    with closing(open_store(path)) as store, ContextManager(store=store, session=name) as context:
        assert len(context.get_messages()) == len(history)


@pytest.mark.parametrize("sent_so_far", [b"", b'{"model":'])
@pytest.mark.parametrize("plain", [False, True])
def test_request_that_never_ends_is_refused(provider, proxy_of, plain, sent_so_far):
    """And its connection ends, because nobody knows where the next request begins."""
    proxy = proxy_of(provider.url, plain=plain, client_timeout=0.2)
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as client:
        head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n"
        client.sendall(head + sent_so_far)
        answer = b"".join(iter(lambda: client.recv(4_096), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"0.2 seconds" in answer
    assert proxy.outcomes() == ["refused"]
    assert provider.got == []


def test_store_that_failed_is_tried_by_one_request_at_a_time(provider, proxy_of):
    """All others go on in memory at once."""
    store = HangingStore()
    proxy = proxy_of(provider.url, store=store, store_timeout=0.5, store_rest=0.0)
    try:
        ask(proxy, turns(1))
        with ThreadPoolExecutor(5) as clients:
            assert set(clients.map(lambda name: ask(proxy, turns(1), session=name).status_code, "abcde")) == {200}
        assert store.asked < 6
    finally:
        store.is_back.set()
        store.thread.shutdown()


def test_model_with_a_name_of_a_megabyte_is_unknown(provider, proxy_of):
    """Nothing is searched for it, and no session or line is named after it."""
    proxy = proxy_of(provider.url, budget=BUDGET)
    body = body_of(turns(30), model="claude-" * 150_000)
    assert proxy.client.post("/v1/messages", content=body).status_code == 200
    assert proxy.outcomes() == ["compacted"]
    assert len(proxy.reports[0].model) < 200
