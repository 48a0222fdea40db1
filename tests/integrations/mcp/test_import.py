"""Logs of Claude Code and Codex, imported while a client asks."""

import os
import random
import sqlite3
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.cli.mcp.log_files import LogFile, homes, log_files
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.notices import BackscrollWarning
from backscroll.stores.addresses import open_store
from backscroll.stores.memory import MemoryStore
from backscroll.stores.names import checked
from backscroll.stores.sqlite import SqliteStore
from tests.integrations.mcp.asking import asking
from tests.integrations.mcp.logs import archive_of, importing, item, line, meta, run, said, spoken, text, texts, write
from tests.profiles import examples

UUID = "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"


def test_a_session_of_claude_code_is_found(tmp_path):
    store = MemoryStore()
    write(tmp_path / "p" / "abc.jsonl", said("user", "Mend the parser."), said("assistant", [text("Off by one.")]))
    with asking(archive_of(store, tmp_path)) as client:
        listed = client.text("sessions")
        assert "'claude-code/abc' (2026-02-03T04:05:06Z), 2 messages, in '/work', begins 'Mend the parser.'" in listed
        assert "(assistant, 2026-02-03T04:05:06Z)\n~~~\nOff by one." in client.text("search", query="off by one")


def test_a_session_of_codex_is_found(tmp_path):
    store = MemoryStore()
    call = {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": '{"cmd": "ls"}'}
    answer = {"type": "function_call_output", "call_id": "c1", "output": "zebra.txt"}
    write(
        tmp_path / "2026/02/03" / f"rollout-2026-02-03T04-05-06-{UUID}.jsonl",
        meta(UUID, "/other"), spoken("user", "List the files."), item(call), item(answer), spoken("assistant", "Done."),
    )  # fmt: skip
    with asking(archive_of(store, tmp_path)) as client:
        assert f"'codex/{UUID}' (2026-02-03T04:05:06Z), 4 messages, in '/other'" in client.text("sessions")
        assert "zebra.txt" in client.text("search", query="ls shell")
        assert "Done." in client.text("read", session=f"codex/{UUID}", ref="3")


def test_a_second_import_reads_only_what_is_new(tmp_path):
    store = SqliteStore(tmp_path / "agent.db")
    paths = [
        write(tmp_path / "logs" / f"s{number}.jsonl", *(said("user", "hello " * 50) for _ in range(20)), answer())
        for number in range(10)
    ]
    first = run(store, tmp_path / "logs")
    assert first.bytes_read == sum(path.stat().st_size for path in paths)
    assert run(store, tmp_path / "logs").bytes_read == 0
    more = said("user", "and more")
    write(paths[3], more, append=True)
    again = importing(store, tmp_path / "logs")
    list(again(StoreIndex(store)))
    assert again.bytes_read == len(answer().encode()) + len(more.encode())
    list(again(StoreIndex(store)))
    assert again.bytes_read == len(answer().encode()) + len(more.encode())
    assert texts(store, "claude-code/s3")[-2:] == ["Yes.", "and more"]
    assert len(texts(store, "claude-code/s3")) == 22


class CountingStore(SqliteStore):
    """Counts the sessions that are read."""

    reads = 0

    def read(self, session, start=0, stop=None):
        self.reads += 1
        return super().read(session, start, stop)


def test_a_new_process_reads_no_stored_session_again(tmp_path):
    for number in range(5):
        write(tmp_path / "logs" / f"s{number}.jsonl", said("user", f"needle {number}"))
    run(SqliteStore(tmp_path / "agent.db"), tmp_path / "logs")
    store = CountingStore(tmp_path / "agent.db")
    with asking(archive_of(store, tmp_path / "logs")) as client:
        assert "needle 3" in client.text("search", query="needle")
    assert store.reads == 0


def answer():
    return said("assistant", [text("Yes.")], id="m1")


def test_an_answer_that_grows_in_pieces_is_one_message(tmp_path):
    store = SqliteStore(tmp_path / "agent.db")
    use, result = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}, {"type": "tool_result"}
    log = write(tmp_path / "logs" / "s.jsonl", said("user", "Go."), said("assistant", [text("I read.")], id="m1"))
    run(store, tmp_path / "logs")
    write(log, said("assistant", [use], id="m1"), append=True)
    run(store, tmp_path / "logs")
    write(log, said("user", [{**result, "tool_use_id": "t1", "content": "found"}]), append=True)
    run(store, tmp_path / "logs")
    assert texts(store, "claude-code/s") == ["Go.", "I read. Read", "found"]


