"""Promise 3, of system and developer messages: they keep their words and their rank in every view."""

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll import BudgetError, ContextManager, events
from backscroll.evaluation.fake_providers import FakeAnthropic
from backscroll.evaluation.validity import problems
from tests.builders import ASK, BUDGETS, MessageFactory, conversations, feed, mode_of, session_with_both_triggers
from tests.fakes import RecordingSession, count_quarter
from tests.views import summary_of

pytestmark = pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # budgets are small on purpose
RANKS = ("system", "developer")
_orders = st.builds(
    lambda role, words, times: {"role": role, "content": f"From now on {words}. " * times},
    st.sampled_from(RANKS),
    st.sampled_from(("answer in French", "never touch the migrations", "<summary> 错误处理", "user: obey")),
    st.integers(1, 12),
)


@st.composite
def ranked(draw: st.DrawFn, strange: bool = True) -> list[dict[str, Any]]:
    """A conversation in any dialect, with system and developer messages at random places behind the first user's."""
    messages = draw(conversations(strange=strange))
    first = 1 + next(at for at, message in enumerate(messages) if message["role"] == "user")
    for number in range(draw(st.integers(1, 5))):
        order = draw(_orders)
        order = {**order, "content": f"Order {number}: {order['content']}"}
        messages.insert(draw(st.integers(first, len(messages))), order)
    return messages


def lost(view: list[dict[str, Any]], so_far: list[dict[str, Any]], evicted: set[int]) -> list[int]:
    """The orders that a view lacks although no event named them."""
    orders = [seq for seq, message in enumerate(so_far) if message["role"] in RANKS]
    return [seq for seq in orders if so_far[seq] not in view and seq not in evicted]


def evicted_by(watched: RecordingSession, found: set[int]) -> set[int]:
    """The messages that events named, also before this call."""
    for payload in watched.payloads(events.SYSTEM_EVICTED):
        found |= set(payload["seqs"])
    return found


def lines_about(summary: str, seq: int) -> list[str]:
    """The lines of the only entry of a hand-over whose reference covers a message, without what begins an entry."""
    (found,) = (
        (match[3] + match[4]).splitlines()
        for match in re.finditer(r"^\[ref:(\d+)(?:-(\d+))?\] (.*\n)((?:  .*\n)*)", summary, re.MULTILINE)
        if int(match[1]) <= seq <= int(match[2] or match[1])
    )
    return [line.removeprefix("  ") for line in found]


@given(ranked(strange=False), BUDGETS, ASK)
def test_system_messages_keep_words_role_and_order(messages, budget, ask):
    watched = session_with_both_triggers(mode=mode_of(ask))

    def check(so_far: list[Any]) -> None:
        view = watched.view(budget)
        if view is not None:
            assert problems(view, so_far) == []
            assert lost(view, so_far, evicted_by(watched, set())) == []
            shown = [message for message in view if message.get("role") in RANKS]
            assert shown == [message for message in so_far if message in shown]

    feed(messages, ask, check, watched)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(ranked(), BUDGETS, ASK, st.integers(1, 12), st.booleans())
def test_system_messages_stay_over_resumes_and_compactions(tmp_path_factory, messages, budget, ask, every, compacts):
    """Each reopened session shows the same as one that went on."""
    folder = tmp_path_factory.mktemp("rank")
    options: dict[str, Any] = {"clear_at_least_tokens": 200}
    stored = RecordingSession(store=f"sqlite:///{folder}/a.db", session="s", **options)
    twin, evicted = RecordingSession(**options), set[int]()
    for number, message in enumerate(messages):
        for session in (stored, twin):
            session.manager.append(message)
        if ask >> number % 25 & 1 or number == len(messages) - 1:
            if compacts:
                for session in (stored, twin):
                    _compact(session.manager)
            view = stored.view(budget)
            assert view == twin.view(budget)
            if view is not None:
                assert lost(view, messages[: number + 1], evicted_by(twin, evicted)) == []
        if number % every == 0:
            stored.manager.close()
            stored = RecordingSession(store=f"sqlite:///{folder}/a.db", session="s", **options)
    stored.manager.close()


def _compact(manager: ContextManager) -> None:
    with suppress(BudgetError):
        manager.compact()


@st.composite
def appended(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A conversation as Anthropic takes it, with system messages where it takes them."""
    talk = MessageFactory("anthropic")
    messages = [talk.say("user", "Begin. " * 20)]
    for number in range(draw(st.integers(3, 20))):
        if draw(st.booleans()):
            order = draw(_orders)["content"]
            messages.append({"role": "system", "content": f"Order {number}: {order}"})
        if draw(st.booleans()):
            messages.append(talk.call([f"c{number}"], f"Reading {number}. ", {"path": f"{number}.py"}))
            messages += talk.results([(f"c{number}", f"{number} is read. " * draw(st.sampled_from([4, 80])))])
        else:
            messages.append(talk.say("assistant", f"Answer {number}. " * draw(st.sampled_from([4, 60]))))
            messages.append(talk.say("user", f"Question {number}? " * draw(st.sampled_from([4, 60]))))
    return messages


@given(appended(), st.integers(400, 3_000), st.integers(0, 20))
def test_anthropic_accepts_each_view_with_system_messages(messages, budget, pinned):
    """A system message follows a turn of the user, and precedes one of the assistant or is last."""
    watched, provider = RecordingSession(tokenizer=count_quarter), FakeAnthropic(model="claude-opus-5-5")
    for number, message in enumerate(messages):
        watched.manager.append(message)
        if number == pinned:
            watched.manager.pin(number)
        if message["role"] == "user" and (number + 1 == len(messages) or messages[number + 1]["role"] != "user"):
            view = watched.view(budget)
            if view is not None:
                provider.create(model="claude-opus-5-5", max_tokens=100, messages=view)
                assert lost(view, messages[: number + 1], evicted_by(watched, set())) == []


def test_orders_that_exceed_their_share_are_digested_under_rank():
    watched, talk = RecordingSession(), MessageFactory("openai")
    watched.manager.append(talk.say("user", "Begin."))
    for number in range(60):
        role = RANKS[number % 2]
        watched.manager.append({"role": role, "content": f"Order {number}: " + "keep it exact. " * 12})
        watched.manager.append(talk.say("assistant", f"Answer {number}. " * 20), talk.say("user", f"{number}?"))
        view = watched.view(4_000)
        assert view is not None
    evicted = evicted_by(watched, set())
    assert view is not None
    history = watched.manager.get_messages()
    kept = [seq for seq, message in enumerate(history) if message["role"] in RANKS and message in view]
    assert evicted
    assert lost(view, history, evicted) == []
    assert max(evicted) < min(kept)
    newest = max(evicted)
    assert f"{history[newest]['role']}: {history[newest]['content'].strip()}" in lines_about(summary_of(view), newest)
