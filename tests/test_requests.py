"""What was sent: each request again, byte for byte, through compactions, restarts, pins, rewinds and other writers."""

import asyncio
import json
import random
from hashlib import sha256
from itertools import takewhile

import pytest

import backscroll
from backscroll import ContextManager
from backscroll.errors import ReferenceNotFound
from backscroll.manager.driver import drive_held
from backscroll.session.breakdown import MESSAGE_KINDS, divided, estimates_of
from backscroll.session.log_replay import LogReplay, Step
from backscroll.session.request_log import lane_of_request
from backscroll.session.store_sync import refresh_lane
from backscroll.session.system_prompt import prompt_of
from backscroll.stores.memory import MemoryStore
from backscroll.view.view import unstored
from tests.histories import Talk
from tests.test_manager import quarter

OPTIONS = {"tokenizer": quarter, "max_tokens": 2_000, "min_batch_tokens": 300, "overhead_tokens": 0}


def stored(view, hashes):
    """A view as it can be known afterwards: what was never stored as its hash."""
    return [
        {"role": message["role"], "ephemeral": hashes[text]} if (text := json.dumps(message)) in hashes else message
        for message in view
    ]


class Worker:
    """Works at a session as an agent does, with everything that moves a view, and notes what was sent."""

    options = OPTIONS

    def __init__(self, dialect, store, seed=7):
        self.talk, self.store, self.chance = Talk(dialect), store, random.Random(seed)
        self.sent, self.passing, self.lasts, self.number, self.pinned = [], {}, [], 0, 1
        self.manager = ContextManager(session="s", store=store, **self.options)
        self.manager.append(self.talk.say("system", "Be brief."), self.talk.say("user", "Never touch prod.yaml."))

    def restart(self):
        self.manager.close()
        self.manager = ContextManager(session="s", store=self.store, **self.options)

    def add(self):
        name, talk = f"c{self.number}", self.talk
        call, text = talk.call([name], "I look.", {"path": f"m{name}.py"}), f"{name} = 1\n" * self.chance.randint(5, 60)
        results = talk.results([(name, text)])
        kind = self.number % 12
        if kind == 3:
            self.manager.append(call, talk.say("user", "Stop that."))  # which leaves the call unanswered
        elif kind == 7:
            note = talk.say("user", f"It is {self.number} o'clock.", {"ephemeral": True})
            self.passing[json.dumps(note)] = sha256(json.dumps(note).encode()).hexdigest()
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
        self.manager.observe_usage(input_tokens=self.counted(view, lane), lane=lane)

    def counted(self, view, lane):
        """What the provider says of a view."""
        return self.manager.usage(lane).used.tokens


def same(found, expected):
    """Byte for byte, keys in their order."""
    return json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize(("dialect", "steps"), [("openai", 1_000), ("anthropic", 80)])
def test_each_of_a_thousand_requests_is_shown_as_it_was_sent(dialect, steps):
    worker = Worker(dialect, MemoryStore())
    for _ in range(steps):
        worker.step()
    worker.restart()
    requests = worker.manager.requests()
    assert len(requests) == len(worker.sent) == steps
    assert sum(request.compacted for request in requests) > steps // 20
    for request, expected in zip(requests, worker.sent, strict=True):
        found = worker.manager.sent(request.at)
        assert same(found.messages, expected), request
        assert [line.message for line in found.lines if line.message is not None] == found.messages
    assert {key for view in worker.sent for m in view for key in m} >= {"ephemeral"}


def walked(manager):
    """Everything that a walk through the log finds, and the walk."""
    walk, found = LogReplay(manager._session), []
    while steps := drive_held(walk.advance(50)):
        found += steps
    return walk, list({step.at: step for step in found}.values())  # the newest of each request


def test_a_walk_tells_of_each_request_what_it_was_made_of_and_what_of_it_stood_there_before():
    worker = Worker("openai", MemoryStore())
    for _ in range(200):
        worker.step()
    worker.restart()
    requests = worker.manager.requests()
    _, steps = walked(worker.manager)
    assert [step.at for step in steps] == [request.at for request in requests]
    before = {}
    for step, request in zip(steps, requests, strict=True):
        view = worker.manager.sent(request.at)
        earlier, before[request.lane] = before.get(request.lane, []), view.messages
        assert step.messages == len(view.messages)
        assert 0.9 < sum(step.parts.values()) / max(1, sum(line.tokens for line in view.lines)) < 1.1
        if view.messages[: len(earlier)] == earlier:
            assert (step.kept > 0) == bool(earlier)
        if not earlier or view.messages[0] != earlier[0]:
            assert step.kept == (step.parts["overhead"] if earlier else 0)
    assert sum(step.kept for step in steps) > 0.6 * sum(sum(step.parts.values()) for step in steps)


