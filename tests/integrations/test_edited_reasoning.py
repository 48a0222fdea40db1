"""Where a framework's history is edited, reasoning behind the edit is no longer sent: it is bound to what was there."""

from copy import deepcopy
from typing import Any

import pytest

from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.translation import Translation
from tests.fakes import count_quarter

LARGE = ModelCall(budget=100_000)
AGAIN = ModelCall(budget=100_000, first=True)
Native = dict[str, Any]


class AsIs(Translation[Native]):
    """A framework whose messages are Anthropic's."""

    def to_message(self, native: Native) -> Native:
        return deepcopy(native)

    def to_native(self, message: Native, natives: Any) -> Native:
        return message


def conversation(**options: Any) -> Conversation[Native]:
    return Conversation(AsIs(), {"tokenizer": count_quarter, **options})


def said(text: str) -> Native:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def thought(text: str, **seal: str) -> Native:
    return {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": text, **seal}, {"type": "text", "text": text}],
    }


def kinds(message: Native) -> list[str]:
    return [block["type"] for block in message["content"]]


HISTORY = [said("one"), thought("first", signature="s1"), said("two"), thought("second", signature="s2"), said("three")]


def test_reasoning_behind_an_edit_is_not_sent():
    context = conversation()
    assert context.view_now(HISTORY, LARGE) == HISTORY
    edited = [HISTORY[0], HISTORY[1], said("two, but otherwise"), *HISTORY[3:]]
    view = context.view_now(edited, AGAIN)
    assert view[1] is HISTORY[1], "what is before the edit stays"
    assert kinds(view[3]) == ["text"]
    assert kinds(HISTORY[3]) == ["thinking", "text"], "the framework's own message stays as it is"
    assert view[4] is HISTORY[4]


def test_reasoning_made_after_the_edit_is_sent():
    context = conversation()
    context.view_now(HISTORY, LARGE)
    edited = [said("other"), *HISTORY[1:]]
    context.view_now(edited, AGAIN)
    later = [*edited, thought("third", signature="s3"), said("four")]
    view = context.view_now(later, LARGE)
    assert [kinds(message) for message in view if message["role"] == "assistant"] == [
        ["text"],
        ["text"],
        ["thinking", "text"],
    ]


def test_reasoning_that_is_not_bound_stays():
    context = conversation()
    free = ModelCall(budget=100_000, lane="gpt-5.5", first=True)
    context.view_now(HISTORY, free)
    edited = [said("other"), *HISTORY[1:]]
    assert context.view_now(edited, free) == edited


def test_plain_reasoning_stays():
    plain = [said("one"), thought("first", visibility="all"), said("two")]
    context = conversation()
    context.view_now(plain, LARGE)
    edited = [said("other"), *plain[1:]]
    assert context.view_now(edited, AGAIN)[1] is plain[1]


def test_a_rewind_keeps_the_reasoning_before_it():
    context = conversation()
    context.view_now(HISTORY, LARGE)
    shorter = [*HISTORY[:2], said("another way")]
    assert context.view_now(shorter, AGAIN) == shorter


@pytest.mark.parametrize("edit", [False, True])
def test_a_restart_knows_what_was_left_out(edit, tmp_path):
    store = {"store": f"sqlite:///{tmp_path / 'agent.db'}", "session": "one"}
    first = conversation(**store)
    first.view_now(HISTORY, LARGE)
    edited = [said("other"), *HISTORY[1:]]
    if edit:
        first.view_now(edited, AGAIN)
    first.close_now()
    again = conversation(**store)
    view = again.view_now(edited, AGAIN)
    assert [kinds(message) for message in view if message["role"] == "assistant"] == [["text"], ["text"]]
    assert again.usage().stored == 5
    again.close_now()
