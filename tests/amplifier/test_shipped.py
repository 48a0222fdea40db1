"""What sessions suffer under the context modules of today: each failure once, in the kernel, with its measure."""

import asyncio
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import HookRegistry, HookResult, events

from backscroll.replay.validity import problems
from tests.amplifier import shipped
from tests.amplifier.provider import Provider
from tests.amplifier.scripts import Turn, reading, say, use, work
from tests.amplifier.shipped import Example, Persistent, Simple
from tests.amplifier.suites import BEHAVIOR, CHECKS, behave, validated
from tests.amplifier.world import Run, World

NAMES = ("simple", "persistent", "example")


def session(name: str, turns: list[Turn], window: int = 28_000, **options: Any) -> Run:
    """A session under one of the modules."""
    world = World(f"context-{name}", **{"modules": shipped.MODULES, "provider": Provider(window), **options})
    return world.run(turns)


@cache
def worked(name: str) -> Run:
    """A session of ordinary work, made once for all that look at it."""
    return session(name, work(turns=5, rounds=7))


def shown(context: Any, messages: list[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
    """The view of these messages."""

    async def ask() -> Any:
        for message in messages:
            await context.add_message(message)
        return await context.get_messages_for_request(token_budget=budget)

    return asyncio.run(ask())


def simple(**config: Any) -> Simple:
    return Simple(config, HookRegistry())


def words(number: int) -> str:
    return "one word after the other " * number


# Amplifier's own checks see nothing of what follows


@pytest.mark.parametrize("name", NAMES)
def test_the_validator_is_content_with_each(name, tmp_path):
    package = tmp_path / f"amplifier_module_context_like_{name}"
    package.mkdir()
    package.joinpath("__init__.py").write_text(f"from tests.amplifier.shipped import mount_{name} as mount\n")
    passed = validated(str(package), {"transcript_path": str(tmp_path / "transcript.jsonl")})
    del sys.modules[package.name]
    assert tuple(passed) == CHECKS
    assert passed["protocol_compliance"] == "Context implements ContextManager interface"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("test", BEHAVIOR)
def test_the_suite_of_behavior_is_content_with_each(name, test, tmp_path):
    behave(getattr(shipped, f"mount_{name}"), test, {"transcript_path": str(tmp_path / "transcript.jsonl")})


# context-simple


def test_simple_compacts_at_nearly_every_request_once_it_has_begun_and_tells_no_one_before():
    run = worked("simple")
    assert run.compactions > 0.7 * len(run.requests)
    assert run.count(events.CONTEXT_PRE_COMPACT) == run.count(events.CONTEXT_POST_COMPACT) == 0


def test_simple_moves_the_beginning_of_most_requests_so_that_no_prompt_cache_holds():
    assert worked("simple").extending < 0.4


def test_simple_sends_its_own_keys_to_the_provider():
    assert worked("simple").extras == {"_truncated", "_stubbed"}


def test_simple_alters_the_first_user_message_of_a_long_session():
    chat = [{"role": role, "content": words(12)} for _ in range(120) for role in ("user", "assistant")]
    early = shown(simple(), chat[:80], budget=6_000)
    assert len(early) < 80
    assert early[0] == chat[0]
    assert shown(simple(), chat, budget=6_000)[0]["content"] != chat[0]["content"]


def test_simple_sends_a_huge_new_result_whole_and_the_refused_request_five_times_more():
    run = session("simple", [Turn("Why does it fail?", (use("run_tests", lines=4_800), say("A typo.")))], window=24_000)
    log = max(len(str(message["content"])) for message in run.given)
    assert log > 300_000
    assert run.overflows == [1, 2, 3, 4, 5, 6]
    assert {sent.tokens for sent in run.requests[1:]} == {run.requests[1].tokens}
    assert run.requests[1].tokens > 3 * run.requests[1].limit
    assert "ContextLengthError" in str(run.errors[0])


def test_simple_takes_four_characters_for_a_token_and_so_overflows_on_dense_text():
    dumps = [use("dense", path=f"{number}.bin", lines=80) for number in range(12)]
    run = session("simple", [Turn("What is in these files?", (*dumps, say("Keys.")))], window=26_000)
    assert run.overflows[0] == 6
    assert run.compactions == 0


def test_simple_counts_pictures_by_their_bytes_and_compacts_a_nearly_empty_request():
    looks = [use("screenshot", path=f"{number}.png", lines=30) for number in range(8)]
    run = session("simple", [Turn("Look at the pages.", (*looks, say("Fine.")))])
    assert run.compactions > 3
    assert max(sent.tokens for sent in run.requests) < 0.2 * run.requests[0].limit


def test_simple_splits_calls_that_stand_only_in_the_content_from_their_results():
    messages = [{"role": "user", "content": "go"}]
    for number in range(30):
        call = {"type": "tool_call", "id": f"c{number}", "name": "run", "input": {}}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": words(30)})
    view = shown(simple(), messages, budget=2_000)
    assert any("without that call before it" in line for line in problems(view, messages))


def test_simple_lets_content_of_none_through_and_every_turn_fails_on_it():
    resumed = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "tool": "run", "arguments": {}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    run = resume("simple", resumed)
    assert run.requests == []
    assert ["ValidationError" in str(error) for error in run.errors] == [True, True]


def test_simple_leaves_what_a_hook_injects_at_a_tool_between_the_call_and_its_result():
    async def remind(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="inject_context", context_injection="mind the style")

    run = session("simple", reading(files=2, lines=10), hooks=[(events.TOOL_PRE, remind)])
    assert "has no result before" in run.problems[0]


def test_simple_drops_developer_messages():
    rules = {"role": "developer", "content": "Answer in French."}
    chat = [{"role": role, "content": words(30)} for _ in range(40) for role in ("user", "assistant")]
    assert rules not in shown(simple(), [rules, *chat], budget=2_000)


def test_simple_never_recovers_from_a_call_that_a_crash_left_without_its_result():
    resumed = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "tool": "run", "arguments": {}}]},
    ]
    run = resume("simple", resumed)
    assert ["InvalidRequestError" in str(error) for error in run.errors] == [True, True]


