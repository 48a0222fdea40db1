"""What a reopened session loads: no vocabulary until there is something new to count. Counts of checks, no clocks."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from backscroll import AsyncContextManager, BackscrollWarning, ContextManager
from backscroll.ports import Stored
from backscroll.stores.memory import MemoryStore
from backscroll.tokens.engines.heuristic import ESTIMATOR_NAME
from backscroll.tokens.engines.safe_tokenizer import Engine, Guarded
from tests.builders import FETCH
from tests.present import present

BUDGET = 6_000


class Vocabulary:
    """An engine that notes where it was first counted by; with `broken`, it fails its check."""

    def __init__(self, *, name: str = "fake/1", broken: bool = False) -> None:
        self.loaded: list[int] = []
        self.tokenizer = Guarded("fake", lambda: Engine(name, self._count, {"gold": 9 if broken else 1}))

    def _count(self, text: str) -> int:
        if not self.loaded:
            self.loaded.append(threading.get_ident())
        return len(text) // 4 + 1 if text != "gold" else 1


def talk(rounds: int = 30) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Always use tabs. Go on."}]
    for number in range(rounds):
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [{**FETCH, "id": f"c{number}"}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} {'some words ' * 90}"},
            {"role": "user", "content": f"and number {number}?"},
        ]
    return messages


def kept(folder: Path, **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Stores a session with compactions; its options, and the view of the process that goes on."""
    where = {"store": f"sqlite:///{folder}/a.db", "session": "s", "budget": BUDGET, "strategies": ["digest"], **options}
    with ContextManager(tokenizer=Vocabulary().tokenizer, **where) as manager:
        for message in talk():
            manager.append(message)
            if message["role"] == "user":
                manager.get_messages_for_request(tools=TOOLS)
        assert any("<summary>" in str(message["content"]) for message in manager.get_messages_for_request(tools=TOOLS))
        return where, manager.get_messages_for_request(tools=TOOLS)


