"""Which conversation a request belongs to: sub-agents, runs at once, edits, restarts."""

import asyncio
import json

import pytest
from agents import Agent, ModelProvider, ModelSettings, RunConfig, RunHooks, Runner, handoff
from agents.models.interface import ModelTracing
from agents.testing import assistant_message, function_call

from backscroll import ConfigurationError
from backscroll.integrations.conversations import Conversations
from backscroll.integrations.item_translation import items_of
from backscroll.integrations.openai_agents import ItemConversation, ManagedModels, managed
from backscroll.integrations.openai_agents.conversation import digest_of
from backscroll.integrations.openai_agents.lines import Lines
from tests.integrations import world
from tests.integrations.openai_agents.scripted import (
    BOTH_WAYS,
    FollowingModel,
    Spy,
    agent_with,
    items_at,
    judged,
    order,
    run,
)

LONG = "Look at these orders closely. " * 20


class Provider(ModelProvider):
    """A provider of one model, for `ManagedModels.provider`."""

    def __init__(self, inner):
        self.inner, self.asked = inner, []

    def get_model(self, name):
        self.asked.append(name)
        return self.inner

    async def aclose(self):
        self.asked.append("closed")


class ByInput(FollowingModel):
    """A model whose answer follows from its input, so that it may serve several agents at once.

    An agent that is asked to delegate calls its tool twice at once; any other one looks up some orders.
    """

    def __init__(self, steps=12):
        super().__init__(lambda step: [])
        self.steps = steps

    def _next(self, items):
        said = next(item["content"] for item in items if item.get("role") == "user")
        calls = sum(item.get("type") == "function_call_output" for item in items)
        self.answer = lambda step: self._answer(said, calls, step)
        return super()._next(items)

    def _answer(self, said, results, step):
        if said.startswith("Delegate"):
            if results:
                return [assistant_message("all done")]
            return [function_call("research", {"input": f"{LONG}"}, call_id=f"d{step}_{n}") for n in range(2)]
        if step > 2 * self.steps:
            return [assistant_message("found it")]
        return [function_call("order", {"number": step}, call_id=f"c{step}")]


def own_calls(request):
    """The call ids that a request names, in its items and its digest."""
    return {item["call_id"] for item in request if item.get("type") == "function_call"}


def test_two_conversations_at_once_do_not_mix():
    models = ManagedModels(budget=world.BUDGET)
    inners = [FollowingModel(lambda step, who=who: ours(items_at(step), who)) for who in "ab"]  # type: ignore[misc]  # mypy infers no lambda with defaults
    spies = [Spy(), Spy()]

    def ours(items, who):
        for item in items:
            if hasattr(item, "call_id"):
                item.call_id = f"{who}-{item.call_id}"
        return items

    async def both():
        agents = [
            agent_with(models.model(inner, session=f"user-{at}"), models.recall_tool) for at, inner in enumerate(inners)
        ]
        await asyncio.gather(
            *(
                run(agent, f"{who}: sum it up", run_config=spy.config())
                for agent, spy, who in zip(agents, spies, "ab", strict=True)
            )
        )

    asyncio.run(both())
    for inner, spy, other in zip(inners, spies, "ba", strict=True):
        assert judged(inner.requests, spy.histories) == []
        assert f"{other}-call" not in json.dumps(inner.requests)
    assert {*models.conversations("user-0")} == {"user-0"}


@BOTH_WAYS
def test_agents_as_tools_have_conversations_of_their_own(streamed):
    """Two sub-agents at once, with the same input and in the same session, beside the agent that called them."""
    inner = ByInput()
    models = ManagedModels(budget=world.BUDGET)
    spy = Spy()
    researcher = Agent(name="researcher", model="small", tools=[order, models.recall_tool])
    tool = researcher.as_tool("research", "Researches.", max_turns=40)
    chief = Agent(name="chief", model="small", tools=[tool, models.recall_tool])
    config = spy.config(model_provider=models.provider("user-1", Provider(inner)))
    result = asyncio.run(run(chief, "Delegate the work.", streamed=streamed, run_config=config))
    assert result.final_output == "all done"
    lines = models.conversations("user-1")
    assert len(lines) == 3
    assert [name.startswith("user-1/") for name in lines] == [False, True, True]
    stored = [asyncio.run(line.get_messages()) for line in lines.values()]
    assert len(stored[0]) == 4
    assert min(map(len, stored[1:])) > 20
    calls = [{item["call_id"] for message in each for item in items(message)} for each in stored]
    assert not calls[0] & calls[1]
    assert not calls[1] & calls[2]
    for line in [*lines.values()][1:]:
        assert line.usage("scripted-1").compactions >= 1
    assert judged(inner.requests, matching(inner.requests, spy.histories)) == []


def items(message):
    return [item for item in message["content"] if "call_id" in item] if isinstance(message["content"], list) else []


