"""Whole sessions in files: across processes, killed in the middle, and several at once."""

import asyncio
import json
import signal
from typing import Any

import pytest

import backscroll
from backscroll import ContextManager
from tests.builders import MessageFactory
from tests.stores.programs import digest
from tests.stores.running import KINDS, address_of, start

TALK = MessageFactory("openai")


@pytest.fixture(params=KINDS)
def place(request, tmp_path):
    return address_of(request.param, tmp_path)


def opened(place, **options):
    usual: dict[str, Any] = {"tokenizer": len, "budget": 9_000, "clear_at_least_tokens": 900}
    return ContextManager(session="s", store=place, **usual | options)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a system without SIGKILL")
def test_killed_session_resumes_with_the_same_view(place):
    """A killed session goes on where it was with the same view."""
    at = 0
    for rounds in (5, 40, 90):
        with start("converse", place, at) as worker:
            told = [json.loads(worker.stdout.readline()) for _ in range(rounds)]
            worker.kill()
            told += [json.loads(line) for line in worker.stdout if line.endswith("\n")]
        last, length, view_before = told[-1]
        resumed = opened(place)
        kept = resumed.get_messages()
        assert len(kept) > last  # what was acknowledged is there, and perhaps a round that was not yet
        assert kept[last]["content"].startswith(f"value_{(last - 2) // 2} =")
        assert len(kept) % 2 == 1  # a call and its result are one transaction
        if len(kept) == last + 1:
            view = resumed.get_messages_for_request()
            assert (len(view), digest(view)) == (length, view_before)
        at = (len(kept) - 1) // 2
        resumed.close()


def test_many_tasks_of_one_process_share_a_store(place):
    async def one(number):
        context = backscroll.AsyncContextManager(session=f"session {number}", store=place, tokenizer=len)
        for turn in range(20):
            await context.append(TALK.say("user", f"{number}.{turn}?"), TALK.say("assistant", f"{number}.{turn}!"))
            await context.get_messages_for_request()
        await context.aclose()

    async def all_of_them():
        await asyncio.gather(*(one(number) for number in range(30)))

    asyncio.run(all_of_them())
    for number in (0, 17, 29):
        kept = ContextManager(session=f"session {number}", store=place, tokenizer=len).get_messages()
        assert [message["content"] for message in kept[::2]] == [f"{number}.{turn}?" for turn in range(20)]


def test_pins_plans_and_usage_are_on_the_disk_as_well(place):
    first = opened(place)
    rule = first.append(TALK.say("user", "Never lie."), idempotency_key="rule")
    first.pin(rule)
    for number in range(60):
        first.append(TALK.call([f"c{number}"], "", {}), *TALK.results([(f"c{number}", f"v{number}\n" * 60)]))
        first.get_messages_for_request()
    first.observe_usage(input_tokens=first.usage().used.tokens + 500)
    first.close()
    again = opened(place)
    assert again.get_messages_for_request() == first.get_messages_for_request()
    assert again.usage() == first.usage()
    assert again.append(TALK.say("user", "Never lie."), idempotency_key="rule") == rule
    assert again.recall(query="v17").hits


def test_address_without_a_store_is_refused_at_construction():
    """An address that unknown scheme is refused at construction."""
    with pytest.raises(backscroll.ConfigurationError, match="unknown scheme"):
        ContextManager(session="s", store="redis://somewhere")
