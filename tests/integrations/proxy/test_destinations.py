"""To which provider a request goes: no byte of a credential of one reaches the other."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll.integrations.proxy.credentials import without_keys
from backscroll.integrations.proxy.destinations import Destinations
from backscroll.integrations.proxy.paths import climbs
from backscroll.integrations.proxy.refusal import RefusedHereError
from backscroll.integrations.proxy.settings import ProxySettings
from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.conversations import body_of, turns
from tests.integrations.proxy.harness import proxied
from tests.integrations.proxy.raw import raw_status
from tests.integrations.proxy.recording import Recording, recording
from tests.profiles import examples

CLAUDE, CODEX = "CLAUDE-SECRET", "CODEX-SECRET"
ANT, OAT = f"sk-ant-api03-{CLAUDE}", f"sk-ant-oat01-{CLAUDE}"
PROJ, OLD = f"sk-proj-{CODEX}", f"sk-1234567890{CODEX}T3BlbkFJ1234567890"
OPAQUE = "opaque-token"


def _login(says: str) -> str:
    """A log-in token that says this. Its signature is the secret."""
    return f"eyJhbGciOiJSUzI1NiJ9.{urlsafe_b64encode(says.encode()).decode().rstrip('=')}.{CODEX}"


JWT, FOREIGN = _login('{"iss":"https://auth.openai.com","aud":["https://api.openai.com/v1"]}'), _login('{"iss":"x"}')
VERSION = ("anthropic-version", "2023-06-01")
ANTHROPIC, OPENAI, NOWHERE = "anthropic", "openai", "nowhere"


def bearer(key: str, scheme: str = "Bearer") -> tuple[str, str]:
    return "Authorization", f"{scheme} {key}"


def basic(key: str) -> tuple[str, str]:
    return bearer(b64encode(f"{key}:".encode()).decode(), "Basic")


@pytest.fixture(scope="module")
def both() -> Iterator[SimpleNamespace]:
    """A proxy between two providers, each under a base path."""
    with ExitStack() as stack:
        anthropic, openai = stack.enter_context(recording()), stack.enter_context(recording())
        upstreams: dict[str, Any] = {"anthropic": f"{anthropic.url}/a/b", "openai": f"{openai.url}/o/"}
        proxy = stack.enter_context(
            proxied("", store=MemoryStore(), allow_paths=["/v1/rerank", "/extra/*"], **upstreams)
        )
        yield SimpleNamespace(anthropic=anthropic, openai=openai, proxy=proxy)


def sent_to(both: SimpleNamespace, method: str, target: str, *headers: tuple[str, str]) -> str:
    """Send a request and return where it went."""
    both.anthropic.got.clear()
    both.openai.got.clear()
    lines = [f"{name}: {value}" for name, value in headers]
    status = raw_status(both.proxy.url, f"{method} {target}", "Host: HOST", *lines)
    where = [ANTHROPIC] * len(both.anthropic.got) + [OPENAI] * len(both.openai.got)
    assert len(where) == (status == 200), (where, status)
    return where[0] if where else f"{NOWHERE} {status}"


MESSAGES, RESPONSES, MODELS, UNKNOWN = "/v1/messages", "/v1/responses", "/v1/models", "/api/event_logging"


@pytest.mark.parametrize(
    ("target", "headers", "where"),
    [
        # a path that one provider has, and no credential that shows the other
        (MESSAGES, [], ANTHROPIC),
        (MESSAGES, [bearer(OPAQUE)], ANTHROPIC),
        (MESSAGES, [bearer(FOREIGN)], ANTHROPIC),
        ("/messages/count_tokens?beta=true", [("X-API-KEY", ANT)], ANTHROPIC),
        (MESSAGES, [bearer(OAT), VERSION], ANTHROPIC),
        (MESSAGES, [("x-api-key", "gateway"), VERSION], ANTHROPIC),
        (MESSAGES, [("x-api-key", "sk-gateway"), bearer("sk-gateway"), VERSION], ANTHROPIC),
        (MESSAGES, [bearer("sk-gateway"), VERSION], ANTHROPIC),
        (RESPONSES, [], OPENAI),
        (RESPONSES, [("x-api-key", "")], OPENAI),
        (RESPONSES, [bearer(PROJ), ("OpenAI-Beta", "x")], OPENAI),
        (RESPONSES, [bearer(JWT)], OPENAI),
        (RESPONSES, [bearer(FOREIGN)], OPENAI),
        ("/v1/responses/compact", [bearer("sk-or-v1-1")], OPENAI),
        ("/v1/embeddings", [("api-key", "azure")], OPENAI),
        # a path that both have
        (MODELS, [], OPENAI),
        (MODELS, [bearer(JWT)], OPENAI),
        (MODELS, [bearer(ANT)], ANTHROPIC),
        ("/v1/files/f1/content", [("x-api-key", "k")], ANTHROPIC),
        ("/v1/chat/completions", [bearer(ANT)], ANTHROPIC),
        ("/v1/chat/completions", [bearer("sk-local")], OPENAI),
        ("/chat/completions", [VERSION], ANTHROPIC),
        # a path that nobody is known to have
        (UNKNOWN, [VERSION], ANTHROPIC),
        (UNKNOWN, [bearer(OAT)], ANTHROPIC),
        (UNKNOWN, [bearer(PROJ)], OPENAI),
        (UNKNOWN, [bearer(JWT)], OPENAI),
        (UNKNOWN, [("ChatGPT-Account-Id", "a"), bearer(FOREIGN)], OPENAI),
        (UNKNOWN, [], "nowhere 404"),
        (UNKNOWN, [bearer(OPAQUE)], "nowhere 404"),
        (UNKNOWN, [bearer(FOREIGN)], "nowhere 404"),
        ("/", [], "nowhere 404"),
        ("/v1", [], "nowhere 404"),
        ("/v1/messagesfoo", [], "nowhere 404"),
        ("//v1/messages", [], "nowhere 404"),
        ("/V1/messages", [], "nowhere 404"),
        ("/v1/v1/messages", [], "nowhere 404"),
        ("/backscroll/other", [], "nowhere 404"),
        # a path that the user allows
        ("/v1/rerank", [bearer(OPAQUE)], OPENAI),
        ("/v1/rerank/x", [], "nowhere 404"),
        ("/v1/rerank", [bearer(ANT)], ANTHROPIC),
        ("/extra/a/b?c", [], OPENAI),
        ("/extra", [], "nowhere 404"),
        # a credential of one provider on a path of the other
        (RESPONSES, [("x-api-key", "k")], "nowhere 400"),
        (RESPONSES, [VERSION], "nowhere 400"),
        (RESPONSES, [("ANTHROPIC-Beta", "x")], "nowhere 400"),
        (RESPONSES, [bearer(ANT)], "nowhere 400"),
        (RESPONSES, [bearer(OAT, "bearer ")], "nowhere 400"),
        (RESPONSES, [("authorization", ANT)], "nowhere 400"),
        (RESPONSES, [bearer(ANT.upper())], "nowhere 400"),
        (RESPONSES, [("api-key", ANT)], "nowhere 400"),
        (RESPONSES, [("x-goog-api-key", ANT)], "nowhere 400"),
        (RESPONSES, [("cookie", f"key={ANT}")], "nowhere 400"),
        (RESPONSES, [("cookie", f"key={ANT}".replace("-", "%2D"))], "nowhere 400"),
        (RESPONSES, [("x-forwarded-key", ANT.replace("s", "%73", 1))], "nowhere 400"),
        (RESPONSES, [("x_api_key", "k")], "nowhere 400"),
        (RESPONSES, [("x-task", f"ask-ant-1, desk-proj-2, ta{ANT}")], OPENAI),
        (RESPONSES, [basic(ANT)], "nowhere 400"),
        (RESPONSES, [bearer(OPAQUE), bearer(ANT)], "nowhere 400"),
        (f"{RESPONSES}?key={ANT}", [], "nowhere 400"),
        (f"{RESPONSES}/{quote(quote(ANT)).replace('-', '%2D')}", [], "nowhere 400"),
        (MESSAGES, [bearer(PROJ)], "nowhere 400"),
        (MESSAGES, [bearer(OLD)], "nowhere 400"),
        (MESSAGES, [("x-forwarded-key", PROJ.upper())], "nowhere 400"),
        (MESSAGES, [bearer("sk-other")], "nowhere 400"),
        (MESSAGES, [bearer(JWT)], "nowhere 400"),
        (MESSAGES, [basic(PROJ)], "nowhere 400"),
        (MESSAGES, [("openai-organization", "o")], "nowhere 400"),
        (MESSAGES, [("chatgpt-account-id", "a")], "nowhere 400"),
        (f"{MESSAGES}?api_key={PROJ}", [], "nowhere 400"),
        # credentials of both
        (MESSAGES, [("x-api-key", ANT), bearer(PROJ)], "nowhere 400"),
        (MESSAGES, [("x-api-key", PROJ), VERSION], "nowhere 400"),
        (MESSAGES, [("x-api-key", "k"), bearer("sk-other")], "nowhere 400"),
        (MESSAGES, [("x-api-key", ANT), bearer("sk-other"), VERSION], "nowhere 400"),
        (MESSAGES, [VERSION, bearer(JWT)], "nowhere 400"),
        (RESPONSES, [("x-api-key", "k"), bearer(PROJ)], "nowhere 400"),
        (RESPONSES, [bearer(ANT), ("openai-beta", "x")], "nowhere 400"),
        (MODELS, [bearer(ANT), bearer(PROJ)], "nowhere 400"),
        (UNKNOWN, [VERSION, ("openai-project", "x")], "nowhere 400"),
        ("/extra/a", [bearer(ANT), ("x-other", PROJ)], "nowhere 400"),
    ],
)  # fmt: skip  # one case each
def test_request_goes_where_its_path_and_its_credential_say(both, target, headers, where):
    assert sent_to(both, "POST", target, *headers) == where


def test_refusal_says_why_and_names_no_secret(provider, proxy_of):
    """Nothing of the request is stored, and the log says the same."""
    store = MemoryStore()
    proxy = proxy_of(provider.url, openai="http://127.0.0.1:9", store=store)
    for path, headers, status, words in (
        ("/v1/messages", {"x-api-key": ANT, "authorization": f"Bearer {PROJ}"}, 400, "credentials of two providers"),
        ("/v1/responses", {"x-api-key": f"k-{CLAUDE}"}, 400, "`x-api-key` is Anthropic's and the path is OpenAI's"),
        ("/v1/messages", {"authorization": f"Bearer {JWT}"}, 400, "a token of OpenAI is OpenAI's"),
        (f"/{CLAUDE}", {"authorization": f"Bearer {OPAQUE}"}, 404, "`--allow-path`"),
    ):
        answer = proxy.client.post(path, content=body_of(turns(1)), headers=headers)
        said = answer.json()["error"]["message"]
        assert answer.status_code == status
        assert words in said
        assert not any(secret in said for secret in (CLAUDE, CODEX, OPAQUE, "localhost"))
    assert proxy.outcomes(4) == ["refused"] * 4
    assert words in proxy.reports[-1].why
    assert (provider.got, list(store.sessions())) == ([], [])


@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize("key", [ANT, PROJ, OLD])
def test_log_names_no_key_in_a_path(key, times):
    assert without_keys(f"/v1/files/{_encoded(key, times)}/content") == "/v1/files/sk-.../content"
    assert without_keys("/v1/sk-1/%2Fa") == "/v1/sk-1/%2Fa"


@pytest.mark.parametrize(
    ("anthropic", "headers", "is_sent"),
    [
        ("https://api.anthropic.com", [VERSION, bearer("sk-other")], False),
        ("https://eu.Anthropic.com/x", [VERSION, ("x-api-key", "sk-other")], False),
        ("https://api.anthropic.com", [VERSION, bearer(ANT)], True),
        ("https://gateway.example/anthropic", [VERSION, bearer("sk-other")], True),
        ("https://notanthropic.com", [VERSION, ("x-api-key", "sk-other")], True),
        ("https://anthropic.com.example", [VERSION, ("x-api-key", "sk-other")], True),
        ("https://gateway.example/anthropic", [VERSION, bearer(PROJ)], False),
    ],
)
def test_key_of_a_gateway_goes_to_the_gateway_alone(anthropic, headers, is_sent):
    """Keys of gateways begin as OpenAI's do: where Anthropic itself listens, none of them goes there."""
    destinations = Destinations(ProxySettings(anthropic=anthropic))
    pairs = [(name.encode(), value.encode()) for name, value in headers]
    if is_sent:
        assert destinations.provider_of("/v1/messages", b"/v1/messages", pairs) == "Anthropic"
    else:
        with pytest.raises(RefusedHereError):
            destinations.provider_of("/v1/messages", b"/v1/messages", pairs)


