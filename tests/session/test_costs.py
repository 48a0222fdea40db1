"""What is done once is done once: texts are counted when they come, and a compaction counts little. No clocks."""

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import AsyncContextManager as AsyncManager
from backscroll import BudgetError, ContextManager
from tests.builders import LONG, MessageFactory, conversations
from tests.fakes import CountingTokenizer
from tests.long_run import usually
from tests.present import present
from tests.profiles import examples


@settings(max_examples=examples(30))
@given(conversations(), st.integers(500, 4_000))
def test_each_text_of_an_added_message_is_counted_once(messages, budget):
    counting = CountingTokenizer()
    manager = ContextManager(tokenizer=counting)
    expected: Counter[str] = Counter()
    for message in messages:
        manager.append(message)
        expected.update(part.text for part in present(manager._session.history.last).reading.parts if part.text)
        try:
            manager.get_messages_for_request(token_budget=budget)
        except BudgetError:
            continue
    long = {text: times for text, times in expected.items() if len(text) > 600}
    assert {text: counting.texts[text] for text in long} == long


def test_asking_again_counts_nothing():
    counting = CountingTokenizer()
    manager = ContextManager(tokenizer=counting)
    fill(manager, 60)
    manager.get_messages_for_request(token_budget=9_000)
    before = counting.characters
    for _ in range(5):
        manager.get_messages_for_request(token_budget=9_000)
        manager.usage()
    assert counting.characters == before


@pytest.mark.parametrize("most", usually([150, 400], 1))
def test_compaction_counts_in_proportion_to_the_budget(most):
    """What a compaction counts is bounded by the budget not by the history."""
    budget = 20_000
    for rounds in (40, most):
        counting = CountingTokenizer()
        manager = ContextManager(tokenizer=counting)
        fill(manager, rounds, budget)
        before = counting.characters
        manager.compact()
        assert counting.characters - before <= 2 * 4 * budget


def fill(manager: Any, rounds: int, budget: int | None = None) -> None:
    """Rounds of tool use, with a request after each."""
    talk = MessageFactory("openai")
    manager.append(talk.say("user", "go on"))
    for number in range(rounds):
        manager.append(talk.call([f"c{number}"], "", {}), *talk.results([(f"c{number}", f"{number} {LONG}")]))
        if budget:
            manager.get_messages_for_request(token_budget=budget)


class Whole:
    """A strategy that cuts nothing away."""

    name = "whole"

    def __call__(self, window, tokens):
        found = [
            window.cut(part, len(part.part.text), 0, (), self.name) for part in window.candidates("result", "call")
        ]
        assert found
        assert not any(found)
        return []


def test_a_cut_that_takes_nothing_away_counts_nothing():
    counting = CountingTokenizer()
    talk = MessageFactory("openai")
    manager = ContextManager(tokenizer=counting, strategies=[Whole()], budget=10_000)  # more than the target
    manager.append(talk.say("user", "go on"))
    for number in range(4):
        path = f"{number} " + "word " * 800
        manager.append(talk.call([f"c{number}"], "", {"path": path}), *talk.results([(f"c{number}", path)]))
    manager.compact()
    assert [times for text, times in counting.texts.items() if "word word" in text] == [1] * 8


def test_first_count_of_a_session_leaves_the_event_loop():
    """A vocabulary may have to be loaded, so that the first append is counted in a thread; later short ones are not."""
    threads: list[int] = []

    def count(text: str) -> int:
        threads.append(threading.get_ident())
        return len(text)

    async def run() -> None:
        manager = AsyncManager(tokenizer=count)
        await manager.append({"role": "user", "content": "go"})
        await manager.append({"role": "assistant", "content": "Done."})
        await manager.aclose()

    asyncio.run(run())
    assert threads[0] != threading.get_ident() == threads[-1]
