"""Which conversation a request belongs to."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import pairwise

import pytest

from backscroll import ContextManager
from backscroll.stores.memory import MemoryStore
from tests.integrations.proxy.conversations import LONG, ask, body_of, sent, turns
from tests.integrations.proxy.harness import proxied
from tests.integrations.proxy.recording import Answer, counted

BUDGET = 4_000


@pytest.fixture
def store():
    return MemoryStore()


@pytest.fixture
def proxy(provider, proxy_of, store):
    return proxy_of(provider.url, budget=BUDGET, store=store)


def answered(text):
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def asked(text):
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def stored(store, name):
    with ContextManager(store=store, session=name) as context:
        return context.get_messages()


def lengths(store):
    return sorted(len(stored(store, name)) for name in store.sessions())


def test_a_changed_system_prompt_is_the_same_conversation(proxy, store):
    """It may hold the time of day."""
    for number in range(1, 9, 2):
        ask(proxy, turns(4)[:number], system=f"It is {number} o'clock.")
    assert lengths(store) == [7]


@pytest.mark.parametrize(
    ("path", "key"),
    [("/v1/chat/completions", "messages"), pytest.param("/v1/responses", "input", marks=pytest.mark.long)],
)
def test_a_changed_system_message_is_the_same_conversation(provider, proxy_of, store, path, key):
    """Where the prompt is among the messages, all of it is sent, and the rest of the view holds its beginning. What a
    compaction frees of 4,000 tokens, two pairs of these messages fill.
    """
    proxy = proxy_of(provider.url, budget=2 * BUDGET, store=store)
    history = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"{at} {LONG}"} for at in range(60)]
    for number in range(1, 60, 2):
        prompts = [{"role": "system", "content": f"It is {number}."}, {"role": "developer", "content": "Be kind."}]
        body = {"model": "gpt-5", key: [*prompts, *history[:number]]}
        proxy.client.post(path, content=json.dumps(body))
        assert json.loads(provider.got[-1].body)[key][:2] == prompts
    assert lengths(store) == [59]
    views = [json.loads(got.body)[key][2:] for got in provider.got]
    assert 1 <= sum(before != after[: len(before)] for before, after in pairwise(views)) <= 8


def test_sessions_of_a_client_are_apart(proxy, store):
    for session in ("s1", "s2", "s3/../x", "s" * 500, "\u00e9"):
        proxy.client.post(
            "/v1/messages", content=body_of(turns(1)), headers={"x-claude-code-session-id": session.encode()}
        )
    names = store.sessions()
    assert len(names) == 5
    assert max(map(len, names)) < 200


def test_agents_of_a_session_are_apart(proxy, store):
    """A sub-agent begins with a message of its own."""
    for number in range(1, 8, 2):
        ask(proxy, turns(4, "main")[:number])
        ask(proxy, turns(4, "helper")[:number])
    assert lengths(store) == [7, 7]


def test_agents_that_begin_alike_are_apart(provider, proxy, store):
    """Two of one session with one first message: each goes on with its own view, in any order."""
    one, other = turns(16, "x"), turns(16, "x")
    for message in other[1:]:
        message["content"] = json.loads(json.dumps(message["content"]).replace('"x', '"y'))
    for number in range(1, len(one) + 1, 2):
        ask(proxy, one[:number])
        ask(proxy, other[:number])
    assert lengths(store) == [33, 33]
    assert "compacted" in proxy.outcomes(34)[-4:]
    views = [json.dumps(sent(got)) for got in provider.got[-2:]]
    assert "x15.txt" in views[0]
    assert "y15.txt" not in views[0]
    assert "y15.txt" in views[1]
    assert "x15.txt" not in views[1]


def test_edit_goes_on_in_the_same_conversation(proxy, store):
    """The client went back two turns and asked something else."""
    history = turns(5)
    ask(proxy, history)
    ask(proxy, [*history[:7], answered("Well."), asked("Something else.")])
    ask(proxy, [*history[:7], answered("Well."), asked("Something else."), answered("Yes."), asked("And?")])
    assert lengths(store) == [11]


def chat(task, number, *, system="You are Q.", tools=("shell", "task"), folder="You are in /home."):
    """A request of a client without an id, which begins all conversations with the same two messages."""
    messages = [{"role": "user", "content": folder}, {"role": "assistant", "content": "Got it."}]
    messages.append({"role": "user", "content": task})
    for at in range(number):
        asked_for = {"name": "shell", "arguments": json.dumps({"path": f"{task}{at}"})}
        call = {"id": f"{task}{at}", "type": "function", "function": asked_for}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"{task}{at}", "content": f"{task} {at}\n{LONG}"})
    defined = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in tools]
    return {"model": "gpt-5", "messages": [{"role": "system", "content": system}, *messages], "tools": defined}


def post(proxy, body):
    return proxy.client.post("/v1/chat/completions", content=json.dumps(body))


HELPERS = [
    pytest.param({"system": "You help Q and nobody else.", "tools": ("shell",)}, id="another prompt and other tools"),
    pytest.param({"tools": ("shell",)}, id="other tools"),
    pytest.param({"system": "You help Q and nobody else."}, id="another prompt"),
    pytest.param({}, id="the same prompt and tools"),
]


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize("restarts", [False, True])
def test_sub_agents_of_a_client_without_an_id_rewind_nothing(provider, proxy_of, store, helper, restarts):
    """Qwen Code: what the main agent's view left out stays out, and its next request begins as the one before."""
    with proxied(provider.url, budget=BUDGET, store=store) as proxy:
        for number in range(21):
            post(proxy, chat("main", number))
        before = sent(provider.got[-1])
        if not restarts:
            for task in ("one", "two"):
                for number in range(3):
                    post(proxy, chat(task, number, **helper))
            post(proxy, chat("main", 21))
    if restarts:
        again = proxy_of(provider.url, budget=BUDGET, store=store)
        for task in ("one", "two"):
            for number in range(3):
                post(again, chat(task, number, **helper))
        post(again, chat("main", 21))
    assert "compacted here" in json.dumps(before)
    assert sent(provider.got[-1])[: len(before)] == before
    assert lengths(store) == [7, 7, 45]


