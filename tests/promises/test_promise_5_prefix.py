"""Promise 5: a view begins with the whole view before it on its lane, unless an event gives the reason."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import events
from tests.builders import ASK, BUDGETS, MessageFactory, conversations, feed, mode_of, session_with_both_triggers
from tests.profiles import examples


@given(conversations(), BUDGETS, ASK)
def test_view_extends_the_last_one_unless_an_event_explains(messages, budget, ask):
    """A view extends the one before unless an event says why not."""
    watched = session_with_both_triggers(mode=mode_of(ask))
    before: list[Any] = []

    def check(_: list[Any]) -> None:
        nonlocal before
        view = watched.view(budget)
        if view is None:
            return
        if view[: len(before)] != before:
            assert {name for name, _ in watched.events} & events.MOVES_PREFIX
        before = view
        watched.events.clear()

    feed(messages, ask, check, watched)


@given(conversations(), BUDGETS, ASK)
def test_5_asking_twice_gives_the_same(messages, budget, ask):
    watched = session_with_both_triggers(mode=mode_of(ask))

    def check(_: list[Any]) -> None:
        assert watched.view(budget) == watched.view(budget)

    feed(messages, ask, check, watched)


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(10, 250), st.sampled_from([0, 0, 0, 1])), min_size=15, max_size=40))
def test_view_begins_with_the_prompt_of_its_request(turns):
    watched, talk, prompt = session_with_both_triggers(), MessageFactory("openai"), 0
    watched.manager.set_system_prompt_factory(lambda: f"Prompt {prompt}.")
    for words, changes in turns:
        prompt += changes
        watched.manager.append(talk.say("user", "more words " * words), talk.say("assistant", "I see."))
        view = watched.view(2_500)
        assert view is None or view[0]["content"] == f"Prompt {prompt}."