@pytest.mark.filterwarnings("ignore:no request of python-httpx")  # these have no body
def test_one_gateway_for_both_apis_gets_any_key_on_known_paths(provider, proxy_of):
    """There is no other that could see it."""
    proxy = proxy_of(provider.url, openai=f"{provider.url}/openai", anthropic=f"{provider.url}/anthropic")
    for path, base in (("/v1/responses", "/openai"), ("/v1/messages", "/anthropic")):
        for headers in ({"x-api-key": "k"}, {"authorization": "Bearer sk-other"}):
            assert proxy.client.post(path, headers=headers).status_code == 200
            assert provider.got[-1].path == base + path


DOTS = [
    "..", ".", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "%25252e.", "%252525252e.", "..;x=1", "..%3bx", "..%20", "..%00",
    "..%09", "..%5c..", "..\\x", "x%2f..", "x%252f..", "x%5C%2e%2e", "%2e", "%252e", "%2e%2e%2f%2e%2e%2fo",
]  # fmt: skip  # one thought


@pytest.mark.parametrize("dots", DOTS)
def test_path_never_leads_out_of_the_base_path(both, dots):
    """Not even where a server decodes it once more, or takes a backslash for a slash."""
    for target, header in (
        (f"/{dots}/o/v1/files", VERSION),
        (f"/v1/messages/{dots}", bearer(OPAQUE)),
        (f"/v1/responses/{dots}/x", bearer(PROJ)),
        (f"/extra/{dots}/x?y", bearer(OPAQUE)),
    ):
        assert sent_to(both, "GET", target, header) == "nowhere 400"