def test_sub_agent_that_shares_work_rewinds_nothing(provider, proxy, store):
    """It begins with a part of the main agent's conversation, and has other tools."""
    for number in range(21):
        post(proxy, chat("main", number))
    before = sent(provider.got[-1])
    told = {"role": "user", "content": "Only look at this."}
    shared = chat("main", 15, tools=("shell",))
    post(proxy, {**shared, "messages": [*shared["messages"], told]})
    post(proxy, chat("main", 21))
    assert sent(provider.got[-1])[: len(before)] == before
    assert lengths(store) == [34, 45]


def test_edit_with_a_changed_date_rewinds_also_after_a_restart(provider, proxy_of, store):
    """A prompt with another date and another folder is the same agent's."""
    prompt = "You are Q and answer all questions that you are asked, in a few words. It is {}. The folder is /home/{}."
    with proxied(provider.url, budget=BUDGET, store=store) as proxy:
        for number in range(8):
            post(proxy, chat("main", number, system=prompt.format("2026-11-27", "a")))
    proxy = proxy_of(provider.url, budget=BUDGET, store=store)
    edited = chat("main", 5, system=prompt.format("2026-11-28", "b"))
    post(proxy, {**edited, "messages": [*edited["messages"], asked("Stop.")]})
    assert lengths(store) == [14]


@pytest.mark.parametrize("more", [{"system": "Now you are somebody else."}, {"tools": ("shell", "task", "late")}])
def test_conversation_that_goes_on_is_one_with_other_tools(proxy, store, more):
    """A server of tools was connected, or the agent has another mode: its history goes on."""
    for number in range(4):
        post(proxy, chat("main", number, **(more if number == 2 else {})))
    assert lengths(store) == [9]


