"""What warns: one sentence for each event, in a category of its own, that points at the line of the caller."""

import asyncio
import inspect
import re
import warnings
from typing import Any

import pytest

import backscroll
from backscroll import BackscrollWarning, ContextManager, events
from backscroll.integrations.amplifier import hooks as signals
from backscroll.tokens.engines import resolve
from backscroll.tokens.reported_usage import RUNNING
from tests.builders import MessageFactory

TALK = MessageFactory("openai")
LANE = {"lane": "main"}
PAYLOADS: dict[str, dict[str, Any]] = {
    events.COMPACTION_WON_LITTLE: LANE
    | {"tokens": 54_000, "budget": 60_000, "parts": {"a": 1}, "made_of": "pins 1", "remedy": "unpin messages"},
    events.EPHEMERAL_KEPT: {"seq": 7},
    events.HISTORY_ODD: LANE | {"seq": 7, "rule": "empty_text", "sent": "blocks without content are left out"},
    events.ORPHAN_RESULT: {"seq": 7, "ids": ["c1"], "open": ["c2"]},
    events.ENDS_WITH_ANSWER: LANE | {"seq": 7, "model": "claude-opus-4-6"},
    events.LONG_USER_MESSAGES: LANE | {"seq": 21, "messages": 10, "characters": 3_200},
    events.USAGE_REJECTED: LANE | {"reported": "(1, 2)", "reason": "no view was handed out on this lane yet"},
    events.USAGE_CORRECTED: LANE | {"reported": 9_000, "taken": 4_100, "reason": RUNNING},
    events.OVERHEAD_LARGE: LANE | {"tokens": 15_000, "budget": 32_000},
    events.REASONING_MISMATCH: LANE | {"blocks": 3, "reasons": {"prefix_mismatch": 3}, "first": "messages.1.content.0"},
    events.CACHE_MISS_UNEXPECTED: LANE
    | {"reason": "tools_changed", "tokens": 9_000, "remedy": "offer the same tools in the same order"},
    events.RULES_EVICTED: LANE | {"rules": 1_234},
    events.SYSTEM_EVICTED: LANE | {"messages": 12, "seqs": [3]},
    events.TOOLS_EVICTED: LANE | {"messages": 2, "seqs": [3]},
    events.EDIT_REJECTED: LANE | {"strategy": "own", "edit": "Mask(seq=3)"},
    events.PREPARATION_FAILED: LANE | {"error": "OSError: no such file"},
    events.OVERFLOW: LANE | {"tokens": 12_345},
    events.STORE_UNAVAILABLE: LANE | {"error": "no room"},
    events.OFFLOAD_FAILED: {"seq": None, "bytes": 70_000, "error": "no route"},
    events.PROVIDER_WINDOW_UNAVAILABLE: {"reason": "get_info() of Provider failed: OSError('offline')"},
    events.WINDOW_ASSUMED: LANE | {"model": "my-model", "window": 128_000},
    events.MEDIA_OVER_LIMIT: LANE | {"images": 102, "bytes": 1_234, "limits": "100 images, 32,000,000 bytes in all"},
    events.ATTACHMENT_LEFT_OUT: LANE | {"seq": 0, "kind": "document"},
    events.SUMMARY_CLAIMS_STRUCK: LANE | {"first": 1, "last": 9, "struck": 2, "kept": 3},
    events.NATIVE_FAILED: LANE
    | {"last": 9, "model": "m", "input_tokens": 10, "output_tokens": 0, "reason": "it returned 0 compactions, not one"},
    events.NATIVE_UNAVAILABLE: LANE | {"model": "claude-haiku-4-5"},
    events.SUMMARY_FAILED: LANE
    | {
        "first": 1,
        "last": 9,
        "model": "m",
        "prompt": 1,
        "input_tokens": 5,
        "output_tokens": 5,
        "reason": "it is empty",
    },
    events.TOKENIZER_FALLBACK: {"tokenizer": "o", "scope": "engine", "reason": "none", "used": "e", "factor": 1.0},
    signals.OPTION_IGNORED: {"option": "colour", "reason": "unknown option; did you mean 'color'?"},
    signals.FILE_FAILED: {"path": "memory.md", "error": "no such file"},
    signals.PROMPT_FAILED: {"error": "OSError('offline')"},
}
"""Of each event that warns, as it is emitted."""


