"""Which conversation a run belongs to, and what happens where its history changes."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.usage import RequestUsage

from backscroll import ConfigurationError, StoreUnavailableError, Summarizer
from backscroll.integrations.pydantic_ai import Backscroll
from backscroll.integrations.pydantic_ai.capability import conversation_key
from tests.fakes import FaultyStore
from tests.integrations import world
from tests.integrations.pydantic_ai.agents import Scripted, agent_of, called, kept, said, spoken, tokens_of, turns

pytestmark = pytest.mark.frameworks


def texts(request: Any) -> str:
    return str(spoken(request))


def test_two_conversations_at_once_do_not_mix():
    async def run() -> list[tuple[Scripted, Any]]:
        context, found = Backscroll(), []
        models = [Scripted(), Scripted()]
        jobs = [turns(agent_of(model, context), 1, conversation_id=f"c{at}") for at, model in enumerate(models)]
        for model, result in zip(models, await asyncio.gather(*jobs), strict=True):
            found.append((model, result))
        assert context.conversation("c0", "shop") is not context.conversation("c1", "shop")
        return found

    for model, result in asyncio.run(run()):
        said_all = spoken(result.all_messages())
        assert world.faults((sent, said_all[: said_all.index(sent[-1]) + 1]) for sent in model.spoken) == []
        assert len(model.requests) == world.TURN


def test_conversations_of_one_agent_do_not_mix():
    model, context = Scripted(lambda step, messages: said(f"answer {step}")), Backscroll()
    agent = agent_of(model, context)

    async def run() -> None:
        one = await agent.run("first topic")
        two = await agent.run("second topic")
        await agent.run("go on", message_history=one.all_messages())
        assert one.conversation_id != two.conversation_id

    asyncio.run(run())
    assert "first topic" in texts(model.requests[2])
    assert "second topic" not in texts(model.requests[2])


def test_runs_at_once_keep_their_own_instructions():
    model = Scripted(lambda step, messages: said("ok"))
    agent = Agent(model, deps_type=str, capabilities=[Backscroll()])
    agent.instructions(lambda ctx: ctx.deps)

    async def run() -> None:
        jobs = [agent.run(f"run {at}", deps="Be brief." * (at % 2), conversation_id="c") for at in range(4)]
        await asyncio.gather(*jobs)

    asyncio.run(run())
    assert sorted(map(texts, model.requests)) == [str([{"role": "user", "content": f"run {at}"}]) for at in range(4)]


def test_the_count_of_one_run_is_not_taken_for_that_of_another():
    async def answer(messages: Any, info: Any) -> ModelResponse:
        model.answered += 1
        await asyncio.sleep(0.01 * model.answered)
        return ModelResponse([TextPart("ok")], usage=RequestUsage(input_tokens=tokens_of(messages, info)))

    model = Scripted(window=40_000)
    model.function = answer
    agent = agent_of(model)

    async def run() -> None:
        for _ in range(3):  # a wrong count is reported as a warning
            await asyncio.gather(*(agent.run("word " * size, conversation_id="c") for size in (4_000, 1)))
        await agent.run("word", conversation_id="c")

    asyncio.run(run())


def test_a_sub_agent_with_the_same_id_has_its_own():
    context = Backscroll()
    inner = agent_of(Scripted(lambda step, messages: said("inner answer")), context, name="inner")
    outer_model = Scripted(
        lambda step, messages: (
            called(world.Called(f"d{step}", "delegate", {"task": "look"})) if step < 2 else said("ok")
        )
    )
    outer = agent_of(outer_model, context, name="outer")

    @outer.tool
    async def delegate(ctx: RunContext[Any], task: str) -> str:
        return (await inner.run(task, conversation_id=ctx.conversation_id)).output

    result = asyncio.run(outer.run("Begin.", conversation_id="same"))
    assert result.output == "ok"
    assert len(asyncio.run(context.conversation("same", "outer").get_messages())) == 5
    assert len(asyncio.run(context.conversation("same", "inner").get_messages())) == 1
    assert conversation_key("same/x", "a") != conversation_key("x", "a/same")


def test_a_restart_goes_on(tmp_path):
    """Its first request is the one of a session that was not restarted."""
    asked = []
    for restarts in (False, True):
        store = f"sqlite:///{tmp_path / f'agent-{restarts}.db'}"
        first, context = Scripted(), Backscroll(store=store)
        history = asyncio.run(turns(agent_of(first, context), 1, conversation_id="c")).all_messages()
        before = len(first.spoken)
        second, again = first, context
        if restarts:
            context.close()
            second, again, before = Scripted(), Backscroll(store=store), 0
            second.answered = first.answered
        result = asyncio.run(turns(agent_of(second, again), 1, begin=1, history=history, conversation_id="c"))
        asked.append(second.spoken[before])
        if not restarts:
            again.close()
    resumed = asked[1]
    assert resumed == asked[0]
    assert again.conversation("c", "shop").session_id == "shop/c"
    again.close()
    assert len(spoken(result.all_messages())) > len(resumed)


def test_two_capabilities_with_one_stored_session_are_refused(tmp_path):
    store = f"sqlite:///{tmp_path / 'agent.db'}"
    model = Scripted(lambda step, messages: said("Fine."))
    one, two = Backscroll(store=store), Backscroll(store=store)
    asyncio.run(agent_of(model, one).run("Hello.", conversation_id="c"))
    with pytest.raises(ConfigurationError, match="belongs to another agent"):
        asyncio.run(agent_of(model, two).run("Hello.", conversation_id="c"))
    one.close()


def test_a_conversation_in_use_is_not_closed():
    context = Backscroll(max_conversations=1)
    waiting = asyncio.Event()

    async def run() -> None:
        agent = agent_of(Scripted(lambda step, messages: said("Fine.")), context)

        @agent.tool_plain
        async def wait() -> str:
            await waiting.wait()
            return "done"

        slow = agent_of(
            Scripted(lambda step, messages: called(world.Called("w", "wait", {})) if step == 0 else said("slow")),
            context,
            name="slow",
        )
        slow.tool_plain(wait)
        task = asyncio.create_task(slow.run("Wait.", conversation_id="slow"))
        await asyncio.sleep(0)
        held = None
        while held is None:
            await asyncio.sleep(0)
            held = context._conversations.known("slow/slow")
        for number in range(3):
            await agent.run("Hello.", conversation_id=f"c{number}")
        assert context.conversation("slow", "slow") is held
        waiting.set()
        assert (await task).output == "slow"

    asyncio.run(run())


async def a_turn(agent: Agent[Any, Any], history: Any, begin: int = 1) -> Any:
    return (await turns(agent, 1, begin=begin, history=history, conversation_id="c")).all_messages()


def edited(messages: list[Any]) -> list[Any]:
    """The user's first prompt, in other words."""
    return [ModelRequest(parts=[UserPromptPart("Another task.")]), *messages[1:]]


