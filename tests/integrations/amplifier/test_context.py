"""One mounted context: budgets, lanes, what is sent, what a host restores, the system prompt, and many at once."""

import asyncio
import threading
from typing import Any

import pytest
from amplifier_core import Message as KernelMessage
from amplifier_core import ModelInfo, ProviderInfo
from amplifier_core.message_models import TextBlock

from backscroll import BudgetError, MessageError
from backscroll.evaluation.validity import problems
from backscroll.events import PROVIDER_WINDOW_UNAVAILABLE
from backscroll.integrations.amplifier.hooks import PROMPT_FAILED, RESTORE_IGNORED
from tests.integrations.amplifier.harness import AmplifierHarness, awaited, call, chat, mounted, result, rounds, say
from tests.integrations.amplifier.scenarios import ORPHAN, words

# Budgets


class Telling:
    """A provider that tells what it was made with."""

    name = "telling"

    def __init__(self, **figures: Any) -> None:
        self.figures = figures

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(id="telling", display_name="", capabilities=[], defaults=self.figures)


class TellingSlowly(Telling):
    async def get_info(self) -> ProviderInfo:
        await asyncio.sleep(0)
        return super().get_info()


class TellingOfItsModel(Telling):
    """By the method that context-simple asks first; the other one says less."""

    def get_model_info(self) -> ModelInfo:
        return ModelInfo(id="m", display_name="", context_window=50_000, max_output_tokens=8_000)


class Failing(Telling):
    def get_info(self) -> ProviderInfo:
        raise ConnectionError("no network")


class Silent:
    """Has no `get_info` at all."""


BY_CONTRACT = [
    (Telling(context_window=64_000, max_output_tokens=4_000), 59_000),
    (TellingSlowly(context_window=64_000, max_output_tokens=4_000), 59_000),
    (TellingOfItsModel(context_window=9_000), 41_000),
    (Telling(context_window=64_000), 64_000 - 4_096 - 1_000),
    (Telling(max_output_tokens=4_000), 30_000 - 4_000 - 1_000),
    (Telling(), 30_000),
    (Telling(context_window="large"), 30_000),
    (Silent(), 30_000),
    (None, 30_000),
]
BY_SIMPLE = [
    (Telling(context_window=64_000, max_output_tokens=4_000), 64_000 - 2_000 - 4_096 - 800),
    (TellingOfItsModel(context_window=9_000), 50_000 - 4_000 - 4_096 - 800),
    (Silent(), 30_000),
]


@pytest.mark.parametrize(
    ("formula", "provider", "tokens"),
    [("contract", *case) for case in BY_CONTRACT] + [("context-simple", *case) for case in BY_SIMPLE],
)
@awaited
async def test_budget_is_the_providers_window_less_the_reserve(formula, provider, tokens):
    """The budget is what the provider says less what is kept free."""
    async with mounted({"max_tokens": 30_000, "budget_formula": formula}) as ours:
        await ours.add(say("user", "go"))
        assert await asked(ours, None, provider) == tokens


async def asked(ours: AmplifierHarness, budget: int | None = None, provider: Any = None) -> int:
    """The budget of a request."""
    await ours.context.get_messages_for_request(budget, provider, lane="asked")
    return int(ours.context.usage("asked").window)


@awaited
async def test_failing_provider_is_reported_and_the_request_goes_on():
    """A provider that fails is reported and the request goes on."""
    async with mounted({"max_tokens": 30_000}) as ours:
        await ours.add(say("user", "go"))
        with pytest.warns(RuntimeWarning, match="no network"):
            assert await asked(ours, None, Failing()) == 30_000
        (told,) = ours.payloads(PROVIDER_WINDOW_UNAVAILABLE)
        assert "get_info() of Failing failed" in told["reason"]


@awaited
async def test_the_budget_that_is_given_goes_before_all_and_0_is_none():
    provider = Telling(context_window=64_000, max_output_tokens=4_000)
    async with mounted({"max_tokens": 30_000}) as ours:
        await ours.add(say("user", "go"))
        assert await asked(ours, 7_000, provider) == 7_000
        assert await asked(ours, 0, provider) == 59_000


@awaited
async def test_budget_below_the_required_raises_and_the_next_works():
    """A budget below what must stay says so and the next request goes on."""
    async with mounted() as ours:
        await ours.add(say("system", words(1_000)), say("user", "go"))
        with pytest.raises(BudgetError, match=r"leading system messages.*raise `token_budget`"):
            await ours.view(500)
        assert len(await ours.view(9_000)) == 2


# Lanes


@awaited
async def test_each_model_has_a_plan_and_no_provider_means_the_last():
    """Each model has a plan of its own and no provider is the one before."""
    small = Telling(model="small-1", context_window=14_000, max_output_tokens=2_000)
    large = Telling(model="large-1", context_window=200_000, max_output_tokens=2_000)
    async with mounted() as ours:
        await ours.add(say("user", "go"), *rounds(range(4), words(40)))
        await ours.view(provider=large)
        await ours.add(*rounds(range(4, 25), words(100)))
        shortened = await ours.view(provider=small)
        whole = await ours.view(provider=large)
        assert await ours.view() == whole == await ours.kept() != shortened
        lanes = "telling/small-1", "telling/large-1"
        assert [ours.context.usage(lane).compactions for lane in lanes] == [1, 0]


