"""A session of the SDK in a store of Backscroll: items come back whole, and as they were."""

import asyncio
from typing import Any

import pytest
from agents.memory import Session, SessionSettings
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ConfigurationError, MessageError
from backscroll.integrations.openai_agents import BackscrollSession, managed
from tests.integrations import world
from tests.integrations.openai_agents.kinds import ITEMS
from tests.integrations.openai_agents.scripted import BOTH_WAYS, FollowingModel, Spy, agent_with, items_at, judged, run

pytestmark = pytest.mark.frameworks

_STEPS = st.lists(
    st.one_of(st.lists(st.sampled_from(ITEMS), max_size=5), st.sampled_from(["pop", "clear"])), max_size=8
)


@given(_STEPS, st.one_of(st.none(), st.integers(0, 12)))
def test_items_come_back_as_they_were(steps, limit):
    async def check():
        session, kept = BackscrollSession("one"), []
        for step in steps:
            if step == "pop":
                assert await session.pop_item() == (kept.pop() if kept else None)
            elif step == "clear":
                await session.clear_session()
                kept.clear()
            else:
                await session.add_items(step)
                kept += step
            assert await session.get_items() == kept
        assert await session.get_items(limit) == (kept if limit is None else kept[len(kept) - limit :] if limit else [])

    asyncio.run(check())


def test_it_is_a_session_of_the_sdk():
    session = BackscrollSession("one", session_settings=SessionSettings(limit=2))
    assert isinstance(session, Session)

    async def check():
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS[-2:]
        assert await session.get_items(1) == ITEMS[-1:]

    asyncio.run(check())


def test_a_new_process_reads_what_was_stored(tmp_path):
    async def check():
        first = BackscrollSession("one", f"sqlite:///{tmp_path}/agent.db")
        await first.add_items(ITEMS)
        await first.pop_item()
        await first.close()
        assert await BackscrollSession("one", f"sqlite:///{tmp_path}/agent.db").get_items() == ITEMS[:-1]
        assert await BackscrollSession("two", f"sqlite:///{tmp_path}/agent.db").get_items() == []

    asyncio.run(check())


def test_what_is_no_json_is_refused_and_nothing_added():
    async def check():
        session = BackscrollSession("one")
        nan: Any = {"role": "user", "content": float("nan")}
        with pytest.raises(MessageError):
            await session.add_items([*ITEMS, nan])
        assert await session.get_items() == []

    asyncio.run(check())


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(ConfigurationError, match="session_id"):
        BackscrollSession("one", session="two")
    with pytest.raises(ConfigurationError):
        BackscrollSession("one", unknown=1)


@BOTH_WAYS
def test_runs_with_a_session_pass_the_gate_after_a_restart(streamed, tmp_path):
    """The SDK keeps its history in the session, and the views come from the conversation beside it."""
    store = f"sqlite:///{tmp_path}/agent.db"
    inner, spy = FollowingModel(items_at), Spy()

    async def turns():
        for turn in range(2):
            session = BackscrollSession("user-1", store)
            model = managed(inner, session="user-1", store=store, budget=world.BUDGET)
            agent = agent_with(model, model.recall_tool)
            await run(agent, world.asked(turn), streamed=streamed, session=session, run_config=spy.config())
            await session.close()
            await model.close()
        return await BackscrollSession("user-1", store).get_items()

    items = asyncio.run(turns())
    assert judged(inner.requests, spy.histories) == []
    assert len(inner.requests) == 2 * world.TURN
    whole = [*spy.histories[-1], *items[len(spy.histories[-1]) :]]
    assert items == whole
    assert len(items) > 100
