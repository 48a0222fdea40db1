"""The promises of the design, each as a property over random conversations in all four dialects."""

import copy
import shutil
import sys
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll import BudgetError, ContextManager, events
from backscroll.evaluation.validity import problems, strangers
from backscroll.tokens.budget import Previews
from tests.histories import Talk, conversations
from tests.profiles import THOROUGH, examples

BUDGETS = st.integers(300, 6_000)
PREVIEWS = st.builds(
    Previews,
    over=st.sampled_from([60, 300, 1_000]),
    keep=st.sampled_from([10, 40]),
    when=st.sampled_from(["seen", "arrival"]),
)
ASK = st.integers(1, 2**24)  # after which messages a view is asked for, as bits


def quarter(text: str) -> int:
    """A tokenizer that costs nothing: promises must hold for any tokenizer."""
    return len(text) // 4 + 1


class Watched:
    """A manager with a list of what it reported since the list was last emptied."""

    def __init__(self, **options: Any) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        options = {"tokenizer": quarter, "min_batch_tokens": 400, **options}  # both triggers come into play
        self.manager = ContextManager(on_event=lambda name, payload: self.events.append((name, payload)), **options)

    def view(self, budget: int, lane: str = "main") -> list[dict[str, Any]] | None:
        """The view, or None if it was refused."""
        try:
            return self.manager.get_messages_for_request(token_budget=budget, lane=lane)
        except BudgetError:
            return None


def weight(view: list[dict[str, Any]]) -> int:
    """Tokens of a view as `quarter` counts its plain texts: never more than the manager's own upper estimate."""

    def walk(value: Any) -> int:
        if isinstance(value, str):
            return len(value) // 4
        if isinstance(value, dict):
            return sum(
                walk(inner) for key, inner in value.items() if key not in ("data", "url", "bytes", "metadata", "id")
            )
        return sum(walk(inner) for inner in value) if isinstance(value, list) else 0

    return sum(walk(message.get("content")) for message in view)


def walked(messages: list[Any], ask: int, step: Callable[[list[Any]], None], watched: Watched) -> None:
    """Adds messages one by one; after some of them `step` is called with all messages so far."""
    for number, message in enumerate(messages):
        watched.manager.add_message(message)
        if ask >> (number % 25) & 1 or number == len(messages) - 1:
            step(messages[: number + 1])


@given(conversations(), BUDGETS, ASK)
def test_1_history_is_what_was_added_after_any_number_of_compactions(messages, budget, ask):
    watched = Watched()
    walked(messages, ask, lambda _: watched.view(budget), watched)
    assert watched.manager.get_messages() == messages


@given(conversations(strange=False), BUDGETS, ASK)
def test_2_and_3_views_are_valid_in_order_and_hold_what_must_stay(messages, budget, ask):
    watched = Watched()

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget)
        if view is not None:
            assert problems(view, so_far) == []
            assert strangers(view, so_far) == []
            for message in so_far:
                if message.get("metadata", {}).get("pinned"):
                    assert message in view

    walked(messages, ask, check, watched)


@given(conversations(), BUDGETS, ASK)
def test_2_pairs_hold_with_late_lost_repeated_and_orphan_results(messages, budget, ask):
    watched = Watched()

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget)
        if view is not None:
            assert [found for found in problems(view, so_far) if "call" in found and "order" not in found] == []

    walked(messages, ask, check, watched)


@given(conversations(), BUDGETS, ASK)
def test_3_first_and_last_user_message_stay_word_for_word_unless_nothing_else_is_left(messages, budget, ask):
    watched = Watched()

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget)
        if view is None:
            return
        users = [m for m in so_far if m["role"] == "user" and _wrote(m)]
        explained = {found.seq: found for found in watched.manager.explain()}
        for message in users[:1] + users[-1:]:
            seq = next(n for n, found in enumerate(so_far) if found is message)
            assert message in view or explained[seq].reason == "floor"

    walked(messages, ask, check, watched)


def _wrote(message: dict[str, Any]) -> bool:
    hook = message.get("metadata", {}).get("source") == "hook"
    content = message["content"]
    holds_results = isinstance(content, list) and any(
        "toolResult" in b or b.get("type") == "tool_result" for b in content
    )
    return not hook and not holds_results


@given(conversations(), BUDGETS, ASK, st.none() | PREVIEWS)
def test_4_views_fit_the_budget_by_the_upper_estimate(messages, budget, ask, previews):
    """Also with previews, and nothing changes where nothing was added."""
    watched = Watched(previews=previews)

    def check(_: list[Any]) -> None:
        view = watched.view(budget)
        if view is not None:
            usage = watched.manager.usage()
            assert usage.upper <= budget
            assert weight(view) <= usage.upper
            assert watched.view(budget) == view

    walked(messages, ask, check, watched)


