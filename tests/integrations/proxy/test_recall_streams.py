"""What a client gets of a stream in a request with our recall tool, and when."""

import json
import threading
import time

import pytest

from backscroll.cli.serve.request_log import RequestLog
from backscroll.integrations.proxy import Report, Totals
from backscroll.integrations.proxy.recall_responses import ResponsesRecall
from backscroll.integrations.proxy.server_events import ServerEvents
from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.conversations import ask, body_of, sent, turns
from tests.integrations.proxy.harness import proxied
from tests.integrations.proxy.recording import Answer, stream

TOOLS = [{"name": "read", "input_schema": {"type": "object", "properties": {"path": {}}}}]


def event(kind, **more):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def begun(tokens=600):
    return event(
        "message_start", message={"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": tokens}}
    )


def block(index, content, **delta):
    start = event("content_block_start", index=index, content_block=content)
    return start + event("content_block_delta", index=index, delta=delta) + event("content_block_stop", index=index)


def text(index, said):
    return block(index, {"type": "text", "text": ""}, type="text_delta", text=said)


def call(index, name, arguments, id="c1"):
    content = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return block(index, content, type="input_json_delta", partial_json=json.dumps(arguments))


def ended(reason="end_turn", tokens=5):
    return event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": tokens}) + event(
        "message_stop"
    )


def streamed(proxy, messages, **more):
    return ask(proxy, messages, tools=TOOLS, stream=True, **more)


def test_events_without_our_tool_are_handed_on_byte_for_byte(provider, proxy_of):
    """As they come: the client has each piece before the next one is sent."""
    pieces = [begun(), text(0, "Hello. "), b": a comment\n\n", call(1, "read", {"path": "a"})]
    proxy = proxy_of(provider.url, recall=True)
    came, got = threading.Event(), bytearray()

    def wait():
        assert came.wait(10)
        came.clear()
        return True

    provider.answers.append(stream(*(each for piece in pieces for each in (piece, wait)), ended("tool_use")))
    content = body_of(turns(2), tools=TOOLS, stream=True)
    with proxy.client.stream("POST", "/v1/messages", content=content, headers={"x-api-key": "k"}) as answer:
        for chunk in answer.iter_raw():
            got += chunk
            if bytes(got) in [b"".join(pieces[:at]) for at in range(1, 5)]:
                came.set()
    assert bytes(got) == b"".join(pieces) + ended("tool_use")


def test_blocks_of_both_answers_are_one_message(provider, proxy_of):
    provider.answers += [
        stream(begun(600), text(0, "I look. "), call(1, "recall", {"ref": "0"}), ended("tool_use", 5)),
        stream(begun(700), text(0, "Found. "), call(1, "read", {"path": "a"}, "c2"), ended("tool_use", 7)),
    ]
    proxy = proxy_of(provider.url, recall=True)
    answer = streamed(proxy, turns(1))
    events = [each.data for each in ServerEvents().feed(answer.content)]
    assert [each["type"] for each in events].count("message_start") == 1
    assert [each["index"] for each in events if each["type"] == "content_block_start"] == [0, 1, 2]
    assert events[-2]["usage"]["output_tokens"] == 12
    assert b"recall" not in answer.content
    said, result = sent(provider.got[1])[-2:]
    assert [each["type"] for each in said["content"]] == ["text", "tool_use"]
    assert "Begin with t" in json.dumps(result)


def test_call_is_seen_though_its_event_comes_in_pieces(provider, proxy_of):
    data = begun() + call(0, "recall", {"ref": "0"}) + ended("tool_use")
    provider.answers += [
        stream(*(data[at : at + 7] for at in range(0, len(data), 7))),
        stream(begun(), text(0, "Hi."), ended()),
    ]
    answer = streamed(proxy_of(provider.url, recall=True), turns(1))
    assert len(provider.got) == 2
    assert (
        answer.content
        == begun()
        + text(0, "Hi.")
        + answer.content.rpartition(b"event: message_delta")[1]
        + (answer.content.rpartition(b"event: message_delta")[2])
    )


def test_answer_that_is_cut_within_our_call_is_handed_on(provider, proxy_of):
    """There is nothing to look up, and the client learns why it stopped."""
    content = {"type": "tool_use", "id": "c", "name": "recall", "input": {}}
    cut = block(1, content, type="input_json_delta", partial_json='{"ref": "')
    provider.answers.append(stream(begun(), text(0, "I look"), cut, ended("max_tokens")))
    answer = streamed(proxy_of(provider.url, recall=True), turns(1))
    assert answer.content == begun() + text(0, "I look") + ended("max_tokens")
    assert len(provider.got) == 1


def test_error_in_a_later_round_trip_ends_the_stream(provider, proxy_of):
    provider.answers += [
        stream(begun(), text(0, "I look. "), call(1, "recall", {"ref": "0"}), ended("tool_use")),
        Answer(529, pieces=(b'{"error":{"message":"Overloaded"}}',)),
    ]
    proxy = proxy_of(provider.url, recall=True)
    answer = streamed(proxy, turns(1))
    last = list(ServerEvents().feed(answer.content))[-1].data
    assert last["type"] == "error"
    assert "Overloaded" in last["error"]["message"]
    assert answer.status_code == 200


