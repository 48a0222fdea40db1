"""Summaries that somebody asks for and waits for: nobody else waits for them."""

import asyncio
import threading

import backscroll
from backscroll.evaluation.validity import problems
from tests.builders import MessageFactory
from tests.compaction.summarizing import begin_summarized
from tests.fakes import ScriptedSummarizer, count_quarter, spelled
from tests.views import summary_in

TALK = MessageFactory("openai")


def test_requests_continue_while_a_focused_summary_is_made():
    """Requests and messages go on while a focused summary is being made."""

    async def work():
        asked, answer = asyncio.Event(), asyncio.Event()

        async def slow(request):
            asked.set()
            await answer.wait()
            return "<summary>The API has two calls.</summary>"

        manager = backscroll.AsyncContextManager(
            tokenizer=count_quarter, budget=6_000, summarizer=slow, strategies=["digest"]
        )
        await manager.append(TALK.say("user", "Design the API."))
        for number in range(32):  # more than a compaction leaves
            name = f"c{number}"
            await manager.append(TALK.call([name], "", {}), *TALK.results([(name, f"value {number}\n" * 60)]))
            await manager.get_messages_for_request()
        compacting = asyncio.create_task(manager.compact(focus="the API"))
        await asked.wait()
        await manager.append(TALK.say("assistant", "I go on."))
        view = await manager.get_messages_for_request()  # would wait for ever, if it had to
        assert view[-1]["content"] == "I go on."
        answer.set()
        assert await compacting is not None
        after = await manager.get_messages_for_request()
        assert "in short: The API has two calls." in summary_in(after)
        assert problems(after, await manager.get_messages()) == []
        await manager.aclose()

    asyncio.run(work())


def test_a_summary_that_is_being_made_already_comes_first():
    going, answer = threading.Event(), threading.Event()

    def slow(number):
        going.set()
        answer.wait(20)
        return f"<summary>Summary number {spelled(number)}.</summary>"

    model = ScriptedSummarizer(slow)
    watched = begin_summarized(model, strategies=["digest"])
    manager, number = watched.manager, 0
    while not going.is_set():
        name = f"c{number}"
        manager.append(TALK.call([name], "", {}), *TALK.results([(name, f"value {number}\n" * 40)]))
        manager.get_messages_for_request()
        going.wait(0.05)
        number += 1
    compacting = threading.Thread(target=manager.compact, args=("the API",))
    compacting.start()
    manager.append(TALK.say("assistant", "I go on."))
    answer.set()
    compacting.join(20)
    assert not compacting.is_alive()
    assert "the API" not in model.requests[0].prompt
    assert "the API" in model.requests[1].prompt  # one that was made without the focus does not stand for it
    assert "in short: Summary number two." in summary_in(manager.get_messages_for_request())
