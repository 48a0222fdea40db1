"""Who may use a proxy, and what of a request is never kept."""

import pytest

from backscroll.errors import ConfigurationError
from backscroll.integrations.proxy import ProxySettings
from backscroll.stores.addresses import open_store
from tests.integrations.proxy.conversations import body_of, turns
from tests.integrations.proxy.raw import chunked, raw_status

TOKEN = "token-of-16-letters"
BODY = body_of(turns(1))
BROWSERS = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": ""},
    {"origin": "http://localhost:3000"},
    {"origin": "http://127.0.0.1"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "Cross-Site"},
    {"sec-fetch-site": ""},
    {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
]
"""Headers by which browsers say that a page of elsewhere asks."""


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:1"}, 200),
        ({"host": "LocalHost:1"}, 200),
        ({"host": "[::1]"}, 200),
        ({"host": "[::1]:8788"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "127.0.0.1@evil.example"}, 403),
        ({"host": "evil.example@127.0.0.1"}, 403),
        ({"host": "127.0.0.1/evil"}, 403),
        ({"host": "127.0.0.1:8788:1"}, 403),
        ({"host": "localhost, evil.example"}, 403),
        ({"host": "[::1"}, 403),
        ({"host": "[::1%25lo]"}, 403),
        ({"host": "[::ffff:127.0.0.1]"}, 403),
        ({"host": "0.0.0.0"}, 403),
        ({"host": "2130706433"}, 403),
        ({"host": ""}, 403),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-mode": "cors"}, 200),
        ({"sec-fetch-site": "same-origin", "host": "localhost:8788", "origin": "http://localhost:8788"}, 200),
        ({"host": "localhost:8788", "origin": "http://localhost"}, 403),
        ({"upgrade": "websocket", "connection": "upgrade"}, 426),
        ({"upgrade": "h2c, WebSocket", "connection": "upgrade"}, 426),
        ({"upgrade": "h2c", "connection": "Upgrade, HTTP2-Settings"}, 426),
        *((headers, 403) for headers in BROWSERS),
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_without_a_token_only_this_machine_is_let_in(provider, proxy_of, method, headers, status):
    """No page in a browser may use the proxy, not even by a name that leads to this machine."""
    proxy = proxy_of(provider.url)
    assert proxy.client.request(method, "/v1/messages", content=BODY, headers=headers).status_code == status
    assert proxy.client.get("/backscroll/status", headers=headers).status_code == status
    assert len(provider.got) == (status == 200)


@pytest.mark.parametrize("headers", BROWSERS)
def test_token_lets_in_no_page_of_elsewhere(provider, proxy_of, headers):
    proxy = proxy_of(provider.url, token=TOKEN)
    answer = proxy.client.get(f"/{TOKEN}/v1/models", headers={"host": "proxy.example", **headers})
    assert (answer.status_code, provider.got) == (403, [])


def test_head_that_is_too_large_is_refused(provider, proxy_of):
    """It would be searched for credentials, and all others would wait."""
    proxy, large = proxy_of(provider.url), "%25" * 11_000
    assert raw_status(proxy.url, f"GET /v1/models?{large}", "Host: HOST", f"x-one: {large}") == 431
    assert raw_status(proxy.url, "GET /v1/models", "Host: HOST", f"x-one: {large}", f"x-two: {large}") == 431
    assert provider.got == []
    assert raw_status(proxy.url, f"GET /v1/models?{large}", "Host: HOST") == 200


@pytest.mark.parametrize("name", ["Host: HOST", "Origin: http://HOST", "Sec-Fetch-Site: none"])
@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("plain", [False, True])
def test_header_of_the_gate_is_refused_if_it_is_doubled(provider, proxy_of, name, token, plain):
    """Two readers of such a request may each believe in another one."""
    proxy = proxy_of(provider.url, plain=plain, token=token)
    other = {"host": "evil.example", "origin": "http://evil.example", "sec-fetch-site": "cross-site"}
    evil = f"{name.partition(':')[0]}: {other[name.partition(':')[0].lower()]}"
    for pair in ((name, evil), (evil, name), (name, name)):
        lines = [f"x-backscroll-token: {TOKEN}", *([] if name.startswith("Host") else ["Host: HOST"]), *pair]
        assert raw_status(proxy.url, "GET /v1/models", *lines) == 400
    assert provider.got == []


@pytest.mark.parametrize("plain", [False, True])
def test_request_without_host_is_let_in_with_the_token_only(provider, proxy_of, plain):
    """HTTP 1.0 needs no such header."""
    given = ("GET /v1/models", f"x-backscroll-token: {TOKEN}")
    assert raw_status(proxy_of(provider.url, plain=plain).url, *given, version="1.0") == 403
    assert raw_status(proxy_of(provider.url, plain=plain, token=TOKEN).url, *given, version="1.0") == 200


@pytest.mark.parametrize("target", ["http://HOST/v1/models", "http://evil.example/v1/models", "*", "v1/models"])
@pytest.mark.parametrize("plain", [False, True])
def test_target_that_is_no_path_is_refused(provider, proxy_of, target, plain):
    """Such a request takes the proxy for one of another kind, and names a server that it does not go to."""
    assert raw_status(proxy_of(provider.url, plain=plain).url, f"GET {target}", "Host: HOST") == 400
    assert provider.got == []


