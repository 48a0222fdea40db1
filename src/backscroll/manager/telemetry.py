"""Spans and metrics of a session through the OpenTelemetry API.

Without a configured SDK the API does nothing. Names follow OpenTelemetry's conventions for generative AI where one
exists (`gen_ai.*`, version 1.37); all others begin with `backscroll.`. Text of a conversation is never exported: only
names, numbers and types of errors.
"""

import inspect
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from backscroll import events
from backscroll.compaction.native_request import NativeFunction, NativeRequest
from backscroll.compaction.summarization import SummaryRequest, SummaryResponse
from backscroll.errors import ConfigurationError
from backscroll.messages.compactions import read_answer
from backscroll.ports import Record, Store, Stored

_Request = TypeVar("_Request")
_TEXTS = ("lane", "trigger", "model")  # of an event's payload: any other text may quote a message
_BUCKETS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)  # seconds
_TOKENS = (1_000, 4_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000)


_CALLS = {
    events.SUMMARY_READY: "chat",
    events.SUMMARY_FAILED: "chat",
    events.NATIVE_READY: "compact",
    events.NATIVE_FAILED: "compact",
}
"""What was asked of a model, by the event that reports it. No convention has a name for compactions by a provider."""


class Begun(NamedTuple):
    """A started span and how to end it."""

    span: Any
    failed: Any
    """The status for errors."""

    def end(self, error: BaseException | None = None) -> None:
        """End the span. Of an error only the type is exported: its text may quote a message."""
        if error is not None:
            self.span.set_attribute("error.type", type(error).__qualname__)
            self.span.set_status(self.failed)
        self.span.end()


class Spent(NamedTuple):
    """What a model reported of a call. None, or an empty name: it did not."""

    model: str | None
    input: int | None
    output: int | None