def resume(name: str, messages: list[dict[str, Any]]) -> Run:
    """A host restores a session, and its user asks twice; the provider refuses what is not valid."""

    async def play() -> Run:
        world = World(f"context-{name}", modules=shipped.MODULES, provider=Provider(strict=True))
        async with world.open(messages) as live:
            await live.turn(Turn("Are you there?", (say("Yes."),)))
            await live.turn(Turn("And now?", (say("Still."),)))
            return await live.report()

    return asyncio.run(play())


def test_simple_counts_all_messages_again_for_each_that_comes_and_for_each_that_goes():
    def estimates(messages: int) -> int:
        context = simple()
        shown(context, [{"role": "assistant", "content": "a few words"} for _ in range(messages)], budget=500)
        return context.estimates

    assert estimates(400) > 3.5 * estimates(200) > 12 * estimates(100)


# context-persistent


def persistent(path: Path) -> Persistent:
    return Persistent({"transcript_path": str(path)}, HookRegistry())


def test_persistent_reads_its_whole_file_for_every_request(tmp_path):
    context = persistent(tmp_path / "transcript.jsonl")
    shown(context, [{"role": "user", "content": "go"}], budget=2_000)
    shown(context, [], budget=2_000)
    assert context.reads == 3


def test_persistent_loses_the_message_after_a_torn_line(tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text('{"role": "user", "content": "go"}\n{"role": "assistant", "cont')
    shown(persistent(path), [{"role": "user", "content": "Are you there?"}], budget=2_000)
    assert persistent(path).messages == [{"role": "user", "content": "go"}]


def test_persistent_brings_ephemeral_messages_back(tmp_path):
    path = tmp_path / "transcript.jsonl"
    reminder = {"role": "user", "content": "3 tasks open", "metadata": {"ephemeral": True}}
    shown(persistent(path), [reminder], budget=2_000)
    assert persistent(path).messages == [reminder]


# The example of the contract


def test_the_example_loses_the_first_user_message():
    run = worked("example")
    assert run.requests[0].first_user
    assert any("the first user message, history[0], is not in the view" in line for line in run.problems)


def test_the_example_cuts_between_the_results_of_calls_that_were_made_together():
    ids = ["a", "b", "c"]
    calls = [{"id": known, "tool": "run", "arguments": {}} for known in ids]
    results = [{"role": "tool", "tool_call_id": known, "content": words(30)} for known in ids]
    messages = [
        {"role": "user", "content": words(80)},
        {"role": "assistant", "content": "", "tool_calls": calls},
        *results,
    ]
    view = shown(Example({}, HookRegistry()), messages, budget=600)
    assert any("without that call before it" in line for line in problems(view, messages))


# What all of them share


@pytest.mark.parametrize("name", NAMES)
def test_none_fits_text_that_is_denser_than_it_guesses(name, tmp_path):
    dumps = [use("dense", path=f"{number}.bin", lines=80) for number in range(12)]
    turns = [Turn("What is in these files?", (*dumps, say("Keys.")))]
    assert session(name, turns, config={"transcript_path": str(tmp_path / "transcript.jsonl")}).overflows
