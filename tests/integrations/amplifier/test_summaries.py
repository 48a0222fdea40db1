"""Summaries by a model of the host: a mounted provider writes them, beside the requests and never in their way."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core import ChatRequest, ChatResponse, TextBlock, ThinkingBlock, ToolResult, Usage
from amplifier_core.testing import MockCoordinator

from backscroll import AsyncContextManager, Summarizer
from backscroll.events import COMPACTION, SUMMARY_FAILED, SUMMARY_READY, SUMMARY_STARTED
from backscroll.integrations.amplifier import hooks as signals
from backscroll.integrations.amplifier.providers import ProviderSummarizer
from tests.integrations.amplifier.harness import AmplifierHarness, awaited, chat, mounted, rounds, say
from tests.integrations.amplifier.provider import Message, Provider, plain
from tests.integrations.amplifier.scenarios import words
from tests.integrations.amplifier.tools import Tool

SUMMARIZE = {"compaction_strategy": "summarize"}
FAILED = pytest.mark.filterwarnings("ignore:no summary could be had")
TOLD = "in short: "


def asks_for_summary(request: ChatRequest) -> bool:
    return (request.metadata or {}).get("purpose") == "summary"


def text_of(request: ChatRequest) -> str:
    return "\n".join(str(message.content) for message in request.messages)


class Writer(Provider):
    """The scripted model, which writes summaries too: what `answer` makes of their number, or raises."""

    def __init__(self, window: int = 28_000, answer: Any = None, name: str = "scripted") -> None:
        super().__init__(window)
        self.asked: list[ChatRequest] = []
        self.answer = answer or (lambda number: "<summary>All is done.</summary>")
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: ChatRequest, **options: Any) -> ChatResponse:
        if not asks_for_summary(request):
            return await super().complete(request, **options)
        self.asked.append(request)
        answer = self.answer(len(self.asked))
        answer = await answer if asyncio.iscoroutine(answer) else answer
        if isinstance(answer, Exception):
            if self.coordinator is not None:
                told = {"provider": self.name, "error": {"type": type(answer).__name__, "msg": str(answer)}}
                await self.coordinator.hooks.emit("provider:error", told)
            raise answer
        usage = Usage(input_tokens=100, output_tokens=20, total_tokens=1_120, cache_read_tokens=1_000)
        blocks = [ThinkingBlock(thinking="hm"), TextBlock(text=answer)]
        response = ChatResponse(content=blocks, usage=usage)
        await self._tell(response)
        return response


# -- one context --

TALK = [say("user", "Read all."), *rounds(range(30), words(60))]


async def grown(
    ours: AmplifierHarness, provider: Any = None, budget: int = 6_000, talk: list[Message] = TALK
) -> list[Message]:
    """The view after many rounds; what runs beside gets its turn."""
    for message in talk:
        await ours.add(message)
        if message["role"] != "assistant":
            view = await ours.view(budget, provider)
            for _ in range(8):
                await asyncio.sleep(0)
    return view


async def with_providers(*mounted_providers: Any) -> Any:
    coordinator = MockCoordinator()
    for provider in mounted_providers:
        await coordinator.mount("providers", provider, name=provider.name)
    return coordinator


@pytest.mark.parametrize(
    ("config", "asked"),
    [
        ({}, False),
        ({"summarizer": True}, True),
        (SUMMARIZE, True),
        (SUMMARIZE | {"summarizer": False}, False),
        ({"summarizer": True, "compaction_strategy": "importance"}, True),
        ({"summarizer": True, "contract": "1.0"}, True),
    ],
)
@awaited
async def test_summarizer(config, asked):
    provider = Writer()
    async with mounted({"clear_at_least_tokens": 0} | config, await with_providers(provider)) as ours:
        view = await grown(ours)
        assert bool(provider.asked) is bool(ours.payloads(SUMMARY_STARTED)) is asked
        assert (TOLD in json.dumps(view)) is asked


@awaited
async def test_strategy_without_summaries_calls_no_model_and_warns():
    """A strategy that says of nothing asks no one and says so."""
    provider = Writer()
    config = {"summarizer": True, "compaction_strategy": "truncate"}
    with pytest.warns(RuntimeWarning, match="option 'summarizer' is ignored: .*'truncate' has no summary"):
        async with mounted(config, await with_providers(provider)) as ours:
            await grown(ours)
    assert provider.asked == []


@pytest.mark.parametrize(
    ("config", "serving", "asked"),
    [
        ({}, None, "first"),
        ({}, "second", "second"),
        ({"summary_provider": "second"}, None, "second"),
        ({"summary_provider": "first"}, "second", "first"),
    ],
)
@awaited
async def test_summary_provider(config, serving, asked):
    both = {name: Writer(200_000, name=name) for name in ("first", "second")}
    async with mounted(SUMMARIZE | config, await with_providers(*both.values())) as ours:
        await grown(ours, None if serving is None else both[serving])
        assert [name for name, provider in both.items() if provider.asked] == [asked]


@pytest.mark.parametrize(
    ("config", "words_of_it"),
    [
        ({}, "no provider is mounted; mounted are: none"),
        ({"summary_provider": "other"}, "no provider 'other' is mounted"),
    ],
)
@awaited
async def test_missing_provider_leaves_the_digest_and_emits_an_event(config, words_of_it):
    """Without the provider the digest serves and an event says why."""
    with pytest.warns(RuntimeWarning, match="no summary could be had"):
        ours, view = await without_provider(SUMMARIZE | config)
    failed = ours.payloads(SUMMARY_FAILED)
    assert 1 <= len(failed) <= 5
    assert all(words_of_it in payload["reason"] for payload in failed)
    assert ours.payloads(COMPACTION)
    assert TOLD not in json.dumps(view)


async def without_provider(config: dict[str, Any]) -> tuple[AmplifierHarness, list[Message]]:
    """A session without any provider, to its end, and its last view."""
    async with mounted(config) as ours:
        return ours, await grown(ours)


@pytest.mark.parametrize("wanted", [None, "small-1"])
@awaited
async def test_summary_model(wanted):
    provider = Writer()
    async with mounted(SUMMARIZE | {"summary_model": wanted}, await with_providers(provider)) as ours:
        await grown(ours)
        assert {request.model for request in provider.asked} == {wanted}
        assert {payload["model"] for payload in ours.payloads(SUMMARY_READY)} == {wanted or "scripted-1"}


@pytest.mark.parametrize(("window", "parts"), [(2_000, True), (32_000, False)])
@awaited
async def test_summary_window(window, parts):
    provider = Writer()
    async with mounted(SUMMARIZE | {"summary_context_tokens": window}, await with_providers(provider)) as ours:
        await grown(ours, talk=chat(40, words(60)))
        assert (len(provider.asked) > len(ours.payloads(SUMMARY_STARTED))) is parts
        assert max(len(text_of(request)) for request in provider.asked) < 4 * window + 4_000


@pytest.mark.parametrize(("seconds", "there"), [(0.0, False), (30, True)])
@awaited
async def test_summary_timeout(seconds, there):
    async def later() -> str:
        await asyncio.sleep(0.05)
        return "It went well."

    provider = Writer(answer=lambda _: later())
    async with mounted(SUMMARIZE | {"summary_wait_seconds": seconds}, await with_providers(provider)) as ours:
        await ours.add(*TALK)  # all at once: no request came before that could have begun a summary
        assert (TOLD in json.dumps(await ours.view(6_000))) is there


@awaited
async def test_request_past_the_timeout_goes_on_without_the_model():
    """A request that waited long enough goes on without the model."""
    provider = Writer(answer=lambda _: asyncio.Event().wait())
    async with mounted(SUMMARIZE | {"summary_wait_seconds": 0.01}, await with_providers(provider)) as ours:
        await ours.add(*TALK)
        view = await ours.view(6_000)  # would never come if it waited for the answer
        assert ours.payloads(COMPACTION)
        assert TOLD not in json.dumps(view)
        assert len(provider.asked) == 1


@FAILED
@awaited
async def test_a_provider_that_hangs_is_given_up():
    coordinator = await with_providers(Writer(answer=lambda _: asyncio.Event().wait()))
    hasty = Summarizer(ProviderSummarizer(coordinator, None, None, call_seconds=0.01), wait_seconds=30)
    heard = []
    async with AsyncContextManager(summarizer=hasty, on_event=lambda *event: heard.append(event)) as context:
        await context.append(*TALK)
        view = await context.get_messages_for_request(6_000)
        assert [payload["reason"][:12] for name, payload in heard if name == SUMMARY_FAILED] == ["TimeoutError"]
        assert TOLD not in json.dumps(view)


@awaited
async def test_focused_compaction_uses_the_last_lane():
    """Compact with focus asks for what matters on the lane that was asked last."""
    provider = Writer()
    async with mounted(SUMMARIZE | {"target_usage": 0.6}, await with_providers(provider)) as ours:
        await ours.add(*TALK)
        await ours.view(14_000, provider)
        assert provider.asked == []
        done = await ours.context.compact(focus="keep the API design")
        assert done.lane == "scripted/scripted-1"
        assert "keep the API design" in text_of(provider.asked[-1])
        assert TOLD in json.dumps(await ours.view(14_000, provider))


@awaited
async def test_focus_without_a_model_warns_and_compacts():
    """Focus without a model is ignored aloud and the rest is done."""
    async with mounted({"contract": "1.0"}) as ours:
        await ours.add(*TALK)
        await ours.view(16_000)
        with pytest.warns(RuntimeWarning, match="option `summarizer`"):
            done = await ours.context.compact(focus="keep the API design")
        assert done.after_tokens < done.before_tokens
        assert [told["option"] for told in ours.payloads(signals.OPTION_IGNORED)] == ["focus"]


class Plain:
    """A provider that answers with mappings and counts nothing."""

    name = "plain"

    async def complete(self, request: ChatRequest) -> Any:
        blocks = [{"type": "thinking", "thinking": "hm"}, *({"type": "text", "text": t} for t in ("All is ", "well."))]
        return SimpleNamespace(content=blocks, model="plain-1")


@awaited
async def test_answers_of_other_shapes_are_read_and_counted_here():
    async with mounted(SUMMARIZE, await with_providers(Plain())) as ours:
        assert f"{TOLD}All is well." in json.dumps(await grown(ours))
        told = ours.payloads(SUMMARY_READY)[0]
        assert told["model"] == "plain-1"
        assert told["input_tokens"] > 1_000
        assert 0 < told["output_tokens"] < 10


@awaited
async def test_requests_for_summaries_say_what_they_are():
    provider = Writer()
    async with mounted(SUMMARIZE, await with_providers(provider)) as ours:
        await grown(ours)
    request = provider.asked[0]
    assert request.metadata == {"source": signals.NAME, "purpose": "summary"}
    assert [message.role for message in request.messages] == ["system", "user"]
    assert request.tools is None
    assert request.max_output_tokens > 100


@awaited
async def test_summary_instructions_are_in_the_prompt():
    provider = Writer()
    config = SUMMARIZE | {"summary_instructions": "Keep every name of a protein."}
    async with mounted(config, await with_providers(provider)) as ours:
        await grown(ours)
    assert provider.asked[0].messages[0].content.endswith("Keep every name of a protein.")


@pytest.mark.parametrize("wanted", [False, True])
@awaited
async def test_summary_as_turn(wanted):
    provider, sent = Writer(), []
    async with mounted(SUMMARIZE | {"summary_reuse_prefix": wanted}, await with_providers(provider)) as ours:
        await ours.coordinator.mount("tools", Tool("grep", "Finds lines.", lambda *_: ToolResult()), name="grep")
        for message in TALK:
            await ours.add(message)
            if message["role"] != "assistant":  # a loop asks once its calls have results
                sent.append(plain(await ours.view(6_000, provider)))
            await asyncio.sleep(0)
    assert provider.asked
    for request in provider.asked:
        before = [plain(message.model_dump()) for message in request.messages[:-1]]
        assert (before in sent) is wanted  # a cache has all of it but the last message
        assert {tool.name for tool in request.tools or ()} == ({"grep"} if wanted else set())
