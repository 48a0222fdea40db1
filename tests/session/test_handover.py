"""Sessions with a hand-over: restarts, rewinds, forks, lanes, other modes, and what callers do by hand."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll import ContextManager, ToolResultPreview, events
from backscroll.evaluation.validity import problems
from backscroll.stores.memory import MemoryStore
from tests.builders import DIALECTS, MessageFactory, words
from tests.compaction.native_talk import RULE, NativeTalk, blocks
from tests.fakes import ScriptedSummarizer, count_quarter
from tests.profiles import examples
from tests.views import summary_of

TALK = MessageFactory("openai")
BUDGETS = {"main": 3_000, "small": 1_400}
MODES = ("facts", "standard")
SOURCE = "The cache is written by the loader, and nothing else reads it."


def opened(store: Any, mode: str = "standard", session: str = "s", **options: Any) -> ContextManager:
    return ContextManager(session=session, store=store, tokenizer=count_quarter, mode=mode, **options)


def rounds(count: int, first: int = 0, talk: MessageFactory = TALK, size: int = 150) -> list[dict[str, Any]]:
    """So many calls with their results, and a new request of the user after every fifth."""
    found: list[dict[str, Any]] = []
    for number in range(first, first + count):
        found.append(talk.call([f"c{number}"], f"I read file {number}.", {"path": f"src/file_{number}.py"}))
        found += talk.results([(f"c{number}", f"file {number} " + words(size))])
        if number % 5 == 4:
            found += [talk.say("assistant", f"Part {number} is done."), talk.say("user", f"Now do part {number + 1}.")]
    return found


def begun(store: Any, mode: str = "standard", count: int = 20, **options: Any) -> ContextManager:
    """A session with views along its way."""
    manager = opened(store, mode, **options)
    manager.append(TALK.say("system", "Be brief."), TALK.say("user", "Read every file."))
    for number in range(count):
        manager.append(*rounds(1, number))
        manager.get_messages_for_request(token_budget=BUDGETS["main"])
    return manager


def view_of(manager: ContextManager, lane: str = "main") -> list[dict[str, Any]]:
    """A view that is valid, and within its budget."""
    view = manager.get_messages_for_request(token_budget=BUDGETS[lane], lane=lane)
    seqs = [status.seq for status in manager.explain(lane=lane)]
    assert problems(view, manager.get_messages(), seqs) == []
    assert manager.usage(lane).used_upper_bound <= BUDGETS[lane]
    return view


def is_handover(view: list[dict[str, Any]]) -> bool:
    return "State as of message" in summary_of(view)


STEPS = st.lists(
    st.sampled_from(["go", "go", "go", "kill", "rewind", "fork", "other", "small", "compact", "undo", "trim"]),
    min_size=6,
    max_size=14,
)

GO = ["go", "go", "go"]
QUOTED_BEFORE = [*GO, "other", "other", "go", "go", "rewind", *GO, "other", "go"]  # the last request, by a hand-over
REWOUND_BEFORE = [*GO, "rewind", "other", "go", "go", "rewind", *GO, "other", "go"]  # and read in the other mode


@given(st.sampled_from(DIALECTS), STEPS, st.booleans(), st.sampled_from([None, 30]))
@example("openai", QUOTED_BEFORE, True, 30)
@example("openai", REWOUND_BEFORE, True, 30)
@settings(max_examples=examples(8), deadline=None)
def test_any_order_of_steps_gives_valid_views_that_restart(dialect, steps, ahead, most):
    talk, mode, name = MessageFactory(dialect), "standard", "s"
    options = {"plan_ahead": ahead, "max_messages": most}
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'log.db'}"
        manager = opened(store, mode, **options)
        manager.append(talk.say("user", "Read every file."), *rounds(6, talk=talk))
        for number, step in enumerate(steps):
            manager.append(*rounds(3, 10 * (number + 1), talk))
            view = view_of(manager)
            if step in ("kill", "other"):
                mode = MODES[mode == "standard"] if step == "other" else mode
                manager.close()
                manager = opened(store, mode, name, **options)
                assert manager.get_messages_for_request(token_budget=BUDGETS["main"]) == view
            elif step == "rewind":
                manager.rewind([status.seq for status in manager.explain()][-4])
            elif step == "fork":
                other = manager.fork(f"{name}+")
                assert other.get_messages_for_request(token_budget=BUDGETS["main"]) == view
                manager.close()
                manager, name = other, f"{name}+"
            elif step == "small":
                view_of(manager, "small")
            elif step == "compact":
                manager.compact()
            elif step == "undo":
                manager.undo_compaction()
            elif step == "trim":
                manager.trim(keep_last=8)
            view_of(manager)
        manager.close()


@pytest.mark.parametrize("ahead", [True, False])
def test_a_restart_gives_the_same_views(tmp_path, ahead):
    """Also with a plan that was prepared, and the session goes on alike."""
    store, kept = f"sqlite:///{tmp_path / 'log.db'}", MemoryStore()
    twin, manager = begun(kept, plan_ahead=ahead), begun(store, plan_ahead=ahead)
    assert is_handover(view_of(manager))
    for number in range(20, 32):
        manager.close()
        manager = opened(store, plan_ahead=ahead)
        for each in (manager, twin):
            each.append(*rounds(1, number))
        assert view_of(manager) == view_of(twin)
    manager.close()
    twin.close()


@pytest.mark.parametrize("modes", [MODES, MODES[::-1]])
def test_another_mode_keeps_views_until_the_next_compaction(modes):
    """What the other mode wrote loads, and the first compaction says the same in its own form."""
    store, heard = MemoryStore(), list[str]()
    first = begun(store, modes[0])
    before = view_of(first)
    assert is_handover(before) is (modes[0] == "standard")
    first.close()
    with opened(store, modes[1], on_event=lambda name, _: heard.append(name)) as second:
        assert view_of(second) == before
        for number in range(20, 40):
            second.append(*rounds(1, number))
            view = view_of(second)
            if events.COMPACTION in heard:
                break
            assert view[: len(before)] == before
        assert is_handover(view) is (modes[1] == "standard")
        assert "Now do part 5." in summary_of(view)


def test_max_messages_and_compact_to_hold():
    with begun(MemoryStore(), max_messages=16) as manager:
        assert len(view_of(manager)) <= 16
    with begun(MemoryStore(), compact_at=2_000, compact_to=1_200) as manager:
        assert manager.usage().used.tokens <= 2_000
        manager.compact()
        assert manager.usage().used.tokens <= 1_200


def test_compactions_by_hand_write_a_handover_and_undo_restores():
    with opened(MemoryStore()) as manager:
        manager.append(TALK.say("user", "Read every file."), *rounds(8))
        whole = manager.get_messages_for_request(token_budget=20_000)
        assert manager.trim(keep_last=6) is not None
        view = manager.get_messages_for_request(token_budget=20_000)
        assert is_handover(view)
        assert view[-6:] == whole[-6:]
        assert manager.undo_compaction()
        assert manager.get_messages_for_request(token_budget=20_000) == whole


def test_a_models_summary_is_in_the_handover():
    model = ScriptedSummarizer(lambda _: f"<summary>{SOURCE}</summary>")
    with begun(MemoryStore(), summarizer=model, count=40) as manager:
        view = view_of(manager)
    assert model.requests
    assert is_handover(view)
    assert SOURCE in summary_of(view)


def test_lanes_have_their_own_handovers():
    with begun(MemoryStore()) as manager:
        main, small = view_of(manager), view_of(manager, "small")
        assert is_handover(main)
        assert summary_of(small)
        assert summary_of(small) != summary_of(main)
        assert view_of(manager) == main


def test_pins_of_a_folded_message_bring_it_back():
    with begun(MemoryStore()) as manager:
        view_of(manager)
        seq = next(found.seq for found in manager.explain() if found.state == "digested" and found.role == "user")
        manager.pin(seq)
        assert manager.get_messages()[seq] in view_of(manager)


@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_a_providers_block_goes_with_the_mode(vendor):
    """Its provider takes the views with it, before and after a restart."""
    talk = NativeTalk(vendor, mode="standard", store=MemoryStore(), session="s")
    assert blocks(talk.work(events.COMPACTION))
    talk.work("never", most=12)
    before = talk.manager.get_messages_for_request()
    assert blocks(before)
    talk.manager.close()
    talk.open()
    assert talk.manager.get_messages_for_request() == before
    assert RULE in str(before)


@pytest.mark.parametrize("mode", MODES)
def test_there_is_nothing_to_compact_in_an_empty_conversation(mode):
    with opened(MemoryStore(), mode, budget=4_000) as manager:
        manager.compact()
        assert manager.get_messages_for_request() == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("by", ["pin", "flag", "critical"])
def test_a_pinned_result_that_is_the_newest_stays_whole(mode, by):
    manager = begun(MemoryStore(), mode)
    flags = {"flag": {"pinned": True}, "critical": {"critical": True}}.get(by)
    result = {**TALK.results([("last", "file last " + words(1_700))])[0], **({"metadata": flags} if flags else {})}
    manager.append(TALK.call(["last"], "I read the last.", {"path": "last.py"}), result)
    if by == "pin":
        manager.pin(manager.explain()[-1].seq)
    assert view_of(manager)[-1]["content"] == result["content"]
    manager.compact()
    assert view_of(manager)[-1]["content"] == result["content"]


def test_a_quote_comes_back_with_a_compaction_not_a_preview():
    """A preview checks the new result alone: the prompt cache keeps the rest."""
    store = MemoryStore()
    manager = opened(store)
    order = TALK.say("user", "Long order. " + words(900))
    manager.append(TALK.say("user", "Read every file."), TALK.say("assistant", "Go on."), order)
    for number in range(24):
        manager.append(*rounds(1, 10 * number))
        before = view_of(manager)
    assert order not in before
    manager = opened(store, "facts", tool_result_preview=ToolResultPreview(300, 100, "arrival"))
    manager.append(*rounds(1, 300, size=700))
    assert view_of(manager)[: len(before)] == before
    for number in range(31, 40):
        manager.append(*rounds(1, 10 * number, size=700))
        view = view_of(manager)
    assert order in view
