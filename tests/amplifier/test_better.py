"""Each failure of `test_shipped.py` once more, under our module: the same scenario, and it goes well."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ProviderInfo, events

from backscroll.adapters.amplifier.signals import FILE_FAILED
from backscroll.events import OVERFLOW
from backscroll.replay.validity import problems
from tests.amplifier.ours import awaited, call, mounted, result, say, session
from tests.amplifier.provider import Message, Provider, alike
from tests.amplifier.scenarios import (
    CALLS_IN_BLOCKS,
    CHAT,
    DENSE,
    DEVELOPER,
    HUGE,
    NO_CONTENT,
    ORPHAN,
    PICTURES,
    REMINDER,
    TOGETHER,
    TORN,
    remind,
    resume,
    words,
    worked,
)
from tests.amplifier.scripts import Turn, reading, use, work
from tests.amplifier.scripts import say as answer
from tests.amplifier.world import Run, assert_sound

OURS = "backscroll"


async def shown(messages: list[Message], budget: int) -> list[Message]:
    """The view that our module gives of these messages."""
    async with mounted() as ours:
        await ours.add(*messages)
        return await ours.view(budget)


# context-simple


def test_ordinary_work_is_sound():
    assert_sound(worked(OURS))


def test_it_compacts_seldom_and_tells_before_and_after():
    ours, simple = worked(OURS), worked("simple")
    assert 1 <= ours.compactions < 0.3 * simple.compactions
    assert ours.count(events.CONTEXT_PRE_COMPACT) == ours.count(events.CONTEXT_POST_COMPACT) == ours.compactions


def test_most_requests_begin_with_the_one_before():
    assert worked(OURS).extending > 0.8 > 2 * worked("simple").extending


def test_none_of_its_own_keys_reaches_the_provider():
    assert worked(OURS).extras == frozenset()


@awaited
async def test_the_first_user_message_of_a_long_session_stays_as_it_was():
    view = await shown(CHAT, budget=6_000)
    assert len(view) < len(CHAT)
    assert view[0] == CHAT[0]
    assert view[-2:] == CHAT[-2:]


def test_a_huge_new_result_is_cut_before_it_is_sent():
    assert_sound(session(HUGE, window=24_000))


def test_dense_text_fits():
    run = session(DENSE, window=26_000)
    assert_sound(run)
    assert run.compactions >= 1


def test_pictures_are_counted_by_their_size_and_a_nearly_empty_request_stays_as_it_is():
    run = session(PICTURES)
    assert_sound(run)
    assert run.compactions == 0


@awaited
async def test_calls_that_stand_only_in_the_content_stay_with_their_results():
    view = await shown(CALLS_IN_BLOCKS, budget=2_000)
    assert len(view) < len(CALLS_IN_BLOCKS)
    assert problems(view, CALLS_IN_BLOCKS) == []


def test_content_of_none_is_sent_as_no_words():
    run = resume(OURS, NO_CONTENT)
    assert_sound(run)
    assert run.requests[0].messages[1]["content"] == ""
    assert run.kept[1]["content"] is None


def test_what_a_hook_injects_at_a_tool_goes_behind_the_result():
    assert_sound(session(reading(files=2, lines=10), hooks=[(events.TOOL_PRE, remind)]))


@awaited
async def test_developer_messages_stay():
    view = await shown(DEVELOPER, budget=2_000)
    assert len(view) < len(DEVELOPER)
    assert view[0] == DEVELOPER[0]


def test_a_call_that_a_crash_left_without_its_result_is_answered_in_the_request_and_the_session_goes_on():
    run = resume(OURS, ORPHAN)
    assert_sound(run)
    assert run.answers == ["Yes.", "Still."]
    assert run.kept[:2] == ORPHAN


@awaited
async def test_5_001_messages_are_added_and_shown_in_seconds():
    begun = time.process_time()
    async with mounted() as ours:
        await ours.add(*(say(("user", "assistant")[n % 2], f"{n} {words(12)}") for n in range(5_001)))
        view = await ours.view(budget=20_000)
    assert view[-1]["content"].startswith("5000 ")
    assert time.process_time() - begun < 30


@awaited
async def test_the_cost_of_a_request_does_not_grow_with_the_history():
    async with mounted({"max_tokens": 6_000}) as ours:
        costs = []
        for number in range(600):
            await ours.add(say("user", f"{number} {words(12)}"), say("assistant", f"{number} {words(12)}"))
            begun = time.process_time()
            await ours.view()
            costs.append(time.process_time() - begun)
    assert sum(costs[400:]) < 4 * sum(costs[:200])


# context-persistent


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
        with pytest.warns(RuntimeWarning, match="damaged_lines"):
            await ours.add(question)
        (told,) = ours.payloads(FILE_FAILED)
        assert (told["path"], told["damaged_lines"]) == (str(path), [2])
    assert await _resumed(path) == [say("user", "go"), question]


async def _resumed(path: Path) -> list[Message]:
    async with mounted({"transcript_path": str(path)}) as ours:
        with pytest.warns(RuntimeWarning, match="damaged_lines"):
            return await ours.kept()


@awaited
async def test_ephemeral_messages_do_not_come_back(tmp_path):
    config = {"transcript_path": str(tmp_path / "transcript.jsonl")}
    async with mounted(config) as ours:
        await ours.add(say("user", "go"), REMINDER)
        assert await ours.view() == [say("user", "go"), REMINDER]
    async with mounted(config) as ours:
        assert await ours.view() == [say("user", "go")]


# The example of the contract


def test_the_first_and_the_last_user_message_are_always_there():
    assert worked(OURS).users_whole


@awaited
async def test_results_of_calls_that_were_made_together_stay_together():
    view = await shown(TOGETHER, budget=700)
    assert view != TOGETHER
    assert problems(view, TOGETHER) == []


# What users of Amplifier reported


class Boasting(Provider):
    """Says that its window is larger than it is."""

    told = 0

    def get_info(self) -> ProviderInfo:
        info = super().get_info()
        return info.model_copy(update={"defaults": {**info.defaults, "context_window": self.told}})


def boasting(told: int, turns: list[Turn], **options: Any) -> Run:
    provider = Boasting(20_000, **options)
    provider.told = told
    with pytest.warns(RuntimeWarning, match=OVERFLOW):
        return session(turns, provider=provider, system="Be brief.")


def assert_recovers(run: Run) -> None:
    """No request was refused twice, and each one after a refusal was shorter."""
    assert run.errors == []
    assert run.problems == []
    assert run.overflows
    for number in run.overflows:
        assert run.requests[number + 1].tokens < 0.9 * run.requests[number].tokens


@pytest.mark.parametrize("told", [24_000, 30_000, 40_000])
def test_a_request_that_was_refused_as_too_long_is_never_sent_again_as_it_was(told):
    turns = [*HUGE, Turn("And this one?", (use("run_tests", path="b", lines=4_800), answer("A typo.")))]
    assert_recovers(boasting(told, turns))


def test_work_goes_on_below_what_was_refused():
    run = boasting(40_000, work(turns=10, rounds=6))
    assert_recovers(run)
    assert len(run.overflows) <= 2
    assert len(run.answers) == 10


def test_what_one_refusal_taught_holds_for_the_next_huge_result():
    turns = [*HUGE, Turn("And this one?", (use("run_tests", path="b", lines=4_800), answer("A typo.")))]
    run = boasting(40_000, turns)
    first = run.requests[run.overflows[0]].tokens
    assert all(sent.tokens < first for sent in run.requests[run.overflows[0] + 1 :])


@pytest.mark.parametrize("mark", ["critical", "pinned"])
@pytest.mark.parametrize("config", [{}, {"min_batch_tokens": 0}], ids=["masking", "not masking"])
@awaited
async def test_one_protected_message_that_nearly_fills_the_budget_does_not_start_a_compaction_for_each_request(
    mark, config
):
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
