"""A hand-over in its view: where it stands, in which role, and what is shown beside it, in seven dialects."""

import json
from typing import Any

import pytest

from backscroll import ContextManager
from backscroll.evaluation.fake_providers import FakeAnthropic
from backscroll.evaluation.validity import problems
from tests.builders import DIALECTS, MessageFactory, words
from tests.fakes import count_quarter
from tests.odd.walk import refusal
from tests.views import BRIDGE, summary_of

Message = dict[str, Any]
TASK = "Move every test to the new runner."
MODEL = ("assistant", "model")
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def rounds(talk: MessageFactory, count: int, size: int = 150, first: int = 0) -> list[Message]:
    """So many calls with their results of so many tokens."""
    found: list[Message] = []
    for number in range(first, first + count):
        found.append(talk.call([f"c{number}"], f"I read file {number}.", {"path": f"src/file_{number}.py"}))
        found += talk.results([(f"c{number}", f"file {number} " + words(size))])
    return found


def view_of(messages: list[Message], budget: int, pinned: tuple[int, ...] = ()) -> list[Message]:
    """The view of a session of these messages, which its provider takes."""
    with ContextManager(tokenizer=count_quarter, mode="standard") as manager:
        manager.append(*messages)
        for seq in pinned:
            manager.pin(seq)
        view = manager.get_messages_for_request(token_budget=budget)
        assert problems(view, messages) == []
        assert manager.usage().used_upper_bound <= budget
    return view


def place_of(view: list[Message]) -> int:
    """The index of the hand-over."""
    return next(at for at, message in enumerate(view) if summary_of([message]))


def is_bridge(message: Message) -> bool:
    return BRIDGE in json.dumps(message)


@each_dialect
def test_handover_stands_between_task_and_newest(dialect):
    """The view is the system's words, the task, the hand-over and a run of the newest messages."""
    talk = MessageFactory(dialect)
    messages = [talk.say("system", "Be brief."), talk.say("user", TASK), *rounds(talk, 20)]
    view = view_of(messages, 2_000)
    at = place_of(view)
    assert [message for message in view[:at] if not is_bridge(message)] == messages[:2]
    assert view[at]["role"] == "user"
    behind = [message for message in view[at + 1 :] if not is_bridge(message)]
    assert 0 < len(behind) < len(messages) / 2
    assert refusal(dialect, view) == ""


@each_dialect
def test_bridge_stands_only_where_roles_must_alternate(dialect):
    """Where two messages of the user may follow each other, no line speaks as the model."""
    talk = MessageFactory(dialect)
    view = view_of([talk.say("user", TASK), *rounds(talk, 20)], 2_000)
    assert any(map(is_bridge, view)) is (dialect == "bedrock")


@each_dialect
def test_handover_is_the_models_between_two_of_the_user(dialect):
    """The newest message is the user's as well: then the hand-over needs no line beside it."""
    talk = MessageFactory(dialect)
    messages = [talk.say("user", TASK), *rounds(talk, 12, 110)]
    messages += [talk.say("assistant", "All is read."), talk.say("user", "Now move them. " + words(1_000))]
    view = view_of(messages, 1_600)
    at = place_of(view)
    assert at == len(view) - 2
    assert view[at]["role"] in MODEL
    assert not any(map(is_bridge, view))
    assert refusal(dialect, view) == ""


