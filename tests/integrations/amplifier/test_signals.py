"""What the module hears from its host and what it tells it: usage, refusals, events, and the `recall` tool."""

import asyncio
from typing import Any

import pytest
from amplifier_core import HookResult, Usage, events
from amplifier_core.testing import MockCoordinator

from amplifier_module_context_backscroll import mount
from backscroll.events import COMPACTION, MESSAGE_ADDED, OVERFLOW, POST_COMPACT, PRE_COMPACT, USAGE_REJECTED
from backscroll.integrations.amplifier import hooks as signals
from tests.integrations.amplifier.harness import AmplifierHarness, awaited, mounted, rounds, say
from tests.integrations.amplifier.scenarios import words
from tests.present import present

TALK = [say("user", "Read all."), *rounds(range(8), words(60))]


async def asked(ours: AmplifierHarness) -> int:
    """A context that was just asked for a request; what it takes by our own count."""
    await ours.add(*TALK)
    await ours.view()
    return int(ours.context.usage().used.tokens)


def seen(ours: AmplifierHarness) -> tuple[int, str]:
    """What the request takes, and who says so."""
    used = ours.context.usage().used
    return used.tokens, used.source


async def hear(ours: AmplifierHarness, event: str, **payload: Any) -> None:
    """Told by a provider or a loop; taken in with the next request."""
    await ours.coordinator.hooks.emit(event, payload)


# Usage

COUNTED = {"input_tokens": 2_000, "output_tokens": 30, "total_tokens": 2_030}


@pytest.mark.parametrize("event", signals.USAGE_EVENTS)
@pytest.mark.parametrize(
    "usage",
    [
        COUNTED,
        Usage(**COUNTED),  # the kernel makes a text of an object
        {"prompt_tokens": 2_000, "completion_tokens": 30},
        {"input": 2_000, "output": 30},
        {"input_tokens": 2_000, "output_tokens": None, "cost": 0.1},
        {"input_tokens": 100, "cache_read_tokens": 1_500, "cache_write_tokens": 400, "output_tokens": 30},
        {"input_tokens": 100, "cache_read_input_tokens": 1_500, "cache_creation_input_tokens": 400},
        {"input_tokens": 2_000, "cache_read_tokens": 1_900, "output_tokens": 30},
        Usage(**COUNTED, cache_read_tokens=1_900),
    ],
    ids=["mapping", "text", "openai", "short", "holes", "cached apart", "anthropic", "cached within", "within, text"],
)
@awaited
async def test_what_the_provider_counted_is_what_the_request_took(event, usage):
    async with mounted() as ours:
        estimate = await asked(ours)
        assert 0.6 * 2_000 < estimate < 1.6 * 2_000
        await hear(ours, event, usage=usage)
        await ours.view()
        assert seen(ours) == (2_000, "measured")


@awaited
async def test_of_two_reports_about_one_call_the_first_counts():
    async with mounted() as ours:
        await asked(ours)
        await hear(ours, "llm:response", usage=COUNTED)
        await hear(ours, "provider:response", usage={"input_tokens": 2_900})
        await ours.view()
        assert seen(ours) == (2_000, "measured")
        await hear(ours, "provider:response", usage={"input_tokens": 2_100})
        await ours.view()
        assert seen(ours) == (2_100, "measured")


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"usage": None},
        {"usage": 7},
        {"usage": "none"},
        {"usage": []},
        {"usage": {"output_tokens": 5}},
        {"usage": {"input_tokens": -5}},
        {"usage": {"input_tokens": "many"}},
        {"usage": {"input_tokens": True}},
    ],
)
@awaited
async def test_report_without_usage_leaves_room_for_one_with_it(payload):
    """A report that says no usage leaves room for one that does."""
    async with mounted() as ours:
        await asked(ours)
        await hear(ours, "llm:response", **payload)
        await hear(ours, "provider:response", usage=COUNTED)
        await ours.view()
        assert seen(ours) == (2_000, "measured")


@pytest.mark.parametrize(
    ("usage", "parts"),
    [
        ({"input_tokens": 10, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 90}, (10, 900, 90)),
        ({"prompt_tokens": 1_000, "cache_read": 900}, (100, 900, 0)),
        ({"input": 1_000}, (1_000, 0, 0)),
        ({"input": 1_000, "cache_read": 90_000}, (1_000, 0, 0)),
    ],
    ids=["counted apart", "counted within", "not told", "absurd"],
)
def test_cache_reads_and_writes_are_reported_apart(usage, parts):
    """What was read from the cache and written to it is reported apart."""
    assert signals.prompt_parts(present(signals.usage_in({"usage": usage})), 1_000) == parts


@awaited
async def test_before_any_request_nothing_is_counted():
    async with mounted() as ours:
        await ours.add(*TALK)
        await hear(ours, "llm:response", usage=COUNTED)
        await ours.view()
        assert seen(ours)[1] == "estimated"
        assert ours.payloads(USAGE_REJECTED) == []


