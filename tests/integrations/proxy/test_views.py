"""What a request looks like from which something is left out."""

import json
from itertools import pairwise

import pytest

from backscroll.integrations.proxy.json_text import split
from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.conversations import LONG, ask, body_of, sent, turns
from tests.integrations.proxy.harness import proxied
from tests.integrations.proxy.recording import Answer, message, stream
from tests.long_run import usually
from tests.present import present

BUDGET = 4_000


def test_only_messages_are_written_again(provider, proxy_of):
    """All before and behind them keeps its bytes, and so does each message that the view shows as it is."""
    history = turns(30)
    texts = [
        json.dumps(message).replace('"type"', '"n": 1.50, "e": 1E2, "u": "\\u00e9\\/", "type"', 1)
        for message in history
    ]
    head = b'{ "temperature":1.0,"unknown":{"b":[1e3]},\t"model":"claude-opus-5-5","messages" : '
    tail = b' ,"system":"caf\\u00e9", "max_tokens":100}\n'
    raw = head + f"[{' , '.join(texts)}]".encode() + tail
    proxy = proxy_of(provider.url, budget=BUDGET)
    proxy.client.post("/v1/messages", content=raw)
    (got,) = provider.got
    assert proxy.outcomes() == ["compacted"]
    assert got.body.startswith(head)
    assert got.body.endswith(tail)
    found = split(got.body.decode(), "messages")
    shown = [got.body.decode()[item.start : item.end] for item in present(found.items)]
    assert len(shown) < len(texts)
    assert shown[-2:] == texts[-2:]
    assert sum(text in texts for text in shown) >= 4
    assert got.header("content-length") == str(len(got.body))


def test_cut_message_keeps_the_spelling_of_its_other_blocks(provider, proxy_of):
    """A long result among others of one message: their blocks keep their spelling."""
    block = '{"type":"tool_result", "tool_use_id":"%s","content":"%s","odd":1.50}'
    calls = [{"type": "tool_use", "id": name, "name": "f", "input": {}} for name in ("a", "b")]
    short, long = block % ("a", "caf\\u00e9"), block % ("b", (LONG * 20).replace("\n", "\\n"))
    begun = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": calls}]
    messages = (
        f'{json.dumps(begun)[:-1]}, {{"role":"user","content":[{short}, {long}]}}, {json.dumps(turns(3)[1:])[1:]}'
    )
    proxy = proxy_of(provider.url, budget=BUDGET)
    proxy.client.post("/v1/messages", content=f'{{"model":"claude-opus-5-5","messages":{messages}}}')
    body = provider.got[0].body.decode()
    assert proxy.outcomes() == ["compacted"]
    assert long not in body
    assert short in body


def test_views_extend_each_other(provider, proxy_of):
    """Between two compactions each request begins with the whole one before it."""
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(40)
    for number in range(1, len(history) + 1, 2):
        ask(proxy, history[:number])
    views = [sent(got) for got in provider.got]
    broken = sum(before != after[: len(before)] for before, after in pairwise(views))
    assert 1 <= broken <= 8
    assert all(max(len(view) for view in views) < len(history) for _ in views)


def test_same_request_again_gets_the_same_view(provider, proxy_of):
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(30)
    for number in (41, 41, 61, 61):
        ask(proxy, history[:number])
    first, second, third, fourth = (got.body for got in provider.got)
    assert first == second
    assert third == fourth


MARK = {"cache_control": {"type": "ephemeral"}}