def matching(requests, histories):
    """The history of each request: agents that run at once are noted in another order."""
    found = []
    for request in requests:
        calls = [item["call_id"] for item in request if item.get("type") == "function_call"]
        fits = [each for each in histories if own_calls(each) >= set(calls) and each[0] == request[0]]
        newest = calls[-1] if calls else None
        found.append(next(each for each in fits if newest is None or newest in json.dumps(each[-4:])))
    return found


def test_a_sub_agents_recall_reads_its_own_conversation():
    def answer(step):
        if step == 0:
            return [function_call("research", {"input": "Sub work."}, call_id="d0")]
        if step == 1:
            return [function_call("order", {"number": 5}, call_id="c1")]
        if step == 2:
            return [function_call("recall", {"ref": "0"}, call_id="r1")]
        return [assistant_message("fine")]

    inner = FollowingModel(answer)
    models = ManagedModels()
    researcher = Agent(name="researcher", model="small", tools=[order, models.recall_tool])
    chief = Agent(
        name="chief", model="small", tools=[researcher.as_tool("research", "Researches."), models.recall_tool]
    )
    config = RunConfig(model_provider=models.provider("user-1", Provider(inner)))
    asyncio.run(run(chief, "Chief work.", run_config=config))
    asked = [item for request in inner.requests for item in request if item.get("call_id") == "r1"]
    assert asked[-1]["output"] == "Sub work."


def test_a_handoff_goes_on_with_the_same_conversation():
    def answer(step):
        if step == 3:
            return [function_call("transfer_to_expert", {}, call_id="h")]
        return items_at(step)

    inner = FollowingModel(answer)
    models = ManagedModels(budget=world.BUDGET)
    spy = Spy()
    expert = agent_with("small", models.recall_tool, name="expert")
    clerk = agent_with("small", models.recall_tool, name="clerk", handoffs=[handoff(expert)])
    config = spy.config(model_provider=models.provider("user-1", Provider(inner)))
    result = asyncio.run(run(clerk, world.asked(0), run_config=config))
    assert result.last_agent.name == "expert"
    assert {*models.conversations("user-1")} == {"user-1"}
    assert judged(inner.requests, spy.histories) == []


@BOTH_WAYS
def test_a_restart_goes_on_with_the_same_plan(streamed, tmp_path):
    """The views are those of a program that was never closed."""

    def views(store, restarts):
        inner, history = FollowingModel(items_at), []
        model = None
        for at in range(2):
            if model is None or restarts:
                model = managed(inner, session="user-1", store=store, budget=world.BUDGET)
            said = [*history, {"role": "user", "content": world.asked(at)}]
            done = asyncio.run(run(agent_with(model, model.recall_tool), said, streamed=streamed))
            history = json.loads(json.dumps(done.to_input_list()))  # as a session of the SDK keeps it
            if restarts:
                asyncio.run(model.close())
        return inner.requests

    there, here = views(None, restarts=False), views(f"sqlite:///{tmp_path}/agent.db", restarts=True)
    assert here == there
    assert "<summary>" in json.dumps(here[world.TURN])


def finished(step):
    return [assistant_message(f"answer {step}")]


def steps(number):
    found = [{"role": "user", "content": "begin"}]
    for at in range(number):
        call = {"type": "function_call", "call_id": f"h{at}", "name": "order", "arguments": f'{{"number":{at}}}'}
        found += [call, {"type": "function_call_output", "call_id": f"h{at}", "output": world.order(at)}]
    return found


