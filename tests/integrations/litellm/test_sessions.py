"""Which conversation a call belongs to, and what becomes of it: sub-agents, restarts, edits, a failing store."""

import asyncio
from copy import deepcopy
from typing import Any

import litellm
import pytest

from backscroll import BackscrollWarning, ConfigurationError, StoreUnavailableError
from backscroll.evaluation.validity import problems
from backscroll.integrations.litellm.call_arguments import conversation_key, key_of
from backscroll.integrations.litellm.translation import as_dict
from tests.fakes import FaultyStore
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import Agent, handler_of, installed, ran, run, run_async
from tests.integrations.litellm.provider import providing
from tests.integrations.litellm.recorder import Recorder, turns
from tests.integrations.world import broken_prefixes, faults
from tests.present import present

pytestmark = OURS


def test_two_conversations_at_once_do_not_mix():
    with providing() as provider:
        handler = handler_of()
        agents = [Agent(handler, provider, f"small-{n}", f"s{n}") for n in range(2)]

        async def both() -> None:
            await asyncio.gather(*[run_async(agent, 30) for agent in agents])

        asyncio.run(both())
    for agent in agents:
        assert faults(agent.faults()) == []
        usage = handler.conversation(present(agent.session)).usage(f"openai/{agent.model}")
        assert broken_prefixes(provider.requests(agent.model)) == usage.compactions > 0


def test_agents_in_one_session_have_conversations_of_their_own():
    with providing() as provider:
        handler = handler_of()
        agents = [Agent(handler, provider, f"small-{n}", metadata={"agent_name": f"a{n}"}) for n in range(2)]

        async def both() -> None:
            await asyncio.gather(*[run_async(agent, 25) for agent in agents])

        asyncio.run(both())
    for number, agent in enumerate(agents):
        assert faults(agent.faults()) == []
        usage = handler.conversation("s", f"a{number}").usage(f"openai/{agent.model}")
        assert broken_prefixes(provider.requests(agent.model)) == usage.compactions > 0


def test_agents_without_names_in_one_session_get_valid_views():
    client = Recorder()
    handler = handler_of(client=client)
    histories = [turns(40), [{"role": "user", "content": "Another one."}, *turns(40, begin=100)]]
    for at in (20, 40, 80):
        for history in histories:
            handler.completion("openai/m", history[: at + 1], litellm_session_id="s")
            assert problems(client.sent, history[: at + 1]) == []


@pytest.mark.parametrize(
    ("call", "key"),
    [
        ({}, None),
        ({"metadata": None, "litellm_session_id": None}, None),
        ({"litellm_session_id": "a", "metadata": {"session_id": "b"}}, "a"),
        ({"metadata": {"session_id": "b"}}, "b"),
        ({"litellm_metadata": {"session_id": "b", "agent_name": "c"}}, "b/c"),
        ({"metadata": {"session_id": "b", "user_api_key_hash": "k"}}, "k:b"),
        ({"metadata": {"session_id": "k:b/c"}}, "k%3Ab%2Fc"),
        ({"metadata": {"session_id": 7}}, "7"),
    ],
)
def test_the_key_names_owner_session_and_agent(call, key):
    assert conversation_key(call) == key


def test_no_two_callers_share_a_key():
    parts = ("a", "b", "a/b", "a:b", "%", "../x", "\ud800")
    others = [(), *[(part,) for part in parts], *[(None, part) for part in parts]]
    keys = {key_of(part, *rest) for part in parts for rest in others}
    assert len(keys) == len(parts) * (1 + 2 * len(parts))


def test_a_restart_goes_on_with_the_views_before_it(tmp_path):
    address = f"sqlite:///{tmp_path}/agent.db"
    with providing() as provider:
        first = handler_of(store=address)
        agent = run(Agent(first, provider), 30)
        first.close()
        agent.handler = second = handler_of(store=address)
        agent.messages = deepcopy(agent.messages)
        run(agent, 10)
        usage = second.conversation("s").usage("openai/small-1")
        second.close()
    assert faults(agent.faults()) == []
    assert broken_prefixes(provider.requests("small-1")) == usage.compactions