def test_a_walk_goes_on_with_what_came_since():
    worker = Worker("openai", MemoryStore())
    worker.step()
    worker.restart()
    walk, found = walked(worker.manager)
    assert len(found) == 1
    assert drive_held(walk.advance(50)) == []
    worker.step()
    worker.restart()
    assert {step.at for step in drive_held(walk.advance(50))} == {worker.manager.requests()[-1].at}


def test_a_session_in_memory_shows_its_requests_too():
    manager, sent = ContextManager(**OPTIONS), []
    talk = Talk("openai")
    for number in range(40):
        manager.append(talk.say("user", f"{number} " * 100), talk.say("assistant", "ok " * 20))
        sent.append(manager.get_messages_for_request())
    requests = manager.requests()
    assert [manager.sent(request.at).messages for request in requests] == sent
    assert manager.requests(requests[-1].at) == requests[-1:]
    assert manager.requests(stop=requests[1].at) == requests[:1]
    assert len(walked(manager)[1]) == 40


def test_each_line_says_what_became_of_it():
    manager, talk = ContextManager(**OPTIONS), Talk("openai")
    manager.append(talk.say("user", "Never touch prod.yaml."))
    pinned = manager.append(talk.say("user", "Remember the milk."))
    manager.pin(pinned)
    for number in range(40):
        name = f"c{number}"
        manager.append(talk.call([name], "I look.", {}), *talk.results([(name, f"{name} = 1\n" * 40)]))
        view = manager.get_messages_for_request()
    sent = manager.sent(manager.requests()[-1].at)
    kinds = {line.kind for line in sent.lines}
    assert kinds == {"message", "digest", "left out"}
    told = {line.first: line for line in sent.lines if line.kind == "message"}
    explained = {each.seq: each for each in manager.explain() if each.state not in {"folded", "out"}}
    assert {seq: (line.state, line.reason, line.original, line.ref) for seq, line in told.items()} == {
        seq: (each.state, each.reason, each.tokens, each.ref) for seq, each in explained.items()
    }
    assert (told[pinned].state, told[pinned].reason) == ("whole", "pinned")
    (gap, *_) = [line for line in sent.lines if line.kind == "left out"]
    assert (gap.state, gap.message, gap.ref) == ("folded", None, f"[ref:{gap.first}-{gap.last}]")
    assert sent.messages == view


def test_a_request_that_was_stored_behind_what_another_writer_added_is_shown_as_it_was():
    store, talk = MemoryStore(), Talk("openai")
    one, two = (ContextManager(session="s", store=store, **OPTIONS) for _ in range(2))
    one.append(talk.say("user", "first"))
    view = one.get_messages_for_request()
    two.append(talk.say("assistant", "second"))
    one.append(talk.say("user", "third"))
    (request,) = two.requests()
    assert (request.last, two.sent(request.at).messages) == (0, view)


def test_what_the_provider_measured_and_the_summarizer_took_is_told_with_the_request():
    manager, talk = (
        ContextManager(session="s", store=MemoryStore(), **OPTIONS, summarizer=lambda request: "It went well."),
        Talk("openai"),
    )
    for number in range(40):
        manager.append(talk.say("user", f"{number} " * 100), talk.say("assistant", "ok " * 20))
        manager.get_messages_for_request()
        manager.observe_usage(input_tokens=manager.usage().used.tokens + 3)
    requests = manager.requests()
    assert all(request.tokens == request.measured == request.estimated + 3 for request in requests[:-1])
    assert sum(sum(request.summarizer) for request in requests) > 0
    assert any(request.compacted for request in requests)


