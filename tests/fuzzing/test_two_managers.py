"""Two managers on one session, by chance: one after the other, and one in the middle of what the other does."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll import BudgetError, ConflictError, ContextManager, ReferenceNotFoundError
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.builders import DIALECTS, checkpointing
from tests.fakes import count_quarter
from tests.fuzzing.judge import Message, Shown, shown, taken
from tests.fuzzing.talking import Story, replaced
from tests.profiles import examples

BUDGETS = (400, 1_500, 4_000)


class Interrupted:
    """A store in whose appends, and reads, somebody else acts first, once for each time that it is asked to."""

    before: Callable[[], None] | None = None
    while_reading = True
    """What reads again once it has written would not know which of both came first."""

    def _interrupt(self) -> None:
        before, self.before = self.before, None
        if before is not None:
            before()

    def append(self, *given: Any, **more: Any) -> Any:
        self._interrupt()
        return super().append(*given, **more)  # type: ignore[misc]

    def read(self, *given: Any, **more: Any) -> Any:
        if self.while_reading:
            self._interrupt()
        return super().read(*given, **more)  # type: ignore[misc]


class InMemory(Interrupted, MemoryStore):
    """The same in memory."""


class OnDisk(Interrupted, SqliteStore):
    """The same in a file."""


class Two:
    """Two managers, and what their session should hold."""

    def __init__(self, folder: Path, seed: int, every: int) -> None:
        self.chance = chance = random.Random(seed)
        self.dialect = chance.choice(DIALECTS)
        self.story = Story(self.dialect, chance)
        shared = InMemory() if chance.random() < 0.7 else None
        self.stores = [shared or OnDisk(folder / "a.db") for _ in range(2)]
        self.quotes = bool(seed % 2)
        more: dict[str, Any] = {"mode": "standard" if self.quotes else "facts", "clear_at_least_tokens": 200}
        self.managers = [
            ContextManager(session="s", store=store, tokenizer=count_quarter, budget=4_000, **more)
            for store in self.stores
        ]
        for manager in self.managers:
            checkpointing(manager, every)
        self.refused = 0

    def close(self) -> None:
        for manager in self.managers:
            manager.close()

    def step(self) -> None:
        at = self.chance.randrange(2)
        if self.chance.random() < 0.4:
            self.stores[at].before = lambda: self.acts(1 - at)
        self.acts(at)
        for store in self.stores:
            store.before = None
        for manager in self.managers:
            assert manager.get_messages() == self.story.messages

    def acts(self, at: int) -> None:
        """One of them does something. What it was refused did not happen."""
        ways = {self.adds: 8, self.pins: 2, self.rewinds: 1, self.sets: 1, self.compacts: 1, self.asked: 6}
        (way,) = self.chance.choices(list(ways), list(ways.values()))
        self.stores[at].while_reading = way not in (self.rewinds, self.sets)
        try:
            way(self.managers[at])
        except (BudgetError, ConflictError, ReferenceNotFoundError):
            self.refused += 1

    def adds(self, manager: ContextManager) -> None:
        messages = self.story.something()
        name = self.story.name() if self.chance.random() < 0.3 else None
        self.story.took(messages, manager.append(*messages, idempotency_key=name))

    def pins(self, manager: ContextManager) -> None:
        if self.story.kept:
            seq, pinned = self.chance.choice(self.story.seqs), self.chance.random() < 0.6
            (manager.pin if pinned else manager.unpin)(seq)
            self.story.pins[seq] = pinned

    def rewinds(self, manager: ContextManager) -> None:
        if self.story.kept:
            to = self.chance.choice(self.story.seqs[-6:])
            manager.rewind(to)
            self.story.ends(self.story.seqs.index(to) + 1)

    def sets(self, manager: ContextManager) -> None:
        messages: list[Message] = list(self.story.messages)
        if messages and self.chance.random() < 0.5:
            at = self.chance.randrange(len(messages))
            messages[at] = replaced(messages[at], f"other words {self.story.name()}")
        else:
            messages += self.story.said()
        manager.set_messages(messages)
        self.story.becomes(messages)

    def compacts(self, manager: ContextManager) -> None:
        manager.compact()

    def asked(self, manager: ContextManager) -> None:
        """A view is of what there was before it was asked for, or of what the other one made of that meanwhile."""
        before = self._wanted()
        view = manager.get_messages_for_request(token_budget=self.chance.choice(BUDGETS))
        if not self.story.kept:
            return
        wrong = [taken(view, self.dialect) + shown(view, kept, beside) for kept, beside in (self._wanted(), before)]
        fewest = min(wrong, key=len)
        assert fewest == [], "\n".join(fewest)

    def _wanted(self) -> tuple[list[tuple[int, Message]], Shown]:
        return list(self.story.kept), Shown(self.story.pinned, quotes=self.quotes)


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")  # rules that find no room in so small a digest
@given(st.integers(0, 2**64), st.integers(1, 60), st.sampled_from([3, 10, 10_000]))
@example(801, 35, 3)  # a request that foresees a compaction is stored after the other's rewind
@example(6_918_774, 49, 3)  # a result that is pinned leaves without its call, and a rewind has to bring it back
@settings(max_examples=examples(30))
def test_two_managers_keep_one_conversation(seed, steps, every):
    """Nothing is lost, doubled or mixed up, and what one of them sends is always what a provider takes."""
    with tempfile.TemporaryDirectory() as folder:
        two = Two(Path(folder), seed, every)
        try:
            two.story.took(first := [two.story.talk.say("user", "begin")], two.managers[0].append(*first))
            for _ in range(steps):
                two.step()
            one, other = (manager.get_messages_for_request(token_budget=10_000_000) for manager in two.managers)
            assert one == other
        finally:
            two.close()
