"""Managers, and what they hold, fit a line of a debugger."""

import pytest

from backscroll import ContextManager
from tests.builders import session_after


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/agent.db"


def test_manager_says_its_length_and_its_lanes(store):
    with session_after(30, store=store, session="s") as manager:
        manager.get_messages_for_request(token_budget=6_000)
        tokens = manager.usage().used.tokens
        lane = f"lane main: plan 1, {tokens:,}/6,000 tokens"
        assert repr(manager) == f"<ContextManager s: 62 messages, {lane}>"
        assert repr(manager._session) == f"<session: 62 messages, {lane}>"
        assert repr(manager._session.lanes["main"]) == f"<{lane}>"
        assert repr(manager._session.history) == "<history: 62 messages, 8 in memory>"  # those that the view shows
        assert repr(manager._session.lanes["main"].view).startswith("<view: plan 1, ")


def test_manager_that_is_not_loaded_says_so(store):
    with ContextManager(store=store, session="s") as first:
        assert repr(first) == "<ContextManager s: not loaded>"
        first.append({"role": "user", "content": "hello"})
        first.append({"role": "user", "content": "go on"})
        assert repr(first) == "<ContextManager s: 2 messages>"