@awaited
async def test_figure_of_another_request_is_refused_with_a_warning():
    """A figure that cannot be about the request is refused aloud."""
    async with mounted({"overhead_tokens": 0}) as ours:
        estimate = await asked(ours)
        await hear(ours, "llm:response", usage={"input_tokens": 90_000})
        with pytest.warns(RuntimeWarning, match="the usage reported for lane .* was ignored"):
            await ours.view()
        assert seen(ours) == (estimate, "estimated")


# Refusals


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("provider:error", {"error": {"type": "ContextLengthError", "msg": "too much"}}),
        ("provider:error", {"error": "prompt is too long: 213412 tokens > 200000 maximum"}),
        ("provider:retry", {"error": {"msg": "This model's maximum context length is 128000 tokens."}}),
        ("provider:error", {"error_type": "BadRequestError", "message": "Input is too long for requested model."}),
        ("llm:response", {"status": "error", "error": "the input exceeds the context window"}),
        (
            "provider:error",
            {"exception": "The input token count (1048577) exceeds the maximum number of tokens allowed"},
        ),
    ],
)
@awaited
async def test_after_a_refusal_as_too_long_the_next_request_is_shorter(event, payload):
    async with mounted() as ours:
        before = await asked(ours)
        await hear(ours, event, **payload)
        with pytest.warns(RuntimeWarning, match="the provider refused a request"):
            await ours.view()
        assert seen(ours)[0] < 0.8 * before
        assert len(ours.payloads(OVERFLOW)) == 1


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("provider:error", {"error": {"type": "RateLimitError", "msg": "429: too many requests"}}),
        ("provider:error", {"error": "connection reset"}),
        ("provider:error", {}),
        ("llm:response", {"status": "ok", "message": "the context window is large"}),
    ],
)
@awaited
async def test_other_errors_change_nothing(event, payload):
    async with mounted() as ours:
        before = await asked(ours)
        await hear(ours, event, **payload)
        await ours.view()
        assert seen(ours)[0] == before
        assert ours.payloads(OVERFLOW) == []


@awaited
async def test_error_and_its_retry_count_as_one_refusal():
    async with mounted() as ours:
        await asked(ours)
        for event in ("provider:error", "provider:retry"):
            await hear(ours, event, error="prompt is too long")
        with pytest.warns(RuntimeWarning, match="the provider refused a request"):
            await ours.view()
        assert len(ours.payloads(OVERFLOW)) == 1


# Events


@awaited
async def test_compaction_event_has_the_keys_that_hosts_know():
    async with mounted({"max_tokens": 3_000}) as ours:
        await ours.add(say("system", "Be brief."), *TALK, *rounds(range(8, 20), words(60)))
        view = await ours.view()
        (before,), (done,), (after,) = (ours.payloads(name) for name in (PRE_COMPACT, COMPACTION, POST_COMPACT))
    for told in (before, after):
        assert told["tokens"] == told["token_count"]
    assert (before["message_count"], after["message_count"]) == (len(TALK) + 25, len(view))
    assert (done["before_messages"], done["after_messages"]) == (before["message_count"], after["message_count"])
    assert (done["before_tokens"], done["after_tokens"]) == (before["tokens"], after["tokens"])
    assert done["after_tokens"] <= done["budget"] == 3_000
    assert 0 < done["target_tokens"] < done["budget"]
    assert done["messages_removed"] + done["messages_truncated"] > 0
    assert (done["user_messages_stubbed"], done["system_messages_preserved"]) == (0, 1)
    assert done["strategy_level"] in (1, 2, 3)


class BareCoordinator:
    """As little of a coordinator as a module can be mounted on."""

    def __init__(self, **parts: Any) -> None:
        self.points: dict[str, Any] = {}
        vars(self).update(parts)

    async def mount(self, point: str, module: Any, name: str | None = None) -> None:
        self.points[point] = module


class CountingHooks:
    """Hooks that note what is emitted, whether or not anybody listens."""

    def __init__(self) -> None:
        self.emitted: list[str] = []
        self.handlers: dict[str, list[str]] = {}

    def register(self, event: str, handler: Any, name: str) -> Any:
        self.handlers.setdefault(event, []).append(name)
        return lambda: self.handlers[event].remove(name)

    def list_handlers(self, event: str) -> dict[str, list[str]]:
        return {event: self.handlers.get(event, [])}

    async def emit(self, event: str, data: dict[str, Any]) -> None:
        self.emitted.append(event)


@awaited
async def test_added_message_event_needs_a_listener():
    coordinator: Any = BareCoordinator(hooks=CountingHooks())
    cleanup = await mount(coordinator)
    await coordinator.points["context"].add_message(say("user", "go"))
    assert coordinator.hooks.emitted == []
    coordinator.hooks.register(MESSAGE_ADDED, None, "log")
    await coordinator.points["context"].add_message(say("assistant", "done"))
    assert coordinator.hooks.emitted == [MESSAGE_ADDED]
    await cleanup()


