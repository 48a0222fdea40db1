"""Whole sessions under our module: however they go, each request is one that a provider takes, and nothing is lost."""

import asyncio
from functools import cache
from typing import Any

import pytest
from amplifier_core import AmplifierSession as RustSession
from amplifier_core import HookResult, events
from amplifier_core.session import AmplifierSession as PlainSession

from backscroll.events import EPHEMERAL_EXPIRED, PROMPT_CHANGED, USAGE_IGNORED
from tests.amplifier.ours import NAME, say, session
from tests.amplifier.provider import Message, Provider
from tests.amplifier.scripts import Step, Turn, Use, reading, use, work
from tests.amplifier.scripts import say as answer
from tests.amplifier.world import Handler, Live, Run, World, assert_sound
from tests.profiles import THOROUGH

SYSTEM = "Be brief. Never push to main."


def short(**options: Any) -> Run:
    """A session of 49 requests, in a window that makes it compact again and again."""
    run = session(work(turns=7, rounds=6), **{"window": 20_000, "system": SYSTEM, **options})
    assert run.compactions >= 7
    return run


plain = cache(short)  # by default; several tests look at it


# Long sessions


@pytest.mark.parametrize(
    ("config", "ways"),
    [({}, {}), ({"min_batch_tokens": 0}, {"caching": True, "same_ids": True, "escaped": True})],
    ids=["by default", "without masking for the price, with a provider that counts much and repeats ids"],
)
def test_a_long_session_is_sound_compacts_rarely_and_keeps_the_prefix(config, ways):
    run = session(work(turns=31, rounds=9), config=config, provider=Provider(64_000, **ways), system=SYSTEM)
    assert len(run.requests) >= 300
    assert_sound(run)
    assert run.compactions >= 10
    assert run.compactions_per_request <= 0.1
    assert run.extending >= 0.9
    assert run.count(events.CONTEXT_PRE_COMPACT) == run.count(events.CONTEXT_POST_COMPACT) == run.compactions
    assert run.count(USAGE_IGNORED) == run.count(PROMPT_CHANGED) == 0


# Kinds of providers, sessions and loops


@pytest.mark.parametrize("way", ["caching", "same_ids", "escaped", "strict"])
def test_a_session_is_sound_with_any_kind_of_provider(way):
    assert_sound(short(provider=Provider(20_000, **{way: True})))


def test_a_session_is_sound_in_either_kernel():
    assert PlainSession is not RustSession is World.session
    assert_sound(plain())
    assert_sound(short(session=PlainSession))


@pytest.mark.parametrize("seed", range(1, 9) if THOROUGH else [1])
def test_a_session_is_sound_whatever_is_done_in_it(seed):
    assert_sound(session(work(turns=10, rounds=6, seed=seed), 20_000, system=SYSTEM))


def test_a_session_of_the_contract_of_old_is_sound():
    async def play() -> tuple[Run, list[Message]]:
        config = {"contract": "1.0", "max_tokens": 14_000}
        async with World(NAME, config, Provider(20_000), loop={"contract": 1}, system=SYSTEM).open() as live:
            for turn in work(turns=10, rounds=6):
                await live.turn(turn)
            return await live.report(), await live.module.get_history()

    run, run_history = asyncio.run(play())
    run.kept = run_history
    assert run.compactions >= 10
    assert_sound(run)


# What tools bring


def test_a_result_of_735_000_characters_is_cut_before_it_is_sent():
    run = session([Turn("Why does it fail?", (use("run_tests", lines=12_500), answer("A typo."))), *work(2, 4)], 64_000)
    assert max(len(str(message["content"])) for message in run.given) > 735_000
    assert_sound(run)
    assert run.count(events.PROVIDER_RETRY) == 0


def test_many_results_that_come_at_once_and_are_larger_than_the_window_are_cut():
    uses = tuple(Use("run_tests", {"path": f"{number}", "lines": 400}) for number in range(6))
    run = session([Turn("Run all tests.", (Step("All at once.", uses), answer("Done."))), *work(2, 4)], 28_000)
    assert_sound(run)


def test_pictures_count_as_pictures():
    looks = tuple(use("screenshot", path=f"{number}.png", lines=30) for number in range(8))
    run = session([Turn(f"Look at the pages of part {part}.", (*looks, answer("Fine."))) for part in range(6)], 20_000)
    assert_sound(run)
    assert 1 <= run.compactions <= 0.1 * len(run.requests)
    assert max(sent.tokens for sent in run.requests) > 0.7 * run.requests[0].limit


def test_text_that_is_denser_than_it_looks_fits():
    dumps = tuple(use("dense", path=f"{number}.bin", lines=80) for number in range(30))
    run = session([Turn("What is in these files?", (*dumps, answer("Keys.")))], 26_000)
    assert_sound(run)
    assert run.compactions >= 2


