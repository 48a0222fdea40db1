"""Of a stored session only a window is held: what is let go comes back, and nobody can tell the difference."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll import BackscrollError, ContextManager
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory, checkpointing, conversations
from tests.fakes import count_quarter
from tests.profiles import examples

TALK = MessageFactory("openai")
OPTIONS: dict[str, Any] = {"tokenizer": count_quarter, "clear_at_least_tokens": 150, "budget": 2_000}


class Pair:
    """The same session twice: held whole, and as a window over a store, which is left and resumed now and then."""

    def __init__(self, every):
        self.store, self.every = MemoryStore(), every
        self.whole = ContextManager(**OPTIONS)
        self.resume()

    def resume(self):
        self.window = checkpointing(ContextManager(session="s", store=self.store, **OPTIONS), self.every)

    def add(self, *messages):
        for message in messages:
            self.both(lambda manager, message=message: manager.append(message))

    def view(self, budget):
        self.both(lambda manager: manager.get_messages_for_request(token_budget=budget))

    def both(self, action):
        """Does the same with both, and holds what comes of it against each other."""
        answers = []
        for manager in (self.whole, self.window):
            try:
                answers.append(action(manager))
            except BackscrollError as error:
                answers.append((type(error), str(error)))
        assert answers[1] == answers[0]


def act(pair, chance, budget):
    """One thing that a user may do."""
    seq = chance.randrange(max(1, len(pair.whole._session.history.branch)))
    act = chance.choice(
        (
            lambda manager: manager.pin(seq),
            lambda manager: manager.unpin(seq),
            lambda manager: manager.undo_compaction(),
            lambda manager: manager.set_messages(manager.get_messages()[:seq]),
            lambda manager: manager.get_messages_for_request(token_budget=budget, lane="other"),
            lambda manager: manager.recall(seq, limit=50),
            lambda manager: manager.recall(pattern="bug|the", limit=200),
            lambda manager: manager.explain(),
            lambda manager: manager.compact(),
            lambda manager: (manager.history(at=seq), manager.view(at=seq)),
            lambda manager: manager.rewind(seq),
            None,
        )
    )
    if act is None:
        pair.window.close()
        pair.resume()
    else:
        pair.both(act)


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # budgets too small for what random users rule
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conversations(most=30), st.integers(300, 2_500), st.integers(0, 2**32), st.sampled_from([3, 10, 10_000]))
def test_a_window_over_a_store_does_what_a_whole_history_does(messages, budget, seed, every):
    chance, pair = random.Random(seed), Pair(every)
    for message in messages:
        pair.both(lambda manager, message=message: manager.append(message))
        if chance.random() < 0.5:
            pair.both(lambda manager: manager.get_messages_for_request(token_budget=budget))
        if chance.random() < 0.4:
            act(pair, chance, budget)
    pair.both(lambda manager: manager.get_messages_for_request(token_budget=budget))
    pair.both(lambda manager: manager.get_messages())
    pair.both(lambda manager: manager.explain())


# What a view does not show although no gap covers it: a later compaction asks for it.


@pytest.fixture
def pair():
    return Pair(3)


def calling(*known):
    calls = [{"id": one, "type": "function", "function": {"name": "read", "arguments": "{}"}} for one in known]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(known, text):
    return {"role": "tool", "tool_call_id": known, "content": text}


def saying(text):
    return {"role": "assistant", "content": text}


def user(text):
    return {"role": "user", "content": text}


def test_a_late_result_whose_calls_were_left_out_is_held(pair):
    pair.add(user("look"), calling("a", "b"), result("a", "word " * 300), user("go on"))
    pair.add(calling("c"), result("c", "word " * 900))
    pair.view(1_500)
    pair.add(user("and on " * 200))
    pair.view(1_500)
    pair.add(result("b", "late"))
    pair.both(lambda manager: manager.undo_compaction())
    for known, words in (("d", 300), ("e", 900)):
        pair.add(calling(known), result(known, "word " * words))
        pair.view(1_500)


def test_a_system_message_in_whose_place_a_prompt_stands_is_held(pair):
    pair.both(lambda manager: manager.set_system_prompt_factory(lambda: "be kind"))
    pair.add({"role": "system", "content": "be short"}, user("look"))
    for number in range(40):
        if number == 12:
            pair.add({"role": "system", "content": "be shorter"})
        pair.add(calling(f"n{number}"), result(f"n{number}", f"line {number} " * 120))
        pair.view(1_500)


def test_result_without_its_call_in_a_plan_is_held_with_it(pair):
    """A result that replaced another one, behind a call that a plan from before leaves out, is no orphan."""
    pair.add(user("look"), calling("a"), result("a", "word " * 300), *[saying(f"done {number}") for number in range(6)])
    pair.both(lambda manager: manager.trim(keep_last=4))
    pair.both(lambda manager: manager.trim(keep_last=1))
    pair.both(lambda manager: manager.set_messages([*manager.get_messages()[:2], result("a", "other"), user("go on")]))
    pair.add(*[user(f"and on {number}") for number in range(20)])
    pair.both(lambda manager: manager.undo_compaction())
    for _ in range(2):
        pair.view(3_000)
        pair.both(lambda manager: (manager.usage(), manager.explain()))
        pair.window.close()
        pair.resume()


def test_newest_message_is_required_behind_evicted_notices():
    """System messages after it that were evicted do not hide it: a view never digests what was said last."""
    manager = ContextManager(session="s", store=MemoryStore(), **OPTIONS)
    manager.append(TALK.say("user", "go"), saying("Done."), TALK.say("system", "It rains."), TALK.say("system", "Sun."))
    history = manager._session.history
    assert history.newest_seqs == {1, 3}
    history.evict(set(), history.next_seq)
    assert history.get(2) is None
    assert history.newest_seqs == {1, 3}
