"""Spans and metrics as an SDK of OpenTelemetry collects them; without one, and without the extra, nothing."""

import asyncio
import subprocess
import sys

import pytest

import backscroll
from backscroll import BudgetError, ConfigurationError, ContextManager, NativeCompaction, Summarizer, SummaryResponse

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.builders import MessageFactory
from tests.fakes import count_quarter

TALK = MessageFactory("openai")
SECRET = "swordfish"


@pytest.fixture(scope="session")
def sdk():
    """What a program sets up once: it cannot be set up again, whichever tests its process runs between these."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    return spans, reader


class Heard:
    """What was told since the test began."""

    def __init__(self, spans, reader):
        self._spans, self._reader = spans, reader
        spans.clear()

    def named(self, name):
        """Spans of a name, in the order of their ends."""
        return [span for span in self._spans.get_finished_spans() if span.name == name]

    def points(self, name):
        """The data points of a metric; none where nothing was measured yet in this process."""
        found = self._reader.get_metrics_data()
        return [
            point
            for resource in (found.resource_metrics if found is not None else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]

    def everything(self):
        """All that was told, as text."""
        return "".join(span.to_json() for span in self._spans.get_finished_spans()) + str(
            self._reader.get_metrics_data()
        )


@pytest.fixture
def heard(sdk):
    return Heard(*sdk)


def at_work(manager, rounds=30):
    manager.append(TALK.say("user", f"the password is {SECRET}"))
    for number in range(rounds):
        name = f"c{number}"
        manager.append(TALK.call([name], "", {}), *TALK.results([(name, f"{SECRET} {number}\n" * 40)]))
        manager.get_messages_for_request()


def test_operations_have_spans_with_store_work_inside(heard, tmp_path):
    """Operations have spans with what the store did inside of them."""
    manager = ContextManager(
        session="talk", store=tmp_path / "a.db", tokenizer=count_quarter, budget=3_000, telemetry=True
    )
    at_work(manager)
    manager.close()
    requests = heard.named("backscroll request")
    assert len(requests) == 30
    assert len(heard.named("backscroll append")) == 31
    assert requests[-1].attributes["gen_ai.conversation.id"] == "talk"
    assert requests[-1].attributes["backscroll.lane"] == "main"
    assert 0 < requests[-1].attributes["backscroll.view.tokens"] <= 3_000
    assert requests[-1].attributes["backscroll.view.messages"] > 2
    stored = heard.named("backscroll store append")
    appends = {span.context.span_id for span in heard.named("backscroll append")}
    assert appends <= {span.parent.span_id for span in stored}
    assert all(span.attributes["backscroll.bytes"] > 0 for span in stored)
    assert not heard.named("backscroll store read")  # what a session wrote by itself it need not read
    ContextManager(session="talk", store=tmp_path / "a.db", tokenizer=count_quarter, telemetry=True).get_messages()
    assert heard.named("backscroll store read")


def test_compaction_is_an_event_of_its_request_and_a_metric(heard):
    """A compaction is an event of the request that it came with and is counted."""
    before = sum(point.value for point in heard.points("backscroll.compactions"))
    told = []
    manager = ContextManager(
        tokenizer=count_quarter, budget=3_000, telemetry=True, on_event=lambda name, _: told.append(name)
    )
    at_work(manager)
    compactions = told.count("context:compaction")
    found = [
        event
        for span in heard.named("backscroll request")
        for event in span.events
        if event.name == "context:compaction"
    ]
    assert len(found) == compactions > 0
    assert found[0].attributes["backscroll.before_tokens"] > found[0].attributes["backscroll.after_tokens"]
    assert found[0].attributes["backscroll.trigger"] == "threshold"
    assert sum(point.value for point in heard.points("backscroll.compactions")) == before + compactions


def operations(heard):
    """How many operations of each name succeeded: what failed is a data point of its own."""
    return {
        point.attributes["backscroll.operation"]: point.count
        for point in heard.points("backscroll.operation.duration")
        if "error.type" not in point.attributes
    }


def test_durations_and_sizes_of_views_are_metrics(heard):
    before = operations(heard)
    views = sum(point.count for point in heard.points("backscroll.view.tokens"))
    at_work(ContextManager(tokenizer=count_quarter, telemetry=True), rounds=7)
    now = operations(heard)
    assert now["request"] == before.get("request", 0) + 7
    assert now["append"] == before.get("append", 0) + 8
    assert sum(point.count for point in heard.points("backscroll.view.tokens")) == views + 7


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_summarizer_call_is_a_span_with_its_tokens(heard, kind):
    """A summarizer is reported as a call of a model with its tokens."""

    def plain(request):
        return SummaryResponse(f"<summary>All went well with {SECRET}.</summary>", "small-1", 1_200, 40)

    async def waiting(request):
        await asyncio.sleep(0)
        return plain(request)

    async def work():
        manager = backscroll.AsyncContextManager(
            tokenizer=count_quarter,
            budget=3_000,
            telemetry=True,
            summarizer=Summarizer(wait_seconds=10, fn=plain if kind == "plain" else waiting),
        )
        await manager.append(TALK.say("user", "go"))
        for number in range(30):
            name = f"c{number}"
            await manager.append(TALK.call([name], "", {}), *TALK.results([(name, f"value {number}\n" * 80)]))
            await manager.get_messages_for_request()
        await manager.aclose()
        return manager.usage().summarizer

    spent = asyncio.run(work())
    calls = heard.named("chat")
    assert len(calls) == spent.summaries > 0
    assert calls[0].attributes["gen_ai.operation.name"] == "chat"
    assert calls[0].attributes["gen_ai.response.model"] == "small-1"
    assert calls[0].attributes["gen_ai.usage.input_tokens"] == 1_200
    assert calls[0].attributes["gen_ai.request.max_tokens"] > 0
    kinds = {point.attributes["gen_ai.token.type"] for point in heard.points("gen_ai.client.token.usage")}
    assert kinds == {"input", "output"}
    assert heard.points("gen_ai.client.operation.duration")


def count_spent(heard):
    """Tokens that compactions by providers took, in all."""
    points = heard.points("gen_ai.client.token.usage")
    return sum(point.sum for point in points if point.attributes["gen_ai.operation.name"] == "compact")


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_native_compaction_is_a_span_with_its_tokens(heard, kind):
    """A provider that compacts is reported as a call of a model with its tokens."""

    def plain(request):
        block = {"type": "compaction", "content": f"All went well with {SECRET}.", "signature": "s"}
        usage = {"input_tokens": 0, "iterations": [{"input_tokens": 1_200, "output_tokens": 40}]}
        return {"content": [block], "model": "claude-opus-5-5-20260922", "stop_reason": "compaction", "usage": usage}

    async def waiting(request):
        await asyncio.sleep(0)
        return plain(request)

    async def work():
        function = plain if kind == "plain" else waiting
        manager = backscroll.AsyncContextManager(
            tokenizer=count_quarter, budget=3_000, telemetry=True, model="claude-opus-5-5",
            strategies=["native", "digest"], native=NativeCompaction(function, wait_seconds=10),
        )  # fmt: skip  # one thought
        await manager.append(TALK.say("user", "go"))
        for number in range(30):
            name = f"c{number}"
            await manager.append(TALK.call([name], "", {}), *TALK.results([(name, f"value {number}\n" * 80)]))
            await manager.get_messages_for_request()
        await manager.aclose()
        return manager.usage().summarizer

    before = count_spent(heard)
    spent = asyncio.run(work())
    calls = heard.named("compact")
    assert len(calls) >= spent.summaries > 0
    assert calls[0].attributes["gen_ai.operation.name"] == "compact"
    assert calls[0].attributes["gen_ai.request.model"] == "claude-opus-5-5"
    assert calls[0].attributes["gen_ai.response.model"] == "claude-opus-5-5-20260922"
    assert calls[0].attributes["gen_ai.usage.input_tokens"] == 1_200
    assert calls[0].attributes["gen_ai.usage.output_tokens"] == 40
    assert calls[0].attributes["backscroll.lane"] == "main"
    assert count_spent(heard) - before == spent.summaries * 1_240
    assert SECRET not in heard.everything()


@pytest.mark.filterwarnings("ignore:no native compaction could be had")
def test_native_failure_is_traced_by_its_type(heard):
    def broken(request):
        raise RuntimeError(SECRET)

    native = NativeCompaction(broken, wait_seconds=10)
    at_work(
        ContextManager(
            tokenizer=count_quarter, budget=3_000, telemetry=True, strategies=["native", "digest"], native=native
        )
    )
    calls = heard.named("compact")
    assert calls
    assert {span.attributes["error.type"] for span in calls} == {"RuntimeError"}
    assert SECRET not in heard.everything()


@pytest.mark.filterwarnings("ignore:no summary could be had")
def test_failures_are_traced_by_type_only(heard):
    def broken(request):
        raise RuntimeError(SECRET)

    manager = ContextManager(
        tokenizer=count_quarter, budget=3_000, telemetry=True, summarizer=Summarizer(fn=broken, wait_seconds=10)
    )
    at_work(manager)
    with pytest.raises(BudgetError):
        manager.get_messages_for_request(token_budget=10)
    (failed,) = [span for span in heard.named("backscroll request") if not span.status.is_ok]
    assert failed.attributes["error.type"] == "BudgetError"
    calls = heard.named("chat")
    assert calls
    assert {span.attributes["error.type"] for span in calls} == {"RuntimeError"}
    assert SECRET not in heard.everything()


def test_no_word_of_a_conversation_is_traced(heard, tmp_path):
    manager = ContextManager(
        session="talk", store=tmp_path / "a.db", tokenizer=count_quarter, budget=3_000, telemetry=True
    )
    at_work(manager)
    manager.set_system_prompt_factory(lambda: SECRET)
    manager.get_messages_for_request()
    manager.recall(query=SECRET)
    manager.pin(3)
    manager.close()
    assert heard.named("backscroll recall")
    assert heard.named("backscroll pin")
    assert SECRET not in heard.everything()


def test_session_without_telemetry_behaves_the_same(heard):
    """What a session does is the same without and nothing is reported."""
    views = []
    for telemetry in (True, False):
        heard._spans.clear()
        manager = ContextManager(tokenizer=count_quarter, budget=3_000, telemetry=telemetry)
        at_work(manager)
        views.append(manager.view())
        assert bool(heard.named("backscroll request")) == telemetry
    assert views[0] == views[1]


@pytest.mark.parametrize("wrong", [1, "yes", None])
def test_what_is_neither_true_nor_false_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="telemetry"):
        ContextManager(telemetry=wrong)


def test_without_an_sdk_it_does_nothing():
    program = """
from backscroll import ContextManager
context = ContextManager(telemetry=True)
context.append({"role": "user", "content": "hello"})
print(context.get_messages_for_request())
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "hello" in done.stdout