@awaited
async def test_added_message_event_has_role_and_length():
    async with mounted() as ours:
        await ours.add(say("user", "go"), say("assistant", "done"))
        told = [{key: data[key] for key in ("role", "content_length", "total_messages")} for _, data in ours.events]
    assert told == [
        {"role": "user", "content_length": 2, "total_messages": 1},
        {"role": "assistant", "content_length": 4, "total_messages": 2},
    ]


@awaited
async def test_a_listener_may_use_the_context():
    coordinator, views = MockCoordinator(), []

    async def listen(event: str, data: dict[str, Any]) -> HookResult:
        if len(views) < 3:
            context = coordinator.get("context")
            views.append([])
            await context.add_message(say("user", f"from {event}"))
            views[-1] = await context.get_messages_for_request()
        return HookResult()

    for event in (PRE_COMPACT, POST_COMPACT, COMPACTION):
        coordinator.hooks.register(event, listen)
    async with mounted({"max_tokens": 3_000}, coordinator) as ours:
        await ours.add(*TALK, *rounds(range(8, 20), words(60)))
        await asyncio.wait_for(ours.view(), 10)
        contents = [message["content"] for message in await ours.kept()]
    assert contents[-3:] == [f"from {event}" for event in (PRE_COMPACT, COMPACTION, POST_COMPACT)]
    assert [view[-1]["content"] for view in views] == contents[-3:]


class BrokenHooks:
    """Hooks of a host that fails at everything it is told but the messages."""

    def list_handlers(self, event: str) -> dict[str, list[str]]:
        return {event: []}

    def register(self, event: str, handler: Any, **options: Any) -> Any:
        return lambda: None

    async def emit(self, event: str, data: dict[str, Any]) -> None:
        raise RuntimeError("Invalid JSON: expected value")


@awaited
async def test_hooks_that_fail_do_not_fail_the_conversation():
    coordinator = BareCoordinator(hooks=BrokenHooks())
    cleanup = await mount(coordinator, {"max_tokens": 3_000})
    context = coordinator.points["context"]
    await context.append(*TALK, *rounds(range(8, 20), words(60)))
    with pytest.warns(RuntimeWarning, match="Invalid JSON"):
        view = await context.get_messages_for_request()
    assert len(view) < 41
    await cleanup()


@awaited
async def test_a_coordinator_without_hooks_is_enough():
    coordinator = BareCoordinator()
    cleanup = await mount(coordinator, {"max_tokens": 3_000})
    context = coordinator.points["context"]
    await context.add_message(say("user", "go"))
    assert await context.get_messages_for_request() == [say("user", "go")]
    await cleanup()


@awaited
async def test_a_listener_that_raises_is_none_of_our_business():
    coordinator = MockCoordinator()

    async def fail(event: str, data: dict[str, Any]) -> None:
        raise ValueError("a fault of the host's")

    for event in signals.ALL:
        coordinator.hooks.register(event, fail)
    async with mounted({"max_tokens": 3_000}, coordinator) as ours:
        await ours.add(*TALK, *rounds(range(8, 20), words(60)))
        assert len(await ours.view()) < len(await ours.kept())
        assert len(ours.payloads(COMPACTION)) == 1


@awaited
async def test_lone_surrogates_reach_the_host_readably():
    """Half characters of a text reach the host as something it can read, and the history keeps them."""
    async with mounted() as ours:
        await ours.context.set_system_prompt_factory(lambda: "Be \ud800 brief.")
        await ours.add(say("user", "half \udfff"))
        assert await ours.view() == [say("system", "Be \ufffd brief."), say("user", "half \ufffd")]
        assert await ours.kept() == [say("user", "half \udfff")]
        (told,) = ours.payloads(events.CONTEXT_INCLUDE)
        assert told["content"] == "Be ? brief."


# The tool


@awaited
async def test_tool_gives_the_kernel_its_name():
    async with mounted({"recall_tool": "always"}) as ours:
        tool = ours.coordinator.get("tools", "recall")
        assert {"ref", "query", "pattern", "offset"} <= set(tool.input_schema["properties"])
        assert tool.description
        found = await tool.execute({"query": "nothing of this"})
        assert (found.success, found.get_serialized_output()[:13]) == (True, "nothing found")


@pytest.mark.parametrize(
    ("error", "sizes"),
    [
        ("prompt is too long: 213412 tokens > 200000 maximum", (213_412, 200_000)),
        (
            "This model's maximum context length is 128,000 tokens. However, you requested 130,512 tokens",
            (130_512, 128_000),
        ),
        (
            "The input token count (1048999) exceeds the maximum number of tokens allowed (1048575).",
            (1_048_999, 1_048_575),
        ),
        ("prompt is too long: 5 tokens > 200000 maximum", (None, None)),
        ("Input is too long for requested model.", (None, None)),
    ],
)
def test_sizes_are_read_from_the_words_of_providers(error, sizes):
    assert signals.sizes_in({"error": {"msg": error}}) == sizes