def marks(value):
    """How many marks JSON has."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(marks, value.values()))
    return sum(map(marks, value)) if isinstance(value, list) else 0


@pytest.mark.parametrize("outside", usually([1, 3, 0, 2], 2))
def test_marks_are_set_again_and_never_more_than_four(provider, proxy_of, outside):
    """Within what the client's system prompt and tools leave; the newest message always has one."""
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(40)
    system = [{"type": "text", "text": "Be kind.", **(MARK if at < outside else {})} for at in range(3)]
    for number in range(31, len(history) + 1, 2):
        messages = json.loads(json.dumps(history[:number]))
        for each in messages[-1:] if outside == 3 else messages[-3::2]:
            each["content"][-1] |= MARK
        ask(proxy, messages, system=system)
    compacted = [
        json.loads(got.body)
        for got, what in zip(provider.got, proxy.outcomes(len(provider.got)), strict=True)
        if what == "compacted"
    ]
    assert len(compacted) > 10
    for body in compacted:
        assert marks(body) <= 4
        assert body["system"] == system
        assert marks(body["messages"][-1]) == 1
        assert all(type(each["content"]) is list for each in body["messages"])  # whether marked or not
    assert marks(compacted[-1]) > outside


@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_marks_are_set_where_the_newest_message_is_cut(provider, proxy_of):
    """The client's mark went with what was cut; the view bears marks all the same."""
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(3, text=LONG * 20)
    history[-1]["content"][-1] |= MARK
    ask(proxy, history)
    assert proxy.outcomes() == ["compacted"]
    assert b"left out" in provider.got[0].body
    assert marks(json.loads(provider.got[0].body)["messages"][-1]) == 1


def test_client_without_marks_gets_none(provider, proxy_of):
    proxy = proxy_of(provider.url, budget=BUDGET)
    ask(proxy, turns(30))
    assert proxy.outcomes() == ["compacted"]
    assert marks(json.loads(provider.got[0].body)) == 0


