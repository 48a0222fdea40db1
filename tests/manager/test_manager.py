"""What users call, both managers: every public method, its answers and its errors."""

import asyncio
import threading
from typing import Any

import pytest

import backscroll
from backscroll import (
    BudgetError,
    BudgetOptions,
    ConfigurationError,
    ConflictError,
    ContextManager,
    MessageError,
    Protection,
    ReferenceNotFoundError,
    StorageOptions,
    events,
)
from backscroll.history.plan import Truncate
from backscroll.view.rendering import BEGUN_LINE
from tests.builders import LONG, MessageFactory, session_after
from tests.fakes import count_quarter


def test_async_and_plain_manager_give_the_same_view():
    async def run() -> list[dict[str, Any]]:
        manager = backscroll.AsyncContextManager(tokenizer=count_quarter)
        for message in await_all:
            await manager.append(message)
        view = await manager.get_messages_for_request(token_budget=9_000)
        await manager.aclose()
        return view

    plain = session_after()
    await_all = plain.get_messages()
    assert asyncio.run(run()) == plain.get_messages_for_request(token_budget=9_000)


@pytest.mark.parametrize(
    ("budget", "error"),
    [(0, BudgetError), (-1, BudgetError), (2.5, ConfigurationError), (True, ConfigurationError),
     ("16k", ConfigurationError)],
)  # fmt: skip
def test_request_with_bad_budget_raises_and_names_it(budget, error):
    """The budget of a request is refused by its type, or as one that holds nothing."""
    with pytest.raises(error, match="`token_budget` must be a"):
        session_after(1).get_messages_for_request(token_budget=budget)


def test_required_messages_over_budget_raise_and_change_nothing():
    """A floor that cannot fit is one clear error and changes nothing."""
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({"role": "system", "content": "rules " * 1_000}, {"role": "user", "content": "go"})
    with pytest.raises(BudgetError, match=r"leading system messages 1,\d+.*raise `token_budget`"):
        manager.get_messages_for_request(token_budget=500)
    assert len(manager.get_messages_for_request(token_budget=5_000)) == 2
    assert manager.usage().compactions == 0


class Provider:
    """A provider that tells of its window, in one of the ways providers do."""

    def __init__(self, window: Any = None, info: Any = None) -> None:
        self.window, self.info = window, info

    def get_model_info(self) -> Any:
        if isinstance(self.window, Exception):
            raise self.window
        return self.window

    async def get_info(self) -> Any:
        return self.info


@pytest.mark.parametrize(
    ("provider", "window"),
    [
        (Provider({"context_window": 50_000, "max_output_tokens": 8_000}), 41_000),
        (
            Provider(None, type("Info", (), {"defaults": {"context_window": 20_000, "max_output_tokens": 4_000}})),
            15_000,
        ),
        (object(), 200_000),
    ],
)
def test_the_budget_comes_from_the_provider_unless_it_cannot_say(provider, window):
    manager = session_after(1)
    manager.get_messages_for_request(provider=provider)
    assert manager.usage().window == window


def test_failing_provider_is_reported_and_the_budget_falls_back():
    """A provider that fails is reported and the budget falls back."""
    manager = session_after(1)
    with pytest.warns(RuntimeWarning, match=r"did not say its window .*get_model_info\(\) of Provider failed.*offline"):
        manager.get_messages_for_request(provider=Provider(RuntimeError("offline"), None))
    assert manager.usage().window == 200_000