def test_title_at_the_end_of_a_conversation_is_rewound(provider, proxy, store):
    """It is asked for without tools behind all messages, and the conversation goes on without it."""
    for number in range(21):
        post(proxy, chat("main", number))
    before = sent(provider.got[-1])
    for number in (20, 21):
        body = chat("main", number)
        titled = [{"role": "system", "content": "You name things."}, *body["messages"][1:], asked("A title, please.")]
        post(proxy, {"model": "gpt-5", "messages": titled})
        post(proxy, chat("main", number + 1))
    assert sent(provider.got[-1])[: len(before)] == before
    assert lengths(store) == [47]


def test_branch_that_goes_on_again_is_a_conversation_of_its_own(proxy, store):
    """Both live on: nothing is rewound back and forth."""
    trunk = turns(3)
    left, right = [*trunk, answered("L"), asked("left")], [*trunk, answered("R"), asked("right")]
    for more in range(4):
        for side in (left, right):
            ask(proxy, [*side, *(each for at in range(more) for each in (answered(f"a{at}"), asked(f"b{at}")))])
    assert lengths(store) == [15, 15]


def test_request_that_looks_back_changes_nothing(provider, proxy, store):
    """A client that asks for a title sends the beginning again."""
    history = turns(30)
    ask(proxy, history[:59])
    before = sent(provider.got[-1])
    ask(proxy, history[:3])
    assert provider.got[-1].body == body_of(history[:3])
    assert proxy.outcomes(2) == ["compacted", "left alone"]
    ask(proxy, history)
    assert sent(provider.got[-1])[: len(before)] == before
    assert lengths(store) == [61]


def test_marks_and_forms_of_a_text_are_no_difference(proxy, store):
    """A client that marks a text writes it as a block, and later as a text again."""
    plain = [{"role": "user", "content": "Hello."}, answered("Hi."), {"role": "user", "content": "Go on."}]
    mark = {"cache_control": {"type": "ephemeral"}}
    ask(proxy, [{"role": "user", "content": [{"type": "text", "text": "Hello.", **mark}]}])
    ask(proxy, plain)
    ask(proxy, [*plain[:2], {"role": "user", "content": [{"type": "text", "text": "Go on.", **mark}]}])
    assert lengths(store) == [3]
    (name,) = store.sessions()
    assert "cache_control" not in json.dumps(stored(store, name))


def test_clients_without_an_id_are_separated_by_messages(provider, proxy, store):
    for number in range(1, 8, 2):
        ask(proxy, turns(4, "one")[:number], session=None)
        ask(proxy, turns(4, "two")[:number], session=None)
    assert lengths(store) == [7, 7]
    assert all(name.startswith("anthropic/-/") for name in store.sessions())


@pytest.mark.parametrize(
    ("path", "key", "headers", "more", "expected"),
    [
        (
            "/v1/messages",
            "messages",
            {},
            {"metadata": {"user_id": "user_a_account_b_session_12345678-9"}},
            "12345678-9",
        ),
        ("/v1/messages", "messages", {}, {"metadata": {"user_id": '{"session_id": "abc"}'}}, "abc"),
        ("/v1/messages", "messages", {}, {"metadata": {"user_id": "somebody"}}, "somebody"),
        ("/v1/responses", "input", {"session-id": "codex-1"}, {"prompt_cache_key": "x"}, "codex-1"),
        ("/v1/responses", "input", {}, {"prompt_cache_key": "x"}, "x"),
        ("/v1/chat/completions", "messages", {}, {"user": "u"}, "u"),
        ("/v1/chat/completions", "messages", {"x-backscroll-session": "mine"}, {"user": "u"}, "mine"),
        ("/v1/chat/completions", "messages", {"authorization": "Bearer secret"}, {}, "-"),
    ],
)
def test_id_of_a_client_names_the_session(proxy, store, path, key, headers, more, expected):
    body = {"model": "gpt-5", "max_tokens": 9, key: [{"role": "user", "content": "hello"}], **more}
    proxy.client.post(path, content=json.dumps(body), headers=headers)
    (name,) = store.sessions()
    assert name.split("/")[1] == expected