class Telemetry:
    """The telemetry of one session. Raises `ConfigurationError` without the extra `otel`."""

    def __init__(self, session: str) -> None:
        try:
            trace, metrics = import_module("opentelemetry.trace"), import_module("opentelemetry.metrics")
        except ImportError as error:
            raise ConfigurationError(
                "`telemetry` requires the OpenTelemetry API: pip install 'backscroll[otel]'"
            ) from error
        self._trace, self._session = trace, session
        version = import_module("importlib.metadata").version("backscroll")  # slow to import, and used only here
        self._tracer = trace.get_tracer("backscroll", version)
        meter = metrics.get_meter("backscroll", version)
        histogram, self._count = meter.create_histogram, meter.create_counter("backscroll.compactions")
        self._seconds = histogram("backscroll.operation.duration", "s", explicit_bucket_boundaries_advisory=_BUCKETS)
        self._view = histogram("backscroll.view.tokens", "{token}", explicit_bucket_boundaries_advisory=_TOKENS)
        self._call = histogram("gen_ai.client.operation.duration", "s")
        self._tokens = histogram("gen_ai.client.token.usage", "{token}")

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """Trace and time one operation of the session."""
        attributes = {"backscroll.operation": name}
        with self.span(f"backscroll {name}", attributes), self._timed(self._seconds, attributes):
            yield

    def shown(self, lane: str, tokens: int, messages: int) -> None:
        """Record a view that was returned."""
        self._trace.get_current_span().set_attributes(
            {"backscroll.lane": lane, "backscroll.view.tokens": tokens, "backscroll.view.messages": messages}
        )
        self._view.record(tokens, {"backscroll.lane": lane})

    def heard(self, name: str, payload: Mapping[str, Any]) -> None:
        """Record an event of the session."""
        attributes = {
            f"backscroll.{key}": value
            for key, value in payload.items()
            if type(value) in (int, float, bool) or (key in _TEXTS and type(value) is str)
        }
        self._trace.get_current_span().add_event(name, attributes)
        if name == events.COMPACTION:
            self._count.add(1, {key: attributes[key] for key in ("backscroll.lane", "backscroll.trigger")})
        elif name in _CALLS:
            about = {"gen_ai.operation.name": _CALLS[name], "gen_ai.response.model": str(payload["model"])}
            for kind in ("input", "output"):
                self._tokens.record(payload[f"{kind}_tokens"], about | {"gen_ai.token.type": kind})

    def summarizer(self, ask: Callable[[SummaryRequest], Any]) -> Callable[[SummaryRequest], Any]:
        """Return the summarizer with a span around each call."""

        def about(request: SummaryRequest) -> dict[str, Any]:
            return {"gen_ai.operation.name": "chat", "gen_ai.request.max_tokens": request.max_tokens}

        def spent(answer: Any) -> Spent | None:
            known = isinstance(answer, SummaryResponse)
            return Spent(answer.model, answer.input_tokens, answer.output_tokens) if known else None

        return self._calling(ask, about, spent)

    def native(self, ask: NativeFunction) -> NativeFunction:
        """Return the function of a `NativeCompaction` with a span around each call."""

        def about(request: NativeRequest) -> dict[str, Any]:
            named = {"gen_ai.request.model": request.model} if request.model else {}
            return {"gen_ai.operation.name": "compact", "backscroll.lane": request.lane, **named}

        def spent(answer: Any) -> Spent:
            found = read_answer(answer)
            return Spent(found.model, found.input_tokens or None, found.output_tokens or None)

        return self._calling(ask, about, spent)

    def store(self, store: Store) -> Store:
        """Return the store with a span around each call."""
        traced: Any = _TracedStore(store, self)
        kept: Store = traced
        return kept

    def begin(self, name: str, about: Mapping[str, Any]) -> "Begun":
        """Start a span that the caller ends."""
        span = self._tracer.start_span(name, attributes={**about, "gen_ai.conversation.id": self._session})
        return Begun(span, self._trace.StatusCode.ERROR)

    @contextmanager
    def span(self, name: str, about: Mapping[str, Any]) -> Iterator[Any]:
        """Trace what runs inside."""
        begun = self.begin(name, about)
        with self._trace.use_span(begun.span, record_exception=False, set_status_on_exception=False):
            try:
                yield begun.span
            except BaseException as error:
                begun.end(error)
                raise
            begun.end()

    def _calling(
        self, ask: Callable[[_Request], Any], about: Callable[[_Request], dict[str, Any]], spent: Callable[[Any], Any]
    ) -> Callable[[_Request], Any]:
        """Return a function that asks a model, plain or async, with a span around each call."""

        async def awaited(answer: Awaitable[Any], request: _Request) -> Any:
            with self._call_of(about(request), spent) as recorded:
                return recorded(await answer)

        def waited(request: _Request) -> Any:
            with self._call_of(about(request), spent) as recorded:
                answer = ask(request)
                return awaited(answer, request) if inspect.isawaitable(answer) else recorded(answer)

        async def called(request: _Request) -> Any:
            return await awaited(ask(request), request)

        is_async = any(map(inspect.iscoroutinefunction, (ask, type(ask).__call__)))
        return called if is_async else waited

    @contextmanager
    def _call_of(self, about: dict[str, Any], spent: Callable[[Any], "Spent | None"]) -> Iterator[Callable[[Any], Any]]:
        operation = about["gen_ai.operation.name"]
        with self.span(operation, about) as span, self._timed(self._call, {"gen_ai.operation.name": operation}):

            def recorded(answer: Any) -> Any:
                found = spent(answer)
                if found is not None:
                    known = {
                        "gen_ai.response.model": found.model,
                        "gen_ai.usage.input_tokens": found.input,
                        "gen_ai.usage.output_tokens": found.output,
                    }
                    span.set_attributes({name: value for name, value in known.items() if value not in (None, "")})
                return answer

            yield recorded

    @contextmanager
    def _timed(self, histogram: Any, about: Mapping[str, Any]) -> Iterator[None]:
        start, failed = time.perf_counter(), dict[str, str]()
        try:
            yield
        except BaseException as error:
            failed = {"error.type": type(error).__qualname__}
            raise
        finally:
            histogram.record(time.perf_counter() - start, {**about, **failed})


class _TracedStore:
    """A store whose calls are traced; attributes outside the port pass through."""

    def __init__(self, store: Store, telemetry: Telemetry) -> None:
        self._store, self._telemetry = store, telemetry

    def __repr__(self) -> str:
        return repr(self._store)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("length", "tip", "find", "fork", "lease", "turn", "delete", "sessions"):
            return found

        def traced(*arguments: Any, **named: Any) -> Any:
            with self._telemetry.span(f"backscroll store {name}", {"db.operation.name": name}):
                return found(*arguments, **named)

        return traced

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Any:
        """Trace an append; the span ends when the records are as safe as the store promises."""
        size = sum(len(record.body) for record in records)
        about = {"db.operation.name": "append", "db.operation.batch.size": len(records), "backscroll.bytes": size}
        begun = self._telemetry.begin("backscroll store append", about)
        try:
            pending = self._store.append(session, expected_position, records, incarnation=incarnation, turn=turn)
        except BaseException as error:
            begun.end(error)
            raise
        if isinstance(pending, Future):  # not the store's own method, which may wake its thread and cost a switch
            Future.add_done_callback(pending, lambda done: begun.end(None if done.cancelled() else done.exception()))
        else:
            begun.end()
        return pending

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Trace a read; the span ends after the last record."""
        begun, failure = self._telemetry.begin("backscroll store read", {"db.operation.name": "read"}), None
        try:
            yield from self._store.read(session, start, stop)
        except BaseException as error:
            failure = error
            raise
        finally:
            begun.end(None if isinstance(failure, GeneratorExit) else failure)
