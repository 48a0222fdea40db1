"""SQLite under what happens to processes: killed, raced, starved, forked, ended in the middle."""

import json

import pytest

from backscroll.stores.sqlite import SqliteStore
from tests.stores.programs import differs
from tests.stores.running import FAULTS, run, start


def test_what_was_acknowledged_survives_kill_9_at_any_moment(tmp_path):
    rounds = FAULTS or 60
    (told,) = run("kill", tmp_path, rounds, 1)
    assert {what: told[what] for what in ("lost", "unreadable", "halves", "problems")} == {
        "lost": 0, "unreadable": 0, "halves": 0, "problems": 0,
    }  # fmt: skip
    assert told["rounds"] == rounds
    assert told["acknowledged"] > rounds
    assert told["logs"] > rounds / 4, "it was hardly ever killed with something in the log"


@pytest.mark.parametrize("writers", [2, 8])
def test_processes_that_compete_lose_nothing_and_split_no_pair(tmp_path, writers):
    count = 200 // writers
    processes = [start("pairs", tmp_path / "a.db", number, count) for number in range(writers)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120) for process in processes]
    assert [err for _, err in told] == [""] * writers
    assert sum(json.loads(out) for out, _ in told) > 0, "they did not compete"
    store = SqliteStore(tmp_path / "a.db")
    bodies = [stored.record.body.decode() for stored in store.read("shared")]
    calls = [body.removeprefix("call ") for body in bodies[::2]]
    assert [body.removeprefix("result ") for body in bodies[1::2]] == calls
    assert sorted(calls) == sorted(f"{writer} {number}" for writer in range(writers) for number in range(count))
    assert list(store.verify()) == []
    store.close()


def test_without_room_nothing_is_half_written_and_with_room_it_goes_on(tmp_path):
    together, full, again, opened = run("starve", tmp_path / "a.db")
    assert together == ["NoneType"] * 5 + ["StoreUnavailable"] + ["NoneType"] * 4, "only what is too large is refused"
    assert full["written"] > 0
    assert full["end"] == full["written"]
    assert not full["differs"]
    assert all("a.db" in error and "disk" in error and "nothing was half written" in error for error in full["refused"])
    assert again == {"end": full["written"] + 2, "differs": False, "problems": []}
    assert opened == {"end": full["written"] + 2, "sessions": [*"0123456789", "a"]}


def test_what_is_queued_is_written_before_the_process_ends(tmp_path):
    assert run("end", tmp_path / "a.db") == ["queued"]
    store = SqliteStore(tmp_path / "a.db")
    assert store.end("a") == 200
    assert not differs(store, "a")
    store.close()


def test_a_forked_process_opens_anew_and_the_other_goes_on(tmp_path):
    (told,) = run("fork", tmp_path / "a.db")
    assert told == {"statuses": [0] * 10, "problems": [], "written": True}
