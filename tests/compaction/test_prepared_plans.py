"""Plans that are prepared before they are needed: that nobody waits, when they are adopted, and what ends them."""

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import BackscrollWarning, CachePricing, ContextManager, ToolResultPreview
from backscroll.compaction.reasoning import sealed
from backscroll.compaction.strategies import choose
from backscroll.evaluation.fake_providers import FakeAnthropic, reply
from backscroll.history.plan import Digest, Edit
from backscroll.stores.memory import MemoryStore
from tests.bound_agent import BETAS, BINDING
from tests.builders import ASK, BUDGETS, MessageFactory, checkpointing, conversations
from tests.fakes import RecordingSession, count_quarter
from tests.present import present
from tests.profiles import examples

Start = Callable[[Callable[[], Any]], Callable[[], Any]]
BUDGET = 4_000
TALK = MessageFactory("openai")


def at_once(work: Callable[[], Any]) -> Callable[[], Any]:
    """A planner that is ready before its caller goes on."""
    found = work()
    return lambda: found


def at_the_last_moment(work: Callable[[], Any]) -> Callable[[], Any]:
    """A planner that does all of its work while a request waits for it."""
    return work


def no_thread(work: Callable[[], Any]) -> Callable[[], Any]:
    raise RuntimeError("can't start new thread")


class Watched:
    """A strategy that notes the threads in which it is asked."""

    name = "watched"

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        (self._inner,) = choose(["clear"])()

    def __call__(self, window: Any, tokens: int) -> Sequence[Edit]:
        self.threads.append(threading.current_thread())
        return self._inner(window, tokens)


def session(start: Start | None = None, **options: Any) -> RecordingSession:
    found = RecordingSession(**{"budget": BUDGET, "clear_at_least_tokens": None, **options})
    if start is not None:
        found.manager._session.start = start
    return found