@pytest.mark.parametrize(
    ("path", "key", "more", "said"),
    [
        (
            "/v1/messages",
            "messages",
            {"system": [{"type": "text", "text": "<env>\nWorking directory: /home/me/x\n"}]},
            "hi",
        ),
        ("/v1/messages", "messages", {"system": "Primary working directory: /home/me/x"}, "hi"),
        ("/v1/responses", "input", {}, "<environment_context>\n  <cwd>/home/me/x</cwd>\n</environment_context>"),
    ],
)
def test_time_and_folder_are_noted_with_messages(proxy, store, path, key, more, said):
    """So the MCP server shows the conversation in its project, with its date."""
    body = {"model": "m", "max_tokens": 9, key: [{"role": "user", "content": said}], **more}
    proxy.client.post(path, content=json.dumps(body))
    (message,) = stored(store, store.sessions()[0])
    noted = message["metadata"]["log"]
    assert noted["project"] == "/home/me/x"
    assert datetime.fromisoformat(noted["time"]).tzinfo is not None


def test_requests_of_one_conversation_at_once(provider, proxy, store):
    """Each gets the same view, and it is stored once."""
    history = turns(10)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(proxy, history), range(8)))
    assert all(answer.status_code == 200 for answer in answers)
    assert len({got.body for got in provider.got}) == 1
    assert lengths(store) == [21]


def test_branches_at_once_are_both_whole(provider, proxy, store):
    """While one request is under way, another that goes on differently does not rewind it."""
    trunk = turns(3)
    ask(proxy, trunk)
    slow = [*trunk, answered("L"), asked("left")]

    def usual(got):
        if b"left" in got.body:
            ask(proxy, [*trunk, answered("R"), asked("right")])
        return counted(got)

    provider.usual = usual
    ask(proxy, slow)
    assert lengths(store) == [9, 9]


def test_restart_goes_on_with_the_same_view(provider, proxy_of, store):
    """A new process finds the conversation by its store, also where two begin alike."""
    one, other = turns(30, "x"), [*turns(1, "x"), answered("No."), asked("Then?")]
    with proxied(provider.url, budget=BUDGET, store=store) as first:
        for number in range(41, 58, 2):
            ask(first, other)
            ask(first, one[:number])
    before = sent(provider.got[-1])
    second = proxy_of(provider.url, budget=BUDGET, store=store)
    ask(second, one[:59])
    assert sent(provider.got[-1])[: len(before)] == before
    ask(second, [*other, answered("Then this."), asked("Good.")])
    assert lengths(store) == [7, 59]


def test_client_that_compacts_by_itself_begins_a_new_session(provider, proxy, store):
    """Its request for a summary is answered over the view; what it begins with the summary is new."""
    history = [*turns(30), answered("So far."), asked("Summarize this conversation.")]
    ask(proxy, turns(30))
    ask(proxy, history)
    ask(proxy, [asked("This is what happened: nothing."), answered("I see."), asked("Go on.")])
    assert lengths(store) == [3, 63]
    assert len(sent(provider.got[1])) < len(history)
    assert proxy.outcomes(3) == ["compacted", "compacted", "as it came"]


def test_refused_answer_is_not_part_of_any_conversation(provider, proxy, store):
    """The client sends the request again, and it is stored once."""
    provider.answers.append(Answer(529, pieces=(b'{"error":"overloaded"}',)))
    ask(proxy, turns(2))
    ask(proxy, turns(2))
    assert lengths(store) == [5]