def test_client_that_leaves_between_two_round_trips_ends_them(provider, proxy_of):
    """The provider sees it, and the look-up is there when the client asks again."""
    left = threading.Event()
    provider.answers += [
        stream(begun(), text(0, "I look. "), call(1, "recall", {"ref": "0"}), ended("tool_use")),
        stream(begun(), lambda: left.wait(10), *(text(0, "x" * 50_000) for _ in range(200))),
    ]
    proxy = proxy_of(provider.url, recall=True)
    content = body_of(turns(1), tools=TOOLS, stream=True)
    headers = {"x-api-key": "k", "x-claude-code-session-id": "s1"}
    with proxy.client.stream("POST", "/v1/messages", content=content, headers=headers) as answer:
        got, chunks = b"", answer.iter_raw()
        while b"I look" not in got:
            got += next(chunks)
        until = time.monotonic() + 10
        while len(provider.got) < 2 and time.monotonic() < until:
            time.sleep(0.002)
    left.set()
    assert proxy.outcomes() == ["as it came"]
    streamed(proxy, turns(1))
    assert "Begin with t" in json.dumps(sent(provider.got[-1])[-1])


@pytest.mark.parametrize("tools", ['"tools": []', '"tools" : [ {"name": "a"} ]', '"a": 1'])
@pytest.mark.parametrize("is_behind", [False, True])
def test_tool_comes_behind_those_of_the_client(tools, is_behind):
    """All else keeps its bytes."""
    from backscroll.integrations.proxy.request_body import RequestBody
    from backscroll.integrations.proxy.seen import SeenMessages

    parts = ['"messages": [{"role": "user", "content": "1e2"}]', tools]
    text = "{ " + ", ".join(parts if is_behind else parts[::-1]) + ', "x": 1.50}'
    body = RequestBody(text.encode(), "messages", SeenMessages())
    made = body.with_items([item.text for item in body.items], {"name": "recall"})
    before = json.loads(text)
    assert json.loads(made) == {**before, "tools": [*before.get("tools", []), {"name": "recall"}]}
    assert made.replace(b',{"name":"recall"}', b"").replace(b'{"name":"recall"}', b"").replace(b'"tools":[],', b"") in (
        text.encode(),
        text.encode().replace(b'"tools":[],', b""),
    )


def test_request_that_looks_back_has_the_tool_once(provider, proxy_of):
    """It is made twice: to see whether something is left out, and as a branch."""
    proxy, history = proxy_of(provider.url, budget=4_000, recall=True), turns(30)
    for end in (61, 57):
        ask(proxy, history[:end], tools=TOOLS)
    assert proxy.outcomes(2) == ["compacted"] * 2
    for got in provider.got:
        assert [tool["name"] for tool in json.loads(got.body)["tools"]] == ["read", "recall"]


def test_call_reads_its_own_conversation_only(provider, proxy_of):
    """Whatever arguments a model thinks up."""
    proxy = proxy_of(provider.url, recall=True, store=MemoryStore())
    ask(proxy, turns(2, "SECRET"), tools=TOOLS, session="other")
    asks = {"query": "SECRET", "everywhere": True, "session": "anthropic/other"}
    provider.answers += [
        stream(begun(), call(0, "recall", asks), ended("tool_use")),
        stream(begun(), text(0, "Hi."), ended()),
    ]
    streamed(proxy, turns(1))
    assert len(provider.got) == 3
    assert "SECRET1" not in provider.got[2].body.decode()


@pytest.mark.parametrize("began_with", [True, False])
def test_request_that_looks_back_and_fits_is_as_its_conversation(provider, began_with):
    """Without the tool its reasoning would follow other tools than it was made with, and so would it with the tool."""
    store, history = MemoryStore(), turns(5)
    for is_first in (True, False):
        with proxied(provider.url, store=store, recall=began_with or not is_first) as proxy:
            for end in (11, 9) if is_first else (7, 11):
                ask(proxy, history[:end], tools=TOOLS)
    expected = ["read", "recall"] if began_with else ["read"]
    assert [[tool["name"] for tool in json.loads(got.body)["tools"]] for got in provider.got] == [expected] * 4


@pytest.mark.parametrize(("store", "expected"), [(False, ["b", "c"]), (True, ["a", "b", "c"])])
def test_reasoning_that_nobody_keeps_is_not_sent_again(store, expected):
    output = [
        {"id": "a", "type": "reasoning", "summary": []},
        {"id": "b", "type": "reasoning", "summary": [], "encrypted_content": "e"},
        {"id": "c", "type": "function_call", "call_id": "c", "name": "recall", "arguments": "{}"},
    ]
    said = ResponsesRecall().said({"output": output, "store": store})
    assert [item["id"] for item in said] == expected


def test_printed_lines_and_totals_count_look_ups():
    written: list[str] = []
    log, totals = RequestLog(written.append, 100), Totals()
    for lookups in (0, 1, 3):
        report = Report("POST", "/v1/messages", what="as it came", model="m", status=200, lookups=lookups)
        log.add(report)
        totals.add(report)
    log.sum_up(totals)
    text = "".join(written)
    assert "looked something up once," in text
    assert "looked something up 3 times," in text
    assert "4 look-ups of models were answered here" in text
    assert totals.as_json()["lookups"] == 4