def test_plain_manager_works_in_a_loop_with_async_helpers():
    """The plain manager works inside a running loop with async helpers."""
    told: list[str] = []

    async def listener(name: str, payload: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        told.append(name)

    async def prompt() -> str:
        return "be brief"

    async def run() -> list[dict[str, Any]]:
        manager = ContextManager(tokenizer=count_quarter, on_event=listener)
        manager.set_system_prompt_factory(prompt)
        manager.append({"role": "user", "content": "hi"})
        info = type("Info", (), {"defaults": {"context_window": 20_000, "max_output_tokens": 4_000}})
        view = manager.get_messages_for_request(provider=Provider(None, info))
        assert manager.usage().window == 15_000
        return view

    assert [message["content"] for message in asyncio.run(run())] == ["be brief", "hi"]
    assert told == [events.MESSAGE_ADDED, events.INCLUDE]


def test_a_bad_message_is_refused_before_anything_changes():
    manager = session_after(1)
    before = manager.get_messages()
    with pytest.raises(MessageError, match=r"\['content'\].*nan"):
        manager.append({"role": "user", "content": "fine"}, {"role": "user", "content": float("nan")})
    assert manager.get_messages() == before


def test_same_id_appends_once_and_conflicts_on_other_messages():
    """The same id adds once and other messages under it conflict."""
    manager = session_after(1)
    message = {"role": "user", "content": "once"}
    last = manager.append(message, idempotency_key="a")
    assert manager.append(message, idempotency_key="a") == last
    assert manager.get_messages().count(message) == 1
    with pytest.raises(ConflictError, match="'a' was used before"):
        manager.append({"role": "user", "content": "other"}, idempotency_key="a")


def test_set_messages_rewinds_to_the_common_prefix_and_appends():
    """Set messages rewinds to the common beginning and appends the rest."""
    manager = session_after(3)
    messages = manager.get_messages()
    manager.set_messages([*messages[:4], {"role": "user", "content": "instead"}])
    assert manager.get_messages() == [*messages[:4], {"role": "user", "content": "instead"}]
    assert manager.append({"role": "assistant", "content": "ok"}) == len(messages) + 1  # no number is used twice
    with pytest.raises(MessageError):
        manager.set_messages([{"role": "user", "content": b"raw"}])
    assert len(manager.get_messages()) == 6


def test_clear_empties_view_and_branch_but_keeps_references():
    """Clear empties the view and the branch but references live on."""
    manager = session_after(2)
    manager.clear()
    assert manager.get_messages() == []
    assert manager.get_messages_for_request(token_budget=1_000) == []
    assert manager.recall(1) == "read every file"


def test_pinned_messages_return_whole_with_their_pair():
    """Pinned messages come back whole into the view with their pair."""
    manager = session_after()
    manager.get_messages_for_request(token_budget=6_000)
    state = {found.seq: found.state for found in manager.explain()}
    assert state[3] != "whole"
    manager.pin(3)
    view = manager.get_messages_for_request(token_budget=8_000)
    assert manager.get_messages()[3] in view
    assert manager.get_messages()[2] in view
    assert {found.seq: found.reason for found in manager.explain()}[3] == "pinned"
    manager.unpin(3)
    manager.append(*[{"role": "user", "content": LONG} for _ in range(3)])
    assert manager.get_messages()[3] not in manager.get_messages_for_request(token_budget=7_500)
    with pytest.raises(ReferenceNotFoundError, match="no message 999"):
        manager.pin(999)


def test_critical_message_survives_any_budget_and_unpin():
    """A critical message survives any budget and cannot be unpinned."""
    manager = session_after(2)
    rule = {"role": "user", "content": "never push", "metadata": {"critical": True}}
    seq = manager.append(rule)
    manager.append(*session_after().get_messages()[2:])
    manager.unpin(seq)
    assert rule in manager.get_messages_for_request(token_budget=4_000)


def test_ephemeral_message_shows_until_compaction_unstored():
    """An ephemeral message is shown until the next compaction and never stored."""
    told: list[str] = []
    manager = session_after(3, on_event=lambda name, _: told.append(name))
    note = {"role": "user", "content": "the build is red", "metadata": {"ephemeral": True}}
    manager.append(note)
    manager.append({"role": "assistant", "content": "I see"})
    view = manager.get_messages_for_request(token_budget=50_000)
    assert view[-2:] == [note, {"role": "assistant", "content": "I see"}]
    assert note not in manager.get_messages()
    assert manager.compact() is None
    assert note not in manager.get_messages_for_request(token_budget=4_000)
    assert events.EPHEMERAL_EXPIRED in told
    kept = {**note, "metadata": {"ephemeral": True, "persisted": True}}
    manager.append(kept)
    assert kept in manager.get_messages()


def test_half_of_a_tool_pair_cannot_be_ephemeral():
    manager = session_after(1)
    call = {**MessageFactory("openai").call(["x"], "", {}), "metadata": {"ephemeral": True}}
    with pytest.warns(RuntimeWarning, match="half of a tool pair"):
        manager.append(call)
    assert manager.get_messages()[-1] == call


def test_system_prompt_factory_replaces_stored_system_messages():
    """A system prompt factory stands in for stored system messages."""
    prompts = ["first"]
    manager = session_after(1)
    hook = {"role": "system", "content": "from a hook", "metadata": {"source": "hook"}}
    manager.append(hook)

    async def factory() -> str:
        return prompts[-1]

    manager.set_system_prompt_factory(factory)
    view = manager.get_messages_for_request(token_budget=50_000)
    assert [m["content"] for m in view if m["role"] == "system"] == ["first", "from a hook"]
    prompts.append("second")
    assert manager.get_messages_for_request(token_budget=50_000)[0]["content"] == "second"
    assert manager.get_messages()[0]["content"] == "be brief"
    manager.set_system_prompt_factory(None)
    assert manager.get_messages_for_request(token_budget=50_000)[0]["content"] == "be brief"


def test_system_prompt_is_reported_only_when_it_changes():
    """A system prompt is reported when it changes and not with every request."""
    prompts, told = ["first"], []
    manager = ContextManager(tokenizer=count_quarter, on_event=lambda name, payload: told.append((name, payload)))
    manager.set_system_prompt_factory(lambda: prompts[-1])
    manager.append({"role": "user", "content": "hi"})
    for prompt in ("first", "first", "second", "second", "first"):
        prompts.append(prompt)
        manager.get_messages_for_request()
    included = [payload["content"] for name, payload in told if name == events.INCLUDE]
    assert included == ["first", "second", "first"]


def test_undo_restores_the_plan_and_a_larger_budget_keeps_it():
    """Undo brings the plan before back and a slightly larger budget keeps it."""
    manager = session_after(clear_at_least_tokens=None)
    whole = manager.get_messages_for_request(token_budget=1_000_000)
    compacted = manager.get_messages_for_request(token_budget=8_000)
    assert compacted != whole
    assert manager.get_messages_for_request(token_budget=11_000) == compacted
    assert manager.undo_compaction() is True
    assert manager.get_messages_for_request(token_budget=1_000_000) == whole
    assert manager.undo_compaction() is False


def test_compact_on_demand_reaches_the_target_and_reports_it():
    """Compact on demand goes to the target and reports what it did."""
    manager = session_after(16, budget=40_000, clear_at_least_tokens=None)
    manager.get_messages_for_request()
    done = manager.compact()
    assert done is not None
    assert done.after_tokens <= done.target_tokens == 28_000 < done.before_tokens
    assert manager.usage().used_upper_bound == done.after_tokens


def test_new_lane_starts_from_the_newest_plan():
    """Lanes have plans of their own and a new one starts from the newest, if it has no more room."""
    manager = session_after()
    large = manager.get_messages_for_request(token_budget=1_000_000, lane="large")
    small = manager.get_messages_for_request(token_budget=8_000, lane="small")
    assert manager.get_messages_for_request(token_budget=1_000_000, lane="large") == large != small
    assert manager.get_messages_for_request(token_budget=8_000, lane="third") == small
    fourth = manager.get_messages_for_request(token_budget=1_000_000, lane="fourth")
    assert fourth == manager.get_messages()


def test_events_of_a_compaction_carry_the_keys_that_hosts_know():
    told: list[tuple[str, dict[str, Any]]] = []
    manager = session_after(on_event=lambda name, payload: told.append((name, payload)))
    manager.get_messages_for_request(token_budget=8_000)
    names = [name for name, _ in told if name != events.MESSAGE_ADDED]
    assert names == [events.PRE_COMPACT, events.COMPACTION, events.POST_COMPACT]
    payloads = dict(told)
    assert {"message_count", "token_count", "tokens"} <= set(payloads[events.PRE_COMPACT])
    keys = (
        "before_tokens after_tokens before_messages after_messages messages_removed messages_truncated strategy_level"
    )
    assert set(keys.split()) <= set(payloads[events.COMPACTION])
    assert payloads[events.POST_COMPACT]["tokens"] == payloads[events.COMPACTION]["after_tokens"]
    assert payloads[events.MESSAGE_ADDED] == {"role": "tool", "content_length": len(LONG) + 3, "total_messages": 62}


def test_listener_may_use_the_session_be_async_or_fail():
    """A listener may use the session may be async and may fail."""
    seen: list[int] = []

    async def listener(name: str, payload: dict[str, Any]) -> None:
        if name == events.MESSAGE_ADDED:
            seen.append(len(manager.get_messages()))
            raise ValueError("listener")

    manager = ContextManager(tokenizer=count_quarter, on_event=listener)
    with pytest.warns(RuntimeWarning, match="`on_event` raised ValueError"):
        manager.append({"role": "user", "content": "hello"})
    assert seen == [1]


def test_explain_accounts_for_every_message():
    manager = session_after(strategies=["digest"])
    manager.get_messages_for_request(token_budget=5_000)
    found = manager.explain()
    assert [entry.seq for entry in found] == list(range(62))
    assert found[0].reason == "leading system message"
    assert found[1].reason == "the user's first message"
    assert (found[-1].state, found[-1].reason) == ("excerpted", "floor") or found[-1].reason == "newest group"
    assert {entry.state for entry in found} == {"whole", "digested"}
    assert all((entry.state, entry.reason) == ("digested", "digest") for entry in found[2:20])
    assert found[3].ref == "[ref:3]"


def test_usage_adds_up_and_says_what_is_measured():
    manager = session_after(4)
    manager.get_messages_for_request(token_budget=30_000)
    usage = manager.usage()
    assert usage.used.source == "estimated"
    assert usage.used.tokens == sum(figure.tokens for figure in usage.by_kind.values())
    assert usage.free == 30_000 - usage.used_upper_bound
    manager.observe_usage(input_tokens=usage.used.tokens + 3_000, output_tokens=20)
    manager.append({"role": "assistant", "content": "twenty tokens of an answer"})
    manager.get_messages_for_request(token_budget=30_000)
    measured = manager.usage()
    assert measured.used.source == "measured"
    assert usage.used.tokens + 3_000 <= measured.used.tokens <= usage.used.tokens + 3_100
    assert measured.overhead.tokens == 3_000


@pytest.mark.parametrize("tokens", [10, 10_000_000, -5, "many"])
def test_an_absurd_report_is_ignored_with_an_event_and_a_warning(tokens):
    told: list[str] = []
    manager = session_after(4, on_event=lambda name, _: told.append(name))
    manager.get_messages_for_request(token_budget=30_000)
    before = manager.usage()
    manager.observe_usage(input_tokens=tokens)
    with pytest.warns(RuntimeWarning, match="the usage reported for lane .* was ignored"):
        manager.get_messages_for_request(token_budget=30_000)
    assert manager.usage() == before
    assert events.USAGE_REJECTED in told


def test_overhead_is_subtracted_before_shares_are_taken():
    manager = session_after(overhead_tokens=5_000)
    manager.get_messages_for_request(token_budget=10_000)
    assert manager.usage().used_upper_bound <= 5_000 + 0.92 * 5_000


def test_tasks_and_threads_lose_nothing_and_views_stay_valid():
    manager = backscroll.AsyncContextManager(tokenizer=count_quarter)
    talk = MessageFactory("openai")

    async def agent(name: str) -> None:
        for number in range(20):
            await manager.append(talk.call([f"{name}{number}"], "", {}), *talk.results([(f"{name}{number}", LONG)]))
            await manager.get_messages_for_request(token_budget=9_000)

    async def crew(name: str) -> None:
        await asyncio.gather(*(agent(f"{name}-{member}-") for member in range(4)))

    asyncio.run(manager.append(talk.say("user", "go")))
    threads = [threading.Thread(target=lambda name=name: asyncio.run(crew(name))) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(asyncio.run(manager.get_messages())) == 1 + 2 * 4 * 20 * 2


@pytest.mark.parametrize(
    "options",
    [
        {"compact_threshold": 85},
        {"target_usage": 0.95},
        {"budget": 0},
        {"strategies": ["clpi"]},
        {"strategies": "excerpt"},
        {"strategies": ["everything"]},
        {"tokenizer": "o300k"},
        {"overhead_tokens": -1},
    ],
)
def test_bad_configuration_fails_at_construction(options):
    with pytest.raises(ConfigurationError):
        ContextManager(**options)


@pytest.mark.parametrize(
    ("group", "wrong"),
    [
        (Protection, {"recent": -0.1}),
        (BudgetOptions, {"output_reserve": 2}),
        (StorageOptions, {"blob_store": 5}),
        (StorageOptions, {"blob_threshold_bytes": -1}),
        (StorageOptions, {"encryption_key": 5}),
    ],
)
def test_bad_group_of_options_fails_at_construction(group, wrong):
    with pytest.raises(ConfigurationError, match=f"`{next(iter(wrong))}` must be"):
        group(**wrong)


def test_named_strategies_run_and_custom_ones_obey_the_rules():
    """Strategies are those that were named and own ones are held to the rules."""

    class Greedy:
        name = "greedy"

        def __call__(self, window: Any, tokens: int) -> list[Any]:
            return [Truncate(seq, seq, "greedy") for unit in window.units for seq in unit.seqs]

    told: list[str] = []
    manager = session_after(strategies=[Greedy()], on_event=lambda name, _: told.append(name))
    with pytest.warns(RuntimeWarning, match="asked for an edit"):
        view = manager.get_messages_for_request(token_budget=8_000)
    assert view[1]["content"] == "read every file"
    assert events.EDIT_REJECTED in told
    only = session_after(strategies=["truncate"])
    only.get_messages_for_request(token_budget=8_000)
    assert {entry.state for entry in only.explain()} == {"whole", "left out"}
    nothing = session_after(strategies=None)
    nothing.get_messages_for_request(token_budget=8_000)
    assert {entry.reason for entry in nothing.explain() if entry.state == "left out"} == {"last resort"}


def test_call_answered_in_its_own_message_is_not_pending():
    """A call that its own message answers is neither pending nor an orphan."""
    told: list[str] = []
    call = {"toolUse": {"toolUseId": "a", "name": "web", "input": {}}}
    result = {"toolResult": {"toolUseId": "a", "content": [{"text": "found"}]}}
    manager = ContextManager(tokenizer=count_quarter, on_event=lambda name, _: told.append(name))
    messages = [
        {"role": "user", "content": [{"text": "search"}]},
        {"role": "assistant", "content": [call, result]},
        {"role": "user", "content": [{"text": "thanks"}]},
    ]
    manager.append(*messages)
    assert manager.get_messages_for_request(token_budget=5_000) == messages
    assert events.ORPHAN_RESULT not in told


def test_estimated_counts_get_the_wide_margin():
    exact, estimated = ContextManager(tokenizer="o200k_base"), ContextManager(tokenizer="estimate")
    for manager in (exact, estimated):
        manager.append({"role": "user", "content": LONG})
        manager.get_messages_for_request()
    assert exact.usage().used_upper_bound < 1.05 * exact.usage().used.tokens
    assert estimated.usage().used_upper_bound > 1.25 * estimated.usage().used.tokens


def test_a_lane_named_after_a_model_counts_as_that_model():
    manager = ContextManager(model="gpt-5")
    manager.append({"role": "user", "content": LONG})
    for lane in ("main", "claude-opus-4-8", "title"):
        manager.get_messages_for_request(lane=lane)
    own, claude, title = (manager.usage(lane).used.tokens for lane in ("main", "claude-opus-4-8", "title"))
    assert own == title
    assert claude == pytest.approx(1.52 * own, rel=0.01)


def test_undo_and_new_lanes_keep_a_pinned_message():
    """Neither undo nor a new lane takes a pinned message out again."""
    manager = session_after()
    manager.get_messages_for_request(token_budget=9_000)
    manager.append(*session_after(10).get_messages()[2:])
    manager.get_messages_for_request(token_budget=8_000)
    manager.pin(3)
    pinned = manager.get_messages()[3]
    assert manager.undo_compaction()
    assert pinned in manager.get_messages_for_request(token_budget=1_000_000)
    assert pinned in manager.get_messages_for_request(token_budget=1_000_000, lane="new")


def test_a_single_ephemeral_message_is_reported_when_it_expires():
    told: list[str] = []
    manager = session_after(on_event=lambda name, _: told.append(name))
    manager.append({"role": "user", "content": "a note", "metadata": {"ephemeral": True}})
    manager.get_messages_for_request(token_budget=1_000_000)
    manager.get_messages_for_request(token_budget=8_000)
    assert told.count(events.EPHEMERAL_EXPIRED) == 1


def test_summary_moves_behind_system_messages_after_a_rewind():
    """The summary stands behind the system messages after its place was rewound."""
    manager = ContextManager(tokenizer=count_quarter, strategies=["truncate"])
    talk = MessageFactory("openai")
    manager.append(talk.say("system", "be brief"), *[talk.say("assistant", "hello " * 400)] * 2, talk.say("user", "go"))
    manager.append(talk.call(["a"], "", {}), *talk.results([("a", LONG)]))
    manager.get_messages_for_request(token_budget=1_000)
    manager.set_messages([*manager.get_messages()[:3], talk.call(["b"], "", {}), *talk.results([("b", "ok")])])
    view = manager.get_messages_for_request(token_budget=1_000)
    roles = [message["role"] for message in view]
    assert roles == ["system", "user", "assistant", "user", "assistant", "assistant", "tool"]
    assert view[1]["content"] == BEGUN_LINE
    assert view[2]["content"].startswith("<summary>")


def test_cancelled_task_appends_all_or_nothing():
    """A cancelled task leaves the session usable and adds all or nothing."""

    async def run() -> None:
        manager = backscroll.AsyncContextManager(tokenizer=count_quarter)
        huge = {"role": "user", "content": "long " * 400_000}  # over 64 KB: counted in a thread
        for _ in range(5):
            task = asyncio.create_task(manager.append(huge, {"role": "assistant", "content": "ok"}))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert len(await manager.get_messages()) in range(0, 11, 2)
        await manager.append({"role": "user", "content": "still here"})
        assert (await manager.get_messages())[-1]["content"] == "still here"

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_factory_that_fails_fails_the_request_and_nothing_else():
    manager = session_after(1)

    def factory() -> str:
        raise LookupError("no prompt today")

    manager.set_system_prompt_factory(factory)
    with pytest.raises(LookupError, match="no prompt today"):
        manager.get_messages_for_request()
    manager.set_system_prompt_factory(None)
    assert len(manager.get_messages_for_request()) == 4