def test_an_item_of_codex_joins_the_answer_it_belongs_to(tmp_path):
    store = MemoryStore()
    call = {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"}
    log = write(tmp_path / f"rollout-x-{UUID}.jsonl", meta(UUID), spoken("user", "Go."), spoken("assistant", "First."))
    run(store, tmp_path)
    write(log, item(call), append=True)
    run(store, tmp_path)
    assert texts(store, f"codex/{UUID}") == ["Go.", f"{[{'type': 'output_text', 'text': 'First.'}]} shell"]


def test_a_line_that_is_still_written_waits(tmp_path):
    store = MemoryStore()
    whole = said("user", "the second line")
    log = write(tmp_path / "s.jsonl", said("user", "the first line"), whole[:30])
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["the first line"]
    write(log, whole[30:], append=True)
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["the first line", "the second line"]


def test_a_last_line_without_its_end_counts_if_it_is_whole(tmp_path):
    store = MemoryStore()
    log = write(tmp_path / "s.jsonl", said("user", "one"), said("user", "two").rstrip("\n"))
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["one", "two"]
    write(log, "\n", said("user", "three"), append=True)
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["one", "two", "three"]


def test_unknown_and_broken_lines_are_passed_over(tmp_path):
    store = MemoryStore()
    write(
        tmp_path / "s.jsonl",
        line({"type": "file-history-snapshot", "snapshot": {}}), "not json\n", "[1]\n", '{"a": NaN}\n', "\n",
        line({"type": "user", "message": {"content": "no role"}}), line({"type": "brand-new", "message": {"role": 1}}),
        said("user", "kept"), line({"type": "summary", "summary": "x"}),
    )  # fmt: skip
    write(tmp_path / f"rollout-x-{UUID}.jsonl", meta(UUID), item({"type": "message", "content": []}),
          item({"type": "from_the_future"}), spoken("user", "kept too"))  # fmt: skip
    write(tmp_path / "empty.jsonl")
    run(store, tmp_path)
    assert sorted(store.sessions()) == ["claude-code/s", f"codex/{UUID}"]
    assert texts(store, "claude-code/s") == ["kept"]
    assert len(texts(store, f"codex/{UUID}")) == 1


def test_surrogates_and_any_language_are_imported(tmp_path):
    store = MemoryStore()
    write(tmp_path / "s.jsonl", said("user", "naïve 日本語 🦜"), said("user", "X").replace("X", "half \\ud83e bird"))
    with asking(archive_of(store, tmp_path)) as client:
        assert "naïve 日本語 🦜" in client.text("search", query="日本語")
        assert "half \ufffd bird" in client.text("search", query="half bird")


def test_sub_agents_are_sessions_that_name_their_parent(tmp_path):
    store = MemoryStore()
    write(tmp_path / "p" / "main.jsonl", said("user", "the main work", session="main"))
    side = said("user", "search the code", session="main", isSidechain=True, agentId="a1")
    write(tmp_path / "p" / "main" / "subagents" / "agent-a1.jsonl", side)
    write(tmp_path / "p" / "agent-b2.jsonl", side.replace("a1", "b2"))
    thread = {"subagent": {"thread_spawn": {"parent_thread_id": "parent-id", "depth": 1}}}
    write(tmp_path / f"rollout-x-{UUID}.jsonl", meta(UUID, source=thread), spoken("user", "a task"))
    with asking(archive_of(store, tmp_path)) as client:
        listed = client.text("sessions")
    for name in ("claude-code/main/agent-a1", "claude-code/agent-b2"):
        assert f"'{name}' (2026-02-03T04:05:06Z), 1 message, in '/work', a sub-agent of 'claude-code/main'" in listed
    assert f"'codex/{UUID}'" in listed
    assert "a sub-agent of 'codex/parent-id'" in listed
    assert "'claude-code/main' (2026-02-03T04:05:06Z), 1 message, in '/work', begins" in listed


def test_sub_agents_among_the_lines_of_their_parent(tmp_path):
    store = MemoryStore()
    log = write(
        tmp_path / "s.jsonl",
        said("user", "main", uuid="u1"), said("user", "side", uuid="u2", isSidechain=True, agentId="a"),
    )  # fmt: skip
    run(store, tmp_path)
    write(log, said("assistant", "side answer", uuid="u3", isSidechain=True, agentId="a"), append=True)
    write(log, said("assistant", "main answer", uuid="u4"), append=True)
    run(store, tmp_path)
    assert texts(store, "claude-code/s") == ["main", "main answer"]
    assert texts(store, "claude-code/s/side-1") == ["side", "side answer"]


def test_results_are_found_by_the_role_of_a_tool(tmp_path):
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "needle.py"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "needle = 1"}
    write(tmp_path / "s.jsonl", said("user", "a needle"), said("assistant", [use]), said("user", [result]))
    with asking(archive_of(MemoryStore(), tmp_path)) as client:
        assert "needle = 1" in client.text("search", query="needle", role="tool")
        assert "a needle" not in client.text("search", query="needle", role="tool")
        assert "needle = 1" not in client.text("search", query="needle", role="user")


