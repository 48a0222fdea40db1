"""What was sent: each request again, byte for byte, through compactions, restarts, pins, rewinds and other writers."""

import asyncio
import json
from itertools import takewhile
from typing import Any

import pytest

import backscroll
from backscroll import CacheMarks, ContextManager
from backscroll.errors import ReferenceNotFoundError
from backscroll.manager.driver import run_unlocked
from backscroll.session.breakdown import MESSAGE_KINDS, divided, estimates_of
from backscroll.session.log_replay import LogReplay, Step
from backscroll.session.request_log import lane_of_request
from backscroll.session.store_sync import refresh_lane
from backscroll.session.system_prompt import prompt_of
from backscroll.stores.memory import MemoryStore
from backscroll.view.ephemerals import unstored
from tests.builders import MessageFactory
from tests.long_run import usual_sets, usually
from tests.present import present
from tests.session.worker import OPTIONS, Worker


def same(found, expected):
    """Byte for byte, keys in their order."""
    return json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize(("dialect", "steps"), usual_sets([("anthropic", 80), ("openai", 60), ("openai", 1_000)], 2))
def test_each_of_many_requests_is_shown_as_it_was_sent(dialect, steps):
    worker = Worker(dialect, MemoryStore())
    for _ in range(steps):
        worker.step()
    worker.restart()
    requests = worker.manager.list_requests()
    assert len(requests) == len(worker.sent) == steps
    assert sum(request.compacted for request in requests) > steps // 20
    for request, expected in zip(requests, worker.sent, strict=True):
        found = worker.manager.get_request(request.at)
        assert same(found.messages, expected), request
        assert [line.message for line in found.lines if line.message is not None] == found.messages
    assert {key for view in worker.sent for m in view for key in m} >= {"ephemeral"}


@pytest.mark.parametrize(
    "marks", [CacheMarks("anthropic"), CacheMarks("anthropic", ttl="5m", system_ttl="1h", reserved=1)]
)
@pytest.mark.parametrize("dialect", usually(["anthropic", "openai", "bedrock"], 1))
def test_requests_are_shown_with_the_marks_that_were_sent(dialect, marks):
    talk, store, sent = MessageFactory(dialect), MemoryStore(), []
    options = OPTIONS | {"store": store, "session": "s"}
    with ContextManager(**options, cache_marks=marks) as manager:
        manager.append(talk.say("system", "Be brief. " * 20), talk.say("user", "Begin."))
        for number in range(40):
            text = f"value {number}\n" * 60
            manager.append(talk.call([f"c{number}"], "Next.", {}), *talk.results([(f"c{number}", text)]))
            sent.append(manager.get_messages_for_request())
        assert [manager.get_request(each.at).messages for each in manager.list_requests()] == sent
    assert {text for view in sent for text in ("cache_control", "cachePoint") if text in str(view)}
    with ContextManager(**options) as reader:  # the options do not mark its own requests
        found = [reader.get_request(each.at).messages for each in reader.list_requests()]
        if marks.system_ttl is None:
            assert found == sent
        reader.get_messages_for_request()
        newest = reader.list_requests()[-1]
        assert "cache" not in str(reader.get_request(newest.at).messages)


def replay_log(manager):
    """Everything that a replay through the log finds, and the replay."""
    replay, found = LogReplay(manager._session), []
    while steps := run_unlocked(replay.advance(50)):
        found += steps
    return replay, list({step.at: step for step in found}.values())  # the newest of each request


class Counted(Worker):
    """Has a provider that counts each view as we do, and not what we expect after it removed some: that is cautious."""

    def counted(self, view, lane):
        return present(self.manager._session.lanes[lane].view).estimate.expected


