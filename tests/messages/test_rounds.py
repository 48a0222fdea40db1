"""Results in blocks: each request has those of a round in one message, first, directly behind their own calls."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.evaluation.strangers import strangers
from backscroll.evaluation.validity import problems
from backscroll.messages.rounds import arranged
from tests.builders import MessageFactory
from tests.views import content_of, in_a_row

Message = dict[str, Any]
BLOCKS = pytest.mark.parametrize("dialect", ["anthropic", "bedrock", "gemini"])


def result(dialect: str, call: str, text: str) -> Any:
    (message,) = MessageFactory(dialect).results([(call, text)])
    return content_of(message)[0]


def text(dialect: str, said: str) -> Any:
    return content_of(MessageFactory(dialect).say("user", said))[0]


def hook(dialect: str) -> Message:
    return MessageFactory(dialect).say("user", "a note", {"source": "hook"})


def user(*blocks: Any) -> Message:
    key = "parts" if any("functionResponse" in block for block in blocks) else "content"
    return {"role": "user", key: list(blocks)}


def sent(messages: list[Message]) -> list[Message]:
    """The request after these messages, and that an inspector finds each line of it."""
    manager = ContextManager()
    manager.append(*messages)
    view = manager.get_messages_for_request()
    assert problems(view, messages) == []
    assert strangers(view, messages) == []
    (request,) = manager.list_requests()
    shown = manager.get_request(request.at)
    assert shown.messages == view
    assert [line.message for line in shown.lines if line.message is not None] == view
    assert sum(line.tokens for line in shown.lines) == manager.usage().used.tokens == request.tokens
    manager.close()
    return view


@BLOCKS
def test_late_result_joins_the_message_of_its_round(dialect):
    """Two messages with results of one round are sent as one, also where a hook's note came between them."""
    talk = MessageFactory(dialect)
    calls = talk.call(["a", "b"], "I look.", {})
    first, late = result(dialect, "a", "one"), result(dialect, "b", "two")
    begin, end = talk.say("user", "go"), talk.say("assistant", "Done.")
    assert sent([begin, calls, user(first), user(late), end]) == [begin, calls, user(first, late), end]
    view = sent([begin, calls, user(first), hook(dialect), user(late), end])
    assert view == in_a_row([begin, calls, user(first, late), hook(dialect), end])


@BLOCKS
def test_results_behind_text_come_first(dialect):
    """A user's text that stands before the results goes behind them."""
    talk = MessageFactory(dialect)
    words, found = text(dialect, "by the way"), result(dialect, "a", "one")
    begin, calls = talk.say("user", "go"), talk.call(["a"], "I look.", {})
    assert sent([begin, calls, user(words, found)]) == [begin, calls, user(found, words)]


@BLOCKS
def test_answers_to_two_turns_in_one_message_are_parted(dialect):
    """Each round gets its own results; what else the message says stays with the last of them."""
    talk = MessageFactory(dialect)
    one, two, words = result(dialect, "a", "one"), result(dialect, "b", "two"), text(dialect, "both")
    begin, first, second = talk.say("user", "go"), talk.call(["a"], "First.", {}), talk.call(["b"], "Second.", {})
    view = sent([begin, first, second, user(words, two, one)])
    assert view == [begin, first, user(one), second, user(two, words)]


@BLOCKS
def test_call_without_result_among_late_ones_is_answered(dialect):
    """A call that was never answered gets its synthetic result in the message of its round."""
    talk = MessageFactory(dialect)
    calls = talk.call(["a", "b", "c"], "I look.", {})
    begin, end = talk.say("user", "go"), talk.say("assistant", "Done.")
    view = sent([begin, calls, user(result(dialect, "a", "one")), user(result(dialect, "c", "three")), end])
    assert len(content_of(view[2])) == 3
    assert "no result recorded" in str(view[2])


@BLOCKS
def test_ephemeral_message_never_stands_inside_a_round(dialect):
    """A passing note that came between a call and its results is shown behind them, also when the view goes on."""
    talk = MessageFactory(dialect)
    calls, note = talk.call(["a", "b"], "I look.", {}), talk.say("user", "a note", {"ephemeral": True})
    messages = [talk.say("user", "go"), calls, user(result(dialect, "a", "one")), user(result(dialect, "b", "two"))]
    for at in (2, 3):
        manager = ContextManager()
        for number, message in enumerate(messages):
            if number == at:
                manager.append(note)
            manager.append(message)
            if not manager.open_calls():
                view = manager.get_messages_for_request()
        assert view == in_a_row([*messages[:2], user(*content_of(messages[2]), *content_of(messages[3])), note])
        manager.close()


blocks = st.lists(st.sampled_from(["a", "b", "c", "text", "mark"]), max_size=4)
kinds = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map(lambda ids: ("call", ids)),
    blocks.map(lambda found: ("user", found)),
)


@given(st.sampled_from(["anthropic", "bedrock", "gemini"]), st.lists(kinds, max_size=8))
def test_arranged_messages_hold_every_block_once(dialect, found):
    """Whatever is repeated or missing: no block is lost or doubled, and each message names what it is made of."""
    messages = []
    for number, (kind, names) in enumerate(found):
        if kind == "call":
            messages.append(MessageFactory(dialect).call(names, f"call {number}", {}))
        else:
            made = [
                text(dialect, f"{number} {at}")
                if name == "text"
                else {"cachePoint": {"type": f"{number} {at}"}}
                if name == "mark"
                else result(dialect, name, f"{number} {at}")
                for at, name in enumerate(names)
            ]
            messages.append(user(*made))
    after, sources = arranged(messages)
    assert sorted(map(str, all_blocks(after))) == sorted(map(str, all_blocks(messages)))
    assert len(after) == len(sources)
    for message, numbers in zip(after, sources, strict=True):
        held = [block for number in numbers for block in content_of(messages[number])]
        assert all(block in held for block in content_of(message))
    assert arranged(after).messages == after


def all_blocks(messages: list[Message]) -> list[Any]:
    return [block for message in messages for block in content_of(message)]
