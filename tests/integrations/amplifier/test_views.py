"""Views of what hosts write: every shape of messages gives a request that a provider takes, at a cost that stays."""

import json
import sys
from pathlib import Path

import pytest
from amplifier_core import events

from backscroll.evaluation.validity import problems
from backscroll.integrations.amplifier.hooks import FILE_FAILED
from tests.integrations.amplifier.harness import awaited, call, mounted, result, say
from tests.integrations.amplifier.provider import Message, alike
from tests.integrations.amplifier.scenarios import (
    CALLS_IN_BLOCKS,
    CHAT,
    DEVELOPER,
    NO_CONTENT,
    ORPHAN,
    REMINDER,
    TOGETHER,
    TORN,
    words,
)
from tests.integrations.amplifier.tools import toolbox
from tests.long_run import usual_sets


async def shown(messages: list[Message], budget: int) -> list[Message]:
    """The view that our module gives of these messages."""
    async with mounted() as ours:
        await ours.add(*messages)
        return await ours.view(budget)


@awaited
async def test_first_user_message_of_a_long_session_stays_verbatim():
    """The first user message of a long session stays as it was."""
    view = await shown(CHAT, budget=6_000)
    assert len(view) < len(CHAT)
    assert view[0] == CHAT[0]
    assert view[-2:] == CHAT[-2:]


@awaited
async def test_calls_only_in_the_content_stay_with_their_results():
    """Calls that stand only in the content stay with their results."""
    view = await shown(CALLS_IN_BLOCKS, budget=2_000)
    assert len(view) < len(CALLS_IN_BLOCKS)
    assert problems(view, CALLS_IN_BLOCKS) == []


@awaited
async def test_content_of_none_is_sent_as_no_words():
    async with mounted() as ours:
        await ours.add(*NO_CONTENT)
        assert (await ours.view())[1]["content"] == ""
        assert await ours.kept() == NO_CONTENT


@pytest.mark.parametrize("role", ["user", "system"])
@awaited
async def test_hook_message_inside_a_pair_moves_behind_it(role):
    """What a hook puts between a call and its result goes behind it."""
    hook = say(role, "mind the style", metadata={"source": "hook", "hook_name": "style"})
    messages = [say("user", "go"), call("c"), hook, result("c", "done"), say("assistant", "Done.")]
    async with mounted() as ours:
        await ours.add(*messages)
        assert await ours.kept() == messages
        assert await ours.view() == [messages[0], messages[1], messages[3], hook, messages[4]]


@awaited
async def test_developer_messages_stay():
    view = await shown(DEVELOPER, budget=2_000)
    assert len(view) < len(DEVELOPER)
    assert view[0] == DEVELOPER[0]


@awaited
async def test_developer_messages_stay_with_a_system_prompt_factory():
    rules = say("developer", "<context_file>README</context_file>")
    async with mounted() as ours:
        await ours.context.set_system_prompt_factory(lambda: "Be brief.")
        await ours.add(say("system", "Be long."), rules, say("user", "go"))
        assert await ours.view() == [say("system", "Be brief."), rules, say("user", "go")]
        states = [found.reason for found in await ours.context.explain()]
        assert states[0] == "replaced by the system prompt factory" not in states[1:]


@awaited
async def test_call_without_a_result_after_a_crash_is_answered():
    """A call that a crash left without its result is answered in the request."""
    async with mounted() as ours:
        await ours.add(*ORPHAN, say("user", "Are you there?"))
        view = await ours.view()
        assert problems(view, await ours.kept()) == []
        assert view[2]["content"].startswith("[no result recorded] Still waiting")
        assert (await ours.kept())[:2] == ORPHAN


@awaited
async def test_pictures_are_counted_by_their_size():
    (look,) = [tool for tool in toolbox() if tool.name == "screenshot"]
    async with mounted({"max_tokens": 20_000}) as ours:
        await ours.add(say("user", "Look at the pages."))
        for number in range(8):
            picture = await look.execute({"path": f"{number}.png", "lines": 30})
            await ours.add(call(f"c{number}"), result(f"c{number}", picture.content))
            view = await ours.view()
        assert view == await ours.kept()
        assert 8 * 300 < ours.context.usage().used.tokens < 8 * 1_600
        assert ours.payloads(events.CONTEXT_COMPACTION) == []