@each_dialect
def test_pinned_messages_precede_the_handover_in_order(dialect):
    talk = MessageFactory(dialect)
    told = [talk.say("user", f"Never touch folder {number}.") for number in range(2)]
    messages = [talk.say("user", TASK), *rounds(talk, 4), told[0], *rounds(talk, 4, first=4), told[1]]
    pinned = (messages.index(told[0]), messages.index(told[1]))
    messages += rounds(talk, 14, first=8)
    view = view_of(messages, 2_000, pinned)
    shown = [view.index(each) for each in told]
    assert shown == sorted(shown)
    assert shown[-1] < place_of(view)
    assert refusal(dialect, view) == ""


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each != "interactions"])
def test_system_message_before_the_handover_is_taken(dialect):
    """Anthropic takes a system message only behind the user's turn, and only the model answers it. The Interactions API
    takes none in the middle.
    """
    talk = MessageFactory(dialect)
    rule = talk.say("system", "The user is away.")
    view = view_of([talk.say("user", TASK), *rounds(talk, 4), rule, *rounds(talk, 16, first=4)], 2_000)
    assert rule in view[: place_of(view)]
    assert refusal(dialect, view) == ""
    if dialect == "anthropic":
        FakeAnthropic(model="claude-opus-4-8").create(messages=view, max_tokens=100)


@each_dialect
def test_last_message_is_quoted_once_its_turn_is_long(dialect):
    talk = MessageFactory(dialect)
    last = talk.say("user", "Rename the helper in conftest as well.")
    begun = [talk.say("user", TASK), *rounds(talk, 3), talk.say("assistant", "Moved."), last]
    view = view_of([*begun, *rounds(talk, 20, first=3)], 2_500)
    assert last not in view
    assert "user: Rename the helper in conftest as well." in summary_of(view)


@each_dialect
def test_last_message_stays_where_a_handover_has_no_room(dialect):
    talk = MessageFactory(dialect)
    last = talk.say("user", "Rename the helper in conftest as well.")
    begun = [talk.say("user", TASK), *rounds(talk, 3), talk.say("assistant", "Moved."), last]
    assert last in view_of([*begun, *rounds(talk, 20, first=3)], 999)


@each_dialect
def test_last_message_stays_where_pins_take_the_room(dialect):
    """What must stay leaves a hand-over no room to quote it in."""
    talk = MessageFactory(dialect)
    last = talk.say("user", "Rename the helper in conftest as well.")
    begun = [talk.say("user", TASK), *rounds(talk, 1, 900), talk.say("assistant", "Moved."), last]
    assert last in view_of([*begun, *rounds(talk, 6, first=3)], 1_600, pinned=(1,))


@each_dialect
@pytest.mark.parametrize("place", ["first", "last"])
def test_an_image_of_the_user_stays_a_message(dialect, place):
    """A quote cannot show it."""
    talk = MessageFactory(dialect)
    picture = talk.picture("Make it look like this. " + (words(1_100) if place == "first" else ""))
    messages = [talk.say("user", TASK), *rounds(talk, 3), talk.say("assistant", "Done."), picture]
    messages = [picture] if place == "first" else messages
    view = view_of([*messages, *rounds(talk, 40, first=3)], 5_000)
    assert picture in view[: place_of(view)]
    assert refusal(dialect, view) == ""


@each_dialect
def test_a_long_first_message_is_quoted(dialect):
    talk = MessageFactory(dialect)
    first = talk.say("user", f"{TASK} Here is the old list.\n" + words(1_500))
    second = [talk.say("assistant", "Moved."), talk.say("user", "Now the helpers.")]
    view = view_of([first, *rounds(talk, 3), *second, *rounds(talk, 40, first=3)], 5_000)
    assert first not in view
    assert TASK in summary_of(view)
    assert place_of(view) == 0
    assert refusal(dialect, view) == ""


@each_dialect
def test_a_long_first_message_stays_where_it_takes_little(dialect):
    """Often it brings the project's instructions, of which a quote has the name alone."""
    talk = MessageFactory(dialect)
    first = talk.say("user", f"# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\n{words(1_200)}\n</INSTRUCTIONS>")
    messages = [first, talk.say("assistant", "Well."), talk.say("user", TASK), *rounds(talk, 80, size=400)]
    assert view_of(messages, 16_000)[0] == first
    view = view_of(messages, 6_000)
    assert first not in view
    assert "with it: instructions of the project" in summary_of(view)
