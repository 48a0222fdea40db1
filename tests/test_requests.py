"""What was sent: each request again, byte for byte, through compactions, restarts, pins, rewinds and other writers."""

import asyncio
import json
import random
from hashlib import sha256

import pytest

import backscroll
from backscroll import sync
from backscroll.driving import drive_held
from backscroll.errors import ReferenceNotFound
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from backscroll.walking import Walk
from tests.histories import Talk
from tests.test_manager import quarter

OPTIONS = {"tokenizer": quarter, "max_tokens": 2_000, "min_batch_tokens": 300, "overhead_tokens": 0}


def stored(view, passing):
    """A view as it can be known afterwards: what was never stored as its hash."""
    hashes = {json.dumps(message): sha256(json.dumps(message).encode()).hexdigest() for message in passing}
    return [
        {"role": message["role"], "ephemeral": hashes[text]} if (text := json.dumps(message)) in hashes else message
        for message in view
    ]


class Worker:
    """Works at a session as an agent does, with everything that moves a view, and notes what was sent."""

    def __init__(self, dialect, store, seed=7):
        self.talk, self.store, self.chance = Talk(dialect), store, random.Random(seed)
        self.sent, self.passing, self.lasts, self.number, self.pinned = [], [], [], 0, 1
        self.manager = sync.ContextManager("s", store, **OPTIONS)
        self.manager.append(self.talk.say("system", "Be brief."), self.talk.say("user", "Never touch prod.yaml."))

    def restart(self):
        self.manager.close()
        self.manager = sync.ContextManager("s", self.store, **OPTIONS)

    def add(self):
        name, talk = f"c{self.number}", self.talk
        call, text = talk.call([name], "I look.", {"path": f"m{name}.py"}), f"{name} = 1\n" * self.chance.randint(5, 60)
        results = talk.results([(name, text)])
        kind = self.number % 12
        if kind == 3:
            self.manager.append(call, talk.say("user", "Stop that."))  # which leaves the call unanswered
        elif kind == 7:
            note = talk.say("user", f"It is {self.number} o'clock.", {"ephemeral": True})
            self.passing.append(note)
            self.manager.append(call, *results, note)
        elif kind == 9:
            self.manager.append(talk.say("assistant", "Done " * 20), talk.say("user", f"And {self.number}?"))
        else:
            self.manager.append(call, *results)

    def step(self):
        self.number += 1
        self.add()
        self.lasts.append(self.manager.append())
        if self.number % 50 == 0:
            self.manager.unpin(self.pinned)
            self.pinned = self.lasts[-20]
            self.manager.pin(self.pinned)
        if self.number % 130 == 0:
            self.manager.rewind(self.lasts.pop(-30))
            del self.lasts[-29:]
        if self.number % 90 == 0:
            self.manager.set_system_prompt_factory(lambda day=self.number: f"It is day {day}.")
        if self.number % 70 == 0:
            self.restart()
        lane = "other" if self.number % 17 == 0 else "main"
        view = self.manager.get_messages_for_request(lane=lane)
        self.sent.append(stored(view, self.passing))
        self.manager.observe_usage(input_tokens=self.manager.usage(lane).used.tokens, lane=lane)


def same(found, expected):
    """Byte for byte, keys in their order."""
    return json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize(("dialect", "steps", "every"), [("openai", 1_000, 1), ("anthropic", 80, 1)])
def test_each_of_a_thousand_requests_is_shown_as_it_was_sent(dialect, steps, every):
    worker = Worker(dialect, MemoryStore())
    for _ in range(steps):
        worker.step()
    worker.restart()
    requests = worker.manager.requests()
    assert len(requests) == len(worker.sent) == steps
    assert sum(request.compacted for request in requests) > steps // 20
    for request, expected in list(zip(requests, worker.sent, strict=True))[::every]:
        found = worker.manager.sent(request.at)
        assert same(found.messages, expected), request
        assert [line.message for line in found.lines if line.message is not None] == found.messages
    assert {key for view in worker.sent for m in view for key in m} >= {"ephemeral"}