def test_what_the_provider_reported_of_its_cache_is_told_with_the_request():
    store, talk = MemoryStore(), Talk("openai")
    manager = ContextManager(session="s", store=store, **OPTIONS)
    for cache in ({}, {"cache_read_tokens": 30, "cache_write_tokens": 4}, {"cache_write_tokens": 5}, None):
        manager.append(talk.say("user", "word " * 100))
        manager.get_messages_for_request()
        if cache is not None:
            rest = manager.usage().used.tokens - sum(cache.values())
            manager.observe_usage(input_tokens=rest, output_tokens=9, **cache)
    manager.close()
    again = ContextManager(session="s", store=store, **OPTIONS)
    told = [(each.cached, each.written, each.answer) for each in again.requests()]
    assert told == [(None, None, 9), (30, 4, 9), (0, 5, 9), (None, None, None)]
    assert [each.measured is None for each in again.requests()] == [False, False, False, True]


@pytest.mark.parametrize("wrong", [-1, 0, 10_000, "1", True, None])
def test_a_place_without_a_request_is_refused(wrong):
    for where in ({}, {"store": MemoryStore(), "session": "s"}):
        manager = ContextManager(**where, **OPTIONS)
        manager.append(Talk("openai").say("user", "hello"))
        manager.get_messages_for_request()
        with pytest.raises(ReferenceNotFound, match="there is no request at place"):
            manager.sent(wrong)


def test_the_asynchronous_manager_tells_the_same():
    async def main():
        manager = backscroll.AsyncContextManager(**OPTIONS)
        await manager.add_message({"role": "user", "content": "hello"})
        view = await manager.get_messages_for_request()
        (request,) = await manager.requests()
        return view, (await manager.sent(request.at)).messages

    view, found = asyncio.run(main())
    assert view == found


def slowly(manager, requests):
    """What a walk tells, of each request by itself: nothing is remembered from one to the next but what was sent."""
    session, before = manager._session, {}
    for request in requests:
        event, past, lane = drive_held(lane_of_request(session, request.at))
        past.ephemerals = unstored(event.ephemerals)
        drive_held(refresh_lane(past, lane, drive_held(prompt_of(past, event.prompt))))
        pieces = [
            ([piece.bridge, *piece.messages] if piece.bridge else piece.messages, [*estimates_of(piece, lane)])
            for piece in lane.view.pieces
        ]
        earlier, before[request.lane] = before.get(request.lane, []), pieces
        pairs = zip(pieces, earlier, strict=False)
        kept = [parts for (now, parts), _ in takewhile(lambda pair: pair[0][0] == pair[1][0], pairs)]
        sums = dict.fromkeys(MESSAGE_KINDS, 0)
        for _, parts in pieces:
            for part, tokens in parts:
                sums[part] += tokens
        total = sum(tokens for parts in kept for _, tokens in parts)
        parts, scale = divided(sums, 0, request.tokens)
        yield Step(request.at, len(lane.view.flat), parts, round(total * scale))


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_walk_tells_to_the_token_what_each_request_tells_by_itself(dialect):
    worker = Worker(dialect, MemoryStore())
    for _ in range(270):
        worker.step()
    worker.restart()
    requests = worker.manager.requests()
    _, steps = walked(worker.manager)
    assert steps == list(slowly(worker.manager, requests))


def test_a_walk_reckons_a_piece_once_and_reads_of_a_digest_only_what_is_shown():
    manager, talk = ContextManager(session="s", store=MemoryStore(), **OPTIONS), Talk("openai")
    walk, most = LogReplay(manager._session), 0
    for number in range(120):
        name = f"c{number}"
        manager.append(talk.call([name], "I look.", {}), *talk.results([(name, f"{name} = 1\n" * 40)]))
        manager.get_messages_for_request()
        manager.append(talk.say("user", f"And {number}?"))
        seen = walk._views.get("main")
        before = {id(parts) for parts in seen.parts} if seen else set()
        drive_held(walk.advance(10))
        after = walk._views["main"].parts if "main" in walk._views else []
        if seen and walk._replica.lanes["main"].plan.number != most:
            most = walk._replica.lanes["main"].plan.number
            assert len(before.intersection(map(id, after))) > len(after) / 4
    assert most > 3
    digest, seen = manager._session.lanes["main"].plan.digest, walk._replica.lanes["main"].plan.digest
    assert (seen.notes, seen.weights, seen.spare) == (digest.notes, (), ())
    assert digest.weights
