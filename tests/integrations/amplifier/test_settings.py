"""Every option of a configuration: what it does to a mounted context."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from backscroll import ConfigurationError
from backscroll.compaction.modes import LEAN, STANDARD
from backscroll.events import COMPACTION
from backscroll.integrations.amplifier.context import AmplifierContext
from backscroll.integrations.amplifier.old_context import OldContext
from backscroll.integrations.amplifier.settings import Config, read_settings
from tests.integrations.amplifier.harness import awaited, call, mounted, result, rounds, say
from tests.integrations.amplifier.provider import Message
from tests.integrations.amplifier.scenarios import words

FILE = "\n".join(f"{number}: {words(1)}" for number in range(120))
BEHIND = [say("assistant", "I see."), say("user", "Go on.")]
READING = [say("system", "Be brief."), say("user", "Read all files."), *rounds(range(16), FILE)]
"""About 16,000 tokens."""


async def viewed(config: dict[str, Any], budget: int = 20_000, **more: Any) -> list[Message]:
    """The view of the reading."""
    view, _ = await compacted(config, budget, **more)
    return view


async def compacted(
    config: dict[str, Any], budget: int = 20_000, messages: list[Message] = READING, behind: Sequence[Message] = ()
) -> tuple[list[Message], dict[str, Any]]:
    """The view of the reading, and what the compaction told of itself; nothing where there was none."""
    async with mounted({**config, "max_tokens": config.get("max_tokens") or budget}) as ours:
        await ours.add(*messages)
        view = await ours.view()
        if behind:  # the request that adopts what the one before it prepared
            await ours.add(*behind)
            view = await ours.view()
        return view, next(iter(ours.payloads(COMPACTION)), {})


def whole(view: list[Message]) -> int:
    """How many of the newest results stand in a view as they came."""
    results = [message["content"].endswith(FILE) for message in view if message["role"] == "tool"]
    return [*results[::-1], False].index(False)


def test_every_option_is_tested_here_or_with_the_files():
    tests = [
        Path(__file__),
        *map(Path(__file__).with_name, ("test_transcript.py", "test_store.py", "test_summaries.py")),
    ]
    text = "".join(path.read_text(encoding="utf-8") for path in tests)
    assert [name for name in Config.model_fields if f'"{name}"' not in text] == []


# What is served


@pytest.mark.parametrize(
    ("contract", "kind"),
    [
        (None, AmplifierContext),
        ("2.1", AmplifierContext),
        ("2.0", AmplifierContext),
        ("1.0", OldContext),
        ("1", OldContext),
    ],
)
@awaited
async def test_contract(contract, kind):
    async with mounted({"contract": contract}) as ours:
        assert type(ours.context) is kind


@awaited
async def test_old_contract_compacts_and_sends_get_messages():
    """The contract of old asks compacts and sends what get messages returns."""
    async with mounted({"contract": "1.0", "max_tokens": 20_000, "compact_threshold": 0.6}) as ours:
        await ours.add(*READING[:4])
        assert await ours.context.should_compact() is False
        assert await ours.context.get_messages() == READING[:4]
        await ours.add(*READING[4:])
        assert await ours.context.should_compact() is True
        await ours.context.compact()
        assert await ours.context.should_compact() is False
        assert await ours.context.get_messages() != READING
        assert await ours.context.get_history() == READING


@pytest.mark.parametrize("event", ["session:start", "session:resume", "prompt:submit"])
@pytest.mark.parametrize(
    ("wanted", "mounted_at_once", "without_tools", "with_tools"),
    [(None, 0, 0, 1), (True, 0, 0, 1), ("always", 1, 1, 1), (False, 0, 0, 0)],
)
@awaited
async def test_recall_tool(wanted, mounted_at_once, without_tools, with_tools, event):
    async with mounted({"recall_tool": wanted}) as ours:
        tools, hooks = ours.coordinator.mount_points["tools"], ours.coordinator.hooks
        assert list(tools) == ["recall"] * mounted_at_once
        await hooks.emit(event, {})
        assert list(tools) == ["recall"] * without_tools
        await ours.coordinator.mount("tools", SimpleNamespace(name="grep"), name="grep")
        await hooks.emit(event, {})
        assert set(tools) == {"grep", *["recall"] * with_tools}


@awaited
async def test_compact_tool():
    """The tool compacts the lane of the newest request, and refuses while little would be won."""
    async with mounted({"compact_tool": "always", "max_tokens": 200_000, "clear_at_least_tokens": 0}) as ours:
        tool = ours.coordinator.mount_points["tools"]["compact"]
        await ours.add(*READING)
        await ours.view()
        answer = await tool.execute({"reason": "All files are read."})
        assert answer.success
        assert "go on" in answer.output
        await ours.view(20_000)
        assert "compacted: " in (await tool.execute({"reason": "All files are read."})).output
        assert ours.payloads(COMPACTION)[-1]["reason"] == "All files are read."
    async with mounted({}) as ours:
        assert "compact" not in ours.coordinator.mount_points["tools"]


# When and how far


@awaited
async def test_max_tokens_is_the_budget_without_a_provider_window():
    for given, window in ((9_000, 9_000), (None, 200_000)):
        async with mounted({"max_tokens": given}) as ours:
            await ours.add(*READING)
            await ours.view()
            assert ours.context.usage().window == window >= ours.context.usage().used_upper_bound


@awaited
async def test_model_and_windows_give_the_budget_without_one():
    known, own = {"model": "claude-haiku-4-5"}, {"model": "my-model", "windows": {"my-model": 32_000}}
    for config, window in ((known, 200_000 - 64_000 - 1_000), (own, 32_000 - 4_096 - 1_000)):
        async with mounted(config) as ours:
            await ours.add(*READING)
            await ours.view()
            assert ours.context.usage().window == window


@pytest.mark.parametrize("name", ["compact_threshold", "compaction_threshold"])
@awaited
async def test_compact_threshold_by_both_its_names(name):
    assert await viewed({name: 0.95}) == READING
    view, told = await compacted({name: 0.7})
    assert view != READING
    assert 0.7 * 20_000 < told["before_tokens"] < 0.95 * 20_000


@pytest.mark.parametrize("target", [0.4, 0.5, 0.7])
@awaited
async def test_target_usage(target):
    _, told = await compacted({"target_usage": target, "compact_threshold": 0.75}, behind=BEHIND)
    assert told["target_tokens"] == target * 20_000
    assert 0.6 * told["target_tokens"] < told["after_tokens"] <= told["target_tokens"]


@awaited
async def test_compact_at_and_compact_to():
    _, told = await compacted({"compact_at": 12_000, "compact_to": 9_000})
    assert told["before_tokens"] > 12_000
    assert told["target_tokens"] == 9_000
    assert told["budget"] == 20_000


@pytest.mark.parametrize(("share", "results"), [(0, 3), (0.3, 4), (0.6, 9)])
@awaited
async def test_protected_recent(share, results):
    config = {"protected_tool_results": 0, "target_usage": 0.3, "compaction_strategy": "digest"}
    assert whole(await viewed({**config, "protected_recent": share}, 16_000)) == results


def test_mode_lean_sets_what_is_not_given():
    lean = read_settings({"mode": "lean"}).options
    assert (lean["mode"], lean["target_usage"], lean["protect"]) == ("lean", None, LEAN.protect)
    given = read_settings({"mode": "lean", "target_usage": 0.4, "protected_tool_results": 3}).options
    assert given["target_usage"] == 0.4
    assert given["protect"] == replace(LEAN.protect, results=3)
    usual = read_settings({}).options
    assert (usual["target_usage"], usual["protect"].results) == (0.5, 5)


def test_mode_standard_sets_what_is_not_given():
    """The contract's own defaults take the place of the mode's target and of its newest results."""
    options = read_settings({"mode": "standard"}).options
    assert (options["mode"], options["target_usage"], options["strategies"]) == ("standard", 0.5, "auto")
    assert options["protect"] == replace(STANDARD.protect, results=5)


@pytest.mark.parametrize("results", [2, 5, 7])
@awaited
async def test_protected_tool_results(results):
    config = {"protected_recent": 0, "target_usage": 0.2}
    assert whole(await viewed({**config, "protected_tool_results": results}, 14_000)) == results


@pytest.mark.parametrize(("share", "stays"), [(0.25, True), (0.0, False)])
@awaited
async def test_working_set(share, stays):
    text = f"{FILE}\nThat is the skill."
    skill = [call("s", tool="load_skill", name="x"), result("s", text)]
    view, _ = await compacted({"working_set": share}, 12_000, [*READING[:2], *skill, *READING[2:]])
    assert any(text in str(message["content"]) for message in view) is stays


@awaited
async def test_max_messages():
    assert len(await viewed({"max_messages": 12})) <= 12 < len(await viewed({}))


# How


@pytest.mark.parametrize(
    ("strategy", "used"),
    [
        ("auto", {"shorten", "digest"}),
        ("truncate", {"excerpt", "truncate"}),
        ("summarize", {"digest"}),
        ("importance", {"excerpt", "importance"}),
        ("excerpt", {"excerpt"}),
        ("clear", {"clear"}),
        ("digest", {"digest"}),
    ],
)
@awaited
async def test_compaction_strategy(strategy, used):
    config = {"compaction_strategy": strategy, "clear_at_least_tokens": 0}
    _, told = await compacted(config, 4_000 if len(used) > 1 else 12_000)
    assert set(told["strategies"]) == used


@awaited
async def test_deduplicate_strategy_removes_only_repetitions():
    """Compaction strategy that only takes away what is said twice."""
    twice = [*READING[:2], *(message for n in range(12) for message in (call(f"c{n}"), result(f"c{n}", FILE)))]
    _, told = await compacted({"compaction_strategy": "deduplicate"}, 10_000, messages=twice)
    assert set(told["strategies"]) == {"deduplicate"}


@pytest.mark.parametrize("characters", [64, 400, 1_600])
@awaited
async def test_truncate_chars(characters):
    calls = [(call(f"c{n}", text=f"{n}: {words(100)}"), result(f"c{n}", "written")) for n in range(10)]
    messages = [say("user", "Write them all."), *(message for pair in calls for message in pair)]
    config = {"compaction_strategy": "excerpt", "truncate_chars": characters}
    view, told = await compacted(config, 5_000, messages=messages)
    assert set(told["strategies"]) == {"excerpt"}
    cut = view[1]["tool_calls"][0]["arguments"]["text"]
    assert 0.5 * characters < len(cut) - len("[... 2,000 characters left out, recall [ref:1.0] ...]") < 2 * characters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("truncate_boundary", "line"),
        ("compaction_notice_verbosity", "verbose"),
        ("compaction_notice_min_level", 3),
        ("compaction_notice_token_reserve", 3_000),
    ],
)
@awaited
async def test_options_without_effect_are_taken_and_change_nothing(name, value):
    assert await viewed({name: value}, 12_000) == await viewed({}, 12_000)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("preserve_system", "always stay"), ("compaction_notice_enabled", "always says that something was left out")],
)
@awaited
async def test_setting_that_cannot_be_disabled_warns(name, reason):
    with pytest.warns(RuntimeWarning, match=f"option '{name}' is ignored: .*{reason}"):
        view = await viewed({name: False}, 8_000)
    assert view == await viewed({name: True}, 8_000)
    assert view[0] == READING[0]
    assert "Earlier messages are compacted here" in json.dumps(view)


@awaited
async def test_clear_at_least_tokens():
    assert await viewed({"clear_at_least_tokens": 0}, 200_000, behind=BEHIND) == [*READING, *BEHIND]
    assert await viewed({"clear_at_least_tokens": 50_000}, 200_000, behind=BEHIND) == [*READING, *BEHIND]
    _, told = await compacted({"clear_at_least_tokens": 5_000}, 200_000, behind=BEHIND)
    assert set(told["strategies"]) == {"cache savings"}


@awaited
async def test_plan_ahead():
    """Without it the first request over the mark clears at once, instead of the one behind it."""
    config = {"clear_at_least_tokens": 5_000}
    assert await viewed(config, 200_000) == READING
    _, told = await compacted({**config, "plan_ahead": False}, 200_000)
    assert set(told["strategies"]) == {"cache savings"}


@awaited
async def test_cache_pricing():
    config = {"clear_at_least_tokens": 5_000}
    _, told = await compacted({**config, "cache_pricing": {"read": 0.1, "write": 1.25}}, 200_000, behind=BEHIND)
    assert told["strategies"]
    dear = {**config, "cache_pricing": {"read": 0.001, "write": 2.0}}
    assert await viewed(dear, 200_000, behind=BEHIND) == [*READING, *BEHIND]


# How much is counted

TELLING = type(
    "Telling", (), {"get_info": lambda self: {"defaults": {"context_window": 64_000, "max_output_tokens": 8_000}}}
)


@pytest.mark.parametrize(
    ("config", "budget"),
    [
        ({}, 64_000 - 8_000 - 1_000),
        ({"budget_formula": "contract"}, 64_000 - 8_000 - 1_000),
        ({"output_reserve_fraction": 0.25}, 64_000 - 2_000 - 1_000),
        ({"margin_tokens": 0}, 64_000 - 8_000),
        ({"budget_formula": "context-simple"}, 64_000 - 4_000 - 4_096 - 800),
        ({"budget_formula": "context-simple", "compaction_notice_token_reserve": 100}, 64_000 - 4_000 - 4_096 - 100),
        ({"budget_formula": "context-simple", "output_reserve_fraction": 1}, 64_000 - 8_000 - 4_096 - 800),
        ({"budget_formula": "context-simple", "margin_tokens": 0}, 64_000 - 4_000),
    ],
)
@awaited
async def test_what_is_kept_free_of_a_window(config, budget):
    async with mounted(config) as ours:
        await ours.add(say("user", "go"))
        await ours.context.get_messages_for_request(provider=TELLING(), lane="asked")
        assert ours.context.usage("asked").window == budget


async def counted(config: dict[str, Any]) -> int:
    """What the reading takes, uncompacted."""
    async with mounted({"clear_at_least_tokens": 0, **config}) as ours:
        await ours.add(*READING)
        await ours.view()
        return int(ours.context.usage().used.tokens)


@awaited
async def test_overhead_tokens():
    assert await counted({"overhead_tokens": 3_000}) == await counted({}) + 3_000


@awaited
async def test_tokenizer():
    exact = await counted({"tokenizer": "auto"})
    assert exact == await counted({})
    assert 0.6 * exact < await counted({"tokenizer": "estimate"}) != exact


@awaited
async def test_model():
    assert await counted({"model": "claude-sonnet-4-5"}) > 1.05 * await counted({"model": "gpt-5"})


# Persistence


@pytest.mark.parametrize(
    ("config", "files"),
    [
        ({}, []),
        ({"storage_path": "a"}, ["a/test-session.jsonl"]),
        ({"transcript_path": "b.jsonl"}, ["b.jsonl"]),
        ({"storage_path": "a", "transcript_path": "b.jsonl"}, ["b.jsonl"]),
        ({"persistence": True, "storage_path": "a"}, ["a/test-session.jsonl"]),
        ({"persistence": {"storage_path": "a"}}, ["a/test-session.jsonl"]),
        ({"persistence": {"enabled": True, "transcript_path": "b.jsonl"}, "storage_path": "a"}, ["b.jsonl"]),
        ({"persistence": {"enabled": False}, "storage_path": "a"}, []),
    ],
)
@awaited
async def test_persistence(config, files, tmp_path):
    def placed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: placed(item) for key, item in value.items()}
        return str(tmp_path / value) if isinstance(value, str) else value

    async with mounted(placed(config)) as ours:
        await ours.add(say("user", "go"))
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.jsonl")] == files


@pytest.mark.parametrize("value", [True, {}, {"enabled": True}])
@awaited
async def test_persistence_needs_a_place(value):
    with pytest.raises(ConfigurationError, match="`persistence` needs a place"):
        async with mounted({"persistence": value}):
            pass


@awaited
async def test_both_names_of_one_option_may_say_the_same():
    assert await viewed({"compact_threshold": 0.7, "compaction_threshold": 0.7}) == await viewed(
        {"compact_threshold": 0.7}
    )


@awaited
async def test_none_is_the_default():
    usual = await viewed({}, 16_000)
    assert [name for name in Config.model_fields if await viewed({name: None}, 16_000) != usual] == []
