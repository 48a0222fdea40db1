"""Logs that change, and processes that import them at once or are killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backscroll import ContextManager
from backscroll.cli.mcp.log_files import log_files
from backscroll.cli.mcp.log_import import LogImport
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.integrations.mcp.interleaved import Interleaved
from tests.integrations.mcp.logs import importing, run, said, text, texts, write
from tests.long_run import usually


def test_a_rewritten_log_is_imported_as_it_is_now(tmp_path):
    store = SqliteStore(tmp_path / "agent.db")
    log = write(tmp_path / "logs" / "s.jsonl", *(said("user", f"turn {number}") for number in range(6)))
    run(store, tmp_path / "logs")
    write(log, *(said("user", f"turn {number}") for number in range(3)), said("user", "another way"))
    run(store, tmp_path / "logs")
    assert texts(store, "claude-code/s") == ["turn 0", "turn 1", "turn 2", "another way"]
    write(log, said("user", "turn X"), *(said("user", f"turn {number}") for number in range(1, 9)))
    run(store, tmp_path / "logs")
    assert texts(store, "claude-code/s") == ["turn X", *(f"turn {number}" for number in range(1, 9))]


def test_a_rewritten_log_that_is_longer_is_read_as_a_whole(tmp_path):
    store = MemoryStore()
    log = write(tmp_path / "s.jsonl", said("user", "Go."), said("assistant", [text("Yes.")], id="m1"))
    run(store, tmp_path)
    write(log, said("user", "Go on, and much further."), said("assistant", [text("No.")], id="m2"), said("user", "Hm."))
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["Go on, and much further.", "No.", "Hm."]


def test_two_processes_import_the_same_log_once(tmp_path):
    write(tmp_path / "logs" / "s.jsonl", said("user", "one"))
    stores = [SqliteStore(tmp_path / "agent.db"), SqliteStore(tmp_path / "agent.db")]
    indexes = [StoreIndex(store) for store in stores]
    runs = [importing(store, tmp_path / "logs") for store in stores]
    steps = [made(index) for made, index in zip(runs, indexes, strict=True)]
    for some in steps:
        next(some)
    for some in steps:
        list(some)
    write(tmp_path / "logs" / "s.jsonl", said("user", "two"), append=True)
    for made, index in zip(runs, indexes, strict=True):
        list(made(index))
    assert texts(stores[0], "claude-code/s") == ["one", "two"]


class Racing(SqliteStore):
    """Lets another process write just before the first append."""

    meanwhile: Any = None

    def append(self, *arguments, **named):
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().append(*arguments, **named)


def test_two_imports_in_one_moment_append_once(tmp_path):
    store, other = Racing(tmp_path / "agent.db"), SqliteStore(tmp_path / "agent.db")
    log = write(tmp_path / "logs" / "s.jsonl", said("user", "one"))
    store.meanwhile = lambda: run(other, tmp_path / "logs")
    run(store, tmp_path / "logs")
    assert texts(store, "claude-code/s") == ["one"]
    write(log, said("user", "two"), append=True)
    store.meanwhile = lambda: run(other, tmp_path / "logs")
    run(store, tmp_path / "logs")
    assert texts(store, "claude-code/s") == ["one", "two"]


@pytest.mark.parametrize("grown", usually([True, False], 1))
def test_two_imports_at_any_moments_append_once(tmp_path, grown):
    number, left = 0, 0
    while left <= 0:
        number += 1
        place, logs = tmp_path / f"{number}.db", tmp_path / f"logs{number}"
        log = write(logs / "s.jsonl", said("user", "Go."), said("assistant", [text("One.")], id="m1"))
        other = SqliteStore(place)
        if grown:
            run(other, logs)
            write(log, said("assistant", [text("And.")], id="m1"), said("user", "More."), append=True)
        store = Interleaved(place, number, lambda other=other, logs=logs: run(other, logs))  # type: ignore[misc]  # mypy infers no lambda with defaults
        run(store, logs)
        run(store, logs)
        left = store.left
        assert texts(other, "claude-code/s") == (["Go.", "One. And.", "More."] if grown else ["Go.", "One."]), number
        for each in (store, other):
            each.close()
    assert number > 10


class Late(LogImport):
    """Reads a log, and then others import what the log got since."""

    def __init__(self, store, find, meanwhile):
        super().__init__(store, find)
        self._meanwhile = meanwhile

    def _read(self, file, begin):
        lines = super()._read(file, begin)
        self._meanwhile()
        return lines


def test_an_import_that_comes_late_undoes_nothing(tmp_path):
    store, other = SqliteStore(tmp_path / "agent.db"), SqliteStore(tmp_path / "agent.db")
    log = write(tmp_path / "logs" / "s.jsonl", said("user", "Go."), said("assistant", [text("One.")], id="m1"))
    run(store, tmp_path / "logs")
    write(log, said("user", "More."), append=True)

    def meanwhile():
        write(log, said("assistant", [text("Two.")], id="m2"), append=True)
        run(other, tmp_path / "logs")

    late = Late(store, lambda: log_files([("", str(tmp_path / "logs"))]), meanwhile)
    for _ in late(StoreIndex(store)):
        pass
    assert texts(store, "claude-code/s") == ["Go.", "One.", "More.", "Two."]
    assert store.find("claude-code/s", seq=4) is None, "nothing was appended twice"


def test_an_import_killed_between_rewind_and_append_goes_on(tmp_path):
    store = MemoryStore()
    log = write(tmp_path / "s.jsonl", said("user", "Go."), said("assistant", [text("One.")], id="m1"))
    run(store, tmp_path)
    with ContextManager(store=store, session="claude-code/s") as context:
        context.rewind(0)
    write(log, said("assistant", [text("Two.")], id="m1"), append=True)
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["Go.", "One. Two."]


class Changing(LogImport):
    """Finds logs, and then they change before they are read."""

    def __init__(self, store, folder, change):
        super().__init__(store, lambda: log_files([("", str(folder))]))
        self._change = change

    def _read(self, file, begin):
        change, self._change = self._change, None
        if change is not None:
            change(Path(file.path))
        return super()._read(file, begin)


def emptied(log):
    log.write_text("", "utf-8")


def rotated(log):
    log.rename(log.with_suffix(".old"))
    write(log, said("user", "another"), said("user", "session"))


def halved(log):
    os.truncate(log, log.stat().st_size // 2)


@pytest.mark.parametrize(
    ("change", "left"),
    [(emptied, ["one", "two"]), (rotated, ["another", "session"]), (halved, ["one"]), (Path.unlink, ["one", "two"])],
)
@pytest.mark.filterwarnings("ignore:.*is not imported:backscroll.notices.BackscrollWarning")
def test_a_log_that_changes_while_it_is_read(tmp_path, change, left):
    store = MemoryStore()
    log = write(tmp_path / "s.jsonl", said("user", "one"), said("user", "two"))
    run(store, tmp_path)
    write(log, said("user", "three"), append=True)
    for _ in Changing(store, tmp_path, change)(StoreIndex(store)):
        pass
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == left
    if log.exists():
        write(log, "\n", said("user", "more"), append=True)
        run(store, tmp_path)
        assert texts(store, "claude-code/s")[-1] == "more"


def test_a_log_that_got_shorter_and_grows_again(tmp_path):
    store = MemoryStore()
    lines = [said("user", f"turn {number}") for number in range(6)]
    log = write(tmp_path / "s.jsonl", *lines)
    run(store, tmp_path)
    write(log, *lines[:3])
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["turn 0", "turn 1", "turn 2"]
    assert run(store, tmp_path).bytes_read == 0
    write(log, said("user", "on"), append=True)
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["turn 0", "turn 1", "turn 2", "on"]


KILLED = """
import sys
from pathlib import Path
from backscroll.cli.mcp.log_import import LogImport
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.stores.sqlite import SqliteStore
from tests.integrations.mcp.logs import importing
store = SqliteStore(sys.argv[1])
for progress in importing(store, Path(sys.argv[2]))(StoreIndex(store)):
    print(progress.done, flush=True)