@pytest.mark.parametrize(
    "name", ["a..b", "...", "a.", "..a", ".well-known", "%2e%2ea", "a%2Fb", "a%20b", "a;b", "%25", "a%5cb", "\\", "%7E"]
)
def test_other_names_go_on_under_the_base_path_as_they_came(both, name):
    assert sent_to(both, "GET", f"/v1/files/{name}?x=%2e%2e/..", VERSION) == ANTHROPIC
    arrived = both.anthropic.got[0].path.replace("%5C", "\\")  # the lowest httpx writes a backslash so
    assert arrived == f"/a/b/v1/files/{name}?x=%2e%2e/.."


def test_endless_encoding_is_refused():
    """It is decoded a few times, and not until nothing is left to decode."""
    assert climbs(b"/v1/%" + b"25" * 100_000 + b"2e")


SECRETS = [
    *[("x-api-key", ANT), ("X-Api-Key", CLAUDE), bearer(ANT), bearer(OAT, "bearer"), ("api-key", ANT), basic(ANT)],
    *[("anthropic-key", CLAUDE), ("Anthropic-Auth", CLAUDE), ("x-forwarded-key", ANT), ("cookie", f"a=1; k={ANT}")],
    *[bearer(PROJ), bearer(OLD), bearer(JWT, "BEARER"), ("api-key", PROJ), basic(OLD), ("openai-organization", CODEX)],
    *[("chatgpt-account-id", CODEX), ("OpenAI-Project", CODEX), ("x-forwarded-key", PROJ), ("cookie", f"k={OLD}")],
]
HEADERS = st.one_of(
    st.sampled_from(SECRETS),
    st.sampled_from([VERSION, bearer(OPAQUE), bearer("sk-other"), ("connection", "x-api-key"), ("openai-beta", "x")]),
).flatmap(lambda pair: st.sampled_from([pair, (pair[0].upper(), pair[1]), (pair[0].lower(), f" {pair[1]}\t")]))
SEGMENTS = st.sampled_from(
    [*"abox", "", "v1", "messages", "responses", "chat", "completions", "models", "files", "extra", ANT, PROJ, *DOTS]
)
TARGETS = st.builds(
    lambda known, more, times, query: known + "".join(f"/{_encoded(each, times)}" for each in more) + query,
    st.sampled_from(["/v1/messages", "/v1/responses", "/v1/models", "/v1/chat/completions", "/extra", "/x", ""]),
    st.lists(SEGMENTS, max_size=3),
    st.integers(0, 2),
    st.sampled_from(["", "?beta=true", f"?key={ANT}", f"?key={_login('x')}&k={PROJ.replace('-', '%2d')}"]),
)