def test_two_handlers_with_one_stored_session_are_refused(tmp_path):
    named = {"store": f"sqlite:///{tmp_path}/agent.db", "client": Recorder()}
    one, other = handler_of(**named), handler_of(**named)
    one.completion("openai/m", turns(1), litellm_session_id="s")
    with pytest.raises(ConfigurationError, match="belongs to another agent"):
        other.completion("openai/m", turns(1), litellm_session_id="s")
    one.close()
    other.completion("openai/m", turns(1), litellm_session_id="s")
    other.close()


def stored(handler: Any) -> list[Any]:
    return asyncio.run(handler.conversation("s").get_messages())


def test_an_edit_a_rewind_and_a_removal_are_followed():
    client = Recorder()
    handler = handler_of(client=client, budget=100_000)
    history = [*turns(10), {"role": "user", "content": "Go on."}]

    def ask() -> None:
        handler.completion("openai/m", history, litellm_session_id="s")
        assert stored(handler) == [as_dict(message) for message in history]
        assert all(each is here for each, here in zip(client.sent, history, strict=True))

    ask()
    history[2]["content"] = "edited in place"
    ask()
    del history[5:]
    ask()
    del history[1:3]
    ask()
    history[:] = [{"role": "user", "content": "All is new."}]
    ask()


def test_an_edit_among_the_newest_is_noticed_within_a_turn():
    client = Recorder()
    handler = handler_of(client=client, budget=100_000)
    history = turns(10)
    handler.completion("openai/m", history, litellm_session_id="s")
    history[-4]["tool_calls"][0]["function"]["arguments"] = '{"number": 99}'
    handler.completion("openai/m", history, litellm_session_id="s")
    assert stored(handler) == history


@pytest.mark.parametrize("by_callback", [False, True])
def test_a_failing_store_stops_what_cannot_be_kept(by_callback):
    store = FaultyStore()
    with providing() as provider, installed(handler_of(store=store)) as handler:
        complete = litellm.acompletion if by_callback else handler.acompletion
        agent = Agent(handler, provider)
        store.fails = [StoreUnavailableError("the disk is full")]
        with pytest.raises(StoreUnavailableError, match="the disk is full"):
            ran(agent, 1, complete)
        assert provider.requests("small-1") == []
        agent.messages.pop()
        agent.seen.clear()
        ran(agent, 2, complete)
    assert faults(agent.faults()) == []


def test_a_call_without_a_session_is_managed_with_one_warning():
    client = Recorder()
    handler = handler_of(client=client)
    handler.completion("openai/m", turns(2))  # nothing is left out
    with pytest.warns(BackscrollWarning, match="litellm_session_id") as caught:
        handler.completion("openai/m", turns(60))
    handler.completion("openai/m", turns(60))
    assert len(caught) == 1
    assert len(client.sent) < 121
    assert problems(client.sent, turns(60)) == []


def test_as_many_conversations_as_wished_stay_open():
    handler = handler_of(client=Recorder(), max_conversations=2)
    found = [handler.conversation(str(number)) for number in range(5)]
    assert handler.conversation("4") is found[4]
    assert handler.conversation("0") is not found[0]
    with pytest.raises(ConfigurationError, match="max_conversations"):
        handler_of(max_conversations=0)


def test_a_pin_of_the_conversation_stays_in_every_view():
    client = Recorder()
    handler = handler_of(client=client)
    history = turns(20)
    handler.completion("openai/m", history, litellm_session_id="s")
    asyncio.run(handler.conversation("s").pin(4))
    history += turns(60, begin=20)
    handler.completion("openai/m", history, litellm_session_id="s")
    assert any(message is history[4] for message in client.sent)


def test_recall_says_what_was_wrong_with_a_call():
    handler = handler_of(client=Recorder())
    handler.completion("openai/m", turns(3), litellm_session_id="s")

    def said(arguments: str) -> Any:
        call = {"id": "c", "type": "function", "function": {"name": "recall", "arguments": arguments}}
        answer = handler.answer_recall_now(call, "s")
        assert answer == asyncio.run(handler.answer_recall(litellm.ChatCompletionMessageToolCall(**call), "s"))
        assert (answer["role"], answer["tool_call_id"]) == ("tool", "c")
        return answer["content"]

    assert said('{"ref": "2"}') == turns(3)[2]["content"]
    assert "no JSON" in said("{")
    assert "object" in said("[]")
    assert said('{"ref": "99"}')
    assert said("")