"""


def test_an_import_that_ended_early_goes_on(tmp_path):
    store = SqliteStore(tmp_path / "agent.db")
    paths = [write(tmp_path / "logs" / f"s{number}.jsonl", said("user", f"one {number}")) for number in range(6)]
    steps = importing(store, tmp_path / "logs")(StoreIndex(store))
    for _ in range(4):
        next(steps)
    assert len(store.sessions()) == 3
    assert run(store, tmp_path / "logs").bytes_read == sum(path.stat().st_size for path in paths[:3])
    assert len(store.sessions()) == 6


@pytest.mark.long
def test_an_import_killed_in_the_middle_goes_on(tmp_path):
    lines = [said("user", f"turn {number} " + "word " * 40) for number in range(30)]
    for number in range(20):
        write(tmp_path / "logs" / f"s{number}.jsonl", *lines)
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "agent.db"), str(tmp_path / "logs")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while process.stdout.readline().strip() != b"7":
            pass
        process.send_signal(signal.SIGKILL)
    store = SqliteStore(tmp_path / "agent.db")
    done = len(store.sessions())
    assert 7 <= done < 20
    left = run(store, tmp_path / "logs").bytes_read
    assert left <= (20 - done + 1) * sum(len(each.encode()) for each in lines)
    assert len(store.sessions()) == 20
    assert all(len(texts(store, name)) == 30 for name in store.sessions())
