"""One figure for a request, wherever it is asked for, and kinds that add up to it."""

import asyncio
import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll import ContextManager
from backscroll.cli.inspect.data import StoreInspector
from backscroll.cli.stores.render import Reader
from backscroll.manager.driver import run_unlocked
from backscroll.session.breakdown import KINDS, MESSAGE_KINDS, divided
from backscroll.session.log_replay import LogReplay
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.builders import DIALECTS, MessageFactory
from tests.cli.commands import app
from tests.session.worker import OPTIONS, Worker
from tests.views import said_in

LEARNS = OPTIONS | {"overhead_tokens": None, "model": "claude-opus-5"}


class Measured(Worker):
    """Works as an agent whose provider counts otherwise than we do, and looks at every step whether figures agree."""

    options = LEARNS

    def step(self):
        lane = "other" if (self.number + 1) % 17 == 0 else "main"
        super().step()
        usage = self.manager.usage(lane)
        assert sum(figure.tokens for figure in usage.by_kind.values()) == usage.used.tokens
        assert set(usage.by_kind) == set(KINDS)
        if self.number % 5 == 0:
            status = self.manager.window_report(lane)
            assert sum(status.parts.values()) - status.parts["free"] == status.usage.used.tokens
            assert status.parts.keys() - {"free"} == usage.by_kind.keys()

    def counted(self, view, lane):
        return 200 + round(1.1 * sum(len(json.dumps(_without_steps(message))) // 4 for message in view))


def _without_steps(message):
    """The message with what its steps say in their place: they are many words for a small lane."""
    content = message.get("content")
    return {**message, "content": said_in(content)} if isinstance(content, list) else message


@pytest.mark.parametrize(
    ("dialect", "steps"), [*((each, 60) for each in DIALECTS), pytest.param("openai", 1_000, marks=pytest.mark.long)]
)
def test_kinds_add_up_to_what_is_used_at_every_step(dialect, steps):
    """While a provider reports, after it stopped, over restarts, rewinds, pins, prompts and two lanes."""
    worker = Measured(dialect, MemoryStore())
    for _ in range(steps):
        worker.step()


@given(
    st.fixed_dictionaries({kind: st.integers(0, 5_000) for kind in MESSAGE_KINDS}),
    st.integers(0, 10_000),
    st.integers(0, 40_000),
)
def test_a_total_is_divided_whole(estimates, overhead, total):
    tokens, scale = divided(estimates, overhead, total)
    assert sum(tokens.values()) == total
    assert min(tokens.values()) >= 0
    assert tokens["overhead"] == (min(overhead, total) if any(estimates.values()) else total)
    assert all(abs(tokens[kind] - scale * estimate) <= 1 for kind, estimate in estimates.items())


def session_in(store, reports=True, **options):
    """A session whose requests were compacted and, as is asked, measured."""
    manager, talk = ContextManager(session="s", store=store, **LEARNS | options), MessageFactory("openai")
    manager.append(talk.say("user", "Look at all of them."))
    for number in range(30):
        manager.append(talk.call([f"c{number}"], "I look.", {}), *talk.results([(f"c{number}", f"{number} is\n" * 40)]))
        manager.get_messages_for_request()
        if reports:
            manager.observe_usage(input_tokens=manager.usage().used.tokens + 5)
    return manager


def test_after_a_resume_usage_is_what_it_was():
    store = MemoryStore()
    manager = session_in(store)
    before = manager.usage()
    manager.close()
    again = ContextManager(session="s", store=store, **LEARNS)
    assert again.usage() == before
    assert before.used.tokens > 1_000
    asked = backscroll.AsyncContextManager(session="s", store=store, **LEARNS)

    async def main():
        return asked.usage()

    assert asyncio.run(main()) == before
    assert store.length("s") == manager._session.journal.end


def test_before_the_first_request_usage_is_of_what_there_is():
    manager = ContextManager(**OPTIONS)
    assert manager.usage().used.tokens == 0
    manager.append(MessageFactory("openai").say("user", "hello " * 50))
    usage = manager.usage()
    manager.get_messages_for_request()
    assert usage == manager.usage()
    assert usage.by_kind["user"].tokens == usage.used.tokens > 50


def test_a_report_counts_at_once():
    """Not only with the next change of the session."""
    manager = session_in(MemoryStore(), reports=False)
    tokens = manager.usage().used.tokens
    manager.observe_usage(input_tokens=tokens + 77)
    assert (manager.usage().used.tokens, manager.usage().used.source) == (tokens + 77, "measured")
    manager.observe_overflow(requested_tokens=tokens + 77, limit_tokens=tokens + 10)
    assert manager.usage().free == 0


@pytest.mark.parametrize("reports", [True, False])
def test_reader_has_the_figures_of_the_agent(reports):
    """Also where the agent named a model, and its reader cannot know."""
    store = MemoryStore()
    manager = session_in(store, reports)
    status = manager.window_report()
    manager.close()
    reader = Reader(store, "s")
    counting = replace(reader._session.config, count=manager._session.config.count)
    reader._session.config = counting
    found = reader.window_report()
    assert (found.usage.used, found.usage.used_upper_bound, found.parts) == (
        status.usage.used,
        status.usage.used_upper_bound,
        status.parts,
    )
    assert found.usage.used_upper_bound <= found.usage.window


def test_a_request_has_one_figure():
    """What its provider counted, else what it was estimated at; and beside it what was decided on."""
    store = MemoryStore()
    manager = session_in(store)
    manager.get_messages_for_request()
    usage = manager.usage()
    *measured, last = manager.list_requests()
    assert (last.tokens, last.upper, last.measured) == (usage.used.tokens, usage.used_upper_bound, None)
    assert all(each.tokens == each.measured == each.estimated + 5 for each in measured)
    assert all(each.upper <= each.budget for each in [*measured, last])
    replay, found = LogReplay(manager._session), {}
    while steps := run_unlocked(replay.advance(7)):
        found |= {step.at: step for step in steps}
    assert [sum(found[each.at].parts.values()) for each in measured] == [each.tokens for each in measured]
    assert all(step.kept <= sum(step.parts.values()) for step in found.values())
    assert found[last.at].parts == {kind: figure.tokens for kind, figure in usage.by_kind.items()}
    manager.close()
    told = StoreInspector(store, "s.db").session("s")
    shown = {each[0]: sum(each[5:]) for each in told.steps(0, float("inf"))["steps"]}
    assert [shown[each.at] for each in measured] == [each.tokens for each in measured]


def test_status_shows_what_is_used_and_what_decides(tmp_path):
    manager = session_in(SqliteStore(tmp_path / "a.db"), tokenizer="auto")
    usage = manager.usage()
    manager.close()
    lines = CliRunner().invoke(app, ["status", str(tmp_path / "a.db")]).output.splitlines()
    share = usage.used.tokens / usage.window
    assert lines[1].startswith(
        f"{usage.used.tokens:,} of {usage.window:,} tokens ({share:.1%}), measured; upper bound "
    )
    assert f"{usage.used_upper_bound:,}, by which" in lines[1]
    assert usage.used_upper_bound <= usage.window
