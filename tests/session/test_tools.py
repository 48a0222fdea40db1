"""The tools of a request: counted once, listed one by one, and compared with those of the request before."""

import json

import pytest
from click.testing import CliRunner

from backscroll import ContextManager, events
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.cli.commands import app
from tests.fakes import count_quarter

READ = {"name": "read", "description": "Read a file. " * 40, "input_schema": {"type": "object"}}
WRITE = {"name": "write", "description": "Write a file.", "input_schema": {"type": "object"}}
SIGNED = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Yes."}]


def begun(**options):
    manager = ContextManager(**options)
    manager.append({"role": "user", "content": "Begin."})
    return manager


def test_tools_are_overhead_and_listed_one_by_one():
    with begun() as manager:
        manager.get_messages_for_request(tools=[READ, WRITE])
        report = manager.window_report()
    usage = report.usage
    assert [tool.name for tool in usage.tools] == ["read", "write"]
    assert usage.tools[0].tokens > 5 * usage.tools[1].tokens > 0
    assert usage.overhead.tokens == sum(tool.tokens for tool in usage.tools)
    assert sum(figure.tokens for figure in usage.by_kind.values()) == usage.used.tokens


def test_overhead_of_the_caller_comes_on_top():
    with begun() as manager:
        manager.get_messages_for_request(tools=[WRITE], overhead_tokens=500)
        usage = manager.usage()
    assert usage.overhead.tokens == 500 + usage.tools[0].tokens


def test_tools_leave_less_room_for_messages():
    """A budget that the messages would fit alone is compacted to with large tools."""
    sizes = []
    for tools in (None, [READ | {"description": "Read a file. " * 500}]):
        with ContextManager(budget=4_000) as manager:
            for number in range(12):
                manager.append({"role": "user", "content": f"{number}. " + "All is well. " * 50})
                manager.append({"role": "assistant", "content": "Noted."})
            sizes.append(len(manager.get_messages_for_request(tools=tools)))
            assert manager.usage().used_upper_bound <= 4_000
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(
    ("model", "tokens"), [("claude-opus-4-7", 675), ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 497), ("gpt-4o", 0)]
)
def test_what_the_provider_adds_to_tools_is_overhead(model, tokens):
    """Anthropic puts a system prompt of its own before the tools. Without tools there is none."""
    with begun(model=model) as manager:
        manager.get_messages_for_request(tools=[])
        assert manager.usage().overhead.tokens == 0
        manager.get_messages_for_request(tools=[READ])
        usage = manager.usage()
    assert [tool.name for tool in usage.tools] == ["read"]
    assert usage.overhead.tokens == usage.tools[0].tokens + tokens


def test_what_the_provider_adds_is_counted_once():
    """What is learned of the overhead holds it already; the first tools add it, and further ones do not."""
    with begun(model="claude-opus-5") as manager:
        manager.get_messages_for_request()
        manager.observe_usage(input_tokens=900)
        bare = manager.usage().overhead.tokens
        manager.get_messages_for_request(tools=[WRITE])
        first = manager.usage()
        assert first.overhead.tokens == bare + first.tools[0].tokens + 286
        manager.observe_usage(input_tokens=1_400)
        learned = manager.usage().overhead.tokens
        manager.get_messages_for_request(tools=[WRITE, READ])
        more = manager.usage()
        assert more.overhead.tokens == learned + more.tools[1].tokens
        manager.get_messages_for_request()
        assert manager.usage().overhead.tokens == learned - first.tools[0].tokens - 286


def test_report_without_what_the_provider_adds_is_taken():
    """The figure is a table's: a gateway may count otherwise, and what it reports replaces the estimate."""
    with begun(model="claude-opus-5-5") as manager:
        manager.get_messages_for_request(tools=[WRITE])
        assert manager.usage().overhead.tokens > 300
        manager.observe_usage(input_tokens=100)
        assert manager.usage().used.tokens == 100


def test_new_lane_counts_what_its_own_provider_adds(tmp_path):
    """Its tools are those of the lane that was asked last; a restart changes nothing."""
    store = tmp_path / "a.db"
    with begun(model="claude-opus-4-7", store=store, session="s") as manager:
        manager.get_messages_for_request(tools=[READ])
        for lane, added in (("claude-opus-5", 286), ("gpt-4o", 0)):
            manager.get_messages_for_request(tools=[READ], lane=lane)
            usage = manager.usage(lane)
            assert usage.overhead.tokens == usage.tools[0].tokens + added
        expected = [manager.usage(lane).overhead for lane in ("main", "claude-opus-5", "gpt-4o")]
    with ContextManager(model="claude-opus-4-7", store=store, session="s") as manager:
        assert [manager.usage(lane).overhead for lane in ("main", "claude-opus-5", "gpt-4o")] == expected


