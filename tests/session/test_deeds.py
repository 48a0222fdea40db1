"""`deeds()`: what the calls of a branch did, with references, in memory and in a store, at any length."""

import asyncio
from pathlib import Path
from typing import Any, get_args

import pytest

from backscroll import AsyncContextManager, ConfigurationError, ContextManager, DeedRecord
from backscroll.messages.deed_kind import DeedKind
from tests.builders import DIALECTS, FETCH, MessageFactory
from tests.fakes import count_quarter

ALL = pytest.mark.parametrize("dialect", DIALECTS)
STEPS = {"command": "npm test && git commit -m 'Round totals'"}
RESULT = "12 passed\n[main 1a2b3c4] Round totals\n 1 file changed"


def opened(**options: Any) -> ContextManager:
    return ContextManager(tokenizer=count_quarter, **options)


def work(dialect: str) -> list[dict[str, Any]]:
    """A turn with two calls in one message, of which the second's result comes first where a dialect takes that."""
    talk = MessageFactory(dialect)
    first = [talk.say("user", "go"), talk.call(["a"], "I test.", STEPS), *talk.results([("a", RESULT)])]
    both = talk.call(["b", "c"], "I look and write.", {"path": "a.py", "content": "def total(): ..."})
    return [*first, both, *talk.results([("b", "saved"), ("c", "Error: read-only")])]


def facts_of(deeds: list[DeedRecord]) -> list[tuple[str, str, str, bool, str]]:
    return [(deed.kind, deed.what, deed.key or deed.path, deed.failed, deed.ref) for deed in deeds]


EXPECTED = [
    ("check", "npm test", "npm test", False, "[ref:1]"),
    ("commit", "Round totals", "1a2b3c4", False, "[ref:1]"),
    ("edit", "created", "a.py", False, "[ref:3]"),
    ("edit", "created", "a.py", True, "[ref:3]"),
]


@ALL
def test_deeds_of_a_branch_have_references_of_call_and_result(dialect):
    with opened() as context:
        assert context.deeds() == []
        context.append(*work(dialect))
        deeds = context.deeds()
        assert facts_of(deeds) == EXPECTED
        assert [deed.result_ref for deed in deeds[:2]] == ["[ref:2]"] * 2
        assert {deed.tool for deed in deeds} == {"run"}
        assert deeds[2].defined == ("total",)
        assert "1a2b3c4" in context.recall(deeds[1].result_ref)
        assert "npm test" in context.recall(deeds[1].ref)


@ALL
def test_deeds_of_an_async_manager_are_the_same(dialect):
    async def found() -> list[DeedRecord]:
        async with AsyncContextManager(tokenizer=count_quarter) as context:
            await context.append(*work(dialect))
            return await context.deeds()

    assert facts_of(asyncio.run(found())) == EXPECTED


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "sqlite"])
def test_deeds_of_messages_that_left_memory_are_there(stored, tmp_path: Path):
    """Views of 400 tokens, so that nearly all messages are evicted; a resumed session has never loaded them."""
    talk = MessageFactory("openai")
    options: dict[str, Any] = {"budget": 400, "session": "s", "store": tmp_path / "s.db"} if stored else {"budget": 400}
    with opened(**options) as context:
        for number in range(60):
            call = talk.call([f"c{number}"], "", {"path": f"f{number}.py", "content": f"def name_{number}(): ..."})
            context.append(talk.say("user", f"Write file {number}. " * 9), call, *talk.results([(f"c{number}", "ok")]))
            context.get_messages_for_request()
        assert len(context.get_messages_for_request()) < 60
        deeds = context.deeds()
    assert [(deed.path, deed.defined, deed.seq) for deed in deeds] == [
        (f"f{number}.py", (f"name_{number}",), 3 * number + 1) for number in range(60)
    ]
    if stored:
        with opened(**options) as again:
            assert again.deeds() == deeds
            again.rewind(8)
            assert again.deeds() == deeds[:3]


def test_since_and_kinds_leave_out_the_rest():
    with opened() as context:
        context.append(*work("openai"))
        assert [deed.kind for deed in context.deeds(kinds=["commit", "edit"])] == ["commit", "edit", "edit"]
        assert [deed.kind for deed in context.deeds(2)] == ["edit", "edit"]
        assert context.deeds(99) == []
        assert [deed.changes for deed in context.deeds(kinds=get_args(DeedKind))] == [True] * 4
        for wrong in (["edits"], "edit", ["edit", "x"]):
            with pytest.raises(ConfigurationError, match="`kinds` must be a list of 'edit', 'commit'"):
                context.deeds(kinds=wrong)


def test_call_without_a_result_has_no_reference_to_one():
    with opened() as context:
        context.append({"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [FETCH]})
        (deed,) = context.deeds()
        assert (deed.kind, deed.outcome, deed.result_ref) == ("search", "no result", "")
        context.append({"role": "tool", "tool_call_id": "c1", "content": "a page"})
        assert [(deed.text, deed.result_ref) for deed in context.deeds()] == [("a page", "[ref:2]")]


def test_results_by_name_answer_the_calls_of_their_function():
    """Gemini may name the function alone: the results are those of its calls in order."""
    call = {"functionCall": {"name": "write", "args": {"path": "a.py", "content": "x"}}}
    other = {"functionCall": {"name": "write", "args": {"path": "b.py", "content": "x"}}}
    results = [{"functionResponse": {"name": "write", "response": {"output": text}}} for text in ("ok", "Error: full")]
    with opened() as context:
        context.append({"role": "user", "parts": [{"text": "go"}]}, {"role": "model", "parts": [call, other]})
        context.append({"role": "user", "parts": results})
        assert [(deed.path, deed.result_ref) for deed in context.deeds()] == [("a.py", "[ref:2]"), ("b.py", "[ref:2]")]


def test_frozen_record():
    with opened() as context:
        context.append(*work("openai"))
        with pytest.raises(AttributeError):
            setattr(context.deeds()[0], "what", "other")  # noqa: B010  mypy knows that it is frozen
