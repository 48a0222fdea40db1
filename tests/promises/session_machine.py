"""Everything a session can do, in any order, beside a plain list of what it should hold: `SessionMachine`."""

import contextlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from backscroll import BudgetError, ContextManager, events
from backscroll.evaluation.strangers import strangers
from backscroll.evaluation.validity import problems
from backscroll.messages import without_reasoning
from tests.builders import DIALECTS, MessageFactory
from tests.fakes import count_quarter
from tests.present import present
from tests.views import BRIDGE, in_a_row

SIZES = st.sampled_from([3, 30, 300, 2_000])
LANES = st.sampled_from(["main", "small"])
BUDGETS = {"main": 6_000, "small": 1_500}


class SessionMachine(RuleBasedStateMachine):
    """A manager and the list of messages that it should hold."""

    options: Mapping[str, Any] = MappingProxyType({})

    @initialize(dialect=st.sampled_from(DIALECTS), system=st.booleans())
    def begin(self, dialect: str, system: bool) -> None:
        self.told: list[str] = []
        self.evicted: set[int] = set()
        self.manager = ContextManager(tokenizer=count_quarter, on_event=self.note, **self.options)
        self.talk = MessageFactory(dialect)
        self.messages: list[dict[str, Any]] = []
        self.seqs: list[int] = []
        self.pinned: set[int] = set()
        self.number = 0
        self.before: dict[str, list[Any]] = {}
        self.add([self.talk.say("system", "be brief")] if system else [])
        self.add([self.talk.say("user", "begin")])

    def note(self, name: str, payload: dict[str, Any]) -> None:
        self.told.append(name)
        self.evicted |= set(payload["seqs"]) if name == events.SYSTEM_EVICTED else set()

    def add(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            self.seqs.append(self.manager.append(message))
            self.messages.append(message)

    def name(self) -> str:
        self.number += 1
        return f"n{self.number}"

    @rule(size=SIZES, parallel=st.integers(1, 3), answered=st.sampled_from(["all", "all", "some", "none"]))
    def call(self, size: int, parallel: int, answered: str) -> None:
        ids = [self.name() for _ in range(parallel)]
        self.add([self.talk.call(ids, f"calls {ids[0]}", {"path": f"{ids[0]} " + "x" * size})])
        known = {"all": ids, "some": ids[:-1], "none": []}[answered]
        if known:
            self.add(self.talk.results([(name, f"{name} " + "line\n" * size) for name in known]))

    @rule(size=SIZES)
    def talk_on(self, size: int) -> None:
        name = self.name()
        self.add(
            [self.talk.say("assistant", f"{name} " + "well " * size), self.talk.say("user", f"{name} " + "do " * size)]
        )

    @rule(size=st.sampled_from([3, 30, 300]), role=st.sampled_from(["system", "developer"]))
    def order(self, size: int, role: str) -> None:
        self.add([{"role": role, "content": f"{self.name()} " + "obey " * size}])

    @rule()
    def ephemeral(self) -> None:
        self.manager.append(self.talk.say("user", f"note {self.name()}", {"ephemeral": True}))

    @rule(data=st.data(), pinned=st.booleans())
    def pin(self, data: st.DataObject, pinned: bool) -> None:
        seq = data.draw(st.sampled_from(self.seqs))
        (self.manager.pin if pinned else self.manager.unpin)(seq)
        (self.pinned.add if pinned else self.pinned.discard)(seq)
        self.before.clear()

    @rule(lane=LANES)
    def compact(self, lane: str) -> None:
        with contextlib.suppress(BudgetError):
            self.manager.compact(lane=lane)
        self.before.clear()

    @rule(lane=LANES)
    def undo(self, lane: str) -> None:
        self.manager.undo_compaction(lane=lane)
        self.before.clear()

    @precondition(lambda self: len(self.messages) > 3)
    @rule(data=st.data())
    def rewind(self, data: st.DataObject) -> None:
        keep = data.draw(st.integers(1, len(self.messages)))
        self.manager.set_messages(self.messages[:keep])
        self.messages, self.seqs = self.messages[:keep], self.seqs[:keep]
        self.pinned &= set(self.seqs)
        self.before.clear()

    @rule(data=st.data())
    def replace(self, data: st.DataObject) -> None:
        """A host sets the same messages with another text in one of them, as where it repairs a result."""
        at = data.draw(st.integers(0, len(self.messages) - 1))
        changed = replaced(self.messages[at], f"other words {self.name()}")
        messages = [*self.messages[:at], changed, *self.messages[at + 1 :]]
        first = self.manager._session.history.next_seq
        self.manager.set_messages(messages)
        self.messages = messages
        self.seqs[at:] = range(first, first + len(messages) - at)
        self.pinned &= set(self.seqs)
        self.before.clear()

    @rule(lane=LANES, share=st.sampled_from([0.7, 1.0, 1.3, 40.0]))
    def report(self, lane: str, share: float) -> None:
        tokens = int(self.manager.usage(lane).used.tokens * share)
        if share <= 1.3 and self.before.get(lane):
            self.manager.observe_usage(input_tokens=tokens, lane=lane)

    @rule(lane=LANES)
    def request(self, lane: str) -> None:
        self.told.clear()
        try:
            view = self.manager.get_messages_for_request(token_budget=BUDGETS[lane], lane=lane)
        except BudgetError:
            return
        notes = [message for message in view if message.get("metadata", {}).get("ephemeral")]
        # where a dialect demands turns, a bridge stands between two notes: with them it goes
        stored = [message for message in view if message not in notes and not (notes and BRIDGE in str(message))]
        found = problems(stored, self.messages, self.seqs)
        assert [problem for problem in found if not (notes and "in a row" in problem)] == []
        assert strangers(view, [*self.messages, *notes]) == []
        assert self.manager.usage(lane).used_upper_bound <= BUDGETS[lane]
        for seq, message in zip(self.seqs, self.messages, strict=True):
            bare = without_reasoning(message) or message
            shown = any(all(piece in view for piece in in_a_row([form])) for form in (message, bare))
            assert seq not in self.pinned or shown or self.closed(message, view)
            assert message["role"] not in ("system", "developer") or message in view or seq in self.evicted
        before = self.before.get(lane, [])
        assert view[: len(before)] == before or set(self.told) & events.MOVES_PREFIX
        self.before[lane] = view

    def closed(self, message: dict[str, Any], view: list[dict[str, Any]]) -> bool:
        """A result message that a view completes by what was never recorded is not equal to the stored one."""
        return message["role"] == "user" and "no result recorded" in str(view)

    @invariant()
    def history_is_whole(self) -> None:
        if hasattr(self, "messages"):
            assert self.manager.get_messages() == self.messages

    def teardown(self) -> None:
        if not hasattr(self, "manager"):
            return
        self.manager.append(self.talk.say("assistant", "the end"))
        twin = ContextManager(tokenizer=count_quarter, **self.options)
        for event in present(self.manager._session.events):
            twin._session.apply(event)
        assert twin.get_messages() == self.manager.get_messages()
        for lane, budget in BUDGETS.items():
            self.manager._session.ephemerals.clear()
            for known in self.manager._session.lanes.values():
                known.view = None
            assert self.attempt(twin, lane, budget) == self.attempt(self.manager, lane, budget)
        self.manager.close()

    def attempt(self, manager: ContextManager, lane: str, budget: int) -> Any:
        try:
            return manager.get_messages_for_request(token_budget=budget, lane=lane)
        except BudgetError:
            return "refused"


def replaced(value: Any, text: str) -> Any:
    """The message with this text in the place of each that it says or brings."""
    if isinstance(value, list):
        return [replaced(item, text) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: text if key in ("text", "content", "output") and isinstance(item, str) else replaced(item, text)
        for key, item in value.items()
    }


quiet = pytest.mark.filterwarnings(  # several reports on one view can look like totals of all requests
    "ignore:the usage reported for lane",
    "ignore:the [0-9,]+ tokens reported as usage of lane",
    "ignore:[0-9,]+ of the system messages",
)
"""For reports that cannot be about a view, which are among what the machine tries."""