@pytest.mark.parametrize(
    ("provider", "lane"),
    [
        (Telling(model="gpt-5"), "telling/gpt-5"),
        (TellingSlowly(model="gpt-5"), "telling/gpt-5"),
        (type("Named", (Telling,), {"name": "second"})(model="gpt-5"), "second/gpt-5"),
        (type("Plain", (Telling,), {"default_model": "claude-sonnet-4-5"})(model="other"), "telling/claude-sonnet-4-5"),
        (Telling(), "telling"),
        (Silent(), "main"),
        (None, "main"),
    ],
)
@awaited
async def test_a_lane_is_named_after_the_provider_and_its_model(provider, lane):
    async with mounted() as ours:
        await ours.add(say("user", "go"))
        await ours.view(provider=provider)
        assert ours.context.usage(lane).messages == 1


@awaited
async def test_two_instances_of_a_provider_have_their_own_lanes():
    """Instances have one `name` and one model; only the names under which the host mounted them tell them apart."""
    small, large = (Telling(model="m-1", context_window=window, max_output_tokens=2_000) for window in (9_000, 200_000))
    async with mounted() as ours:
        for name, provider in (("small", small), ("large", large)):
            await ours.coordinator.mount("providers", provider, name=name)
        await ours.add(say("user", "go"), *rounds(range(25), words(80)))
        whole = await ours.view(provider=large)
        assert len(await ours.view(provider=small)) < len(whole)
        assert await ours.view(provider=large) == whole == await ours.kept()
        assert [ours.context.usage(f"{name}/m-1").compactions for name in ("small", "large")] == [1, 0]


# What is sent


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        (call("c", content=None), call("c", content="")),
        ({"role": "assistant", "tool_calls": call("c")["tool_calls"]}, call("c", content="")),
        ({**call("c"), "_truncated": True, "_seen": None}, call("c")),
        ({**call("c"), "thinking_block": {"type": "thinking"}}, {**call("c"), "thinking_block": {"type": "thinking"}}),
    ],
)
@awaited
async def test_request_is_for_the_kernel_and_the_history_verbatim(stored, sent):
    """A request is what the kernel takes and the history is what came."""
    async with mounted() as ours:
        await ours.add(say("user", "go"), stored, result("c", "done"))
        view = await ours.view()
        assert view[1] == sent
        assert [KernelMessage(**message).role for message in view] == ["user", "assistant", "tool"]
        assert (await ours.kept())[1] == stored


@pytest.mark.parametrize(("content", "text"), [({"rows": [1, 2]}, '{"rows": [1, 2]}'), (7, "7"), (True, "true")])
@awaited
async def test_content_without_text_or_blocks_is_sent_as_json(content, text):
    """Content that is neither text nor blocks is sent as its JSON."""
    async with mounted() as ours:
        await ours.add(say("user", "go"), call("c"), result("c", content))
        assert KernelMessage(**(await ours.view())[2]).content == text
        assert (await ours.kept())[2]["content"] == content


@awaited
async def test_objects_of_the_kernel_are_messages_too():
    async with mounted() as ours:
        await ours.add(say("user", "go"), KernelMessage(role="assistant", content=[TextBlock(text="done")]))
        assert (await ours.kept())[1]["content"][0]["text"] == "done"
        KernelMessage(**(await ours.view())[1])


@pytest.mark.parametrize("message", [{}, None, "go", {"content": "go"}, {"role": 1}, say("user", float("nan"))])
@awaited
async def test_what_is_no_message_is_refused_and_nothing_is_kept_of_it(message):
    async with mounted() as ours:
        with pytest.raises(MessageError):
            await ours.context.add_message(message)
        assert await ours.kept() == []


@awaited
async def test_what_is_handed_out_is_a_copy():
    async with mounted() as ours:
        await ours.add(say("user", "go"), call("c", path="a.py"), result("c", "done"))
        before = await ours.kept()
        for messages in (await ours.view(), await ours.kept()):
            messages[1]["tool_calls"][0]["arguments"]["path"] = "b.py"
            messages.clear()
        assert await ours.view() == await ours.kept() == before


# What a host restores

HELD = [
    say("system", "Be brief."),
    say("developer", "Answer in French."),
    say("user", "go"),
    {**call("c", content=None, path="a.py", lines=None), "metadata": {"seen": None}},
    result("c", "done"),
    say("assistant", [{"type": "text", "text": "Done.", "visibility": None}]),
]
FILTERED = [
    say("user", "go"),
    {
        "role": "assistant",
        "tool_calls": [{"id": "c", "tool": "read_file", "arguments": {"path": "a.py"}}],
        "metadata": {},
    },
    result("c", "done"),
    say("assistant", [{"type": "text", "text": "Done."}]),
]
"""The same as hosts write it: without system and developer messages and without None at any depth."""


