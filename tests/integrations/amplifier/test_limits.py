"""What a loop asks of one request besides a budget: a measure of its own, reminders, a hard limit; and its form."""

import asyncio
from typing import Any

import pytest
from amplifier_core import ContextLengthError
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import BudgetError
from backscroll.evaluation.validity import problems
from backscroll.events import COMPACTION, USAGE_REJECTED
from backscroll.integrations.amplifier.wire import loop_tokens
from tests.integrations.amplifier.fakes import measure
from tests.integrations.amplifier.harness import AmplifierHarness, awaited, call, mounted, result, rounds, say
from tests.integrations.amplifier.provider import Message
from tests.profiles import examples

PROSE = "one plain word follows the other and nothing is said by it "
READING = [say("user", "Read all."), *rounds(range(20), PROSE * 20)]
WINDOW = 20_000


def reminder(text: str) -> Message:
    return say("user", text, metadata={"ephemeral": True, "persisted": True, "reminder_placement": "pre_user"})


async def retained(ours: AmplifierHarness, *texts: str, **more: Any) -> list[Message]:
    retain = ours.coordinator.get_capability("context.request_retention")
    return await retain(retain_contents=list(texts), **more)


# Both measures


@pytest.mark.parametrize("share", [0.95, 0.6, 0.3])
@awaited
async def test_explicit_budget_holds_by_the_loops_measure(share):
    """A view that fits by an exact count is made smaller where the loop's own count says that it does not."""
    async with mounted({"max_tokens": WINDOW}) as ours:
        await ours.add(*READING)
        whole = await ours.view()
        budget = int(measure(whole) * share)
        view = await ours.view(budget)
        assert measure(view) <= budget
        assert problems(view, READING) == []
        assert await ours.view(budget) == view


@awaited
async def test_impossible_explicit_budget_gives_the_smallest_view():
    """Where no valid view is so small by the loop's count, the smallest one by ours is sent."""
    budget = 300
    async with mounted({"max_tokens": WINDOW}) as ours:
        await ours.add(say("user", "go"), *(call(f"c{n}") for n in range(1)), result("c0", "done"))
        await ours.add(say("assistant", [{"type": "text", "text": "a"} for _ in range(60)]))
        view = await ours.view(budget)
        assert measure(view) > budget >= ours.context.usage().used.tokens
        assert problems(view, await ours.kept()) == []


texts = st.integers(1, 60).map(lambda times: PROSE * times)
turns = st.lists(
    st.one_of(
        st.tuples(st.just("user"), texts),
        st.tuples(st.just("assistant"), texts),
        st.tuples(st.just("call"), texts),
        st.tuples(st.just("reminder"), st.sampled_from(["Todo", "Todo, and more"])),
    ),
    min_size=1,
    max_size=30,
)


def conversation(found: list[tuple[str, str]]) -> list[Message]:
    messages = [say("user", "go")]
    for number, (kind, text) in enumerate(found):
        if kind == "call":
            messages += [call(f"c{number}"), result(f"c{number}", text)]
        else:
            said = f"{number} {text}"  # the judge tells messages apart by what they say
            messages.append(reminder(said) if kind == "reminder" else say(kind, said))
    return messages


@given(turns, st.lists(st.integers(900, 9_000), min_size=1, max_size=3), st.booleans())
@settings(max_examples=examples(40))
def test_any_request_holds_what_the_loop_asks_or_changes_nothing(found, budgets, hard):
    """A request with limits gives a valid view within them, with the reminder in it, or fails and changes nothing."""

    async def play() -> None:
        async with mounted({"max_tokens": WINDOW}) as ours:
            messages = conversation(found)
            await ours.add(*messages)
            wanted = [m["content"] for m in messages if "metadata" in m][-1:]
            for budget in budgets:
                before = await ours.context.view()
                try:
                    view = await retained(ours, *wanted, token_budget=budget, hard_fit=hard)
                except ContextLengthError:
                    assert await ours.context.view() == before
                    continue
                assert problems(view, messages) == []
                assert [m["content"] for m in view if m["content"] in wanted] == wanted
                assert not hard or measure(view) <= budget

    asyncio.run(play())