@awaited
async def test_results_of_calls_that_were_made_together_stay_together():
    view = await shown(TOGETHER, budget=700)
    assert view != TOGETHER
    assert problems(view, TOGETHER) == []


@pytest.mark.long
@awaited
async def test_5_001_messages_are_added_and_shown():
    async with mounted() as ours:
        await ours.add(*(say(("user", "assistant")[n % 2], f"{n} {words(12)}") for n in range(5_001)))
        view = await ours.view(budget=20_000)
    assert view[-1]["content"].startswith("5000 ")


@pytest.mark.parametrize(("rounds", "budget"), usual_sets([(240, 2_400), (600, 6_000)], 1))
@awaited
async def test_the_cost_of_a_request_does_not_grow_with_the_history(rounds, budget):
    """In calls of functions, which do not depend on how busy the machine is; both halves compact several times."""
    called = 0

    def count(*_: object) -> None:
        nonlocal called
        called += 1

    async with mounted({"max_tokens": budget}) as ours:
        costs = []
        for number in range(rounds):
            await ours.add(say("user", f"{number} {words(12)}"), say("assistant", f"{number} {words(12)}"))
            called = 0
            sys.setprofile(count)
            try:
                await ours.view()
            finally:
                sys.setprofile(None)
            costs.append(called)
    early, late = sum(costs[rounds // 6 : 7 * rounds // 12]), sum(costs[7 * rounds // 12 :])
    assert late < 1.1 * early


@awaited
async def test_the_file_is_read_once(tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text(json.dumps(CHAT[0]) + "\n")
    async with mounted({"transcript_path": str(path)}) as ours:
        assert await ours.view() == CHAT[:1]
        path.unlink()
        await ours.add(CHAT[1])
        assert await ours.view() == CHAT[:2]


@awaited
async def test_a_torn_line_is_reported_and_swallows_nothing(tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text(TORN)
    question = say("user", "Are you there?")
    async with mounted({"transcript_path": str(path)}) as ours:
        with pytest.warns(RuntimeWarning, match="damaged lines"):
            await ours.add(question)
        (told,) = ours.payloads(FILE_FAILED)
        assert (told["path"], told["damaged_lines"]) == (str(path), [2])
    assert await _resumed(path) == [say("user", "go"), question]


async def _resumed(path: Path) -> list[Message]:
    async with mounted({"transcript_path": str(path)}) as ours:
        with pytest.warns(RuntimeWarning, match="damaged lines"):
            return await ours.kept()


@awaited
async def test_ephemeral_messages_do_not_come_back(tmp_path):
    config = {"transcript_path": str(tmp_path / "transcript.jsonl")}
    async with mounted(config) as ours:
        await ours.add(say("user", "go"), REMINDER)
        assert await ours.view() == [say("user", "go"), REMINDER]
    async with mounted(config) as ours:
        assert await ours.view() == [say("user", "go")]


NOT_MASKING = {"clear_at_least_tokens": 0}


@pytest.mark.parametrize(
    ("mark", "config"),
    usual_sets([("critical", {}), ("pinned", NOT_MASKING), ("pinned", {}), ("critical", NOT_MASKING)], 2),
)
@awaited
async def test_large_protected_message_does_not_recompact_each_time(mark, config):
    """One protected message that nearly fills the budget does not start a compaction for each request."""
    async with mounted({"max_tokens": 20_000, **config}) as ours:
        rules = say("user", words(3_790), metadata={mark: True})
        await ours.add(say("user", "go"), rules)
        await ours.view()
        assert ours.context.usage().used.tokens > 0.94 * 20_000
        for number in range(60):
            before = len(ours.payloads(events.CONTEXT_COMPACTION))
            await ours.add(call(f"c{number}", path=f"{number}.py"), result(f"c{number}", words(10)))
            view = await ours.view()
            assert view == await ours.view()
            assert any(alike(message, rules) for message in view)
            assert len(ours.payloads(events.CONTEXT_COMPACTION)) <= before + 1
        assert 1 <= len(ours.payloads(events.CONTEXT_COMPACTION)) <= 20