TOOLS = [{"type": "function", "function": {"name": "fetch", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize("model", [None, "claude-opus-4-1"])
def test_a_resume_loads_no_vocabulary(tmp_path: Path, model: str | None) -> None:
    where, view = kept(tmp_path, model=model)
    engine = Vocabulary()
    with ContextManager(tokenizer=engine.tokenizer, **where) as manager:
        assert manager.get_messages_for_request(tools=TOOLS) == view
        assert manager.get_messages_for_request(tools=TOOLS) == view
        assert engine.loaded == []
        manager.append({"role": "assistant", "content": "so"})
        assert engine.loaded


def test_a_resume_after_an_undo_loads_no_vocabulary(tmp_path: Path) -> None:
    where, _ = kept(tmp_path)
    with ContextManager(tokenizer=Vocabulary().tokenizer, **where) as manager:
        assert manager.undo_compaction()
        view = manager.get_messages_for_request(BUDGET * 9, tools=TOOLS)
    engine = Vocabulary()
    with ContextManager(tokenizer=engine.tokenizer, **where) as manager:
        assert manager.get_messages_for_request(BUDGET * 9, tools=TOOLS) == view
        assert engine.loaded == []


def test_weights_of_another_way_to_count_are_not_used(tmp_path: Path) -> None:
    where, _ = kept(tmp_path)
    engine = Vocabulary()
    with ContextManager(tokenizer=engine.tokenizer, **where | {"model": "claude-opus-4-1"}) as manager:
        manager.get_messages_for_request(tools=TOOLS)
        assert engine.loaded
    other: list[str] = []
    with ContextManager(tokenizer=lambda text: other.append(text) or len(text), **where) as manager:  # type: ignore[func-returns-value]  # noted, and then counted
        manager.get_messages_for_request(tools=TOOLS)
        assert any(text.startswith("<summary>") for text in other)


def test_a_summary_weighs_what_a_count_of_it_gives(tmp_path: Path) -> None:
    where, _ = kept(tmp_path)

    def reported(engine: Vocabulary) -> Any:
        with ContextManager(tokenizer=engine.tokenizer, **where) as manager:
            manager.get_messages_for_request(tools=TOOLS)
            assert bool(engine.loaded) is (engine is renamed)
            return manager.window_report()

    renamed = Vocabulary(name="fake/2")
    assert reported(Vocabulary()) == reported(renamed)


def test_the_first_count_is_made_in_a_thread(tmp_path: Path) -> None:
    where, _ = kept(tmp_path)
    other_tools = [{"type": "function", "function": {"name": "other", "parameters": {"type": "object"}}}]

    async def first(act: Callable[[AsyncContextManager], Any]) -> list[int]:
        engine = Vocabulary()
        async with AsyncContextManager(tokenizer=engine.tokenizer, **where) as manager:
            await act(manager)
        assert engine.loaded
        return engine.loaded

    async def run() -> None:
        for act in (
            lambda manager: manager.warm(),
            lambda manager: manager.get_messages_for_request(tools=other_tools),
            lambda manager: manager.get_messages_for_request(BUDGET // 3),
            lambda manager: manager.append({"role": "assistant", "content": "so"}),
        ):
            assert threading.get_ident() not in await first(act)

    asyncio.run(run())


def test_warm_loads_the_vocabulary_once() -> None:
    engine = Vocabulary()
    manager = ContextManager(tokenizer=engine.tokenizer)
    manager.warm()
    assert engine.loaded == [threading.get_ident()]
    engine.loaded.clear()
    manager.warm()
    assert engine.loaded == []


def test_a_failed_check_widens_lanes_made_before(tmp_path: Path) -> None:
    def upper(before: bool) -> tuple[int, str]:
        folder = tmp_path / str(before)  # of its own: the widened view is compacted
        folder.mkdir()
        where, _ = kept(folder, plan_ahead=False)  # only one of the two would have a plan from before
        engine = Vocabulary(broken=True)
        with ContextManager(tokenizer=engine.tokenizer, **where) as manager:
            if before:
                manager.get_messages_for_request(tools=TOOLS)
                assert engine.tokenizer.exact
            with pytest.warns(BackscrollWarning, match="estimat"):
                manager.warm()
            manager.get_messages_for_request(tools=TOOLS)
            return present(manager._session.lane("main").view).estimate.upper, engine.tokenizer.name

    widened = upper(before=True)
    assert widened == upper(before=False)
    assert widened[1] == ESTIMATOR_NAME


HEARD = """
import json, sys, threading, asyncio
heard, here = {}, threading.get_ident()
def hear(event, arguments):
    if event == "import" and arguments[0].startswith("backscroll."):
        heard.setdefault(arguments[0].removeprefix("backscroll."), threading.get_ident() == here)
from backscroll import AsyncContextManager, ContextManager
sys.addaudithook(hear)
talk = [{"role": role, "content": f"{at} " + "word " * 150} for at in range(40) for role in ("user", "assistant")]
options = {"budget": 3_000, "tokenizer": lambda text: len(text) // 4}
"""


def loading(program: str) -> dict[str, bool]:
    """The modules of the package that a program loads after the import, and whether its main thread does."""
    line = [sys.executable, "-B", "-W", "ignore", "-c", f"{HEARD}{program}\nprint(json.dumps(heard))"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


DECIDING, RECALLING = {"compaction.policy", "compaction.candidates"}, {"recall.retrieval", "stores.search"}


def test_views_that_fit_load_nothing_that_compacts_or_recalls() -> None:
    loaded = loading(
        "manager = ContextManager(**options); manager.append(*talk[:2]); manager.get_messages_for_request()"
    )
    assert set(loaded) & (DECIDING | RECALLING) == set()


def test_warm_loads_what_compactions_and_recalls_need() -> None:
    warmed = loading("manager = ContextManager(**options); manager.warm()")
    assert set(warmed) > DECIDING | RECALLING
    program = """
manager = ContextManager(**options)
manager.warm(); heard.clear()
for message in talk:
    manager.append(message)
    manager.get_messages_for_request()
assert manager.usage().compactions
manager.recall(query="word"); manager.compact(); manager.window_report()
"""
    assert {module for module in loading(program) if not module.startswith("stores.")} == set()


def test_async_programs_load_in_a_thread_what_decides() -> None:
    program = """
async def talking():
    async with AsyncContextManager(**options) as manager:
        for message in talk:
            await manager.append(message)
            await manager.get_messages_for_request()
        assert manager.usage().compactions
        await manager.recall(query="word")
asyncio.run(talking())
"""
    loaded = loading(program)
    assert {module: loaded.get(module) for module in DECIDING | RECALLING} == dict.fromkeys(DECIDING | RECALLING, False)


def test_threads_that_recall_at_once_share_an_index() -> None:
    manager, gate = ContextManager(tokenizer=Vocabulary().tokenizer), threading.Barrier(8)
    manager.append({"role": "user", "content": "Where is the wombat?"})
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(lambda: (gate.wait(), manager._begin_recalling())[1]) for _ in range(8)]
    assert len({id(each.result()) for each in found}) == 1
    assert [hit.seq for hit in manager.recall(query="wombat").hits] == [0]


def test_a_resume_from_sqlite_loads_no_compressors(tmp_path: Path) -> None:
    where, _ = kept(tmp_path)
    program = f"""
import sys
from backscroll import ContextManager
ContextManager(store={where["store"]!r}, session="s", budget={BUDGET}).get_messages_for_request()
print(*sys.modules)
"""
    line = [sys.executable, "-B", "-W", "ignore", "-c", program]
    loaded = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True).stdout.split()
    assert "sqlite3" in loaded
    assert {"shutil", "lzma", "bz2", "tempfile"}.isdisjoint(loaded)


class ReadStore(MemoryStore):
    """Counts the records that are read."""

    read_records = 0

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        for stored in super().read(session, start, stop):
            self.read_records += 1
            yield stored


def test_a_resume_reads_no_more_of_a_longer_session() -> None:
    def read(rounds: int) -> int:
        store = ReadStore()
        options: dict[str, Any] = {
            "store": store,
            "session": "s",
            "budget": BUDGET,
            "tokenizer": Vocabulary().tokenizer,
        }
        with ContextManager(**options) as manager:
            for message in talk(rounds):
                manager.append(message)
                if message["role"] == "user":
                    manager.get_messages_for_request()
            assert manager.usage().compactions
            manager.compact()
        store.read_records = 0
        ContextManager(**options).get_messages_for_request()
        return store.read_records

    assert read(400) < 2 * read(100)  # the views differ a little