def test_warnings_table_has_payload_for_each_event():
    """Every event that warns is tried here, and only those."""
    assert set(signals.WARNINGS) == set(PAYLOADS)
    assert set(events.WARNINGS) < set(events.ALL)


@pytest.mark.parametrize("name", sorted(PAYLOADS))
def test_sentence_says_what_happened_and_what_to_do(name):
    """A warning is one sentence of two halves, without a payload as a dictionary in it."""
    said = signals.sentence(name, PAYLOADS[name])
    assert re.search(r"\S: \S", said), "what happened: what to do"
    assert not re.search(r"[{}]|context:|None", said), "no raw payload"
    assert "\n" not in said
    assert not said.endswith(".")
    for key in ("reason", "error"):
        assert str(PAYLOADS[name].get(key, "")) in said


def test_sentence_for_damaged_lines_names_them():
    """Lines of a transcript that are damaged stand in its sentence by number."""
    said = signals.sentence(signals.FILE_FAILED, {"path": "t.jsonl", "damaged_lines": [3, 14]})
    assert "t.jsonl (damaged lines: 3, 14)" in said


def unreported(manager: Any) -> None:
    """Report a usage that cannot be about anything, so that the next operation warns."""
    manager.observe_usage(input_tokens=5)


def test_sync_operation_warns_at_line_of_caller():
    """The warning of an operation points at the line that called it."""
    context = ContextManager(tokenizer=len)
    unreported(context)
    with pytest.warns(BackscrollWarning, match="was ignored, since no view was handed out") as heard:
        context.append(TALK.say("user", "hello"))
    assert [(each.filename, each.lineno) for each in heard] == [(__file__, line() - 1)]


def test_async_operation_warns_at_line_that_awaits():
    """The same of a coroutine: the line that awaits it."""

    async def use() -> int:
        context = backscroll.AsyncContextManager(tokenizer=len)
        unreported(context)
        await context.append(TALK.say("user", "hello"))
        return line() - 1

    with pytest.warns(BackscrollWarning, match="was ignored, since no view was handed out") as heard:
        at = asyncio.run(use())
    assert [(each.filename, each.lineno) for each in heard] == [(__file__, at)]


def test_failing_tokenizer_warns_at_line_of_caller_once():
    """The tokenizer warns itself, and the session does not say it again."""

    def broken(text: str) -> int:
        raise OSError("no vocabulary")

    context = ContextManager(tokenizer=broken)
    with pytest.warns(BackscrollWarning, match="no vocabulary.*tokens are estimated") as heard:
        context.append(TALK.say("user", "hello"))
    assert [each.filename for each in heard] == [__file__]
    with pytest.warns(BackscrollWarning, match="no vocabulary") as heard:
        resolve(broken).count("hello")
    assert [each.filename for each in heard] == [__file__]


def test_failing_listener_warns_at_line_of_caller():
    """A listener that raises is named, at the line of the call in which it was called."""

    def broken(name: str, payload: dict[str, Any]) -> None:
        raise ValueError("deaf")

    context = ContextManager(tokenizer=len, on_event=broken)
    with pytest.warns(BackscrollWarning, match=r"`on_event` raised ValueError\('deaf'\)") as heard:
        context.append(TALK.say("user", "hello"))
    assert {each.filename for each in heard} == {__file__}


def test_backscroll_warnings_can_be_silenced_by_category():
    """One filter silences all warnings of the package, and nothing else."""
    context = ContextManager(tokenizer=len)
    unreported(context)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", BackscrollWarning)
        context.append(TALK.say("user", "hello"))


def line() -> int:
    """The number of the caller's line."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno
