"""The presets of modes, what takes precedence over them, and lanes in the modes `lean` and `handover`."""

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import AsyncContextManager, ConfigurationError, ContextManager, Protection, ToolResultPreview
from backscroll.compaction.modes import FACTS, LEAN, MODES, STANDARD
from backscroll.compaction.options import CompactionOptions
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.fakes import count_quarter
from tests.views import weight

TALK = MessageFactory("openai")
BUDGET = 4_000
RULE = "Never touch the file config/prod.yaml."


def options_of(**given: Any) -> CompactionOptions:
    with ContextManager(**given) as manager:
        return manager._session.config.compaction


def test_mode_standard_is_the_default_of_every_option():
    assert options_of() == options_of(mode="standard") == CompactionOptions()


def test_mode_lean_sets_its_preset():
    options = options_of(mode="lean")
    assert options.target_usage == LEAN.target_usage < STANDARD.target_usage
    assert options.compact_threshold == LEAN.compact_threshold < STANDARD.compact_threshold
    assert options.protect == LEAN.protect != STANDARD.protect
    assert options.tool_result_preview == LEAN.tool_result_preview
    assert options.digest == LEAN.digest != STANDARD.digest


def test_mode_facts_sets_its_preset():
    options = options_of(mode="facts")
    assert options.target_usage == FACTS.target_usage < STANDARD.target_usage
    assert options.compact_threshold == FACTS.compact_threshold
    assert options.protect == FACTS.protect != STANDARD.protect
    assert options.tool_result_preview is None
    assert options.digest == FACTS.digest != STANDARD.digest


def test_default_mode_shortens_and_takes_no_excerpts():
    """The mode decides what `"auto"` runs, and a list that is given replaces it."""

    def reasons(**given: Any) -> set[str]:
        with ContextManager(tokenizer=count_quarter, budget=BUDGET, **given) as manager:
            for messages in steps([("call", 120)] * 30):
                manager.append(*messages)
                manager.get_messages_for_request()
            return {found.reason for found in manager.explain() if found.state != "whole"}

    assert {"shorten", "digest"} <= reasons()
    assert "excerpt" not in reasons()
    assert "shorten" not in reasons(strategies=["excerpt", "digest"])


def test_given_options_take_precedence_over_the_mode():
    given: dict[str, Any] = {
        "target_usage": 0.5, "protect": Protection(recent=0.3), "tool_result_preview": ToolResultPreview(900, 300),
    }  # fmt: skip
    found = asdict(options_of(mode="lean", **given))
    assert found | {name: value if name == "target_usage" else asdict(value) for name, value in given.items()} == found
    assert options_of(mode="lean", **given).digest == LEAN.digest


@pytest.mark.parametrize("manager", [ContextManager, AsyncContextManager])
def test_unknown_mode_raises_and_names_the_modes(manager):
    with pytest.raises(ConfigurationError, match="`mode` must be 'standard', 'lean' or 'facts', not 'cheap'"):
        manager(mode="cheap")


def test_every_mode_says_what_it_buys_in_one_line():
    assert all(mode.buys and "\n" not in mode.buys and mode.name == name for name, mode in MODES.items())


def steps(kinds: list[tuple[str, int]]) -> list[list[dict[str, Any]]]:
    """Messages of a conversation, step by step; each request comes after a step."""
    found = [[TALK.say("user", f"Begin with src/app.py. {RULE}")]]
    for number, (kind, size) in enumerate(kinds):
        if kind == "user":
            found.append([TALK.say("assistant", f"Done with {number}."), TALK.say("user", f"Now do part {number}.")])
            continue
        lines = [f"port_{number}_{line} = value_{line}" for line in range(size)]
        called = TALK.call([f"c{number}"], f"I look at port_{number}_3.", {"path": f"src/file_{number}.py"})
        found.append([called, *TALK.results([(f"c{number}", "\n".join(lines))])])
    return found


KINDS = st.lists(
    st.tuples(st.sampled_from(["call", "call", "call", "user"]), st.integers(5, 60)), min_size=30, max_size=60
)


def notes_of(view: list[dict[str, Any]]) -> str:
    """The summary without its end: the state in a hand-over, and what has no reference."""
    shown = next((str(each["content"]) for each in view if str(each["content"]).startswith("<summary>\nEarlier")), "")
    return shown.removesuffix("\n</summary>").partition("\nLeft out: ")[0].partition("\nState as of message ")[0]


@settings(max_examples=25)
@given(KINDS)
def test_lean_summary_begins_with_the_one_before(kinds):
    """Of two summaries in a row the newer begins with the older, but for a few that are written again."""
    with ContextManager(mode="lean", tokenizer=count_quarter, budget=BUDGET) as manager:
        before, changed, rewritten = "", 0, 0
        for messages in steps(kinds):
            manager.append(*messages)
            view = manager.get_messages_for_request()
            assert weight(view) <= BUDGET
            after = notes_of(view)
            if after == before:
                continue
            changed += before != ""
            rewritten += not after.startswith(before)
            before = after
            assert RULE in str(view)
        assert rewritten <= 1 + changed / 2


@pytest.mark.long
def test_lean_summary_mostly_appends_over_a_long_session():
    """Lean summaries are written again at less than half of the compactions, standard ones not at all of them."""
    rewritten, changed = {}, {}
    for mode in MODES:
        rewritten[mode] = changed[mode] = 0
        with ContextManager(mode=mode, tokenizer=count_quarter, budget=BUDGET) as manager:
            before = ""
            for messages in steps([("call" if at % 9 else "user", 10 + at % 30) for at in range(400)]):
                manager.append(*messages)
                after = notes_of(manager.get_messages_for_request())
                changed[mode] += after != before
                rewritten[mode] += not after.startswith(before)
                before = after
    assert changed["lean"] > 20
    assert rewritten["lean"] < changed["lean"] / 2
    assert rewritten["standard"] < changed["standard"]


@pytest.mark.parametrize("mode", ["lean", "facts"])
def test_rule_stays_in_every_view_word_for_word(mode):
    """Also a rule of a later turn, which a summary quotes from then on, over many of them."""
    later = "Always run make check before you commit."
    with ContextManager(mode=mode, tokenizer=count_quarter, budget=BUDGET) as manager:
        for number, messages in enumerate(steps([("call" if at % 7 else "user", 10 + at % 40) for at in range(300)])):
            manager.append(*messages)
            if number == 20:
                manager.append(TALK.say("assistant", "Well."), TALK.say("user", later))
            view = str(manager.get_messages_for_request())
            assert RULE in view
            assert number < 20 or later in view


@pytest.mark.parametrize("mode", ["lean", "facts"])
def test_restart_of_a_session_gives_the_same_views(mode):
    store, views = MemoryStore(), {}
    for restarts in (False, True):
        manager = ContextManager(store=store, session=str(restarts), mode=mode, tokenizer=count_quarter, budget=BUDGET)
        for number, messages in enumerate(steps([("call" if at % 5 else "user", 10 + at % 40) for at in range(120)])):
            manager.append(*messages)
            views[restarts, number] = manager.get_messages_for_request()
            if restarts and number % 10 == 9:
                manager.close()
                manager = ContextManager(store=store, session="True", mode=mode, tokenizer=count_quarter, budget=BUDGET)
        manager.close()
    assert any(notes_of(view) for view in views.values())
    assert [views[False, at] for at in range(121)] == [views[True, at] for at in range(121)]


@pytest.mark.parametrize("turns", [3, 40])
def test_short_words_of_users_are_appended_and_never_regrouped(turns):
    """Short words in a row share a reference, which must not grow over what is appended later."""
    with ContextManager(mode="lean", tokenizer=count_quarter, budget=1_500, target_usage=0.5) as manager:
        before, rewritten, changed = "", 0, 0
        for number in range(turns * 10):
            manager.append(
                TALK.say("user", f"My file {number} is name_{number}.py."), TALK.say("assistant", "I see. " * 12)
            )
            after = notes_of(manager.get_messages_for_request())
            changed += after != before
            rewritten += not after.startswith(before)
            before = after
    assert rewritten <= 1 + changed / 2


@pytest.mark.parametrize("mode", ["standard", "facts"])
def test_what_the_view_shows_as_replaced_rewrites_no_summary(mode):
    """The user corrects something, and both statements are in the view next to the summary."""
    protect = Protection(recent=0.4)
    with ContextManager(mode=mode, tokenizer=count_quarter, budget=2_000, protect=protect) as manager:
        before, after, number = "", "", 0
        while after == before or not before:
            before = after
            box = TALK.say("user", f"My box {number} has {number + 3} pens.")
            manager.append(box, TALK.say("assistant", "I see. " * 60))  # so long that a hand-over has room for words
            view = manager.get_messages_for_request()
            if after and number % 2:
                manager.append(
                    TALK.say("user", f"My phone number is 555-{number:04d}."), TALK.say("assistant", "Fine.")
                )
                view = manager.get_messages_for_request()
            after, number = notes_of(view), number + 1
        assert "phone" not in after
        assert str(view).count("My phone number is") > 1
        assert after.startswith(before)