def test_marks_keep_the_hour_of_the_client(provider, proxy_of):
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(30)
    history[-1]["content"][-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    ask(proxy, history)
    body = json.loads(provider.got[0].body)
    assert body["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_shadow_sends_what_came_and_says_what_it_would_send(provider, proxy_of):
    proxy, history = proxy_of(provider.url, budget=BUDGET, shadow=True), turns(30)
    ask(proxy, history)
    assert provider.got[0].body == body_of(history)
    assert proxy.outcomes() == ["would be compacted"]
    assert proxy.reports[0].sent_bytes == proxy.reports[0].received_bytes == proxy.totals.sent_bytes
    assert proxy.totals.view_bytes == proxy.reports[0].view_bytes < proxy.reports[0].received_bytes / 2


def test_length_is_asked_for_the_view(provider, proxy_of):
    """A client that counts the whole history would compact it by itself."""
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(30)
    ask(proxy, history[:59])
    view = sent(provider.got[0])
    ask(proxy, history, path="/v1/messages/count_tokens")
    assert sent(provider.got[1]) == [*view, *history[59:]]
    assert proxy.outcomes(2) == ["compacted", "counted"]
    ask(proxy, history)
    assert sent(provider.got[2])[: len(view)] == view


@pytest.mark.parametrize("more", [0, 2])
def test_length_after_a_restart_is_asked_for_the_view(provider, more):
    """Of the process before. Nothing is stored for it, and the next request has that view."""
    store, history = MemoryStore(), turns(30)
    with proxied(provider.url, budget=BUDGET, store=store) as first:
        ask(first, history[:59])
    view, (name,) = sent(provider.got[0]), store.sessions()
    records = store.length(name)
    with proxied(provider.url, budget=BUDGET, store=store) as second:
        for _ in range(2):
            ask(second, history[: 59 + more], path="/v1/messages/count_tokens")
        ask(second, turns(30, "other"), path="/v1/messages/count_tokens")
        assert store.length(name) == records
        ask(second, history)
        assert second.outcomes(4) == ["counted"] * 3 + ["compacted"]
    assert [sent(got) for got in provider.got[1:3]] == [[*view, *history[59 : 59 + more]]] * 2
    assert len(sent(provider.got[3])) == 61
    assert sent(provider.got[4])[: len(view)] == view
    assert store.sessions() == [name]


@pytest.mark.parametrize("session", ["s1", "unknown"])
def test_length_of_what_is_not_compacted_is_asked_as_it_came(provider, proxy_of, session):
    proxy = proxy_of(provider.url, budget=BUDGET)
    ask(proxy, turns(2))
    ask(proxy, turns(3), path="/v1/messages/count_tokens", session=session)
    assert provider.got[1].body == body_of(turns(3))


@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_provider_that_refuses_everything_has_the_last_word(provider, proxy_of):
    """Its own error is handed on once nothing shorter can be made."""
    error = b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}'
    provider.usual = lambda _: Answer(400, pieces=(error,))
    proxy = proxy_of(provider.url, budget=BUDGET)
    answer = ask(proxy, turns(30))
    assert (answer.status_code, answer.content) == (400, error)
    assert 2 <= len(provider.got) <= 25
    sizes = [len(got.body) for got in provider.got]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_refusal_as_the_first_event_of_a_stream_is_answered(provider, proxy_of):
    said = {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}
    provider.answers.append(stream(b"event: error\ndata: " + json.dumps(said).encode() + b"\n\n"))
    provider.usual = lambda _: stream(b"event: message_stop\ndata: {}\n\n")
    answer = ask(proxy_of(provider.url, budget=BUDGET), turns(30), stream=True)
    assert answer.content == b"event: message_stop\ndata: {}\n\n"
    assert len(provider.got[0].body) > len(provider.got[1].body)


@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_answer_that_was_cut_makes_the_next_view_shorter(provider, proxy_of):
    """No error, and nothing to send again: the window was too small for the answer."""
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(31)
    cut = message(3_000, "model_context_window_exceeded")
    provider.answers.append(Answer(pieces=(cut,)))
    assert ask(proxy, history[:61]).content == cut
    ask(proxy, history)
    assert len(provider.got[1].body) < len(provider.got[0].body)


def test_request_that_looks_back_and_is_too_long_gets_a_view(provider, proxy_of):
    """A client that asks for an earlier answer once more: its request would not fit either."""
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(30)
    ask(proxy, history)
    before = provider.got[-1].body
    for _ in range(2):
        ask(proxy, history[:-4])
    ask(proxy, history)
    assert proxy.outcomes(4) == ["compacted"] * 4
    assert len(sent(provider.got[1])) < len(history[:-4])
    assert provider.got[1].body == provider.got[2].body
    assert provider.got[3].body == before


@pytest.mark.parametrize("role", ["system", "developer"])
def test_prompts_among_responses_items_stay(provider, proxy_of, role):
    """Codex sends `instructions` and messages of a developer."""
    items = [{"role": role, "content": "Rule one."}, {"role": "user", "content": "Go."}]
    for at in range(30):
        call = {"call_id": f"c{at}", "name": "f"}
        items += [{"type": "function_call", "arguments": "{}", **call}]
        items += [{"type": "function_call_output", "call_id": f"c{at}", "output": LONG}]
        items += [{"role": role, "content": "Rule two."}, {"role": "user", "content": "Next."}] if at == 28 else []
    proxy = proxy_of(provider.url, budget=BUDGET)
    body = {"model": "gpt-5", "instructions": "Be kind.", "input": items}
    proxy.client.post("/v1/responses", content=json.dumps(body))
    shown = json.loads(provider.got[0].body)["input"]
    assert proxy.outcomes() == ["compacted"]
    assert shown[0] == items[0]
    assert {"role": role, "content": "Rule two."} in shown


def test_count_has_no_more_marks_than_a_request_may_have(provider, proxy_of):
    proxy, history = proxy_of(provider.url, budget=BUDGET), turns(32)
    system = [{"type": "text", "text": "Be kind.", **MARK}]
    for end, path in ((61, "/v1/messages"), (65, "/v1/messages/count_tokens")):
        messages = json.loads(json.dumps(history[:end]))
        for each in messages[-3::2]:
            each["content"][-1] |= MARK
        ask(proxy, messages, system=system, path=path)
    assert proxy.outcomes(2) == ["compacted", "counted"]
    assert sent(provider.got[1])[-4:] == history[-4:]
    assert max(marks(json.loads(got.body)) for got in provider.got) <= 4
