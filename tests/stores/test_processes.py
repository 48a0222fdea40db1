"""Stores under what happens to processes: killed, raced, starved, forked, ended in the middle."""

import json
from functools import partial
from typing import Any

import pytest

from backscroll import ContextManager
from backscroll.stores.addresses import open_store
from backscroll.stores.conformance import together
from tests.long_run import usually
from tests.stores.programs import differs, worked
from tests.stores.running import FAULTS, KINDS, address_of, run, start


@pytest.fixture(params=usually([*KINDS, "postgres"], 1))
def address(request, tmp_path):
    """Of a new place that several processes can use."""
    if request.param in KINDS:
        return address_of(request.param, tmp_path)
    return request.getfixturevalue("postgres")("a")


def race(program, address, writers, count):
    """What each of them told, after all began at the same moment."""
    processes = [start(program, address, number, count) for number in range(writers)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate(timeout=120 + 2 * FAULTS) for process in processes]
    assert [err for _, err in told] == [""] * writers
    return [json.loads(out) for out, _ in told]


@pytest.mark.parametrize("tried", usually([("sqlite", 20), ("sqlite", 60), ("jsonl", 60)], 1))
def test_what_was_acknowledged_survives_kill_9_at_any_moment(tried, tmp_path):
    kind, usual = tried
    rounds = FAULTS or usual
    (told,) = run("kill", kind, tmp_path, rounds, 1)
    assert {what: told[what] for what in ("lost", "unreadable", "halves", "problems")} == {
        "lost": 0, "unreadable": 0, "halves": 0, "problems": 0,
    }  # fmt: skip
    assert told["rounds"] == rounds
    assert told["acknowledged"] > rounds
    if kind == "sqlite":
        assert told["logs"] > rounds / 4, "it was hardly ever killed with something in the log"


@pytest.mark.parametrize("writers", usually([4, 8], 1))
def test_processes_that_compete_lose_nothing_and_split_no_pair(address, writers):
    count, rounds, conflicts = FAULTS or 120 // writers, 0, 0
    while not conflicts and rounds < 5:  # a busy machine may run one after the other
        conflicts, rounds = sum(race("pairs", address, writers, count)), rounds + 1
    assert conflicts > 0, "they did not compete"
    store: Any = open_store(address)
    bodies = [stored.record.body.decode() for stored in store.read("shared")]
    calls = [body.removeprefix("call ") for body in bodies[::2]]
    assert [body.removeprefix("result ") for body in bodies[1::2]] == calls
    wanted = [f"{writer} {number}" for writer in range(writers) for number in range(count)] * rounds
    assert sorted(calls) == sorted(wanted)
    assert list(store.verify()) == []
    store.close()


@pytest.mark.parametrize("writers", [2, 8] if FAULTS else usually([4, 8], 1))
def test_agents_sharing_a_session_lose_nothing_and_split_no_pair(address, writers):
    """Agents that share a session lose nothing and split no pair."""
    count = FAULTS or 200 // writers
    assert race("tools", address, writers, count) == [0] * writers
    holds_whole_pairs(address, writers, count)


@pytest.mark.parametrize("writers", usually([4, 8], 1))
def test_threads_that_share_a_session_are_never_refused(address, writers):
    """Managers in threads of one process, which share one writer, all get their turn."""
    count, refused = FAULTS or 200 // writers, []
    contexts = [ContextManager(session="shared", store=address, tokenizer=len, budget=9_000) for _ in range(writers)]

    def work(number):
        refused.append(worked(contexts[number], str(number), count))

    together([partial(work, number) for number in range(writers)])
    assert refused == [0] * writers
    for context in contexts:
        context.close()
    holds_whole_pairs(address, writers, count)


def holds_whole_pairs(address, writers, count):
    context = ContextManager(session="shared", store=address, tokenizer=len)
    kept = context.get_messages()
    calls = [message["tool_calls"][0]["id"] for message in kept[::2]]
    assert [message["tool_call_id"] for message in kept[1::2]] == calls
    assert sorted(calls) == sorted(f"{writer} {number}" for writer in range(writers) for number in range(count))
    context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_full_disk_writes_nothing_half_and_resumes_later(kind, tmp_path):
    """Without room nothing is half written and with room it goes on."""
    together, full, again, opened = run("starve", address_of(kind, tmp_path))
    assert together == ["NoneType"] * 5 + ["StoreUnavailableError"] + ["NoneType"] * 4, (
        "only what is too large is refused"
    )
    assert full["written"] > 0
    assert full["end"] == full["written"]
    assert not full["differs"]
    assert all(
        "a.db" in error and "disk" in error and "nothing was partly written" in error for error in full["refused"]
    )
    assert again == {"end": full["written"] + 2, "differs": False, "problems": []}
    assert opened == {"end": full["written"] + 2, "sessions": [*"0123456789", "a"]}


def test_what_is_queued_is_written_before_the_process_ends(address):
    assert run("end", address) == ["queued"]
    store = open_store(address)
    assert store.length("a") == 200
    assert not differs(store, "a")
    store.close()


def test_forked_process_reopens_and_the_parent_goes_on(address):
    (told,) = run("fork", address)
    assert told == {"statuses": [0] * 10, "problems": [], "written": True}
