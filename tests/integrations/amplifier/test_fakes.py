"""Hosts that are not at hand, as fakes: our context keeps their rules, and each mutation of it breaks one."""

import asyncio
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.testing import MockCoordinator
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.events import COMPACTION
from tests.integrations.amplifier.fakes import (
    BrokenRuleError,
    HttpHistory,
    NewestLoop,
    app_runtime_restore,
    app_runtime_transcript,
    measure,
)
from tests.integrations.amplifier.harness import AmplifierHarness, awaited, mounted, rounds, say
from tests.integrations.amplifier.provider import Provider
from tests.integrations.amplifier.scripts import Step, use
from tests.profiles import examples

PROSE = "one plain word follows the other and nothing is said by it "


def reading(steps: int, lines: int = 60) -> list[Step]:
    return [*(use("read_file", "I read on.", lines=lines) for _ in range(steps)), Step("All is read.")]


async def looped(ours: AmplifierHarness, turns: int = 4, steps: int = 12, **options: Any) -> NewestLoop:
    """A session of long turns, with a reminder that changes every second turn."""
    provider = Provider(**{"window": 16_000, "strict": True, **options.pop("provider", {})})
    provider.coordinator = ours.coordinator
    loop = NewestLoop(ours.coordinator, provider, **options)
    for turn in range(turns):
        await loop.execute(f"Task {turn}.", reading(steps), f"<system-reminder>Todo {turn // 2}</system-reminder>")
    return loop


# The newest loop


@awaited
async def test_newest_loop_long_turns_keep_the_reminder():
    """A reminder that is stored once stays in each request of a turn that is compacted several times."""
    async with mounted() as ours:
        loop = await looped(ours)
        assert len(ours.payloads(COMPACTION)) >= 3
        assert (loop.overflows, [sent.problems for sent in loop.provider.requests if sent.problems]) == (0, [])
        assert await ours.kept() == loop.provider.truth


@awaited
async def test_newest_loop_preflight_gets_a_smaller_view():
    """A limit by the loop's own count is met although the view fits by an exact one."""
    async with mounted() as ours:
        loop = await looped(ours, limit=6_000)
        assert loop.rebuilds >= 1
        assert [sent.problems for sent in loop.provider.requests if sent.problems] == []


@awaited
async def test_newest_loop_recovers_from_an_overflow():
    """A provider that refuses what it said would fit gets the same request again, smaller."""
    async with mounted() as ours:
        loop = NewestLoop(ours.coordinator, boasting(ours, window=10_000, says=16_000), limit=60_000)
        await loop.execute("Read.", reading(60), "<system-reminder>Todo</system-reminder>")
        assert loop.overflows >= 1
        assert [sent.problems for sent in loop.provider.requests if sent.problems] == []


def boasting(ours: AmplifierHarness, window: int, says: int) -> Provider:
    """A provider that takes less than it says."""
    provider = Provider(window, strict=True)
    provider.coordinator = ours.coordinator
    provider.get_info = Provider(says).get_info  # type: ignore[method-assign]  # as a host may replace it
    return provider


@given(
    turns=st.lists(
        st.tuples(st.integers(1, 8), st.integers(5, 300), st.sampled_from(["a", "b", None])), min_size=1, max_size=5
    ),
    window=st.integers(9_000, 30_000),
    limit=st.none() | st.integers(4_500, 9_000),
)
@settings(max_examples=examples(15))
def test_newest_loop_any_session_breaks_no_rule(turns, window, limit):
    """Whatever is done in a session, each request holds the reminder, fits by both counts, and is valid."""

    async def play() -> None:
        async with mounted() as ours:
            provider = Provider(window, strict=True)
            provider.coordinator = ours.coordinator
            loop = NewestLoop(ours.coordinator, provider, limit)
            for number, (steps, lines, reminder) in enumerate(turns):
                text = None if reminder is None else f"<system-reminder>{reminder} {number // 2}</system-reminder>"
                await loop.execute(f"Task {number}.", reading(steps, lines), text)
            assert loop.overflows == 0
            assert await ours.kept() == provider.truth

    asyncio.run(play())


# Hosts that restore


@pytest.mark.parametrize("where", ["store", "storage_path", "transcript_path"])
@awaited
async def test_app_runtime_restore_loses_no_tool_result(where, tmp_path):
    """A transcript without tool results does not replace what was loaded, and nothing is compacted anew."""
    places = {"store": f"sqlite:///{tmp_path}/agent.db", "storage_path": tmp_path, "transcript_path": tmp_path / "t"}
    config = {where: str(places[where]), "max_tokens": 8_000}
    async with mounted(config) as ours:
        await ours.add(say("system", "Be brief."), say("user", "go"), *rounds(range(20), PROSE * 30))
        before, kept = await ours.view(), await ours.kept()
    async with mounted(config) as ours:
        await app_runtime_restore(ours.context, app_runtime_transcript(kept))
        assert await ours.kept() == kept
        after = await ours.view()
        assert "[no result recorded]" not in str(after)
        assert where != "store" or after == before


@awaited
async def test_http_history_developer_messages_are_sent():
    """Developer messages stand beside the text of a system prompt factory, where the history has them."""

    async def factory() -> str:
        return "Be brief."

    history = [say("developer", "<context_file>README</context_file>"), say("user", "go"), say("assistant", "Done.")]
    async with mounted() as ours:
        host = HttpHistory(ours.context)
        for number in range(3):
            view = await host.call(history, factory)
            assert view[0] == say("system", "Be brief.")
            history = [*history, say("user", f"and {number}?"), say("assistant", "Done as well.")]


# The fakes see what they claim to see