@pytest.mark.parametrize("count", usually([80, 200], 1))
def test_replay_shows_what_each_request_was_made_of(count):
    """A replay says of each request what it was made of and what of it stood there before."""
    worker = Counted("openai", MemoryStore())
    for _ in range(count):
        worker.step()
    worker.restart()
    requests = worker.manager.list_requests()
    _, steps = replay_log(worker.manager)
    assert [step.at for step in steps] == [request.at for request in requests]
    before = {}
    for step, request in zip(steps, requests, strict=True):
        view = worker.manager.get_request(request.at)
        earlier, before[request.lane] = before.get(request.lane, []), view.messages
        assert step.messages == len(view.messages)
        assert 0.9 < sum(step.parts.values()) / max(1, sum(line.tokens for line in view.lines)) < 1.1
        if view.messages[: len(earlier)] == earlier:
            assert (step.kept > 0) == bool(earlier)
        if not earlier:
            assert step.kept == 0
        elif view.messages[0] != earlier[0]:  # of the first message, what it begins with alike
            first = next(line.tokens for line in view.lines if line.message is not None)
            assert step.parts["overhead"] <= step.kept <= step.parts["overhead"] + first
    assert sum(step.kept for step in steps) > 0.6 * sum(sum(step.parts.values()) for step in steps)


def test_cache_holds_the_beginning_of_a_digest_that_grew():
    """The cache of an engine holds a prefix of tokens, wherever messages end."""
    manager, talk = ContextManager(**OPTIONS), MessageFactory("openai")
    for number in range(60):
        manager.append(talk.say("user", f"{number} " * 60), talk.say("assistant", f"answer {number} " * 20))
        manager.get_messages_for_request()
    records, (_, steps) = manager.list_requests(), replay_log(manager)
    views = [manager.get_request(record.at) for record in records]
    partly = 0
    for earlier, view, step in zip(views, views[1:], steps[1:], strict=False):
        pairs = zip(earlier.messages, view.messages, strict=False)
        same = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
        if same is None:
            continue
        lines = [line for line in view.lines if line.message is not None]
        whole = sum(line.tokens for line in lines[:same])
        begins = beginning(earlier.messages[same], view.messages[same])
        assert whole - 5 <= step.kept <= whole + lines[same].tokens * begins + 5
        partly += step.kept > whole + 20
    assert partly > 3


@pytest.mark.parametrize("characters", [2.5, 3.2, 4.5])
def test_cache_forecast_holds_with_another_vocabulary(characters):
    """What a provider counts more than we do is no overhead, of which its cache would hold all."""
    manager, talk = ContextManager(**OPTIONS | {"overhead_tokens": None}), MessageFactory("openai")
    before, kept, total = [], 0.0, 0
    for number in range(30):
        manager.append(talk.say("user", f"{number} words of a user " * 20))
        view = manager.get_messages_for_request()
        sizes = [len(message["content"]) / characters for message in view]
        same = len([*takewhile(lambda pair: pair[0] == pair[1], zip(before, view, strict=False))])
        kept += sum(sizes[:same])
        if same < min(len(before), len(view)):
            kept += sizes[same] * beginning(before[same], view[same])
        total, before = total + round(sum(sizes)), view
        manager.observe_usage(input_tokens=round(sum(sizes)))
        manager.append(talk.say("assistant", f"answer {number} " * 40))
    _, steps = replay_log(manager)
    assert sum(record.compacted for record in manager.list_requests()) >= 4
    assert abs(sum(step.kept for step in steps) - kept) < 0.01 * total


def test_a_replay_goes_on_with_what_came_since():
    worker = Worker("openai", MemoryStore())
    worker.step()
    worker.restart()
    replay, found = replay_log(worker.manager)
    assert len(found) == 1
    assert run_unlocked(replay.advance(50)) == []
    worker.step()
    worker.restart()
    assert {step.at for step in run_unlocked(replay.advance(50))} == {worker.manager.list_requests()[-1].at}


def test_a_session_in_memory_shows_its_requests_too():
    manager, sent = ContextManager(**OPTIONS), []
    talk = MessageFactory("openai")
    for number in range(40):
        manager.append(talk.say("user", f"{number} " * 100), talk.say("assistant", "ok " * 20))
        sent.append(manager.get_messages_for_request())
    requests = manager.list_requests()
    assert [manager.get_request(request.at).messages for request in requests] == sent
    assert manager.list_requests(requests[-1].at) == requests[-1:]
    assert manager.list_requests(stop=requests[1].at) == requests[:1]
    assert len(replay_log(manager)[1]) == 40


