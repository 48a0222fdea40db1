"""How often a summarizer is asked that fails again and again, and what asks it all the same."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import MessageError, events
from backscroll.compaction.upcoming import LONGEST, may_try
from backscroll.history.log import Tried
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.compaction.summarizing import SummarizedSession, begin_summarized, may_fail
from tests.fakes import ScriptedSummarizer
from tests.long_run import usually
from tests.views import summary_in

TALK = MessageFactory("openai")
DOWN = OSError("no route")


def run_steps(watched, steps, start=0):
    """So many steps of an agent whose tools answer at length."""
    chance = random.Random(7)
    for number in range(start, start + steps):
        watched.manager.append(TALK.call([f"c{number}"], f"Step {number}.", {"path": f"m{number}.py"}))
        text = f"value_{number} = {number * 7919}\n" * chance.randint(20, 400)
        watched.manager.append(*TALK.results([(f"c{number}", text)]))
        watched.view()


@may_fail
@pytest.mark.parametrize("timeout", usually([0, 5], 1))
def test_failing_summarizer_is_asked_12_times_in_120_steps(timeout):
    """Each failure in a row doubles the compactions and the new tokens before the next try."""
    model = ScriptedSummarizer(lambda _: DOWN)
    watched = begin_summarized(model, budget=8_000, wait_seconds=timeout)
    run_steps(watched, 120)
    assert len(watched.payloads(events.COMPACTION)) > 20
    assert 6 <= len(model.requests) <= 12


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5_000)), max_size=400))
def test_tries_of_a_failing_summarizer_are_bounded(steps):
    """Three, then six, then one for each 32 compactions, however much is folded."""
    tried, compactions, folded, asked = Tried(), 0, 0, 0
    for more, tokens in steps:
        compactions, folded = compactions + more, folded + tokens
        if may_try(tried, compactions, folded, 8_000):
            asked += 1
            tried = Tried(tried.failures + 1, 0, compactions, folded)
    assert asked <= 3 + 6 + compactions / LONGEST


@may_fail
def test_failing_summarizer_is_not_asked_for_compactions_alone():
    """Compactions that fold nothing new are no reason to ask."""
    model = ScriptedSummarizer(lambda _: DOWN)
    watched = begin_summarized(model, budget=8_000)
    run_steps(watched, 30)
    asked = len(model.requests)
    for _ in range(40):
        watched.manager.compact()
        watched.view()
        watched.manager.undo_compaction()
        watched.view()
    assert len(model.requests) <= asked + 1


@may_fail
def test_failing_summarizer_is_asked_no_more_often_after_resumes():
    """What was tried follows from what is stored, with and without a checkpoint."""
    store = MemoryStore()
    model = ScriptedSummarizer(lambda _: DOWN)
    options: dict[str, Any] = {"budget": 8_000, "session": "s", "store": store}
    watched = begin_summarized(model, **options)
    for number in range(12):
        run_steps(watched, 10, start=10 * number)
        watched.manager.close()
        watched = SummarizedSession(model, **options)
    assert 6 <= len(model.requests) <= 12


@pytest.mark.long
@may_fail
def test_summarizer_that_was_down_for_long_comes_back():
    """The wait between two tries has an end: 32 compactions."""
    model = ScriptedSummarizer(lambda number: DOWN if number < 10 else "All is well again.")
    watched = begin_summarized(model)
    run_steps(watched, 400)
    assert "in short: All is well again." in summary_in(watched.view())


@may_fail
def test_focus_asks_a_summarizer_that_failed_again_and_again():
    """What a user asks for is not left out because of what happened before."""
    model = ScriptedSummarizer(lambda _: DOWN)
    watched = begin_summarized(model, budget=8_000)
    run_steps(watched, 40)
    before = len(model.requests)
    watched.manager.compact(focus="the API")
    assert len(model.requests) == before + 1
    assert "the API" in model.requests[-1].prompt


def test_focus_asks_again_where_a_summary_is_ready():
    """A summary that nobody compacted by yet was made without the focus."""
    model = ScriptedSummarizer(lambda number: f"<summary>All is {'well' if number == 1 else 'better'}.</summary>")
    watched = begin_summarized(model)
    number = 0
    while events.SUMMARY_READY not in watched.names:
        watched.rounds(1, start=number)
        number += 1
    assert len(model.requests) == 1
    watched.manager.compact(focus="the API")
    assert len(model.requests) == 2
    assert "the API" in model.requests[-1].prompt
    assert "in short: All is better." in summary_in(watched.view())


# -- what a caller leaves out --

SECRET = "hunter2"


def without_secrets(message):
    """Takes a password out of any message."""
    if isinstance(message["content"], str):
        message["content"] = message["content"].replace(SECRET, "[secret]")
    return message


def test_redact_reaches_the_answer_of_a_summarizer_and_its_focus():
    """What a user has left out of messages is in no summary, nor in what is asked."""
    store = MemoryStore()
    model = ScriptedSummarizer(lambda _: f"The step after {SECRET} went well.")
    watched = begin_summarized(model, redact=without_secrets, session="s", store=store)
    watched.rounds(26)
    watched.manager.compact(focus=f"what {SECRET} opens")
    assert "what [secret] opens" in model.requests[-1].prompt
    assert "The step after [secret] went well." in summary_in(watched.view())
    watched.manager.close()
    assert SECRET not in str(watched.events) + str(store.read("s")) + "".join(
        request.prompt for request in model.requests
    )


@may_fail
@pytest.mark.parametrize(
    "answer", [OSError(f"no {SECRET}"), OSError(f"{'x' * 284}{SECRET}"), f"I'm sorry, but {SECRET}!", [SECRET]]
)
def test_redact_reaches_the_reasons_of_failures(answer):
    """Nor is it in what is said of an answer that could not be used."""
    watched = begin_summarized(ScriptedSummarizer(lambda _: answer), redact=without_secrets)
    watched.rounds(30)
    assert "[sec" in str(watched.payloads(events.SUMMARY_FAILED))
    assert SECRET[:4] not in str(watched.events)


@may_fail
def test_redact_that_refuses_an_answer_is_a_failure():
    """And one that refuses a focus refuses the call."""

    def refusing(message):
        if SECRET in str(message):
            raise ValueError("not that")
        return message

    watched = begin_summarized(ScriptedSummarizer(lambda _: f"The step after {SECRET} went well."), redact=refusing)
    watched.rounds(30)
    assert "`redact` raised" in str(watched.payloads(events.SUMMARY_FAILED))
    assert SECRET not in str(watched.events)
    with pytest.raises(MessageError, match="`redact` raised"):
        watched.manager.compact(focus=SECRET)
