"""A conversation hands out the framework's own objects, and rebuilds only what the view changed."""

import asyncio
from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import RequestTooLargeError, StoreUnavailableError, Summarizer
from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.overflow_retry import MOST_REJECTIONS, OverflowRetry
from tests.fakes import FaultyStore, ScriptedSummarizer, count_quarter
from tests.integrations.notes import Note, NoteTranslation, rounds

SMALL = ModelCall(budget=2_000)


def conversation(**options):
    return Conversation(NoteTranslation(), {"tokenizer": count_quarter, **options})


@given(st.integers(1, 60), st.integers(600, 6_000))
def test_unchanged_messages_are_the_very_objects(number, budget):
    history = [Note("user", "begin"), *rounds(number)]
    before, objects = deepcopy(history), list(history)
    view = conversation().view_now(history, ModelCall(budget=budget))
    assert history == before
    assert all(there is here for there, here in zip(history, objects, strict=True))
    own = {id(note) for note in history}
    for note in view:
        if id(note) not in own:
            assert note not in history, "an equal copy was made"
    assert view[-1] is history[-1] or view[-1].call == history[-1].call


def test_a_changed_message_keeps_what_only_the_framework_knows():
    history = [Note("user", "begin"), *rounds(40, size=200)]
    for note in history:
        note.usage = {"input": 7}
    view = conversation().view_now(history, SMALL)
    edited = [note for note in view if note.role == "tool" and not any(note is own for own in history)]
    assert edited
    assert all(note.usage == {"input": 7} for note in edited)
    assert any("<summary>" in note.text and note.usage == {} for note in view)


def test_the_view_is_the_same_with_an_event_loop():
    history = [Note("user", "begin"), *rounds(40)]
    there = conversation().view_now(history, SMALL)
    here = asyncio.run(conversation().view_of(history, SMALL))
    assert there == here


def test_a_redacted_message_is_never_handed_out_as_it_was():
    def redact(message):
        return {**message, "content": message["content"].replace("secret", "***")}

    history = [Note("user", "my secret"), Note("assistant", "fine")]
    view = conversation(redact=redact).view_now(history, SMALL)
    assert view[0].text == "my ***"
    assert view[1] is history[1]


def test_an_old_edit_is_noticed_with_the_first_call_of_a_run():
    history = [Note("user", "begin"), *rounds(40, size=1)]
    context = conversation()
    context.view_now(history, ModelCall(budget=100_000))
    history[2].text = "edited"
    context.view_now(history, ModelCall(budget=100_000, first=True))
    assert asyncio.run(context.get_messages())[2]["content"] == "edited"


def test_a_system_prompt_counts_and_is_not_in_the_view():
    history, context = [Note("user", "begin"), *rounds(3)], conversation()
    prompt = "Be brief. " * 200
    assert context.view_now(history, ModelCall(budget=50_000, system=prompt)) == history
    assert context.usage().used.tokens > 500
    assert context.view_now(history, ModelCall(budget=50_000, system="")) == history
    assert context.view_now(history, ModelCall(budget=50_000)) == history
    assert context._session.prompt is None


def test_another_system_prompt_takes_bound_reasoning_out():
    bound = {"type": "thinking", "thinking": "hm", "signature": "s1"}

    class Thinking(NoteTranslation):
        def to_message(self, native):
            found = super().to_message(native)
            return found | {"content": [bound, {"type": "text", "text": native.text}]} if native.usage else found

        def to_native(self, message, natives):
            return Note(message["role"], str(message["content"]))

    history = [Note("user", "begin"), Note("assistant", "well", usage={"thought": 1}), Note("user", "go on")]
    context = Conversation(Thinking(), {"tokenizer": count_quarter, "model": "claude-opus-5-5"})
    call = ModelCall(budget=50_000, system="Be brief.")
    assert context.view_now(history, call) == history
    assert context.view_now(history, call) == history
    assert "signature" not in str(context.view_now(history, call._replace(system="Be long.")))


def reject(retry, times):
    for _ in range(times):
        retry.rejected(ValueError("prompt is too long"), "main")


@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_each_rejection_makes_the_view_shorter():
    history, context, sizes = [Note("user", "begin"), *rounds(60)], conversation(), []
    for _ in range(4):
        sizes.append(sum(len(note.text) for note in context.view_now(history, ModelCall(budget=8_000))))
        reject(OverflowRetry(context), 1)
    assert all(later < earlier for earlier, later in pairwise(sizes))


def test_too_many_rejections_in_a_row_end_in_an_error():
    context = conversation()
    context.view_now([Note("user", "begin")], SMALL)
    retry = OverflowRetry(context)
    reject(retry, MOST_REJECTIONS)
    with pytest.raises(RequestTooLargeError, match="24 times in a row"):
        reject(retry, 1)
    reject(retry, MOST_REJECTIONS)
    retry.accepted()
    reject(retry, MOST_REJECTIONS)


def test_recall_is_answered_with_an_event_loop_and_without_one():
    context = conversation()
    context.load_now([Note("user", "begin"), *rounds(3)])
    assert "line of result 1" in context.answer_recall_now({"ref": "4"})
    assert asyncio.run(context.answer_recall({"ref": "4"})) == context.answer_recall_now({"ref": "4"})


def test_a_failing_store_stops_what_cannot_be_kept():
    store = FaultyStore()
    context = conversation(store=store, session="one")
    store.fails = [StoreUnavailableError("the disk is full")]
    history = [Note("user", "begin")]
    with pytest.raises(StoreUnavailableError):
        context.view_now(history, SMALL)
    assert context.view_now(history, SMALL) == history, "the next call loads it"


@pytest.mark.parametrize("loop", [True, False])
def test_summaries_are_made_with_an_event_loop_and_without_one(loop):
    summarizer = ScriptedSummarizer()
    context = conversation(summarizer=Summarizer(summarizer, wait_seconds=30))
    history = [Note("user", "begin")]

    def step(number):
        history.extend(rounds(1, begin=number, size=60))
        return history

    async def run():
        for number in range(60):
            await context.view_of(step(number), ModelCall(budget=4_000))
        await context.aclose()

    if loop:
        asyncio.run(run())
    else:
        for number in range(60):
            context.view_now(step(number), ModelCall(budget=4_000))
        context.close_now()
    assert summarizer.requests
    assert "Summary number" in str(asyncio.run(context.view()))