def test_each_line_says_what_became_of_it():
    manager, talk = ContextManager(**OPTIONS), MessageFactory("openai")
    manager.append(talk.say("user", "Never touch prod.yaml."))
    pinned = manager.append(talk.say("user", "Remember the milk."))
    manager.pin(pinned)
    for number in range(40):
        name = f"c{number}"
        manager.append(talk.call([name], "I look.", {}), *talk.results([(name, f"{name} = 1\n" * 40)]))
        view = manager.get_messages_for_request()
    sent = manager.get_request(manager.list_requests()[-1].at)
    kinds = {line.kind for line in sent.lines}
    assert kinds == {"message", "digest", "left out"}
    told = {line.first: line for line in sent.lines if line.kind == "message"}
    explained = {each.seq: each for each in manager.explain() if each.state not in {"digested", "left out"}}
    assert {seq: (line.state, line.reason, line.original, line.ref) for seq, line in told.items()} == {
        seq: (each.state, each.reason, each.tokens, each.ref) for seq, each in explained.items()
    }
    assert (told[pinned].state, told[pinned].reason) == ("whole", "pinned")
    (gap, *_) = [line for line in sent.lines if line.kind == "left out"]
    assert (gap.state, gap.message, gap.ref) == ("digested", None, f"[ref:{gap.first}-{gap.last}]")
    assert sent.messages == view


def test_request_stored_after_another_writer_is_shown_as_sent():
    """A request that was stored behind what another writer added is shown as it was."""
    store, talk = MemoryStore(), MessageFactory("openai")
    one, two = (ContextManager(session="s", store=store, **OPTIONS) for _ in range(2))
    one.append(talk.say("user", "first"))
    view = one.get_messages_for_request()
    two.append(talk.say("assistant", "second"))
    one.append(talk.say("user", "third"))
    (request,) = two.list_requests()
    assert (request.last, two.get_request(request.at).messages) == (0, view)


def test_request_record_has_measured_and_summarizer_tokens():
    """What the provider measured and the summarizer took is reported with the request."""
    manager, talk = (
        ContextManager(session="s", store=MemoryStore(), **OPTIONS, summarizer=lambda request: "It went well."),
        MessageFactory("openai"),
    )
    for number in range(40):
        manager.append(talk.say("user", f"{number} " * 100), talk.say("assistant", "ok " * 20))
        manager.get_messages_for_request()
        manager.observe_usage(input_tokens=manager.usage().used.tokens + 3)
    requests = manager.list_requests()
    assert all(request.tokens == request.measured == request.estimated + 3 for request in requests[:-1])
    assert sum(sum(request.summarizer) for request in requests) > 0
    assert any(request.compacted for request in requests)


def test_request_record_has_the_providers_cache_tokens():
    """What the provider reported of its cache is reported with the request."""
    store, talk = MemoryStore(), MessageFactory("openai")
    manager = ContextManager(session="s", store=store, **OPTIONS)
    reported: list[dict[str, Any] | None]
    reported = [{}, {"cache_read_tokens": 30, "cache_write_tokens": 4}, {"cache_write_tokens": 5}, None]
    for cache in reported:
        manager.append(talk.say("user", "word " * 100))
        manager.get_messages_for_request()
        if cache is not None:
            rest = manager.usage().used.tokens - sum(cache.values())
            manager.observe_usage(input_tokens=rest, output_tokens=9, **cache)
    manager.close()
    again = ContextManager(session="s", store=store, **OPTIONS)
    told = [(each.cached, each.written, each.answer) for each in again.list_requests()]
    assert told == [(None, None, 9), (30, 4, 9), (0, 5, 9), (None, None, None)]
    assert [each.measured is None for each in again.list_requests()] == [False, False, False, True]


@pytest.mark.parametrize("wrong", [-1, 0, 10_000, "1", True, None])
def test_a_place_without_a_request_is_refused(wrong):
    held: list[dict[str, Any]] = [{}, {"store": MemoryStore(), "session": "s"}]
    for where in held:
        manager = ContextManager(**where, **OPTIONS)
        manager.append(MessageFactory("openai").say("user", "hello"))
        manager.get_messages_for_request()
        with pytest.raises(ReferenceNotFoundError, match="no request is at position"):
            manager.get_request(wrong)