def rewound(messages: list[Any]) -> list[Any]:
    return messages[:7]


def removed(messages: list[Any]) -> list[Any]:
    """Without one call and its answer."""
    return [*messages[:5], *messages[7:]]


@pytest.mark.parametrize("change", [edited, rewound, removed])
def test_a_changed_history_is_followed(change):
    model, context = Scripted(), Backscroll()
    agent = agent_of(model, context)

    async def run() -> list[Any]:
        first = await a_turn(agent, None, 0)
        changed = change(first)
        if isinstance(changed[-1], ModelRequest):
            changed = [*changed, ModelResponse(parts=[TextPart("Well.")])]
        before = kept(changed)
        last = await a_turn(agent, changed)
        assert last[: len(before)] == before
        return last

    said_all = spoken(asyncio.run(run()))
    second = model.spoken[world.TURN :]
    assert world.faults((sent, said_all[: said_all.index(sent[-1]) + 1]) for sent in second) == []
    stored = asyncio.run(context.conversation("c", "shop").get_messages())
    assert stored[0]["content"][0]["text"] == said_all[0]["content"]
    second_results = [
        each for each in said_all if each.get("tool_call_id", "").count("_") == 2 and each["tool_call_id"][-1] == "1"
    ]
    assert len(stored) == len(said_all) - len(second_results) - 1, "the last answer comes with the next request"


def test_an_edit_within_a_run_is_followed():
    model, context = Scripted(lambda step, messages: by_step(step)), Backscroll()
    agent = agent_of(model, context)

    @agent.tool
    def forget(ctx: RunContext[Any]) -> str:
        ctx.messages[:] = [*ctx.messages[:1], *ctx.messages[3:]]
        return "forgotten"

    asyncio.run(agent.run("Begin.", conversation_id="c"))
    assert "order 0 " in texts(model.requests[1])
    assert "order 0 " not in texts(model.requests[3])
    assert "forgotten" in texts(model.requests[3])


def by_step(step: int) -> Any:
    if step == 2:
        return called(world.Called("f", "forget", {}))
    return said("ok") if step == 3 else called(world.Called(f"c{step}", "order", {"number": step}))


def test_a_failing_store_fails_the_run_and_not_the_next():
    store = FaultyStore()
    context = Backscroll(store=store)
    agent = agent_of(Scripted(lambda step, messages: said("Fine.")), context)
    store.fails = [StoreUnavailableError("the disk is full")]
    with pytest.raises(StoreUnavailableError):
        asyncio.run(agent.run("Hello.", conversation_id="c"))
    result = asyncio.run(agent.run("Hello.", conversation_id="c"))
    assert result.output == "Fine."
    assert len(asyncio.run(context.conversation("c", "shop").get_messages())) == 1


def test_runs_of_one_conversation_at_once_each_see_their_own():
    model, context = Scripted(lambda step, messages: said(f"Fine. {step}")), Backscroll()
    agent = agent_of(model, context)

    async def run() -> None:
        base = (await agent.run("Hello.", conversation_id="c")).all_messages()
        await asyncio.gather(*[agent.run(f"way {n}", message_history=base, conversation_id="c") for n in range(3)])

    asyncio.run(run())
    seen = [texts(request) for request in model.requests[1:]]
    assert all(sum(f"way {n}" in text for n in range(3)) == 1 for text in seen)
    assert sorted(next(n for n in range(3) if f"way {n}" in text) for text in seen) == [0, 1, 2]


def test_a_summary_under_way_is_waited_for_at_the_end_of_a_run():
    asked, made = [], []

    async def summarize(request: Any) -> str:
        asked.append(request)
        await asyncio.sleep(0.02)
        made.append(request)
        return "They looked up orders."

    context = Backscroll(budget=world.BUDGET, summarizer=Summarizer(summarize, wait_seconds=30))
    asyncio.run(turns(agent_of(Scripted(), context), 1))  # the event loop ends with it
    assert asked == made != []