@awaited
async def test_filtered_copy_changes_nothing_and_is_reported():
    """A filtered copy of what is held changes nothing and is reported."""
    async with mounted() as ours:
        await ours.add(*HELD)
        for times in (1, 2):  # hosts restore twice
            await ours.context.set_messages(FILTERED)
            assert await ours.kept() == HELD
            assert ours.payloads(RESTORE_IGNORED)[times - 1]["kept"] == len(HELD)
        assert ours.payloads(RESTORE_IGNORED)[0]["messages"] == len(FILTERED)


@pytest.mark.parametrize(
    "given",
    [FILTERED[:-1], [*FILTERED, say("user", "more")], [say("user", "Go!"), *FILTERED[1:]], [say("user", "other")], []],
    ids=["shorter", "longer", "one altered", "another", "nothing"],
)
@awaited
async def test_everything_else_is_taken_as_it_is(given):
    async with mounted() as ours:
        await ours.add(*HELD)
        await ours.context.set_messages(given)
        assert await ours.kept() == given
        assert ours.payloads(RESTORE_IGNORED) == []


@awaited
async def test_a_repair_with_synthetic_results_is_applied():
    repaired = [*ORPHAN, result("c1", "[interrupted]")]
    async with mounted() as ours:
        await ours.add(*ORPHAN)
        await ours.context.set_messages(repaired)
        assert await ours.view() == await ours.kept() == repaired


@awaited
async def test_a_fork_goes_on_from_the_whole_history():
    talk = [say("user", "Read all."), *rounds(range(30), words(60))]
    async with mounted({"max_tokens": 6_000}) as ours, mounted({"max_tokens": 6_000}) as fork:
        await ours.add(*talk)
        assert len(await ours.view()) < len(talk)
        await fork.context.set_messages(await ours.kept())
        await fork.add(say("user", "And now?"))
        assert await ours.kept() == talk
        assert await fork.kept() == [*talk, say("user", "And now?")]
        assert problems(await fork.view(), await fork.kept()) == []


@awaited
async def test_clear_empties_the_conversation():
    async with mounted() as ours:
        await ours.add(*chat(3, "so"))
        await ours.context.clear()
        assert await ours.kept() == []
        await ours.add(say("user", "anew"))
        assert await ours.view() == [say("user", "anew")]


# The system prompt


@awaited
async def test_factory_replaces_stored_system_messages_not_hooks():
    """A factory stands for stored system messages but not for those of hooks."""

    async def factory() -> str:
        return "Be brief."

    note = say("system", "CI is red.", metadata={"source": "hook"})
    async with mounted() as ours:
        await ours.add(say("system", "Be long."), note, say("user", "go"))
        await ours.context.set_system_prompt_factory(factory)
        assert await ours.view() == [say("system", "Be brief."), note, say("user", "go")]
        await ours.context.set_system_prompt_factory(None)
        assert await ours.view() == [say("system", "Be long."), note, say("user", "go")]


@awaited
async def test_a_factory_that_fails_is_replaced_by_its_last_text():
    answers: list[Any] = [OSError("gone"), "Be brief.", OSError("gone"), "Be thorough."]

    def factory() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with mounted() as ours:
        await ours.context.set_system_prompt_factory(factory)
        await ours.add(say("user", "go"))
        with pytest.raises(OSError, match="gone"):
            await ours.view()
        assert (await ours.view())[0] == say("system", "Be brief.")
        with pytest.warns(RuntimeWarning, match="the system prompt factory failed"):
            assert (await ours.view())[0] == say("system", "Be brief.")
        assert "gone" in ours.payloads(PROMPT_FAILED)[0]["error"]
        assert (await ours.view())[0] == say("system", "Be thorough.")


# Many at once


async def crew(ours, name: str) -> None:
    for number in range(20):
        await ours.context.append(call(f"{name}{number}"), result(f"{name}{number}", words(20)))
        await ours.view()


@awaited
async def test_many_tasks_may_add_and_ask_at_once():
    async with mounted({"max_tokens": 6_000}) as ours:
        await ours.add(say("user", "go"))
        await asyncio.gather(*(crew(ours, name) for name in "abcd"))
        assert len(await ours.kept()) == 1 + 4 * 20 * 2
        assert problems(await ours.view(), await ours.kept()) == []


@awaited
async def test_threads_with_loops_of_their_own_may_share_a_context():
    async with mounted({"max_tokens": 6_000}) as ours:
        await ours.add(say("user", "go"))
        threads = [threading.Thread(target=lambda name=name: asyncio.run(crew(ours, name))) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        kept = await ours.kept()
        assert len(kept) == 1 + 3 * 20 * 2
        assert problems(await ours.view(), kept) == []