@pytest.mark.parametrize(
    "payload",
    [
        {"source": {"type": "base64", "data": "x" * 4_000}},
        {"image_url": {"url": "x" * 4_000}},
        {"url": "x" * 4_000},
        {"data": "x" * 4_000},
        {"file_id": "x" * 4_000},
    ],
    ids=lambda payload: next(iter(payload)),
)
@pytest.mark.parametrize("kind", ["image", "image_url", "input_image"])
def test_loop_measure_counts_no_image(kind, payload):
    """Payloads of images are not measured; everything else is, as Python prints it."""
    text = {"type": "text", "text": "look", **payload}  # no image, whatever its keys
    bare = say("user", [{"type": kind, "detail": "high"}, text])
    assert loop_tokens([say("user", [{"type": kind, "detail": "high", **payload}, text])]) == measure([bare]) > 1_000
    assert loop_tokens([say("tool", "x" * 400)]) == measure([say("tool", "x" * 400)])


# Reminders


@awaited
async def test_newest_reminder_stays_and_older_ones_leave():
    """Also without the capability the newest reminder is in each request of a long turn, word for word."""
    async with mounted({"max_tokens": 8_000}) as ours:
        await ours.add(reminder("Todo 1"), reminder("Todo 2"), say("user", "Read all."))
        for number in range(30):
            await ours.add(*rounds([number], PROSE * 30))
            view = await ours.view()
            assert [m["content"] for m in view].count("Todo 2") == 1
        assert ours.payloads(COMPACTION)
        assert "Todo 1" not in [m["content"] for m in view]


@awaited
async def test_newest_reminder_stays_after_a_resume(tmp_path):
    """A session that goes on from its store knows which reminder holds."""
    config = {"store": f"sqlite:///{tmp_path}/agent.db", "max_tokens": 8_000}
    async with mounted(config) as ours:
        await ours.add(say("user", "Read all."), reminder("Todo 1"))
        for number in range(20):
            await ours.add(*rounds([number], PROSE * 30))
            await ours.view()
    async with mounted(config) as ours:
        for number in range(20, 60):
            await ours.add(*rounds([number], PROSE * 30))
            assert reminder("Todo 1") in await ours.view()


@awaited
async def test_retention_brings_an_older_reminder_back():
    """A reminder that was compacted stands in the next request at its place, if the loop says that it has to."""
    async with mounted({"max_tokens": 8_000}) as ours:
        await ours.add(say("user", "Read all."), reminder("Todo 1"), reminder("Todo 2"))
        await ours.add(*rounds(range(30), PROSE * 30))
        before = await ours.view()
        assert reminder("Todo 1") not in before
        view = await retained(ours, "Todo 1")
        assert view.index(reminder("Todo 1")) < view.index(reminder("Todo 2"))
        assert problems(view, await ours.kept()) == []
        assert ours.payloads(COMPACTION)[-1]["trigger"] == "retained"
        assert await retained(ours, "Todo 1") == view


@pytest.mark.parametrize(
    ("content", "more", "words"),
    [
        ("Todo 3", {}, "no reminder with the content 'Todo 3' is held"),
        ("go", {}, "no reminder with the content 'go' is held"),
        (PROSE * 300, {"token_budget": 2_000}, "what must stay needs"),
        ("Todo 1", {"token_budget": 60, "hard_fit": True}, "context length exceeded"),
    ],
)
@awaited
async def test_retention_that_cannot_be_had_changes_nothing(content, more, words):
    """The error is the kernel's and Backscroll's, and the next request is what it would have been."""
    async with mounted({"max_tokens": WINDOW}) as ours:
        await ours.add(say("user", "go"), reminder("Todo 1"), reminder(PROSE * 300), *READING)
        before = await ours.view()
        with pytest.raises(ContextLengthError, match=words) as raised:
            await retained(ours, content, **more)
        assert isinstance(raised.value, BudgetError)
        assert str(raised.value).startswith("context length exceeded: ")
        assert type(raised.value).__qualname__ == "ContextLengthError"
        assert await ours.view() == before


@awaited
async def test_hard_fit_uses_the_whole_budget():
    """A hard limit is met without going down to a share of it; a plain budget keeps some of it free."""
    async with mounted({"max_tokens": WINDOW}) as ours:
        await ours.add(*READING)
        whole = measure(await ours.view())
        assert 0.7 * whole < measure(await retained(ours, token_budget=int(0.9 * whole), hard_fit=True)) <= 0.9 * whole
    async with mounted({"max_tokens": WINDOW}) as ours:
        await ours.add(*READING)
        assert measure(await retained(ours, token_budget=int(0.9 * whole))) < 0.7 * whole