def test_the_first_words_are_those_of_the_user(tmp_path):
    first = said("user", "<environment_context>cwd</environment_context>")
    write(tmp_path / "s.jsonl", first, said("user", "Begin\n  here."))
    with asking(archive_of(MemoryStore(), tmp_path)) as client:
        assert "begins 'Begin here.'" in client.text("sessions")


def test_only_the_project_is_shown(tmp_path):
    store, here = MemoryStore(), tmp_path / "here"
    write(tmp_path / "logs" / "a.jsonl", said("user", "needle here", project=str(here)))
    write(tmp_path / "logs" / "b.jsonl", said("user", "needle there", project="/elsewhere"))
    with asking(archive_of(store, tmp_path / "logs", folder=str(here))) as client:
        assert "needle there" not in client.text("search", query="needle")
        assert "1 session." in client.text("sessions")
    with asking(archive_of(store, tmp_path / "logs")) as client:
        assert "needle there" in client.text("search", query="needle")


def test_what_a_log_gets_is_found_by_the_next_search(tmp_path):
    store = SqliteStore(tmp_path / "agent.db")
    log = write(tmp_path / "logs" / "s.jsonl", said("user", "begin"))
    with asking(archive_of(store, tmp_path / "logs")) as client:
        for number in range(4):
            write(log, said("user", f"needle{number}"), append=True)
            assert f"needle{number}" in client.text("search", query=f"needle{number}")
        write(tmp_path / "logs" / "new.jsonl", said("user", "a new log"))
        assert "a new log" in client.text("search", query="new log")


def test_only_regular_files_are_read(tmp_path):
    """To open a pipe that nobody writes to would wait without an end."""
    store = MemoryStore()
    (tmp_path / "logs" / "folder.jsonl").mkdir(parents=True)
    os.mkfifo(tmp_path / "logs" / "pipe.jsonl")
    (tmp_path / "logs" / "nowhere.jsonl").symlink_to(tmp_path / "missing")
    (tmp_path / "logs" / "zero.jsonl").symlink_to("/dev/zero")
    write(tmp_path / "logs" / "s.jsonl", said("user", "one"))
    run(store, tmp_path / "logs")
    assert store.sessions() == ["claude-code/s"]


def test_a_damaged_session_stops_no_other(tmp_path):
    place = tmp_path / "agent.db"
    for number in range(3):
        write(tmp_path / "logs" / f"s{number}.jsonl", said("user", f"needle {number}"))
    run(SqliteStore(place), tmp_path / "logs")
    with sqlite3.connect(place) as database:
        database.execute("update record set body = x'00' where cast(body as text) like '%needle 1%'")
    for number in range(3):
        write(tmp_path / "logs" / f"s{number}.jsonl", said("user", f"newer {number}"), append=True)
    archive = archive_of(SqliteStore(place), tmp_path / "logs")
    with pytest.warns(BackscrollWarning, match="not imported"):
        archive.refresh()
    with asking(archive) as client:
        found = client.text("search", query="newer")
        assert "newer 0" in found
        assert "newer 2" in found
        assert "left out: 1, such as 'claude-code/s1': " in found
        assert "the record at position 0" in client.error("read", session="claude-code/s1")
        assert "left out: 1," in client.text("sessions")


