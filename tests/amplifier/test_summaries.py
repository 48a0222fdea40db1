"""Summaries by a model of the host: a mounted provider writes them, beside the requests and never in their way."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core import ChatRequest, ChatResponse, TextBlock, ThinkingBlock, Usage
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.testing import MockCoordinator

from backscroll import ConfigurationError
from backscroll.adapters.amplifier import providers, signals
from backscroll.events import COMPACTION, OVERFLOW, SUMMARY_FAILED, SUMMARY_READY, SUMMARY_STARTED
from tests.amplifier.ours import NAME, Mounted, awaited, chat, mounted, rounds, say
from tests.amplifier.provider import Message, Provider, plain
from tests.amplifier.scenarios import words
from tests.amplifier.scripts import work
from tests.amplifier.world import Live, World

SUMMARIZE = {"compaction_strategy": "summarize"}
FAILED = pytest.mark.filterwarnings("ignore:context.summary_failed:RuntimeWarning")
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
        self.answer = answer or (lambda number: f"<summary>Part {number} is done.</summary>")
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


async def play(live: Live, turns: int = 6, rounds: int = 8) -> None:
    for turn in work(turns, rounds):
        await live.turn(turn)


# -- whole sessions --


@awaited
async def test_the_hosts_own_model_writes_summaries_in_the_background_of_a_session():
    provider = Writer(20_000)
    async with World(NAME, SUMMARIZE, provider, system="Be brief.").open() as live:
        await play(live)
        run = await live.report()
        spent = live.module.usage(lane="scripted-1").summarizer
    assert (run.valid, run.fits, run.complete, run.users_whole) == (True, True, True, True)
    assert TOLD + "Part " in json.dumps(run.requests[-1].messages)
    assert len(provider.asked) >= len(run.payloads(SUMMARY_READY)) > 1
    assert {payload["model"] for payload in run.payloads(SUMMARY_READY)} == {"scripted-1"}
    assert spent.summaries == len(run.payloads(SUMMARY_READY))
    assert spent.input_tokens == sum(payload["input_tokens"] for payload in run.payloads(SUMMARY_READY)) > 0
    assert spent.output_tokens == 20 * spent.summaries


@awaited
async def test_rules_of_the_user_stand_word_for_word_beside_what_the_model_wrote():
    provider = Writer(20_000)
    async with World(NAME, SUMMARIZE, provider).open() as live:
        await play(live)
        run = await live.report()
    assert run.compactions > 1
    last = json.dumps(run.requests[-1].messages)
    assert all(f"Never touch settings_{number}.toml." in last for number in range(6))


@awaited
async def test_what_the_provider_reports_of_a_summary_is_not_taken_for_the_conversation():
    provider = Writer(20_000)
    async with World(NAME, SUMMARIZE, provider).open() as live:
        for turn in work(6, 8):
            await live.turn(turn)
            used = live.module.usage(lane="scripted-1").used.tokens
            assert used > 0.7 * provider.requests[-1].tokens  # and not the few hundred of a summary
    assert len(provider.asked) > 1


@FAILED
@awaited
async def test_a_summary_that_is_too_long_for_its_model_shortens_no_request_of_the_conversation():
    provider = Writer(20_000, lambda _: ContextLengthError("prompt is too long: 50000 tokens > 4000 maximum"))
    async with World(NAME, SUMMARIZE, provider).open() as live:
        await play(live)
        run = await live.report()
    assert run.count(SUMMARY_FAILED) > 0
    assert run.count(OVERFLOW) == 0
    assert (run.valid, run.fits, run.complete) == (True, True, True)


@FAILED
@awaited
async def test_a_model_that_never_answers_costs_no_request_its_time_and_ends_with_the_session():
    ended = []

    async def never() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return ""

    provider = Writer(20_000, lambda _: never())
    async with World(NAME, SUMMARIZE, provider).open() as live:
        await play(live)
        run = await live.report()
    assert (run.valid, run.fits, run.complete) == (True, True, True)
    assert run.compactions > 1
    assert (len(provider.asked), ended) == (1, [True])
    assert TOLD not in json.dumps(run.requests[-1].messages)


# -- one context --

TALK = [say("user", "Read all."), *rounds(range(30), words(60))]


async def grown(ours: Mounted, provider: Any = None, budget: int = 6_000, talk: list[Message] = TALK) -> list[Message]:
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
    async with mounted({"min_batch_tokens": 0} | config, await with_providers(provider)) as ours:
        view = await grown(ours)
        assert bool(provider.asked) is bool(ours.payloads(SUMMARY_STARTED)) is asked
        assert (TOLD in json.dumps(view)) is asked


@awaited
async def test_a_strategy_that_tells_of_nothing_asks_nobody_and_says_so():
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
        ({}, "no provider is mounted; there are: none"),
        ({"summary_provider": "other"}, "no provider 'other' is mounted"),
    ],
)
@awaited
async def test_without_the_provider_the_digest_serves_and_an_event_says_why(config, words_of_it):
    async with mounted(SUMMARIZE | config) as ours:
        with pytest.warns(RuntimeWarning, match="summary_failed"):
            view = await grown(ours)
        failed = ours.payloads(SUMMARY_FAILED)
        assert 1 <= len(failed) <= 5
        assert all(words_of_it in payload["reason"] for payload in failed)
        assert ours.payloads(COMPACTION)
        assert TOLD not in json.dumps(view)


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
    async with mounted(SUMMARIZE | {"summary_window": window}, await with_providers(provider)) as ours:
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
    async with mounted(SUMMARIZE | {"summary_timeout": seconds}, await with_providers(provider)) as ours:
        await ours.add(*TALK)  # all at once: no request came before that could have begun a summary
        assert (TOLD in json.dumps(await ours.view(6_000))) is there


@awaited
async def test_a_request_that_waited_long_enough_goes_on_without_the_model():
    provider = Writer(answer=lambda _: asyncio.Event().wait())
    async with mounted(SUMMARIZE | {"summary_timeout": 0.01}, await with_providers(provider)) as ours:
        await ours.add(*TALK)
        view = await ours.view(6_000)  # would never come if it waited for the answer
        assert ours.payloads(COMPACTION)
        assert TOLD not in json.dumps(view)
        assert len(provider.asked) == 1


@FAILED
@awaited
async def test_a_provider_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(providers, "CALL_SECONDS", 0.01)
    provider = Writer(answer=lambda _: asyncio.Event().wait())
    async with mounted(SUMMARIZE | {"summary_timeout": 30}, await with_providers(provider)) as ours:
        await ours.add(*TALK)
        view = await ours.view(6_000)
        assert [payload["reason"][:12] for payload in ours.payloads(SUMMARY_FAILED)] == ["TimeoutError"]
        assert TOLD not in json.dumps(view)


@awaited
async def test_compact_with_focus_asks_for_what_matters_on_the_lane_that_was_asked_last():
    provider = Writer()
    async with mounted(SUMMARIZE | {"target_usage": 0.8}, await with_providers(provider)) as ours:
        await ours.add(*TALK)
        await ours.view(12_000, provider)
        assert provider.asked == []
        done = await ours.context.compact(focus="keep the API design")
        assert done.lane == "scripted-1"
        assert "keep the API design" in text_of(provider.asked[-1])
        assert TOLD in json.dumps(await ours.view(12_000, provider))


@awaited
async def test_focus_without_a_model_says_what_to_do():
    async with mounted({"contract": "1.0"}) as ours:
        await ours.add(*TALK[:3])
        with pytest.raises(ConfigurationError, match="summarizer="):
            await ours.context.compact(focus="keep the API design")


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


@pytest.mark.parametrize("wanted", [False, True])
@awaited
async def test_summary_as_turn(wanted):
    provider = Writer(20_000)
    async with World(NAME, SUMMARIZE | {"summary_as_turn": wanted}, provider, system="Be brief.").open() as live:
        await play(live)
        run = await live.report()
        tools = {tool.name for tool in live.session.coordinator.get("tools").values()}
    assert (run.valid, run.fits, run.complete) == (True, True, True)
    assert TOLD in json.dumps(run.requests[-1].messages)
    sent = [request.messages for request in run.requests]
    for request in provider.asked:
        before = [plain(message.model_dump()) for message in request.messages[:-1]]
        assert (before in sent) is wanted  # a cache has all of it but the last message
        assert {tool.name for tool in request.tools or ()} == (tools if wanted else set())
