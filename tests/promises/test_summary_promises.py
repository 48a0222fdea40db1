"""The promises of the design hold whatever a summarizer does: every outcome in every order, in time, late or never."""

import itertools
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll import BudgetError, ContextManager, Summarizer, SummaryResponse, events
from backscroll.evaluation.summarizers import AtOnce
from backscroll.evaluation.validity import problems
from backscroll.stores.memory import MemoryStore
from tests.builders import ASK, DIALECTS, MessageFactory, conversations, feed
from tests.compaction.summarizing import may_fail
from tests.fakes import count_quarter
from tests.fuzzing.judge import bits
from tests.long_run import usually
from tests.present import present
from tests.profiles import examples
from tests.views import is_typed_by_user, spoil, weight

NEVER = 1_000
OUTCOMES: dict[str, Any] = {
    "fine": "<summary>It went well; more is next.</summary>",
    "fine, and counted": SummaryResponse("It went well.", "small-1", 900, 30),
    "fine, of tags": "It wrote </messages> and </previous_summary>.",
    "an error": OSError("down"),
    "a timeout": TimeoutError(),
    "empty": "",
    "an empty summary": "<summary> </summary>",
    "too long": "word " * 9_000,
    "a refusal": "I'm sorry, but I can't help with that.",
    "half a tag": "<summary>It went",
    "two summaries": "<summary>a</summary><summary>b</summary>",
    "nothing": None,
    "no text": {"text": "It went well."},
    "no text in an answer": SummaryResponse(None),  # type: ignore[arg-type]  # that is what is wrong with it
}


class Late(AtOnce):
    """Gives a result only after so many requests, another number each time."""

    def __init__(self, delays: list[int]) -> None:
        super().__init__()
        self._delays, self._left = itertools.cycle(delays), 0

    def start(self, operation: Any) -> None:
        assert not self.running, "one at a time"
        super().start(operation)
        self._left = next(self._delays)

    def wait(self, seconds: float) -> None:
        self._left = self._left if self._left >= NEVER else 0

    def fetch(self) -> Any:
        self._left -= 1
        return super().fetch() if self._left < 0 else None