def test_nothing_is_written_to_the_folders_of_a_client(tmp_path):
    folder = tmp_path / "logs"
    write(folder / "p" / "a.jsonl", said("user", "hello"))
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    run(SqliteStore(tmp_path / "agent.db"), folder)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_homes_follow_the_environment_of_the_clients():
    found = homes(["claude-code", "codex"], {"HOME": "/home/me", "CODEX_HOME": "/data/codex"})
    assert found == [("claude-code", "/home/me/.claude/projects"), ("codex", "/data/codex/sessions")]
    assert homes(["claude-code"], {"CLAUDE_CONFIG_DIR": "/c"}) == [("claude-code", "/c/projects")]


def test_the_newest_log_comes_first(tmp_path):
    for number in range(3):
        path = write(tmp_path / f"{number}.jsonl", said("user", "x"))
        os.utime(path, (number, number))
    assert [Path(file.path).stem for file in log_files([("claude-code", str(tmp_path))])] == ["2", "1", "0"]


def test_copies_of_a_log_are_one_session(tmp_path):
    store, lines = MemoryStore(), [said("user", f"turn {number}") for number in range(3)]
    live = write(tmp_path / "live" / "s.jsonl", *lines)
    write(tmp_path / "backup" / "s.jsonl", *lines[:2])
    write(tmp_path / "another" / "s.jsonl", *lines)
    for _ in range(3):
        made = run(store, tmp_path)
    assert made.bytes_read == 0
    assert texts(store, "claude-code/s") == ["turn 0", "turn 1", "turn 2"]
    write(live, said("user", "turn 3"), append=True)
    run(store, tmp_path)
    assert texts(store, "claude-code/s")[-1] == "turn 3"
    assert len(list(store.read("claude-code/s"))) < 10, "no copy was imported over another"


@given(stem=st.text(min_size=1, max_size=300))
def test_every_file_name_gives_a_name_that_a_store_accepts(stem):
    name = LogFile("claude-code", f"/logs/{stem}.jsonl", 0, 0).session
    assert checked(name) == name


@settings(max_examples=examples(30))
@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.data())
def test_imports_in_any_steps_give_what_one_import_gives(kinds, data):
    """Users' lines may come between the pieces of an answer, as results do, but no other answer."""
    lines = [
        (
            said("user", f"turn {number}"),
            said("assistant", [text(f"piece {number}")], id=f"m{kinds[:number].count(3)}"),
            line({"type": "note", "number": number}),
            said("assistant", [text(f"answer {number}")], id=f"n{number}"),
        )[kind]
        for number, kind in enumerate(kinds)
    ]
    whole = "".join(lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    with tempfile.TemporaryDirectory() as place:
        folder, once, steps = Path(place), MemoryStore(), MemoryStore()
        for cut in [*cuts, len(whole)]:
            (folder / "s.jsonl").write_bytes(whole[:cut])
            run(steps, folder)
        run(once, folder)
        assert texts(steps, "claude-code/s") == texts(once, "claude-code/s")


@pytest.mark.long
def test_a_thousand_sessions_are_searched_in_little_time(tmp_path):
    words = [f"word{number}" for number in range(4_000)]
    chance = random.Random(7)
    for number in range(1_000):
        turns = [said("user", " ".join(chance.choices(words, k=60))) for _ in range(10)]
        write(tmp_path / "logs" / f"p{number % 30}" / f"s{number}.jsonl", *turns)
    store = SqliteStore(tmp_path / "agent.db")
    run(store, tmp_path / "logs")
    assert len(store.sessions()) == 1_000
    archive = archive_of(open_store(tmp_path / "agent.db"), tmp_path / "logs")
    with asking(archive) as client:
        client.text("search", query="word1")
        taken = []
        for number in range(5):
            begin = time.process_time()
            client.text("search", query=f"word{number} word{number + 100}")
            taken.append(time.process_time() - begin)
    assert min(taken) < 0.3
    assert run(store, tmp_path / "logs").bytes_read == 0
