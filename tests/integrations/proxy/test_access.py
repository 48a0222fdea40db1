"""Who may use a proxy, and what of a request is never kept."""

import pytest

from backscroll.errors import ConfigurationError
from backscroll.integrations.proxy import ProxySettings
from backscroll.stores.addresses import open_store
from tests.integrations.proxy.conversations import body_of, turns

TOKEN = "token-of-16-letters"
BODY = body_of(turns(1))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "[::1]"}, 200),
        ({"origin": "http://localhost:3000"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "127.0.0.1@evil.example"}, 403),
        ({"host": ""}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"upgrade": "websocket", "connection": "upgrade"}, 426),
    ],
)
def test_without_a_token_only_this_machine_is_let_in(provider, proxy_of, headers, status):
    """No page in a browser may use the proxy, not even by a name that leads to this machine."""
    proxy = proxy_of(provider.url)
    assert proxy.client.post("/v1/messages", content=BODY, headers=headers).status_code == status
    assert len(provider.got) == (status == 200)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (f"/{TOKEN}/v1/messages?a=%20", {}, 200),
        (f"/{TOKEN}/v1/messages?a=%20", {"host": "any.example"}, 200),
        ("/v1/messages?a=%20", {"x-backscroll-token": TOKEN}, 200),
        ("/v1/messages?a=%20", {}, 403),
        ("/wrong-of-16-letters/v1/messages", {}, 403),
        ("/v1/messages", {"x-backscroll-token": "wrong"}, 403),
        ("/backscroll/status", {}, 403),
    ],
)
def test_token_is_asked_of_all_and_never_handed_on(provider, proxy_of, path, headers, status):
    proxy = proxy_of(provider.url, token=TOKEN)
    assert proxy.client.post(path, content=BODY, headers=headers).status_code == status
    assert len(provider.got) == (status == 200)
    for got in provider.got:
        assert got.path == "/v1/messages?a=%20"
        assert TOKEN not in str(got)


def test_keys_and_headers_are_not_stored(provider, proxy_of, tmp_path):
    store = open_store(tmp_path / "a.db")
    with_secrets = {
        "x-api-key": "secret-1",
        "authorization": "Bearer secret-2",
        "cookie": "secret-3",
        "x-other": "secret-4",
    }
    proxy_of(provider.url, store=store).client.post("/v1/messages?key=secret-5", content=BODY, headers=with_secrets)
    store.close()
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"t0.txt" in files
    assert b"secret-" not in files


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"anthropic": "api.example.com"}, "`anthropic` must be an address"),
        ({"openai": "ftp://x"}, "`openai` must be an address"),
        ({"openai": "https://x/?a=1"}, "without a query"),
        ({"budget": 10}, "at least 1,000 tokens"),
        ({"store_timeout": 0.0}, "above 0 seconds"),
        ({"client_timeout": 0.0}, "`client_timeout` must be above 0 seconds"),
        ({"store_rest": -1.0}, "0 seconds or more"),
        ({"token": "short"}, "at least 16"),
        ({"token": "with/slash/and/more"}, "letters, digits"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ConfigurationError, match=words):
        ProxySettings(**settings)