EDITS = {
    "edit": lambda items: [*items[:2], {**items[2], "output": "edited"}, *items[3:]],
    "rewind": lambda items: items[: len(items) // 2 + 1],
    "removal": lambda items: [*items[:1], *items[5:]],
    "insertion": lambda items: [*items[:1], {"role": "user", "content": "one more"}, *items[1:]],
    "another beginning": lambda items: [{"role": "user", "content": "other"}, *items[1:]],
    "nothing left": lambda items: [],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_history_is_followed(edit):
    inner, spy = FollowingModel(finished), Spy()
    model = managed(inner, budget=world.BUDGET)
    history = steps(20)
    for items in (history, edit(history)):
        said = [*items, {"role": "user", "content": "And now?"}]
        asyncio.run(run(agent_with(model), said, run_config=spy.config()))
    assert judged(inner.requests, spy.histories) == []
    stored = asyncio.run(model.conversation.get_messages())
    assert [item for each in stored for item in items_of(each)] == spy.histories[-1]
    assert {*model.lines.all()} == {"main"}


def test_a_retry_of_the_sdk_gets_the_same_view():
    from agents.retry import ModelRetrySettings, RetryDecision

    inner = FollowingModel(finished)
    inner.refusals = [ConnectionError("connection error")]
    model = managed(inner, budget=world.BUDGET)
    retry = ModelRetrySettings(max_retries=2, policy=lambda context: RetryDecision(retry=True, delay=0))
    agent = agent_with(model, model_settings=ModelSettings(retry=retry))
    asyncio.run(run(agent, [*steps(20), {"role": "user", "content": "And now?"}]))
    assert len(inner.requests) == 2
    assert inner.requests[0] == inner.requests[1]


def test_the_one_that_was_not_used_for_longest_is_closed():
    models = ManagedModels(max_conversations=2)
    for at in range(4):
        model = models.model(FollowingModel(finished), session=f"user-{at}")
        asyncio.run(run(agent_with(model), "hello"))
    assert [len(models.conversations(f"user-{at}")) for at in range(4)] == [0, 0, 1, 1]


def test_two_owners_of_a_stored_session_are_refused(tmp_path):
    store = f"sqlite:///{tmp_path}/agent.db"
    first, second = (managed(FollowingModel(finished), session="one", store=store) for _ in range(2))
    asyncio.run(run(agent_with(first), "hello"))
    with pytest.raises(ConfigurationError, match="belongs to another agent"):
        asyncio.run(run(agent_with(second), "hello"))


def test_an_edit_within_a_run_is_followed():
    """The newest item is a result, so that only the end is compared; the rest shifts in its runs."""
    inner = FollowingModel(finished)
    inner.model = "gpt-5.5"  # which does not bind reasoning to what comes before it
    model = managed(inner)
    thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "sealed"}
    before = steps(30)
    after = [*before[:1], thought, *before[3:], *steps(32)[-2:]]

    async def ask(items):
        await model.get_response(
            None, items, ModelSettings(), [], None, [], ModelTracing.DISABLED,
            previous_response_id=None, conversation_id=None, prompt=None,
        )  # fmt: skip  # as in the signature

    for history in (before, after):
        asyncio.run(ask(history))
    stored = [items_of(each) for each in asyncio.run(model.conversation.get_messages())]
    assert [item for each in stored for item in each] == after
    assert [thought, before[3]] in stored, "reasoning is stored with what followed it"


def lines():
    return Lines(Conversations(ItemConversation, {}), "one")


def loaded(conversation, items, waits):
    conversation.load_now(conversation._grouping.runs(items))
    conversation.opening, conversation.waits = digest_of(items[0]), waits


def test_a_conversation_in_use_is_given_to_no_other_request():
    found, items = lines(), steps(0)
    with found.use(items) as first, found.use(items) as second, found.use(items) as third:
        assert len({id(each) for each in (first, second, third)}) == 3
    with found.use(items) as again:
        assert again is first
        loaded(again, items, waits=False)
        with found.use(items) as other:
            assert other is not first


def test_a_lone_input_of_a_waiting_agent_is_that_of_another():
    found, items = lines(), steps(0)
    with found.use(items) as first:
        loaded(first, items, waits=True)
    with found.use(items) as other:
        assert other is not first
        loaded(other, items, waits=False)
    with found.use(items) as again:
        assert again is other
    with found.use(steps(1)) as longer:
        assert longer in (first, other)


def test_an_edited_history_of_a_waiting_agent_is_still_its_own():
    found, items = lines(), steps(4)
    with found.use(items) as first:
        loaded(first, items, waits=True)
    with found.use(items[:5]) as cut:
        assert cut is first
    with found.use([{"role": "user", "content": "of another agent"}, *items[1:]]) as other:
        assert other is not first
    assert found.of_agent(items[:1]) is first


def test_agents_at_once_with_one_input_recall_their_own_words():
    class Recalling(ByInput):
        def _answer(self, said, results, step):
            if said.startswith("Delegate") or results > 1:
                return super()._answer(said, results, 1_000 if results > 1 else step)
            if results:
                return [function_call("recall", {"ref": "2"}, call_id=f"r{step}")]
            return [function_call("order", {"number": step}, call_id=f"c{step}")]

    inner, models = Recalling(), ManagedModels()
    researcher = Agent(name="researcher", model="small", tools=[order, models.recall_tool])
    chief = Agent(name="chief", model="small", tools=[researcher.as_tool("research", "Researches.")])
    config = RunConfig(model_provider=models.provider("user-1", Provider(inner)))
    asyncio.run(run(chief, "Delegate the work.", run_config=config))
    answers = [[item["output"] for item in request if "output" in item] for request in inner.requests]
    pairs = [each for each in answers if len(each) == 2 and each[0].startswith("order")]
    assert len(pairs) == 2
    assert pairs[0] != pairs[1]
    assert all(recalled == said for said, recalled in pairs)


def test_sessions_with_the_same_call_ids_recall_their_own_words():
    class Pausing(RunHooks):
        async def on_llm_end(self, *given):
            await asyncio.sleep(0)

    async def run_one(at):
        steps = [[function_call("recall", {"query": "code"}, call_id="call_1")], [assistant_message("done")]]
        inner = FollowingModel(steps.__getitem__)
        agent = agent_with(models.model(inner, session=f"user-{at}"), models.recall_tool)
        await Runner.run(agent, f"My code is {at}.", hooks=Pausing())
        return inner.requests[-1][-1]["output"]

    async def run_all():
        return await asyncio.gather(*map(run_one, range(3)))

    models = ManagedModels()
    assert all(f"My code is {at}." in found for at, found in enumerate(asyncio.run(run_all())))
