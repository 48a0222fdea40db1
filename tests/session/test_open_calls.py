"""`open_calls()`: the calls without a result, which a loop runs or refuses before it asks the model again."""

import asyncio
from typing import Any

import pytest

from backscroll import AsyncContextManager, ContextManager, OpenCall
from backscroll.evaluation.validity import problems
from backscroll.manager.importing import ImportingManager
from backscroll.stores.memory import MemoryStore
from tests.builders import DIALECTS, MessageFactory
from tests.fakes import count_quarter

Message = dict[str, Any]
ALL = pytest.mark.parametrize("dialect", DIALECTS)


def opened(**options: Any) -> ContextManager:
    return ContextManager(tokenizer=count_quarter, **options)


def asked(talk: MessageFactory, *names: str) -> list[Message]:
    return [talk.say("user", "go"), talk.call(list(names), "I look.", {"path": "a.py", "deep": [1, None]})]


def call(name: str, seq: int = 1, *, went_on: bool = False) -> OpenCall:
    return OpenCall(name, "run", {"path": "a.py", "deep": [1, None]}, seq, went_on)


@ALL
def test_open_calls_names_each_call_without_a_result(dialect):
    """In the order of the history, with arguments as an object, and without those that are answered."""
    talk = MessageFactory(dialect)
    with opened() as context:
        assert context.open_calls() == []
        context.append(*asked(talk, "a", "b", "c"))
        assert context.open_calls() == [call("a"), call("b"), call("c")]
        context.append(*talk.results([("b", "found")]))
        assert context.open_calls() == [call("a"), call("c")]
        context.append(*talk.results([("a", "found"), ("c", "found")]))
        assert context.open_calls() == []


@ALL
def test_open_calls_of_an_async_manager_are_the_same(dialect):
    async def found() -> list[OpenCall]:
        async with AsyncContextManager(tokenizer=count_quarter) as context:
            await context.append(*asked(MessageFactory(dialect), "a", "b"))
            return await context.open_calls()

    assert asyncio.run(found()) == [call("a"), call("b")]


@ALL
def test_open_calls_are_known_after_a_resume_and_in_a_fork(dialect):
    """The process ended between the answer and its results. What is refused then, the next view shows."""
    talk, store = MessageFactory(dialect), MemoryStore()
    with opened(session="s", store=store) as context:
        context.append(*asked(talk, "a", "b"))
        context.append(*talk.results([("a", "found")]))
        with context.fork("other") as fork:
            assert fork.open_calls() == [call("b")]
    with opened(session="s", store=store) as again:
        (waiting,) = again.open_calls()
        assert waiting == call("b")
        again.append(*talk.results([(waiting.id, "not run: the process ended")]))
        assert again.open_calls() == []
        view = again.get_messages_for_request()
        assert "not run: the process ended" in str(view)
        assert "no result recorded" not in str(view)
        assert problems(view, again.get_messages()) == []


@ALL
def test_open_calls_says_whether_the_conversation_went_on(dialect):
    """Not for a hook or an answer of the same turn; a result that comes later is then shown where it comes."""
    talk = MessageFactory(dialect)
    with opened() as context:
        context.append(*asked(talk, "a"), talk.say("user", "a reminder", {"source": "hook"}))
        assert context.open_calls() == [call("a")]
        context.append(talk.say("user", "never mind"))
        assert context.open_calls() == [call("a", went_on=True)]
        context.append(talk.call(["b"], "I look again.", {"path": "a.py", "deep": [1, None]}))
        assert context.open_calls() == [call("a", went_on=True), call("b", 4)]
        context.append(*talk.results([("b", "of b")]), *talk.results([("a", "of a")]))
        view = str(context.get_messages_for_request())
        assert ("Later result of run (a)" in view, "Later result of run (b)" in view) == (True, False)


@ALL
def test_open_calls_follow_a_rewind(dialect):
    talk = MessageFactory(dialect)
    with opened() as context:
        context.append(*asked(talk, "a"), *talk.results([("a", "found")]))
        context.append(talk.call(["b"], "And this.", {"path": "a.py", "deep": [1, None]}))
        assert context.open_calls() == [call("b", 3)]
        context.rewind(1)
        assert context.open_calls() == [call("a")]
        context.rewind(0)
        assert context.open_calls() == []


def test_open_calls_far_back_are_loaded_from_the_store():
    """A compaction left the call out of every view, and the window evicted it."""
    talk = MessageFactory("openai")
    with opened(session="s", store=MemoryStore(), budget=2_000) as context:
        context.append(*asked(talk, "a"))
        for number in range(40):
            context.append(talk.say("user", f"{number} " * 60), talk.say("assistant", "ok " * 60))
            context.get_messages_for_request()
        assert context.explain()[1].state != "whole"
        assert context.open_calls() == [call("a", went_on=True)]


@pytest.mark.parametrize(("known", "said"), [("fc-1", "fc-1"), (None, "")])
def test_call_of_gemini_has_its_id_or_none(known, said):
    """Where Gemini gave no id, the response names the function alone."""
    ids = {} if known is None else {"id": known}
    made = {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"path": "a.py"}, **ids}}]}
    response = {"functionResponse": {"name": "read", "response": {"output": "found"}, **ids}}
    with opened() as context:
        context.append({"role": "user", "parts": [{"text": "go"}]}, made)
        assert context.open_calls() == [OpenCall(said, "read", {"path": "a.py"}, 1, went_on=False)]
        context.append({"role": "user", "parts": [response]})
        assert context.open_calls() == []


def test_arguments_that_are_no_object_are_the_text():
    """Of a call that was cut off, and of a custom tool."""
    cut = {"id": "a", "type": "function", "function": {"name": "run", "arguments": '{"path": "a'}}
    free = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "b", "name": "shell", "input": "ls -l"}
    for message, expected in (
        ({"role": "assistant", "content": None, "tool_calls": [cut]}, OpenCall("a", "run", '{"path": "a', 1, False)),
        ({"role": "assistant", "content": [free]}, OpenCall("b", "shell", "ls -l", 1, False)),
    ):
        with ImportingManager(tokenizer=count_quarter) as context:
            context.append({"role": "user", "content": "go"}, message)
            assert context.open_calls() == [expected]


def test_calls_that_the_provider_answers_itself_are_not_listed():
    """Its server's tools, and programs of the Responses API; a call that a program makes is a tool's."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    program = {"type": "program", "id": "pr_1", "call_id": "p", "code": "look()", "fingerprint": "f"}
    caller = {"type": "program", "caller_id": "p"}
    look = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": "{}", "caller": caller}
    for blocks, expected in (([search], []), ([program], []), ([program, look], ["c"])):
        with opened() as context:
            context.append({"role": "user", "content": "go"}, {"role": "assistant", "content": blocks})
            assert [each.id for each in context.open_calls()] == expected