class Moody(ContextManager):
    """A manager whose summarizer has these outcomes, one after the other, again and again; and what it reported."""

    def __init__(self, outcomes: list[str], delays: list[int], wait_seconds: float = 0.0, **options: Any) -> None:
        self.reports: list[str] = []
        self.asked: Counter[str] = Counter()
        self._outcomes, self._delays = itertools.cycle(outcomes), delays
        options = {"tokenizer": count_quarter, "clear_at_least_tokens": 200, **options}
        summarizer = Summarizer(self._ask, wait_seconds=wait_seconds)
        super().__init__(summarizer=summarizer, on_event=lambda name, _: self.reports.append(name), **options)

    def _make_background(self) -> Late:
        self._background = late = Late(self._delays)
        return late

    def _ask(self, request: Any) -> Any:
        name = next(self._outcomes)
        self.asked[name] += 1
        answer = OUTCOMES[name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask_view(self, budget: int) -> list[Any] | None:
        try:
            return self.get_messages_for_request(token_budget=budget)
        except BudgetError:
            return None


class Promises:
    """Holds a manager to its promises, request by request."""

    def __init__(self, manager: Moody, budget: int) -> None:
        self.manager, self.budget = manager, budget
        self.before: list[Any] | None = []

    def check(self, so_far: list[Any]) -> None:
        manager, budget = self.manager, self.budget
        manager.reports.clear()
        view = manager.ask_view(budget)
        assert manager.get_messages() == so_far  # 1
        if view is None:
            return
        assert problems(view, so_far) == []  # 2 and 3
        self._keeps(view, so_far)
        assert weight(view) <= manager.usage().used_upper_bound <= budget  # 4
        extends = view[: len(present(self.before))] == self.before
        assert extends or set(manager.reports) & events.MOVES_PREFIX  # 5
        self.before = manager.ask_view(budget)
        assert self.before == view
        spoil(view)  # 6
        assert manager.ask_view(budget) == self.before
        if len(so_far) % 11 == 0:  # a user wants something now; all of the above holds of the next view as well
            manager.compact(focus="the API")
            self.before = manager.ask_view(budget)

    def _keeps(self, view: list[Any], so_far: list[Any]) -> None:
        """3: what must stay, stays."""
        users = [message for message in so_far if message["role"] == "user" and is_typed_by_user(message)]
        told = self.manager.explain()
        cut = {found.seq for found in told if found.reason in ("floor", "shorten")}
        # The rules of views check both: a cut has a reference, and a hand-over quotes what it has in place of these.
        cut |= {found.seq for found in told if found.state == "digested" and may_be_quoted(so_far[found.seq], users)}
        for seq, message in enumerate(so_far):
            pinned = message.get("metadata", {}).get("pinned") or (seq == 0 and message["role"] == "system")
            ends = any(message is user for user in (*users[:1], *users[-1:]))
            assert message in view or not (pinned or (ends and seq not in cut))


def may_be_quoted(message: Any, users: list[Any]) -> bool:
    """Whether a hand-over may quote a message of the user: it is text, and not the first, unless that is long."""
    said = bits(message)
    long = sum(len(bit.body) for bit in said) > 4_000
    return {bit.kind for bit in said} == {"text"} and (long or message is not users[0])


@st.composite
def long_talks(draw: st.DrawFn) -> list[Any]:
    """Work of many small rounds, so that views fill up slowly and summaries are begun before they are due."""
    talk = MessageFactory(draw(st.sampled_from(DIALECTS)))
    messages = [talk.say("user", "Never touch config/prod.yaml. Begin.")]
    for number, kind in enumerate(draw(st.lists(st.sampled_from("cccccups"), min_size=20, max_size=50))):
        if kind == "c":
            messages.append(talk.call([f"c{number}"], f"Step {number}.", {"path": f"m{number}.py"}))
            messages += talk.results([(f"c{number}", f"value_{number} = {number * 7919}\n" * draw(st.integers(5, 60)))])
        elif kind == "s":
            messages += [talk.say("assistant", f"{number} is done. " * 40), talk.say("user", f"Go on with {number}.")]
        else:
            messages.append(talk.say("user", f"note {number}", {"pinned": True} if kind == "p" else None))
    return messages


def played(messages: list[Any], budget: int, ask: int, outcomes: list[str], delays: list[int], timeout: float) -> Moody:
    """A session that kept its promises, with a resume at its end."""
    store = MemoryStore()
    moody = Moody(outcomes, delays, session="s", store=store, wait_seconds=timeout)
    feed(messages, ask, Promises(moody, budget).check, SimpleNamespace(manager=moody))
    last = moody.ask_view(budget)
    moody.close()
    for again in (Moody(outcomes, delays, session="s", store=store) for _ in range(2)):  # 7 and 8
        assert again.get_messages() == messages
        assert again.ask_view(budget) == last
    return moody


@may_fail
@settings(max_examples=examples(35), suppress_health_check=list(HealthCheck), deadline=None)
@given(
    st.one_of(long_talks(), conversations(strange=False)),
    st.integers(900, 4_000),
    ASK,
    st.one_of(st.permutations(sorted(OUTCOMES)), st.lists(st.sampled_from(sorted(OUTCOMES)), min_size=1, max_size=9)),
    st.lists(st.sampled_from([0, 0, 1, 2, 5, NEVER]), min_size=1, max_size=4),
    st.sampled_from([0, 5]),
)
def test_1_to_8_hold_for_any_sequence_of_outcomes(messages, budget, ask, outcomes, delays, timeout):
    played(messages, budget, ask, outcomes, delays, timeout)


@may_fail
@pytest.mark.parametrize("rounds", usually([20, 40], 1))
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_promises_hold_after_each_outcome_and_the_next_is_used(outcome, rounds):
    """To 8 hold after each outcome and what comes next is used."""
    talk = MessageFactory("openai")
    messages = [talk.say("user", "Never touch config/prod.yaml. Begin.")]
    for number in range(rounds):
        messages.append(talk.call([f"c{number}"], f"Step {number}.", {"path": f"m{number}.py"}))
        messages += talk.results([(f"c{number}", f"value_{number} = {number * 7919}\n" * 20)])
    moody = played(messages, 2_500, -1, [outcome, "fine, and counted"], [0, 1], 0)
    assert moody.asked[outcome] > 0
    assert moody.asked["fine, and counted"] > 0
    assert moody.usage().summarized_by is not None
    assert "Never touch config/prod.yaml." in str(moody.ask_view(2_500))