def test_body_of_an_upgrade_is_no_other_request(provider, proxy_of):
    """The parser of the server takes it for one: the connection ends."""
    upgrade = ("POST /v1/messages", "Host: HOST", "upgrade: h2c", "connection: upgrade", "content-length: 40")
    hidden = b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n"
    assert raw_status(proxy_of(provider.url).url, *upgrade, body=hidden) == 426
    assert provider.got == []


@pytest.mark.parametrize("plain", [False, True])
def test_trailers_are_no_headers(provider, proxy_of, plain):
    """They come behind the body: the gate has decided, and other servers read them as what they are."""
    proxy = proxy_of(provider.url, plain=plain)
    token = proxy_of(provider.url, plain=plain, token=TOKEN)
    sent = ("transfer-encoding: chunked", "trailer: x-late")
    late = chunked(BODY, "x-late: 1", "x-api-key: late", "connection: x-early", "host: 127.0.0.1")
    assert raw_status(proxy.url, "POST /v1/messages", "Host: HOST", "x-early: 1", *sent, body=late) == 200
    assert raw_status(proxy.url, "POST /v1/messages", "Host: evil.example", *sent, body=late) == 403
    borne = chunked(BODY, f"x-backscroll-token: {TOKEN}")
    assert raw_status(token.url, "POST /v1/messages", "Host: HOST", *sent, body=borne) == 403
    (got,) = provider.got
    assert got.body == BODY
    assert [got.header(name) for name in ("x-late", "x-api-key", "x-early")] == [None, None, "1"]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (f"/{TOKEN}/v1/messages?a=%20", {}, 200),
        (f"/{TOKEN}/v1/messages?a=%20", {"host": "any.example"}, 200),
        (f"/{TOKEN}/v1/messages?a=%20", {"x-backscroll-token": TOKEN}, 200),
        (f"/{TOKEN}/v1/messages?a=%20", {"x-backscroll-token": "wrong"}, 200),
        (f"/%74{TOKEN[1:]}/v1/messages?a=%20", {}, 200),
        ("/v1/messages?a=%20", {"x-backscroll-token": TOKEN}, 200),
        (f"/{TOKEN}/{TOKEN}/v1/messages", {}, 400),
        (f"/{TOKEN}/{TOKEN}/v1/messages", {"x-backscroll-token": TOKEN}, 400),
        (f"/{TOKEN}/%74{TOKEN[1:]}/v1/messages", {"x-api-key": "k"}, 400),
        (f"/v1/messages/{TOKEN}", {"x-backscroll-token": TOKEN}, 400),
        (f"/{TOKEN}/v1/messages?token={TOKEN}", {}, 400),
        (f"/{TOKEN}/v1/messages?token=%2574{TOKEN[1:]}", {}, 400),
        (f"/{TOKEN}/v1/messages", {"authorization": f"Bearer {TOKEN}"}, 400),
        (f"/{TOKEN}/v1/messages", {"referer": f"http://proxy/{TOKEN}/"}, 400),
        ("/v1/messages?a=%20", {}, 403),
        ("/wrong-of-16-letters/v1/messages", {}, 403),
        (f"/x/{TOKEN}/v1/messages", {}, 403),
        (f"/%2F/{TOKEN}/v1/messages", {}, 403),
        (f"/{TOKEN}%2Fv1/messages", {}, 403),
        ("/v1/messages", {"x-backscroll-token": "wrong"}, 403),
        ("/backscroll/status", {}, 403),
    ],
)
def test_token_is_asked_of_all_and_never_handed_on(provider, proxy_of, path, headers, status):
    proxy = proxy_of(provider.url, token=TOKEN)
    answer = proxy.client.post(path, content=BODY, headers=headers)
    assert answer.status_code == status
    assert TOKEN not in answer.text
    assert len(provider.got) == (status == 200)
    for got in provider.got:
        assert got.path == "/v1/messages?a=%20"
        assert TOKEN not in str(got)


def test_token_may_be_borne_twice(provider, proxy_of):
    """No copy of it goes further."""
    proxy = proxy_of(provider.url, token=TOKEN)
    borne = [("x-backscroll-token", TOKEN), ("X-Backscroll-Token", "other")]
    assert proxy.client.get("/v1/models", headers=borne).status_code == 200
    assert "backscroll" not in str(provider.got).lower()


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
        ({"allow_paths": "/v1/x"}, "list of paths"),
        ({"allow_paths": ["v1/x"]}, "begin with a slash"),
        ({"allow_paths": ["/v1/*/x"]}, "star"),
        ({"allow_paths": ["/v1/x*"]}, "star"),
        ({"allow_paths": ["/v1/../x"]}, "`..`"),
        ({"allow_paths": ["/v1?a=1"]}, "query"),
    ],
)
def test_wrong_settings_are_refused(settings, words):
    with pytest.raises(ConfigurationError, match=words):
        ProxySettings(**settings)
