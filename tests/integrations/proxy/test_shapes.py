"""Contents that are no plain text, old and new in a conversation that is too long: a provider would take each view."""

import json

import pytest

from backscroll.evaluation.validity import problems
from tests.integrations.proxy.conversations import LONG, turns
from tests.integrations.proxy.recording import Answer

BUDGET = 8_000
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNgYGBgAAAABQABXvMqOgAAAABJRU5ErkJggg=="  # one pixel
)


def text(words):
    return {"type": "text", "text": words}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def model(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def by_server(name, result, *, by="server_tool_use"):
    """A call that the provider answers itself."""
    call = {"type": by, "id": f"srv_{name}", "name": name, "input": {"q": "x"}}
    return [user(text("Look it up.")), model(text("So."), call, {**result, "tool_use_id": call["id"]}, text("Found."))]


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
FILE = {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "citations": {"enabled": True}}
PLAIN = {"type": "text", "media_type": "text/plain", "data": LONG}
CITED = {**text("It says so."), "citations": [{"type": "char_location", "cited_text": "row", "document_index": 0}]}
CALL = {"type": "tool_use", "id": "own", "name": "look", "input": {"n": 12345678901234567890, "x": 1.0}}
FOUND = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "E" * 900}
REFERENCES = [{"type": "tool_reference", "tool_name": "get_weather"}]
ANTHROPIC = {
    "image": [user(IMAGE, text("See.")), model(text("Seen."))],
    "file": [user(FILE, text("Read.")), model(CITED)],
    "document": [user({"type": "document", "source": PLAIN, "title": "D"}, text("Read.")), model(CITED)],
    "image-by-url": [user({"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}})],
    "image-in-a-result": [
        user(text("Go.")),
        model(CALL),
        user({"type": "tool_result", "tool_use_id": "own", "content": [text("shot"), IMAGE]}),
    ],
    "tools-found": [
        user(text("Go.")),
        model(CALL),
        user({"type": "tool_result", "tool_use_id": "own", "content": REFERENCES}),
    ],
    "web-search": by_server("web_search", {"type": "web_search_tool_result", "content": [FOUND]}),
    "code": by_server(
        "code_execution",
        {"type": "code_execution_tool_result", "content": {"type": "code_execution_result", "stdout": LONG}},
    ),
    "mcp": by_server("q", {"type": "mcp_tool_result", "is_error": False, "content": [text(LONG)]}, by="mcp_tool_use"),
    "tool-search": by_server(
        "tool_search_tool_regex",
        {
            "type": "tool_search_tool_result",
            "content": {"type": "tool_search_tool_search_result", "tool_references": REFERENCES},
        },
    ),
    "unsigned": [user(text("Think.")), model({"type": "thinking", "thinking": "Hm.", "signature": ""}, text("Done."))],
    "redacted": [user(text("Think.")), model({"type": "redacted_thinking", "data": "D" * 99}, text("Done."))],
    "search-result": [
        user({"type": "search_result", "source": "s", "title": "S", "content": [text(LONG)]}, text("Read.")),
        model(text("Read.")),
    ],
    "upload": [user({"type": "container_upload", "file_id": "file_1"}, text("Run it.")), model(text("Done."))],
    "unknown": [user(text("Go.")), model({"type": "of_the_future", "x": LONG})],
}


@pytest.mark.filterwarnings("ignore")  # a picture of one pixel is in no known size
@pytest.mark.parametrize("name", ANTHROPIC)
def test_content_of_anthropic(provider, proxy_of, name):
    """Old ones may be shortened, the newest are whole; each call has its result, and tools that were found stay."""
    shape = ANTHROPIC[name]
    answered = shape if shape[-1]["role"] == "assistant" else [*shape, model(text("Well."))]
    old = [*turns(2), model(text("Then?")), *answered, *turns(30, "z")]
    new = [*turns(30), model(text("Then?")), *answered, user(text("And now?"))]
    proxy = proxy_of(provider.url, budget=BUDGET)
    for number, history in enumerate((old, new)):
        body = json.dumps({"model": "claude-opus-4-8", "max_tokens": 100, "messages": history})
        assert proxy.client.post("/v1/messages", content=body).status_code == 200
        assert proxy.outcomes(number + 1)[-1] == "compacted"
        view = json.loads(provider.got[-1].body)["messages"]
        assert problems(view, history) == []
        if "tool_reference" in body:
            assert "tool_reference" in json.dumps(view)
    assert view[-1] == history[-1]


def test_turn_that_pauses_goes_on(provider, proxy_of):
    """The client sends the model's unfinished answer back: it is the last message, as it was."""
    pause = by_server("web_search", {})
    del pause[-1]["content"][2:]
    history = [*turns(30), model(text("Then?")), *pause]
    proxy = proxy_of(provider.url, budget=BUDGET)
    proxy.client.post("/v1/messages", content=json.dumps({"model": "claude-opus-4-8", "messages": history}))
    assert proxy.outcomes() == ["compacted"]
    assert json.loads(provider.got[0].body)["messages"][-1] == history[-1]


def called(kind, answer, **more):
    return [{"type": kind, "call_id": "own", **more}, {"type": answer, "call_id": "own", "output": LONG}]


RESPONSES = {
    "custom": called("custom_tool_call", "custom_tool_call_output", name="apply", input=LONG),
    "patch": called("apply_patch_call", "apply_patch_call_output", operation={"type": "create_file", "path": "a"}),
    "web-search": [{"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}}],
    "mcp": [{"type": "mcp_call", "id": "m", "name": "q", "server_label": "s", "arguments": "{}", "output": LONG}],
    "picture": [{"type": "image_generation_call", "id": "i", "status": "completed", "result": PICTURE}],
    "refusal": [{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}],
    "unknown": [{"type": "of_the_future", "x": 1}],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RESPONSES)
def test_items_of_responses(provider, proxy_of, name):
    def work(named):
        found = [{"role": "user", "content": f"Begin {named}."}]
        for at in range(30):
            call = {"type": "function_call", "call_id": f"{named}{at}", "name": "f", "arguments": "{}"}
            found += [call, {"type": "function_call_output", "call_id": f"{named}{at}", "output": LONG}]
        return found

    proxy = proxy_of(provider.url, budget=BUDGET)
    begun, shape = {"role": "user", "content": "First."}, RESPONSES[name]
    for number, items in enumerate(([begun, *shape, *work("a")], [*work("b"), *shape, begun])):
        proxy.client.post("/v1/responses", content=json.dumps({"model": "gpt-5", "input": items}))
        assert proxy.outcomes(number + 1)[-1] == "compacted"
        assert problems(json.loads(provider.got[-1].body)["input"], items) == []
    assert json.loads(provider.got[-1].body)["input"][-len(shape) - 1 :] == [*shape, begun]


CHAT = {
    "audio": [user({"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}})],
    "image": [user(text("See."), {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}})],
    "file": [user({"type": "file", "file": {"file_id": "file_1"}})],
    "spoken": [{"role": "assistant", "audio": {"id": "audio_1"}}],
    "refusal": [{"role": "assistant", "content": None, "refusal": "No."}],
    "developer": [{"role": "developer", "content": "Be brief."}],
    "function": [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": LONG},
    ],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHAT)
def test_messages_of_chat(provider, proxy_of, name):
    """Also with several choices and their probabilities, which are handed on as they come."""
    said = [{"role": role, "content": f"{at} {LONG}"} for at in range(15) for role in ("user", "assistant")]
    choices = {"n": 2, "logprobs": True, "top_logprobs": 2}
    answer = json.dumps({"choices": [{"index": at, "logprobs": {"content": []}} for at in (1, 0)]}, indent=2).encode()
    provider.usual = lambda _: Answer(pieces=(answer,))
    proxy, last = proxy_of(provider.url, budget=BUDGET), {"role": "user", "content": "Then?"}
    for number, messages in enumerate(([last, *CHAT[name], *said, last], [*said, *CHAT[name], last])):
        body = json.dumps({"model": "gpt-5", **choices, "messages": messages})
        assert proxy.client.post("/v1/chat/completions", content=body).content == answer
        assert proxy.outcomes(number + 1)[-1] == "compacted"
        sent = json.loads(provider.got[-1].body)
        assert {key: sent[key] for key in choices} == choices
        assert problems(sent["messages"], messages) == []
    assert sent["messages"][-1] == last
