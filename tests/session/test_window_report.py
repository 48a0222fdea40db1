"""What a window is made of: figures that add up, the largest messages, and a preview that comes true."""

import asyncio
import json

import pytest

import backscroll
from backscroll import ContextManager
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.builders import MessageFactory
from tests.fakes import count_quarter

TALK = MessageFactory("openai")


def at_work(rounds, store="memory:", **options):
    manager = ContextManager(session="s", store=store, tokenizer=count_quarter, budget=8_000, **options)
    manager.append(TALK.say("system", "Be brief."), TALK.say("user", "Never touch prod.yaml. Go."))
    for number in range(rounds):
        name = f"c{number}"
        manager.append(TALK.call([name], "I look.", {}), *TALK.results([(name, f"line of {name}\n" * (60 + number))]))
        manager.get_messages_for_request()
    return manager


@pytest.mark.parametrize("rounds", [0, 5, 120])
def test_parts_fill_the_window_except_the_upper_margin(rounds):
    """The parts are all of the window but what the upper estimate adds."""
    manager = at_work(rounds, overhead_tokens=500)
    manager.get_messages_for_request()
    status = manager.window_report()
    used = status.usage.used.tokens
    assert sum(tokens for part, tokens in status.parts.items() if part != "free") == used
    assert status.parts["overhead"] == 500
    assert status.parts["free"] == status.usage.window - status.usage.used_upper_bound
    told = any(each.state == "digested" for each in manager.explain())
    assert (status.parts["digest"] > 0) == told == (rounds == 120)


def test_largest_messages_are_listed_as_the_view_shows_them():
    """The largest messages come first as they stand in the view."""
    manager = at_work(12)
    manager.append(TALK.say("user", "a long paste " * 150))
    manager.get_messages_for_request()
    status = manager.window_report()
    assert status.largest[0].beginning.startswith("a long paste a long paste")
    assert [each.tokens for each in status.largest] == sorted((each.tokens for each in status.largest), reverse=True)
    assert len(status.largest) == 10
    whole = {each.seq: each.tokens for each in manager.explain() if each.state == "whole"}
    assert all(each.tokens == whole[each.seq] for each in status.largest if each.seq in whole)


def test_the_preview_is_what_the_next_compaction_does():
    manager = at_work(0)
    number = 0
    while manager.window_report().usage.used_upper_bound < 0.7 * 8_000:
        name = f"c{number}"
        manager.append(TALK.call([name], "I look.", {}), *TALK.results([(name, f"line of {name}\n" * 60)]))
        manager.get_messages_for_request()
        number += 1
    told = manager.window_report().next_compaction
    done = manager.compact()
    assert done == told
    assert done.before_tokens > done.after_tokens


def test_below_the_target_there_is_nothing_to_win():
    coming = at_work(3).window_report().next_compaction
    assert (coming.after_tokens, coming.messages_dropped, coming.parts_shortened) == (coming.before_tokens, 0, 0)


def test_looking_changes_nothing():
    store = MemoryStore()
    manager = at_work(14, store)
    view, end = manager.get_messages_for_request(), store.length("s")
    for _ in range(3):
        manager.window_report()
        ContextManager(session="s", store=store, tokenizer=count_quarter).window_report()
    assert store.length("s") == end
    assert manager.get_messages_for_request() == view


def test_stored_session_has_the_same_report():
    store = MemoryStore()
    manager = at_work(30, store)
    manager.set_system_prompt_factory(lambda: "You are careful. " * 20)
    manager.get_messages_for_request()
    before = manager.window_report()
    manager.close()
    assert ContextManager(session="s", store=store, tokenizer=count_quarter).window_report() == before
    assert before.parts["system"] > 80


def test_async_manager_reports_the_same():
    store = MemoryStore()
    at_work(20, store).close()
    asked = backscroll.AsyncContextManager(session="s", store=store, tokenizer=count_quarter)
    assert (
        asyncio.run(asked.window_report())
        == ContextManager(session="s", store=store, tokenizer=count_quarter).window_report()
    )


# -- in a terminal --

click = pytest.importorskip("click")


@pytest.fixture
def place(tmp_path):
    at_work(3, SqliteStore(tmp_path / "a.db")).close()
    other = ContextManager(session="other", store=tmp_path / "a.db", tokenizer=count_quarter)
    other.append(TALK.say("user", "\x1b[31mhello"))
    other.get_messages_for_request()
    other.close()
    return str(tmp_path / "a.db")


def run(*arguments):
    from click.testing import CliRunner

    from tests.cli.commands import app

    return CliRunner().invoke(app, ["status", *arguments])


def test_status_shows_bar_parts_largest_and_what_comes(place):
    done = run(place, "s")
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert lines[0] == "s, lane main"
    assert "tokens (" in lines[1]
    assert "8 of 8 messages" in lines[2]
    assert set("su") < set(lines[3].strip("[]")) <= set("#sduar.")
    assert any("results" in line and "%" in line for line in lines)
    assert any("[ref:7]" in line and "line of c2" in line for line in lines)
    assert lines[-1].startswith("next compaction in ")


def test_unnamed_report_is_of_the_newest_session_and_printable(place):
    """Without a name it is the session that began last and what it holds steers no terminal."""
    done = run(place)
    assert done.output.startswith("other, lane main")
    assert "\x1b" not in done.output
    assert "\\x1b[31mhello" in done.output


def test_status_as_json(place):
    told = json.loads(run(place, "s", "--json").output)
    assert told["session"] == "s"
    assert set(told["parts"]) == {"overhead", "system", "digest", "user", "assistant", "results", "free"}
    assert told["next_compaction"]["budget"] == told["usage"]["window"] == 8_000


def test_a_session_or_store_that_is_not_there(place, tmp_path):
    assert "no session 'x' in this store" in run(place, "x").output
    SqliteStore(tmp_path / "empty.db").sessions()
    assert "this store has no session" in run(str(tmp_path / "empty.db")).output