def add_result(watched: RecordingSession, number: int, size: int = 150) -> None:
    """Append a call with a result of about this many tokens, and nothing else."""
    watched.manager.append(TALK.call([f"c{number}"], f"{number}", {"path": f"{number}.py"}))
    watched.manager.append(*TALK.results([(f"c{number}", f"{number} words " * (size // 3))]))


def grow(watched: RecordingSession, upto: int = 60, until: Callable[[], bool] = lambda: False) -> int:
    """Append results and ask for views, until something holds. Returns how many there were."""
    watched.manager.append(TALK.say("user", "Read the files."))
    for number in range(upto):
        add_result(watched, number)
        watched.view(BUDGET)
        if until():
            return number
    assert upto == 60, "it never came to that"
    return upto


def lane(watched: RecordingSession) -> Any:
    return watched.manager._session.lanes["main"]


def foreseen(watched: RecordingSession) -> bool:
    return lane(watched).foreseen is not None


def compactions(watched: RecordingSession) -> list[dict[str, Any]]:
    return watched.payloads("context:compaction")


# -- nobody waits --


def test_a_foreseen_compaction_runs_in_a_thread():
    strategy = Watched()
    watched = session(strategies=[strategy])
    grow(watched)
    assert len(compactions(watched)) >= 3
    assert strategy.threads
    assert threading.current_thread() not in strategy.threads


@pytest.mark.parametrize(("thought", "result"), [(30, 200), (120, 5)], ids=["results leave", "reasoning leaves"])
def test_reasoning_that_is_bound_is_prepared_for(thought, result):
    """The provider refuses a request with reasoning behind the edited place, also with that made since."""
    strategy, events = Watched(), list[str]()
    answer = reply("I see.", thinking="Let me look. " * thought, calls=[("read", {"path": "next"})])
    provider = FakeAnthropic(model="claude-opus-5-5", replies=lambda _: answer)
    manager = ContextManager(
        model="claude-opus-5-5", budget=16_000, strategies=[strategy], on_event=lambda name, _: events.append(name)
    )
    manager.append({"role": "user", "content": "Read the files."})
    for number in range(60):
        view = manager.get_messages_for_request()
        content = provider.create(messages=view, thinking=BINDING, betas=BETAS)["content"]
        found = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": f"{number} words " * result}
        manager.append({"role": "assistant", "content": content}, {"role": "user", "content": [found]})
    assert events.count("context:compaction") >= 2
    assert "context:reasoning_removed" in events
    assert threading.current_thread() not in strategy.threads


def test_a_plan_first_shows_no_reasoning_made_since():
    """What of it may be shown again is decided with the plan, by what fits."""
    prepared: list[Any] = []
    watched = session(lambda work: prepared.append(work()) or (lambda: prepared[-1]))  # type: ignore[func-returns-value]  # noted, and then handed on
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    said = {"role": "assistant", "content": [thought, {"type": "text", "text": "Well."}]}
    watched.manager.append(TALK.say("user", "Talk."), said)
    for number in range(60):
        watched.manager.append(TALK.say("user", f"{number} words " * 50), said)
        watched.view(BUDGET)
        if prepared:
            break
    state, builder = lane(watched), prepared[0].builder
    watched.manager.append(TALK.say("user", "more words"), said)
    view = watched.manager.view()
    assert thought in view[-1]["content"]
    builder.follow(
        watched.manager._session.history, state.view, calibrator=state.calibrator, targets=builder.targets, fresh=()
    )
    assert list(sealed(state.view))
    assert not list(sealed(builder.view))


def test_without_plan_ahead_the_request_compacts():
    strategy = Watched()
    watched = session(strategies=[strategy], plan_ahead=False)
    grow(watched)
    assert set(strategy.threads) == {threading.current_thread()}
    assert not foreseen(watched)


def test_a_jump_past_the_threshold_is_compacted_by_the_request():
    strategy = Watched()
    watched = session(strategies=[strategy])
    watched.manager.append(TALK.say("user", "Read the files."))
    for number in range(40):
        add_result(watched, number)  # nobody asks for a view, so nothing could be foreseen
    watched.view(BUDGET)
    assert set(strategy.threads) == {threading.current_thread()}


def test_a_small_jump_past_the_threshold_waits_one_request():
    strategy = Watched()
    watched = session(strategies=[strategy])
    last = grow(watched, until=lambda: watched.manager.usage().used_upper_bound > 0.75 * BUDGET)
    assert not foreseen(watched)
    add_result(watched, last + 1, size=900)
    watched.view(BUDGET)
    assert 0.92 * BUDGET < watched.manager.usage().used_upper_bound <= BUDGET
    assert foreseen(watched)
    assert not compactions(watched)
    assert watched.view(BUDGET) == watched.view(BUDGET)  # the same request again, such as after a failure
    assert not compactions(watched)
    add_result(watched, last + 2)
    watched.view(BUDGET)
    assert len(compactions(watched)) == 1
    assert threading.current_thread() not in strategy.threads


def test_the_next_request_adopts_a_batch():
    watched = session(clear_at_least_tokens=500, cache_pricing=CachePricing())
    last = grow(watched, until=lambda: foreseen(watched) and lane(watched).foreseen.what == "batch")
    first = lane(watched).foreseen
    assert not compactions(watched)
    watched.view(BUDGET)
    assert lane(watched).foreseen is first  # nothing was answered since
    add_result(watched, last + 1)
    watched.view(BUDGET)
    assert lane(watched).foreseen is not first


# -- when it is ready does not matter --


def steps_of(watched: RecordingSession, messages: Sequence[Any], ask: int, budget: int) -> list[Any]:
    views = []
    for number, message in enumerate(messages):
        watched.manager.append(message)
        if ask >> (number % 25) & 1:
            views.append(watched.view(budget))
    return views


@settings(deadline=None, max_examples=examples(20))
@given(conversations(most=40), BUDGETS, ASK)
def test_views_do_not_depend_on_when_a_plan_is_ready(messages, budget, ask):
    options = {"clear_at_least_tokens": 200, "cache_pricing": CachePricing()}
    ways = (at_once, at_the_last_moment, no_thread, None)
    sessions = [session(way, **options) for way in ways]
    views = [steps_of(watched, messages, ask, budget) for watched in sessions]
    assert all(each == views[0] for each in views)
    logs = [list(present(watched.manager._session.events)) for watched in sessions]
    assert all(log == logs[0] for log in logs)


@pytest.mark.parametrize("way", [at_once, at_the_last_moment, no_thread])
def test_long_sessions_are_the_same_however_it_runs(way):
    usual, other = session(), session(way)
    grow(usual)
    grow(other)
    assert compactions(other) == compactions(usual)
    assert other.manager.get_messages_for_request() == usual.manager.get_messages_for_request()


@settings(deadline=None, max_examples=examples(20))
@given(every=st.sampled_from((5, 40, 10_000)), restarts=st.sets(st.integers(0, 40)))
def test_a_reopened_session_makes_the_same_plan(tmp_path_factory, every, restarts):
    folder: Path = tmp_path_factory.mktemp("reopened")
    options: dict[str, Any] = {"budget": BUDGET, "tokenizer": count_quarter, "clear_at_least_tokens": None}
    usual = ContextManager(**options)
    stored = {"store": f"sqlite:///{folder}/a.db", "session": "s", **options}
    reopened = checkpointing(ContextManager(**stored), every)
    for number in range(40):
        messages = [
            TALK.call([f"c{number}"], f"{number}", {}),
            *TALK.results([(f"c{number}", f"{number} words " * 50)]),
        ]
        for manager in (usual, reopened):
            manager.append(*messages)
        assert reopened.get_messages_for_request() == usual.get_messages_for_request()
        if number in restarts:
            reopened.close()
            reopened = checkpointing(ContextManager(**stored), every)
    reopened.close()


# -- what is adopted --


def test_what_came_since_stays_whole():
    watched = session()
    last = grow(watched, until=lambda: foreseen(watched))
    as_of = lane(watched).foreseen.last
    while not compactions(watched):
        last += 1
        add_result(watched, last)
        watched.view(BUDGET)
    plan = lane(watched).plan
    assert all(edit.last <= as_of for edit in plan.edits if isinstance(edit, Digest))
    view = watched.manager.get_messages_for_request()
    for message in watched.manager.get_messages()[as_of + 1 :]:
        assert message in view


def test_a_plan_that_is_ready_waits_until_it_is_due():
    watched = session(at_once)
    grow(watched, until=lambda: foreseen(watched))
    before = watched.manager.get_messages_for_request()
    assert watched.manager.get_messages_for_request() == before
    assert not compactions(watched)


def test_a_plan_that_leaves_too_much_is_not_adopted():
    watched = session()
    last = grow(watched, until=lambda: foreseen(watched))
    as_of = lane(watched).foreseen.last
    add_result(watched, last + 1, size=3_000)  # more than a quarter of the budget: shortened at once
    watched.view(BUDGET)
    assert [each["trigger"] for each in compactions(watched)] == ["threshold"]
    assert lane(watched).plan.last == as_of + 2


@pytest.mark.parametrize("options", [{"max_messages": 12}, {"tool_result_preview": ToolResultPreview(100, 30)}])
def test_other_triggers_are_foreseen_too(options):
    strategy = Watched()
    watched = session(strategies=[strategy, "digest"], **options)  # previews alone would fill the budget
    grow(watched)
    assert compactions(watched)
    assert threading.current_thread() not in strategy.threads


# -- what ends it --

TOOLS = [{"type": "function", "function": {"name": "f"}}]
ENDS: dict[str, Callable[[ContextManager], Any]] = {
    "a pin": lambda manager: manager.pin(1),
    "a rewind": lambda manager: manager.rewind(len(manager.get_messages()) - 3),
    "a compaction": lambda manager: manager.compact(),
    "a rejection": lambda manager: (
        manager.observe_overflow(limit_tokens=3_900),  # type: ignore[func-returns-value]  # one after the other
        manager.get_messages_for_request(),
    ),
    "another budget": lambda manager: manager.get_messages_for_request(token_budget=BUDGET + 50),
    "another prompt": lambda manager: (
        manager.set_system_prompt_factory(lambda: "Be brief."),  # type: ignore[func-returns-value]  # likewise
        manager.get_messages_for_request(),
    ),
    "other tools": lambda manager: manager.get_messages_for_request(
        tools=[{"type": "function", "function": {"name": "f"}}]
    ),
}


@pytest.mark.parametrize("what", ENDS)
def test_anything_but_an_append_ends_it(what):
    watched = session(at_the_last_moment)
    last = grow(watched, until=lambda: foreseen(watched))
    before = lane(watched).foreseen
    with pytest.warns(BackscrollWarning) if what == "a rejection" else nullcontext():
        ENDS[what](watched.manager)
    assert lane(watched).foreseen is not before
    for number in range(last + 1, last + 30):
        add_result(watched, number)
        watched.view(BUDGET)  # checks the view, whose plan knows of the change
    assert compactions(watched)


def test_a_rewind_of_another_writer_ends_it_too():
    """The request that foresees is stored behind the rewind, which its writer did not know of."""
    store = MemoryStore()
    options: dict[str, Any] = {"session": "s", "store": store, "tokenizer": count_quarter, "budget": BUDGET}
    one, other = ContextManager(**options), ContextManager(**options)
    one.append(TALK.say("user", "Read the files."))
    number = 0
    while number == 0 or one._session.lanes["main"].foreseen is None:
        one.append(TALK.call([f"c{number}"], f"{number}", {}), *TALK.results([(f"c{number}", "words " * 50)]))
        one.get_messages_for_request()
        number += 1
    other.rewind(2)
    one.append(TALK.say("user", "Go on."))
    for manager in (one, other):
        assert len(manager.get_messages()) == 4
        assert manager._session.lanes["main"].foreseen is None
    assert one.get_messages_for_request() == other.get_messages_for_request()
    one.close()
    other.close()


def test_a_plan_of_another_prompt_is_not_adopted():
    watched = session(at_once)
    watched.manager.set_system_prompt_factory(lambda: "Be brief.")
    last = grow(watched, until=lambda: foreseen(watched))
    watched.manager.set_system_prompt_factory(lambda: "Be thorough.")
    add_result(watched, last + 1, size=450)  # over the threshold at once
    assert present(watched.view(BUDGET))[0] == {"role": "system", "content": "Be thorough."}
    assert len(compactions(watched)) == 1


def test_a_late_result_comes_behind_it_and_leaves_it():
    """It is text where it came, so the plan that was made before is as good as ever."""
    watched = session(at_the_last_moment)
    watched.manager.append(TALK.say("user", "Read."), TALK.call(["slow"], "slow", {}), TALK.say("user", "Go on."))
    last = grow(watched, until=lambda: foreseen(watched))
    before = lane(watched).foreseen
    watched.manager.append(*TALK.results([("slow", "Here it is.")]))
    assert lane(watched).foreseen is before
    for number in range(last + 1, last + 30):
        add_result(watched, number)
        view = watched.view(BUDGET)  # checks the view
        if compactions(watched):
            break
    assert [found["trigger"] for found in compactions(watched)] == ["threshold"]
    assert "Later result of run (slow)" in str(view)


def test_nothing_is_foreseen_while_a_call_is_open():
    watched = session()
    grow(watched, until=lambda: foreseen(watched))
    watched.manager.pin(1)  # ends it
    watched.manager.append(TALK.call(["open"], "open", {}))
    watched.view(BUDGET)
    assert not foreseen(watched)


@pytest.mark.parametrize("what", ["compaction", "batch"])
def test_reasoning_made_since_never_follows_a_changed_prefix(what):
    """The provider binds it to the view that it was made over: a compaction removes it, and no batch is worth that."""
    talk = MessageFactory("anthropic")
    batches: dict[str, Any] = {"clear_at_least_tokens": 400, "cache_pricing": CachePricing(read=1.0, write=1.0)}
    watched = session(**(batches if what == "batch" else {}))  # an unknown model is taken to bind its reasoning
    watched.manager.append(talk.say("user", "Read the files."))
    for number in range(60):
        result = f"c{number}", f"{number} words " * 60
        watched.manager.append(talk.call([f"c{number}"], "", {}), *talk.results([result]))
        watched.view(BUDGET)
        if number > 5 and foreseen(watched) and lane(watched).foreseen.what == what:
            break  # earlier no batch pays
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    before = present(watched.view(BUDGET))
    watched.manager.append({"role": "assistant", "content": [thought, {"type": "text", "text": "Well."}]})
    for _ in range(3):
        watched.manager.append(talk.say("user", "more words " * 40), talk.say("assistant", "I see."))
        view = present(watched.view(BUDGET))
        assert view[: len(before)] == before or "signature" not in str(view)
    assert [found["trigger"] for found in compactions(watched)][-1:] == (["threshold"] if what == "compaction" else [])


@pytest.mark.filterwarnings("ignore:the next compaction of lane 'main' could not be prepared")
def test_a_failing_strategy_reaches_the_request():
    class Failing:
        name = "failing"

        def __call__(self, window: Any, tokens: int) -> Sequence[Edit]:
            raise ZeroDivisionError("of the caller's own")

    watched = session(strategies=[Failing()])
    with pytest.raises(ZeroDivisionError, match="of the caller's own"):
        grow(watched)


class BoundToThread(Watched):
    """A strategy that works only in the thread that made it, as what holds a connection of SQLite does."""

    def __init__(self) -> None:
        super().__init__()
        self.home, self.failed = threading.current_thread(), 0

    def __call__(self, window: Any, tokens: int) -> Sequence[Edit]:
        if threading.current_thread() is not self.home:
            self.failed += 1
            raise OSError("made in another thread")
        return super().__call__(window, tokens)


@pytest.mark.filterwarnings("ignore:the next compaction of lane 'main' could not be prepared")
def test_planner_that_fails_warns_once_and_requests_plan():
    strategy = BoundToThread()
    watched = session(strategies=[strategy])
    watched.manager.append(TALK.say("user", "go"))
    for number in range(120):
        add_result(watched, number)
        watched.manager.get_messages_for_request()
        assert watched.manager.usage().used_upper_bound <= BUDGET
    assert strategy.failed > 2
    assert watched.manager.usage().compactions > 2
    assert watched.payloads("context:preparation_failed") == [
        {"lane": "main", "error": "OSError: made in another thread"}
    ]