class Mutated:
    """A context that does one thing wrong; everything else is ours."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class ForgetsMetadata(Mutated):
    async def get_messages(self) -> list[dict[str, Any]]:
        return [{k: v for k, v in m.items() if k != "metadata"} for m in await self._context.get_messages()]


class TurnsTheHistory(Mutated):
    async def get_messages(self) -> list[dict[str, Any]]:
        return list(reversed(await self._context.get_messages()))


class PutsItsOwnLast(Mutated):
    async def get_messages_for_request(self, token_budget: Any = None, provider: Any = None) -> list[dict[str, Any]]:
        view: list[dict[str, Any]] = await self._context.get_messages_for_request(token_budget, provider)
        return [*view, say("user", "<summary>The conversation goes on here.</summary>")]


class DropsReminders(Mutated):
    async def get_messages_for_request(self, token_budget: Any = None, provider: Any = None) -> list[dict[str, Any]]:
        view = await self._context.get_messages_for_request(token_budget, provider)
        return [message for message in view if "metadata" not in message]


class TakesNoBudget(Mutated):
    async def get_messages_for_request(self, provider: Any = None) -> list[dict[str, Any]]:
        return await self._context.get_messages_for_request(provider=provider)


class IgnoresTheBudget(Mutated):
    async def get_messages_for_request(self, token_budget: Any = None, provider: Any = None) -> list[dict[str, Any]]:
        return await self._context.get_messages_for_request(provider=provider)


class CannotBeHashed(Mutated):
    __hash__ = None  # type: ignore[assignment]  # the fault itself


@pytest.mark.parametrize(
    ("mutation", "fault", "words"),
    [
        (ForgetsMetadata, BrokenRuleError, "not kept as it was added"),
        (TurnsTheHistory, BrokenRuleError, "not the one that was added last"),
        (PutsItsOwnLast, BrokenRuleError, "not the user's"),
        (DropsReminders, BrokenRuleError, "not in the request once"),
        (TakesNoBudget, BrokenRuleError, "takes no token_budget"),
        (IgnoresTheBudget, ContextLengthError, "by the loop's own count"),
        (CannotBeHashed, TypeError, "unhashable"),
    ],
)
@awaited
async def test_newest_loop_notices_a_mutated_context(mutation, fault, words):
    """Each rule of the loop is broken once by a context that differs from ours in that alone."""
    async with mounted() as ours:
        await ours.coordinator.mount("context", mutation(ours.context))
        ours.coordinator.register_capability("context.request_retention", None)
        with pytest.raises(fault, match=words):
            await looped(ours, limit=6_000)


@pytest.mark.parametrize(
    ("hard_fit", "fault", "words"),
    [("ignored", BrokenRuleError, "a hard limit was not kept"), ("missing", ContextLengthError, "can be made to fit")],
)
@awaited
async def test_newest_loop_notices_a_mutated_retention(hard_fit, fault, words):
    """A retention that knows no hard limit, or does not keep it, ends the turn."""
    async with mounted() as ours:
        retention = ours.coordinator.get_capability("context.request_retention")

        async def ignoring(*, retain_contents: Any, provider: Any = None, token_budget: Any = None, hard_fit: Any = 0):
            return await retention(retain_contents=retain_contents, provider=provider)

        async def without(*, retain_contents: Any, provider: Any = None, token_budget: Any = None):
            return await retention(retain_contents=retain_contents, provider=provider)

        mutated = ignoring if hard_fit == "ignored" else without
        ours.coordinator.register_capability("context.request_retention", mutated)
        loop = NewestLoop(ours.coordinator, boasting(ours, window=16_000, says=60_000), limit=60_000)
        with pytest.raises(fault, match=words):
            await loop.execute("Read.", reading(60), "<system-reminder>Todo</system-reminder>")


class TakesWhatIsGiven(Mutated):
    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        await self._context.clear()
        for message in messages:
            await self._context.add_message(message)


@awaited
async def test_app_runtime_notices_lost_tool_results(tmp_path):
    """A context that takes a poorer transcript for the conversation breaks the rule of that host."""
    config = {"store": f"sqlite:///{tmp_path}/agent.db"}
    async with mounted(config) as ours:
        await ours.add(say("user", "go"), *rounds(range(3), PROSE))
        transcript = app_runtime_transcript(await ours.kept())
    async with mounted(config) as ours:
        with pytest.raises(BrokenRuleError, match="lost tool results"):
            await app_runtime_restore(TakesWhatIsGiven(ours.context), transcript)


@awaited
async def test_http_history_notices_lost_developer_messages():
    """A context that lets the factory replace developer messages breaks the rule of that host."""
    history = [say("developer", "<context_file>README</context_file>"), say("user", "go")]

    class Loses(Mutated):
        async def get_messages_for_request(self) -> list[dict[str, Any]]:
            return [m for m in await self._context.get_messages_for_request() if m["role"] != "developer"]

    async with mounted(coordinator=MockCoordinator()) as ours:
        with pytest.raises(BrokenRuleError, match="developer"):
            await HttpHistory(Loses(ours.context)).call(history, None)


@awaited
async def test_http_history_notices_an_ignored_history():
    """A context that keeps what it held, where a call brings another history, breaks the rule of that host."""

    class Keeps(Mutated):
        async def set_messages(self, messages: list[dict[str, Any]]) -> None:
            """Changes nothing."""

    async with mounted() as ours:
        with pytest.raises(BrokenRuleError, match="another history"):
            await HttpHistory(Keeps(ours.context)).call([say("user", "go")], None)


def test_measure_is_a_quarter_of_the_characters():
    assert measure([{"role": "user", "content": "x" * 400}]) == len(str({"role": "user", "content": "x" * 400})) // 4
