"""One request: what is sent for it, and its answer handed on as it comes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any

import httpx
from starlette.types import Send

from backscroll.errors import MessageError
from backscroll.integrations.proxy import report as outcomes
from backscroll.integrations.proxy.answer import AnswerReader, error_text
from backscroll.integrations.proxy.clients import client_name
from backscroll.integrations.proxy.credentials import without_keys
from backscroll.integrations.proxy.exchange import Exchange
from backscroll.integrations.proxy.headers import is_answer, of_answer
from backscroll.integrations.proxy.incoming import LARGEST, ClientLeft, Incoming, StalledError
from backscroll.integrations.proxy.managing import Managing
from backscroll.integrations.proxy.observing import observe, shortened
from backscroll.integrations.proxy.pieces import Pieces
from backscroll.integrations.proxy.protocol import Protocol
from backscroll.integrations.proxy.recall_answers import answered_with_recall, broken_off
from backscroll.integrations.proxy.recall_rounds import RecallRounds
from backscroll.integrations.proxy.refusal import RefusedHereError, no_view
from backscroll.integrations.proxy.report import Report
from backscroll.integrations.proxy.settings import ProxySettings
from backscroll.integrations.proxy.unpacking import UnpackedTooLargeError
from backscroll.integrations.proxy.upstream import Upstream

_STALLED = 408
_COUNTING = "/count_tokens"
_LONGEST_ERROR = 1_000_000
"""Bytes of an error that are held back until they are read. What follows is handed on as it comes."""
_FOR_ERROR = 10.0
"""Seconds for which an error is held back. Less would hand on refusals of slow providers instead of a shorter request;
more would let the client wait for an error that never ends.
"""
_FOR_FIRST_EVENT = 0.5
"""Seconds for which the head of a stream waits for its first bytes, which may refuse the request: providers that refuse
in a stream do so at once. More would keep clients waiting that show when a model begins to think.
"""
_MALFORMED = "the provider's answer broke off before it began, or is no valid HTTP"


class HandingOn:
    """Hands requests on.

    Args:
        settings: The settings of the proxy.
        managing: Its conversations.
        upstream: The providers' servers.
        log: Called with each request when its answer has ended.
    """

    def __init__(
        self, settings: ProxySettings, managing: Managing, upstream: Upstream, log: Callable[[Report], object]
    ) -> None:
        self._settings, self._managing, self._upstream, self._log = settings, managing, upstream, log

    async def __call__(self, incoming: Incoming, send: Send) -> None:
        """Answer a request."""
        report = Report(
            incoming.method, without_keys(incoming.path), client_name(incoming.headers.get("user-agent", ""))
        )
        try:
            self._upstream.address_of(incoming)  # before anything of it is stored
            raw, is_whole = await incoming.read()
            if is_whole:
                await _while_client_stays(incoming, self._answer(incoming, raw, send, report))
            else:
                await self._hand_on(incoming, _all_of(raw, incoming), None, send, report)
        except ClientLeft:
            return
        except (RefusedHereError, StalledError) as error:
            if report.status:  # the client has the beginning of the answer
                raise
            refused = error if isinstance(error, RefusedHereError) else RefusedHereError(_STALLED, str(error))
            report.what, report.status, report.why = outcomes.REFUSED, refused.status, str(refused)
            await _answer_here(send, refused)
        except Exception as error:  # the server closes the connection, so that no client takes it for the whole answer
            report.why = f"the answer broke off: {type(error).__name__}: {error}"
            raise
        finally:
            self._log(report)

    async def _answer(self, incoming: Incoming, raw: bytes, send: Send, report: Report) -> None:
        protocol = self._managing.protocol_of(incoming.path) if incoming.method == "POST" else None
        async with AsyncExitStack() as stack:
            exchange, content = None, raw
            if protocol is not None:
                exchange, content = await self._content(stack, protocol, incoming, raw, report)
            await self._hand_on(incoming, content, exchange, send, report)

    async def _content(
        self, stack: AsyncExitStack, protocol: Protocol, incoming: Incoming, raw: bytes, report: Report
    ) -> tuple[Exchange | None, bytes]:
        """Return the request with its view, if it is managed, and the bytes to send."""
        report.received_bytes = report.sent_bytes = len(raw)
        try:
            body = await self._managing.read(protocol, raw, incoming.headers.get("content-encoding", ""))
        except UnpackedTooLargeError as error:
            raise RefusedHereError(413, f"the body has more than {LARGEST:,} bytes when it is unpacked") from error
        except MessageError as error:
            report.what, report.why = outcomes.LEFT_ALONE, str(error)
            return None, raw
        report.received_bytes = report.sent_bytes = len(body.raw)
        report.messages = len(body.items)
        try:
            if incoming.path.endswith(_COUNTING):
                counted = await self._managing.counted(protocol, incoming.headers, body)
                report.what = outcomes.COUNTED
                if counted is None or self._settings.shadow:
                    return None, raw
                report.sent_bytes = len(counted)
                return None, counted
            report.why = protocol.left_alone(incoming.headers, body.fields, body.items) or ""
            if report.why:
                report.what = outcomes.LEFT_ALONE
                return None, raw
            exchange = await stack.enter_async_context(self._managing.exchange(protocol, incoming.headers, body))
        except Exception as error:
            report.what, report.why = outcomes.FAILED, f"{type(error).__name__}: {error}"
            if self._settings.strict:
                raise no_view(error) from error
            return None, raw
        return self._prepared(exchange, raw, report)

    def _prepared(self, exchange: Exchange | None, raw: bytes, report: Report) -> tuple[Exchange | None, bytes]:
        if exchange is None:
            report.what, report.why = outcomes.LEFT_ALONE, "it looks back at an earlier part of its conversation"
            return None, raw
        report.session, report.model, report.budget = exchange.name, exchange.model, exchange.budget
        report.what = outcomes.AS_IT_CAME
        if exchange.is_rewritten:
            report.what = outcomes.SHADOW if self._settings.shadow else outcomes.COMPACTED
        if self._settings.shadow:
            report.view_bytes = len(exchange.content)
            return None, raw
        report.sent_bytes = len(exchange.content)
        return exchange, exchange.content if exchange.is_changed else raw

    async def _hand_on(
        self, incoming: Incoming, content: Any, exchange: Exchange | None, send: Send, report: Report
    ) -> None:
        """Send a request until it is accepted, and hand on the answer."""
        rounds = None
        if exchange is not None and exchange.offers_recall:
            rounds = RecallRounds(exchange, self._managing.turns[exchange.request.protocol.name])
        while True:
            try:
                async with aclosing(await self._response(incoming, content, is_read=exchange is not None)) as response:
                    again = await self._handed_on(response, exchange, rounds, send, report)
            except RefusedHereError as error:
                if rounds is None or not report.status:
                    raise
                report.why = str(error)
                await broken_off(rounds, report.why, send)  # the client has the beginning of a stream
                return
            except httpx.TransportError as error:
                if report.status:  # the client has the beginning of the answer
                    raise
                raise _no_answer(error) from error
            if again is None:
                return
            content = again
            assert exchange is not None
            if exchange.is_rewritten:
                report.what = outcomes.COMPACTED
            if exchange.was_shortened:
                report.refusals, report.sent_bytes = report.refusals + 1, len(content)
            else:
                report.sent_bytes += len(content)

    async def _response(self, incoming: Incoming, content: Any, *, is_read: bool) -> httpx.Response:
        """Send a request once. The parameters are those of `Upstream.send`.

        Raises:
            RefusedHereError: It goes nowhere, or gets no answer.
        """
        try:
            return await self._upstream.send(incoming, content, is_read=is_read)
        except httpx.TransportError as error:
            raise _no_answer(error) from error

    async def _handed_on(
        self,
        response: httpx.Response,
        exchange: Exchange | None,
        rounds: RecallRounds | None,
        send: Send,
        report: Report,
    ) -> bytes | None:
        """Hand on an answer. Returns what to send next, if the provider refused the request as too long, or if the
        model called our recall tool.
        """
        headers, status = response.headers, response.status_code
        if not is_answer(status, headers.raw):
            raise RefusedHereError(502, _MALFORMED)
        encoding = headers.get("content-encoding", "").lower()
        reader = AnswerReader(headers.get("content-type", ""), encoding)
        if exchange is not None and rounds is not None and status < 400:
            return await answered_with_recall(response, exchange, rounds, send, report)
        async with aclosing(Pieces(response.aiter_raw())) as pieces:
            read, refusal = ([], "") if exchange is None else await _beginning(pieces, status, reader, encoding)
            if exchange is not None and refusal and await shortened(exchange, refusal):
                return exchange.content
            if report.status and rounds is not None:  # the client has the beginning of a stream
                await broken_off(rounds, f"the provider answered {status}: {refusal}", send)
                return None
            report.status = status
            await send({"type": "http.response.start", "status": status, "headers": of_answer(headers.raw)})
            for chunk in read:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            async for chunk in pieces.rest():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                if exchange is not None and status < 400:
                    reader.feed(chunk)
        await send({"type": "http.response.body", "body": b""})
        if exchange is not None and status < 400:
            observe(exchange, reader.response(), reader.rejection, report)
        return None


def _no_answer(error: httpx.TransportError) -> RefusedHereError:
    """Return the refusal of a request that the provider does not answer."""
    if isinstance(error, httpx.RemoteProtocolError):  # whose text may quote the answer
        return RefusedHereError(502, _MALFORMED)
    return RefusedHereError(502, f"the provider cannot be reached: {type(error).__name__}: {error}")


async def _beginning(pieces: Pieces, status: int, reader: AnswerReader, encoding: str) -> tuple[list[bytes], str]:
    """Return the first bytes of an answer, as far as they may refuse the request, and the words of the refusal."""
    if status >= 400:
        read = await pieces.beginning(_LONGEST_ERROR, _FOR_ERROR)
        return read, error_text(b"".join(read), encoding)
    read = await pieces.beginning(1, _FOR_FIRST_EVENT) if reader.is_stream else []
    reader.feed(b"".join(read))
    return read, "" if reader.rejection is None else str(reader.rejection)


async def _while_client_stays(incoming: Incoming, work: Any) -> None:
    """Run a coroutine, and cancel it if the client closes its connection."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(incoming.has_left())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientLeft
        working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _all_of(read: bytes, incoming: Incoming) -> AsyncIterator[bytes]:
    yield read
    async for chunk in incoming.rest():
        yield chunk


async def _answer_here(send: Send, refused: RefusedHereError) -> None:
    """Answer with an error in a shape that the clients of all APIs read."""
    error = {"type": "error", "error": {"type": "api_error", "message": str(refused)}}
    headers = [(b"content-type", b"application/json")]
    if refused.status == _STALLED:  # the rest of the request would be taken for the next one
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(error).encode()})