def test_the_same_tools_are_counted_once():
    counted = []

    def count(text):
        counted.append(text)
        return len(text) // 4

    with begun(tokenizer=count) as manager:
        for number in range(5):
            manager.get_messages_for_request(tools=[dict(READ), dict(WRITE)])
            manager.append({"role": "user", "content": f"{number}"})
    assert sum("Read a file." in text for text in counted) == 1


def test_a_change_of_tools_is_an_event_once():
    heard = []
    with begun(on_event=lambda name, payload: heard.append((name, payload))) as manager:
        for tools in ([READ], [READ], [READ, WRITE], [READ, WRITE], None, None):
            manager.get_messages_for_request(tools=tools)
    changes = [payload for name, payload in heard if name == events.TOOLS_CHANGED]
    assert [(each["added"], each["removed"], each["tools"]) for each in changes] == [
        (["write"], [], 2),
        ([], ["read", "write"], 0),
    ]


@pytest.mark.parametrize("reopened", [False, True])
def test_a_change_of_tools_removes_bound_reasoning(reopened, tmp_path):
    """Also where the session was opened again between both requests. Without a change, it stays."""
    options = {"store": tmp_path / "a.db", "session": "s", "model": "claude-opus-5-5"}
    manager = begun(**options)
    manager.get_messages_for_request(tools=[READ])
    manager.append({"role": "assistant", "content": SIGNED}, {"role": "user", "content": "And?"})
    assert "signature" in str(manager.get_messages_for_request(tools=[READ]))
    if reopened:
        manager.close()
        manager = ContextManager(**options)
        assert "signature" in str(manager.get_messages_for_request(tools=[READ]))
    assert "signature" not in str(manager.get_messages_for_request(tools=[READ, WRITE]))
    manager.close()


def test_more_tools_add_to_a_learned_overhead():
    with begun() as manager:
        manager.get_messages_for_request(tools=[WRITE])
        manager.observe_usage(input_tokens=900)
        before = manager.usage()
        manager.get_messages_for_request(tools=[WRITE, READ])
        after = manager.usage()
    assert after.overhead.tokens == before.overhead.tokens + after.tools[1].tokens


def test_status_lists_tools_after_a_restart(tmp_path):
    """From the log alone, and from a checkpoint."""
    store = tmp_path / "a.db"
    with begun(store=store, session="s") as manager:
        manager.get_messages_for_request(tools=[READ, WRITE])
        expected = manager.usage()
    for compacted in (False, True):
        if compacted:
            with ContextManager(store=store, session="s") as manager:
                for number in range(4):
                    manager.append({"role": "assistant", "content": f"{number}"}, {"role": "user", "content": "On."})
                manager.trim(keep_last=1)
        said = json.loads(CliRunner().invoke(app, ["status", str(store), "s", "--json"]).output)
        assert [tool["name"] if isinstance(tool, dict) else tool[0] for tool in said["usage"]["tools"]] == [
            "read", "write",
        ]  # fmt: skip  # one list
        assert said["parts"]["overhead"] == expected.overhead.tokens
    shown = CliRunner().invoke(app, ["status", str(store), "s"]).output
    assert "read" in shown
    assert "part of overhead" in shown


def test_requests_without_tools_store_nothing_of_them(tmp_path):
    with begun(store=tmp_path / "a.db", session="s") as manager:
        manager.get_messages_for_request()
        manager.get_messages_for_request(tools=[WRITE])
        manager.get_messages_for_request(tools=[WRITE])
        manager.append({"role": "user", "content": "And?"})
    store = SqliteStore(tmp_path / "a.db")
    bodies = [json.loads(record.body) for _, record in store.read("s", 0, 99) if record.kind == "request"]
    assert ["tools" in body for body in bodies] == [False, True, False]


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize(
    "request_of", [{"tools": [READ | {"description": "Read. " * 900}]}, {"overhead_tokens": 1_800}]
)
def test_reopened_session_compacts_with_its_overhead(request_of, compacted):
    """As one that stays open does, also where a compaction wrote a checkpoint after the newest request."""
    results = []
    for reopened in (False, True):
        store = MemoryStore()
        manager = begun(store=store, session="s", budget=6_000, tokenizer=count_quarter)
        for number in range(12):
            manager.append({"role": "assistant", "content": f"{number} " * 600}, {"role": "user", "content": "Go on."})
            manager.get_messages_for_request(**request_of)
        if compacted:
            manager.compact()
            manager.append({"role": "assistant", "content": "So be it. " * 600}, {"role": "user", "content": "Go on."})
        if reopened:
            manager.close()
            manager = ContextManager(store=store, session="s", budget=6_000, tokenizer=count_quarter)
        done = manager.compact()
        results.append((done and done.after_tokens, manager.usage().used_upper_bound))
    assert results[0] == results[1]
