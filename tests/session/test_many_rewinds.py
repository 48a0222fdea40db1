"""What rewinds cost in a session with many of them: counts of reads, no clocks."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.ports import Stored
from backscroll.stores.memory import MemoryStore
from tests.fakes import count_quarter

BUDGET = 1_500


class CountingStore(MemoryStore):
    """Notes how often its log is read."""

    reads = 0

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        self.reads += 1
        return super().read(session, start, stop)


def opened(store: MemoryStore) -> ContextManager:
    return ContextManager(store=store, session="s", budget=BUDGET, tokenizer=count_quarter, plan_ahead=False)


def said(manager: ContextManager, words: int = 20) -> int:
    """Appends a question and its answer; the number of the answer."""
    said: list[dict[str, Any]] = [
        {"role": role, "content": f"{role} {'word ' * words}"} for role in ("user", "assistant")
    ]
    return manager.append(*said)


def compacted(manager: ContextManager) -> None:
    """Talks until the view was compacted, and so a checkpoint written."""
    while not manager.usage().compactions:
        said(manager, 60)
        manager.get_messages_for_request()


def test_each_of_many_rewinds_reads_as_little_as_the_first() -> None:
    store = CountingStore()
    manager, reads = opened(store), []
    compacted(manager)
    for _ in range(12):
        last = said(manager)
        said(manager)
        before = store.reads
        manager.rewind(last)
        reads.append(store.reads - before)
    assert max(reads) <= reads[0]


def test_a_reopened_session_reads_nothing_for_each_rewind() -> None:
    store = CountingStore()
    with opened(store) as manager:
        compacted(manager)
        said(manager)
        manager.close()
        few, _ = reopened(store)
        for _ in range(12):
            last = said(manager)
            said(manager)
            manager.rewind(last)
        kept = manager.get_messages()
    many, again = reopened(store)
    assert again.get_messages() == kept
    assert many < few + 12  # less than one for each rewind


def reopened(store: CountingStore) -> tuple[int, ContextManager]:
    """How often the log is read until the first view is there."""
    manager, before = opened(store), store.reads
    manager.get_messages_for_request()
    return store.reads - before, manager


STEPS = st.lists(st.sampled_from(["say", "say", "say", "view", "rewind", "far", "pin"]), min_size=5, max_size=40)


@given(STEPS)
@settings(max_examples=30, deadline=None)
def test_a_reopened_session_is_where_its_rewinds_left_it(steps: list[str]) -> None:
    store = MemoryStore()
    manager = opened(store)
    said(manager, 40)
    for at, step in enumerate(steps):
        branch = manager._session.history.branch
        if step == "say":
            said(manager, 40)
        elif step == "view":
            manager.get_messages_for_request()
        elif step == "pin":
            manager.pin(branch[len(branch) // 2])
        elif len(branch) > 4:
            manager.rewind(branch[len(branch) - 3] if step == "rewind" else branch[len(branch) // (2 + at % 2)])
    view = manager.get_messages_for_request()
    manager.close()
    again = opened(store)
    assert again.get_messages_for_request() == view
    assert again.get_messages() == manager.get_messages()
    assert again._session.history.snapshot() == manager._session.history.snapshot()