def test_async_manager_lists_the_same_requests():
    async def main():
        manager = backscroll.AsyncContextManager(**OPTIONS)
        await manager.append({"role": "user", "content": "hello"})
        view = await manager.get_messages_for_request()
        (request,) = await manager.list_requests()
        return view, (await manager.get_request(request.at)).messages

    view, found = asyncio.run(main())
    assert view == found


def beginning(then, now):
    """The share of one value, as JSON, that begins like another."""
    texts = [json.dumps(value, ensure_ascii=False) for value in (then, now)]
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False))
    return sum(1 for _ in alike) / len(texts[1])


def slowly(manager, requests):
    """What a replay tells, of each request by itself: nothing is remembered from one to the next but what was sent."""
    session, before = manager._session, {}
    for request in requests:
        event, past, lane = run_unlocked(lane_of_request(session, request.at))
        past.ephemerals = unstored(event.ephemerals)
        run_unlocked(refresh_lane(past, lane, run_unlocked(prompt_of(past, event.prompt))))
        segments = [
            (
                [segment.separator, *segment.messages] if segment.separator else segment.messages,
                [*estimates_of(segment, lane)],
            )
            for segment in present(lane.view).segments
        ]
        (earlier, counted), before[request.lane] = before.get(request.lane, ([], None)), (segments, request.measured)
        pairs = zip(segments, earlier, strict=False)
        kept = [parts for (now, parts), _ in takewhile(lambda pair: pair[0][0] == pair[1][0], pairs)]
        sums = dict.fromkeys(MESSAGE_KINDS, 0)
        for _, parts in segments:
            for part, tokens in parts:
                sums[part] += tokens
        total = sum(tokens for parts in kept for _, tokens in parts)
        if len(kept) < min(len(segments), len(earlier)):
            (now, first_changed), then = segments[len(kept)], earlier[len(kept)][0]
            total += int(sum(tokens for _, tokens in first_changed) * beginning(then, now))
        by_kind, scale = divided(sums, 0, request.tokens)
        known = counted if len(kept) == len(earlier) else None
        found = round(total * scale) if known is None else min(known, request.tokens)
        yield Step(request.at, len(present(lane.view).messages), by_kind, found)


@pytest.mark.parametrize("count", usually([90, 270], 1))
@pytest.mark.parametrize("dialect", usually(["openai", "anthropic"], 1))
def test_replay_equals_each_request_to_the_token(dialect, count):
    """A replay says to the token what each request says by itself."""
    worker = Worker(dialect, MemoryStore())
    for _ in range(count):
        worker.step()
    worker.restart()
    requests = worker.manager.list_requests()
    _, steps = replay_log(worker.manager)
    assert steps == list(slowly(worker.manager, requests))


def test_replay_counts_a_piece_once_and_reads_shown_digests():
    """A replay reckons a segment once and reads of a digest only what is shown."""
    manager, talk = ContextManager(session="s", store=MemoryStore(), **OPTIONS), MessageFactory("openai")
    replay, most = LogReplay(manager._session), 0
    for number in range(120):
        name = f"c{number}"
        manager.append(talk.call([name], "I look.", {}), *talk.results([(name, f"{name} = 1\n" * 40)]))
        manager.get_messages_for_request()
        manager.append(talk.say("user", f"And {number}?"))
        seen = replay._views.get("main")
        before = {id(parts) for parts in seen.parts} if seen else set()
        run_unlocked(replay.advance(10))
        after = replay._views["main"].parts if "main" in replay._views else []
        if seen and replay._replica.lanes["main"].plan.number != most:
            most = replay._replica.lanes["main"].plan.number
            assert len(before.intersection(map(id, after))) > len(after) / 4
    assert most > 3
    digest, shown = manager._session.lanes["main"].plan.digest, replay._replica.lanes["main"].plan.digest
    assert (shown.notes, shown.weights, shown.reserve) == (digest.notes, (), ())
    assert digest.weights