@given(conversations(), BUDGETS, ASK)
def test_5_a_view_extends_the_one_before_unless_an_event_says_why_not(messages, budget, ask):
    watched = Watched()
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

    walked(messages, ask, check, watched)


@given(conversations(), BUDGETS, ASK)
def test_5_asking_twice_gives_the_same(messages, budget, ask):
    watched = Watched()

    def check(_: list[Any]) -> None:
        assert watched.view(budget) == watched.view(budget)

    walked(messages, ask, check, watched)


@given(conversations(), BUDGETS)
def test_6_changing_what_one_got_or_gave_changes_nothing_stored(messages, budget):
    given_away = copy.deepcopy(messages)
    watched, undisturbed = Watched(), Watched()
    for message, twin in zip(given_away, messages, strict=True):
        watched.manager.add_message(message)
        undisturbed.manager.add_message(twin)
        _spoil(message)
        view = watched.view(budget)
        assert view == undisturbed.view(budget)
        for got in (*(view or ()), *watched.manager.get_messages()):
            _spoil(got)
    assert watched.manager.get_messages() == messages


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        for inner in value.values():
            _spoil(inner)
        value["spoiled"] = True
    elif isinstance(value, list):
        for inner in value:
            _spoil(inner)
        value.append("spoiled")


@given(conversations(), BUDGETS, ASK, st.integers(0, 40))
def test_7_the_same_events_give_the_same_views(messages, budget, ask, usage_at):
    watched, twin = Watched(), Watched()

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget, "main" if len(so_far) % 3 else "other")
        if len(so_far) == usage_at and view is not None:
            lane = "main" if len(so_far) % 3 else "other"
            watched.manager.observe_usage(input_tokens=watched.manager.usage(lane).used.tokens + 50, lane=lane)

    walked(messages, ask, check, watched)
    watched.manager.append(messages[0])  # stores what was observed last
    for event in watched.manager._session.events:
        twin.manager._session.apply(event)
    assert twin.manager.get_messages() == watched.manager.get_messages()
    for lane in ("main", "other"):
        assert twin.view(budget, lane) == watched.view(budget, lane)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(conversations(most=30), BUDGETS)
def test_view_built_step_by_step_equals_view_built_at_once(messages, budget):
    stepwise, at_once = Watched(min_batch_tokens=None), Watched(min_batch_tokens=None)  # nothing is ever left out
    for message in messages:
        stepwise.manager.add_message(message)
        stepwise.view(100_000_000)
    at_once.manager.append(*messages)
    assert stepwise.view(100_000_000) == at_once.view(100_000_000)
    assert stepwise.manager.usage() == at_once.manager.usage()
    assert budget


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow])
@given(conversations(), BUDGETS, ASK, st.integers(0, 40))
def test_8_what_was_acknowledged_survives_a_process_that_dies(messages, budget, ask, dies_at):
    with TemporaryDirectory() as folder, TemporaryDirectory() as disk:
        watched, seen = Watched(session="s", store=f"sqlite:///{folder}/s.db"), []

        def step(so_far: list[Any]) -> None:
            view = watched.view(budget)
            if len(seen) <= dies_at:  # what the disk holds at this moment is all that the next process gets
                shutil.copytree(folder, disk, dirs_exist_ok=True)
                seen.append((list(so_far), view))

        walked(messages, ask, step, watched)
        watched.manager.close()
        if seen:
            kept, view = seen[-1]
            resumed = Watched(session="s", store=f"sqlite:///{disk}/s.db")
            assert resumed.manager.get_messages() == kept
            assert resumed.view(budget) == view


def _calls_of_a_step(watched: Watched, message: dict[str, Any]) -> int:
    """Function calls of one add and one view: a measure of cost that is the same on every machine."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call" or event == "c_call"

    sys.setprofile(count)
    try:
        watched.manager.add_message(message)
        watched.view(4_000)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_9_a_step_costs_the_same_at_any_length(dialect):
    talk, watched, counted = Talk(dialect), Watched(), {}
    watched.manager.add_message(talk.say("user", "begin"))
    end = 16_000 if THOROUGH else 14_000
    for number in range(10_000, end):  # numbers of one length all along, so that all messages weigh alike
        call = talk.call([f"c{number}"], "look", {"path": f"file {number}"})
        watched.manager.add_message(call)
        (result,) = talk.results([(f"c{number}", f"line {number} " * 40)])
        if 11_600 <= number < 12_000 or number >= end - 400:  # the digest has filled its quarter by then
            counted[number] = _calls_of_a_step(watched, result)
        else:
            watched.manager.add_message(result)
            watched.view(4_000)
    early, late = ([calls for number, calls in counted.items() if (number < 12_000) == at] for at in (True, False))
    assert len(early) == len(late) == 400
    assert sum(late) <= 1.1 * sum(early)
    assert len(watched.manager._session.lanes["main"].plan.edits) < 200