def test_signed_thinking_stays_as_it_came():
    steps = tuple(Step(uses=(Use("read_file", {"path": f"{n}", "lines": 80}),), thinking=f"{n}?") for n in range(40))
    run = session([Turn("Read.", (*steps, answer("Read.")))], 20_000)
    assert_sound(run)
    assert run.compactions >= 2
    said = [block for message in run.given if message["role"] == "assistant" for block in message["content"]]
    for sent in run.requests:
        for message in sent.messages:
            blocks = message["content"] if isinstance(message["content"], list) else []
            assert all(block in said for block in blocks if block["type"] == "thinking")


# What hooks bring


def injecting(role: str) -> Handler:
    """A hook that adds a message for good, wherever it is called."""

    async def inject(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="inject_context", context_injection="mind the style", context_injection_role=role)

    return inject


ROLES = pytest.mark.parametrize(
    "role",
    [
        "user",
        "system",
    ],
)


@ROLES
@pytest.mark.parametrize("event", [events.TOOL_PRE, events.TOOL_POST])
def test_what_hooks_put_between_calls_and_results_goes_behind_them(event, role):
    run = short(hooks=[(event, injecting(role))])
    assert any(message.get("metadata", {}).get("source") == "hook" for message in run.given)
    assert_sound(run)


def test_what_hooks_put_between_calls_and_results_is_kept_where_it_came():
    run = session(reading(files=1, lines=5), hooks=[(events.TOOL_POST, injecting("user"))])
    assert [message["role"] for message in run.kept] == ["user", "assistant", "user", "tool", "assistant"]
    assert [message["role"] for message in run.requests[-1].messages] == ["user", "assistant", "tool", "user"]


def test_what_a_hook_adds_to_one_request_only_does_not_touch_the_context():
    async def whisper(event: str, data: dict[str, Any]) -> HookResult:
        text = f"{data['iteration']} requests so far"
        return HookResult(
            action="inject_context", context_injection=text, context_injection_role="user", ephemeral=True
        )

    run = short(hooks=[(events.PROVIDER_REQUEST, whisper)])
    assert_sound(run)
    assert run.kept == plain().kept


def reminding(provider: Provider, role: str, persisted: bool) -> Handler:
    """A hook that adds a reminder itself before each request."""

    async def remind(event: str, data: dict[str, Any]) -> None:
        metadata = {"source": "hook", "ephemeral": True} | ({"persisted": True} if persisted else {})
        text = f"<reminder>request {len(provider.requests)}</reminder>"
        context = provider.coordinator.get("context")
        context = context if persisted else context.module
        await context.add_message(say(role, text, metadata=metadata))

    return remind


def test_reminders_that_are_persisted_are_kept_and_are_nobodys_last_word():
    provider = Provider(20_000)
    run = short(provider=provider, hooks=[(events.PROVIDER_REQUEST, reminding(provider, "user", persisted=True))])
    assert_sound(run)
    reminders = [message for message in run.kept if message.get("metadata", {}).get("ephemeral")]
    assert len(reminders) == len(run.requests)


def test_reminders_that_are_not_persisted_are_sent_until_a_compaction_and_never_kept():
    provider = Provider(20_000)
    run = short(provider=provider, hooks=[(events.PROVIDER_REQUEST, reminding(provider, "system", persisted=False))])
    assert_sound(run)
    assert f"request {len(run.requests) - 1}<" in run.requests[-1].messages[-1]["content"]
    assert "request 0<" not in str(run.requests[-1].messages)
    assert run.count(EPHEMERAL_EXPIRED) >= 1


# What hosts bring


async def restored(live: Live, messages: list[Message]) -> Run:
    for message in messages:
        await live.context.add_message(message)
    for turn in work(turns=10, rounds=6):
        await live.turn(turn)
    return await live.report()


def test_developer_messages_stay():
    rules = say("developer", "Answer in French.")

    async def play() -> Run:
        async with World(NAME, provider=Provider(20_000)).open() as live:
            return await restored(live, [rules])

    run = asyncio.run(play())
    assert_sound(run)
    assert run.compactions >= 10
    assert all(sent.messages[0] == rules for sent in run.requests)


def test_the_system_prompt_is_asked_for_at_each_request_and_stands_first():
    run = plain()
    assert all(sent.messages[0] == say("system", SYSTEM) for sent in run.requests)
    assert run.count(events.CONTEXT_INCLUDE) == 1
    assert all(message["role"] != "system" for message in run.kept)


def test_a_system_prompt_that_changes_moves_the_prefix_once_and_that_is_told():
    prompts = iter(["Be brief."] * 30 + ["Be thorough."] * 1_000)

    async def play() -> Run:
        async with World(NAME, provider=Provider(200_000)).open() as live:
            live.context.set_system_prompt_factory(lambda: _soon(next(prompts)))
            return await restored(live, [])

    run = asyncio.run(play())
    assert_sound(run)
    assert [sent.messages[0]["content"] for sent in run.requests[28:32]] == ["Be brief."] * 2 + ["Be thorough."] * 2
    assert run.count(PROMPT_CHANGED) == 1


async def _soon(text: str) -> str:
    return text
