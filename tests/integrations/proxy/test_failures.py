"""What fails here never stops a request, unless the user wants that."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from backscroll import ContextManager
from backscroll.cli.redaction.redaction import Redaction
from backscroll.errors import StoreUnavailableError
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
    proxy, history = proxy_of(provider.url, budget=2_000), turns(30)
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
    proxy = proxy_of(provider.url, budget=2_000, store=store)
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

    def append(self, *given, **named):
        def work():
            self.is_back.wait(30)
            return super(HangingStore, self).append(*given, **named).result()

        return self.thread.submit(work)


def test_store_that_hangs_does_not_stop_a_conversation(provider, proxy_of):
    store = HangingStore()
    proxy, history = proxy_of(provider.url, budget=BUDGET, store=store, store_timeout=0.3), turns(30)
    try:
        assert ask(proxy, history[:59]).status_code == 200
        assert ask(proxy, history).status_code == 200
        assert proxy.outcomes(2) == ["compacted", "compacted"]
    finally:
        store.is_back.set()
        store.thread.shutdown()