def _encoded(segment: str, times: int) -> str:
    """The segment with each letter encoded so many times."""
    for _ in range(times):
        segment = "".join(f"%{ord(letter):02x}" for letter in segment)
    return segment


@settings(max_examples=examples(100), deadline=None)
@given(TARGETS, st.lists(HEADERS, max_size=4), st.sampled_from(["GET", "POST", "DELETE"]))
@example("/v1/models", [("x-api-key", ANT)], "GET")
@example("/v1/models", [bearer(PROJ)], "GET")
def test_no_byte_of_a_credential_reaches_the_other_provider(both, target, headers, method):
    """Nor does a request leave the base path, whatever its path and its headers are."""
    where = sent_to(both, method, target or "/", *headers)
    to_anthropic, to_openai = _arrived(both.anthropic), _arrived(both.openai)
    assert CODEX not in to_anthropic
    assert CLAUDE not in to_openai
    assert all(got.path.startswith("/a/b/") for got in both.anthropic.got)
    assert all(got.path.startswith("/o/") for got in both.openai.got)
    if where == ANTHROPIC:
        assert CODEX not in str(headers)
    if where == OPENAI:
        assert CLAUDE not in str(headers)


def _arrived(provider: Recording) -> str:
    """All that a provider got, also as it reads it after decoding."""
    text = " ".join([f"{got.method} {got.path} {got.headers}" for got in provider.got])
    return text + unquote(text) + unquote(unquote(text))