# The form of a request


@awaited
async def test_lines_of_our_own_are_marked_as_passing():
    """A line that only lets roles alternate is not the last user message that a loop looks for."""
    async with mounted({"max_tokens": 8_000}) as ours:
        await ours.add(*READING, *rounds(range(20, 60), PROSE * 20))
        view = await ours.view()
        lines = [m for m in view if m["role"] == "user" and m["content"].startswith("<summary>")]
        assert lines
        assert all(m["metadata"] == {"ephemeral": True} for m in lines)
        assert measure(view) == loop_tokens(view)


def answered(number: int) -> list[Message]:
    asked = {**call(f"c{number}"), "metadata": {"openai:response_id": f"resp_{number}", "openai:status": "done"}}
    return [asked, result(f"c{number}", PROSE * 30)]


def chained(view: list[Message]) -> list[str]:
    """Ids of responses on which a provider may build the next request."""
    return [m["metadata"]["openai:response_id"] for m in view if "openai:response_id" in m.get("metadata", {})]


@awaited
async def test_response_ids_from_before_a_compaction_are_not_sent():
    """A compacted request builds on no earlier response; later responses are chained again."""
    async with mounted({"max_tokens": 8_000}) as ours:
        await ours.add(say("user", "Read all."))
        for number in range(40):
            compactions = len(ours.payloads(COMPACTION))
            view = await ours.view()
            if len(ours.payloads(COMPACTION)) > compactions:
                assert chained(view) == []
                newest = number - 1
            elif compactions:
                assert chained(view) == [f"resp_{later}" for later in range(newest + 1, number)]
            else:
                assert chained(view) == [f"resp_{earlier}" for earlier in range(number)]
            await ours.add(*answered(number))
        assert len(ours.payloads(COMPACTION)) >= 2
        assert all(
            m["metadata"]["openai:status"] == "done" for m in view if m["role"] == "assistant" and "metadata" in m
        )
        assert chained(await ours.kept()) == [f"resp_{number}" for number in range(40)]


# Usage that the loop reports


@awaited
async def test_foreground_usage_is_heard_instead_of_events():
    """Once a loop reports itself, an event of another call does not count; unknown figures change nothing."""
    async with mounted({"max_tokens": WINDOW}) as ours:
        await ours.add(*READING)
        record = ours.coordinator.get_capability("context.foreground_usage")()
        await ours.view()
        estimate = ours.context.usage().used.tokens
        record(input_tokens=None)
        await ours.view()
        await ours.coordinator.hooks.emit("llm:response", {"usage": {"input_tokens": 300, "output_tokens": 1}})
        assert ours.context.usage().used.tokens == estimate
        record(input_tokens=estimate + 500, cache_write_tokens=100)
        await ours.view()
        assert ours.context.usage().used.tokens == estimate + 500

    assert ours.payloads(USAGE_REJECTED) == []


# The system prompt


@awaited
async def test_prompt_factory_is_the_object_that_was_set():
    """Hooks find the function that they set, wrap it once, and the prompt does not grow."""

    async def base() -> str:
        return "Be brief."

    async with mounted() as ours:
        context = ours.context
        assert context._system_prompt_factory is None
        await context.set_system_prompt_factory(base)
        await ours.add(say("user", "go"))
        wrappers: list[Any] = []
        for _ in range(20):
            for number in range(3):
                await wrapped(context, wrappers, number)
            assert (await ours.view())[0]["content"] == "Be brief. 0 1 2"
        await context.set_system_prompt_factory(None)
        assert context._system_prompt_factory is None
        assert await ours.view() == [say("user", "go")]


async def wrapped(context: Any, wrappers: list[Any], number: int) -> None:
    """A hook that puts its text behind the prompt, once."""
    current = context._system_prompt_factory
    if len(wrappers) > number and current in wrappers[number:]:
        return

    async def wrapper() -> str:
        return f"{await current()} {number}"

    wrappers.append(wrapper)
    await context.set_system_prompt_factory(wrapper)
