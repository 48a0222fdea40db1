"""The tool by which a model asks for a compaction: what it frees, what it refuses, and what it leaves written."""

import asyncio
import json

import pytest

import backscroll
from backscroll import ConfigurationError, ContextManager, events
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory, add_round, words
from tests.fakes import RecordingSession, count_quarter

TALK = MessageFactory("openai")
WHY = "The three modules are written and their tests pass."


def grown(rounds: int = 30, **options) -> RecordingSession:
    """Return a session of tool results, of about 300 tokens each."""
    session = RecordingSession(**{"budget": 10_000, "clear_at_least_tokens": None, "compact_threshold": 1.0} | options)
    session.manager.append(TALK.say("user", "go"))
    for number in range(rounds):
        add_round(session, number, words(300, f"word{number}"))
    session.manager.get_messages_for_request()
    return session


def asked(session: RecordingSession, reason: object = WHY) -> str:
    _, run = session.manager.compact_tool()
    return run(reason=reason)


def test_model_compacts_and_its_reason_is_kept():
    """The reason is in the event, in what is explained, and in the store."""
    store = MemoryStore()
    session = grown(session="s", store=store)
    before = session.manager.usage().used_upper_bound
    assert asked(session).startswith("compacted: your context now takes ")
    after = session.manager.usage().used_upper_bound
    assert after < 0.9 * before
    payload = session.payloads(events.COMPACTION)[-1]
    assert (payload["trigger"], payload["reason"]) == ("model", WHY)
    explained = session.manager.explain()
    edited = [found for found in explained if found.state != "whole"]
    assert edited
    assert all(found.reason.endswith(f" (the model asked for this plan: {WHY})") for found in edited)
    view = session.manager.get_messages_for_request()
    session.manager.close()
    again = RecordingSession(session="s", store=store, budget=10_000, clear_at_least_tokens=None)
    assert again.manager.explain() == explained
    assert again.manager.get_messages_for_request() == view


def test_plan_after_it_bears_no_reason():
    session = grown()
    asked(session)
    for number in range(100, 130):
        add_round(session, number, words(300, f"word{number}"))
        session.manager.get_messages_for_request()
    assert "reason" not in session.payloads(events.COMPACTION)[-1]
    assert not any(WHY in found.reason for found in session.manager.explain())


def test_model_that_calls_it_in_a_loop_compacts_once():
    session = grown()
    answers = [asked(session) for _ in range(20)]
    assert answers[0].startswith("compacted: ")
    assert all("go on" in answer for answer in answers[1:])
    assert session.compactions == 1


def test_it_compacts_again_once_the_view_has_grown():
    session = grown()
    asked(session)
    for number in range(100, 120):
        add_round(session, number, words(300, f"word{number}"))
    session.manager.get_messages_for_request()
    assert asked(session).startswith("compacted: ")


def test_view_that_grew_little_since_is_not_compacted_again():
    session = grown(target_usage=0.2)
    asked(session)
    done = session.compactions
    for number in range(100, 102):
        add_round(session, number, words(100, f"word{number}"))
        assert "go on" in asked(session)
    assert session.compactions == done == 1


def test_small_context_is_left_alone():
    session = grown(3)
    before = session.manager.get_messages_for_request()
    assert "go on" in asked(session)
    assert session.compactions == 0
    assert session.manager.get_messages_for_request() == before


def test_context_of_protected_messages_is_left_alone():
    session = RecordingSession(budget=10_000, clear_at_least_tokens=None, compact_threshold=1.0)
    for number in range(9):
        message = TALK.say("user", words(900, f"word{number}"))
        session.manager.append({**message, "metadata": {"pinned": True}})
    session.manager.get_messages_for_request()
    assert asked(session) == (
        "compacting now would free too little, because nearly everything is recent or protected: go on"
    )
    assert session.compactions == 0


@pytest.mark.parametrize("reason", [None, "", "  \n", 5, ["done"]])
def test_call_without_a_reason_is_answered_with_what_to_do(reason):
    session = grown()
    assert asked(session, reason).startswith("compact needs a reason")
    assert session.compactions == 0


def test_reason_is_redacted_and_cut_to_its_length():
    def redact(message):
        return json.loads(json.dumps(message).replace("hunter2", "***"))

    session = grown(redact=redact)
    asked(session, "The password hunter2 works. " + "Done. " * 500)
    reason = session.payloads(events.COMPACTION)[-1]["reason"]
    assert reason.startswith("The password *** works. Done.")
    assert len(reason) == 500


@pytest.mark.parametrize("format", ["openai", "responses", "anthropic", "gemini", "strands", "mcp"])
def test_definition_has_the_format_that_was_asked_for(format):
    definition, _ = ContextManager().compact_tool(format)
    assert '"compact"' in json.dumps(definition)
    assert '"reason"' in json.dumps(definition)
    with pytest.raises(ConfigurationError, match="unknown tool format"):
        ContextManager().compact_tool("other")


def test_compact_tool_of_the_async_manager_is_awaited():
    async def run() -> str:
        manager = backscroll.AsyncContextManager(tokenizer=count_quarter, budget=10_000)
        await manager.append(TALK.say("user", "hi"))
        _, call = manager.compact_tool(lane="other")
        return await call(reason=WHY)

    assert "go on" in asyncio.run(run())
