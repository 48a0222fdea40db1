"""Answers to a request with our recall tool: its calls are answered here, and the client gets the rest."""

from contextlib import aclosing
from typing import Any

import httpx
from starlette.types import Send

from backscroll.errors import BackscrollError, MessageError
from backscroll.integrations.clients.collected import Collected, rejection_in
from backscroll.integrations.proxy.answer import MOST, parsed
from backscroll.integrations.proxy.exchange import Exchange
from backscroll.integrations.proxy.headers import of_answer
from backscroll.integrations.proxy.json_text import written
from backscroll.integrations.proxy.observing import observe, shortened
from backscroll.integrations.proxy.pieces import Pieces
from backscroll.integrations.proxy.recall_rounds import RecallRounds
from backscroll.integrations.proxy.refusal import RefusedHereError, no_view
from backscroll.integrations.proxy.report import Report
from backscroll.integrations.proxy.server_events import ServerEvents
from backscroll.integrations.proxy.unpacking import UnpackedTooLargeError, unpacked
from backscroll.notices import warn

_REWRITTEN = frozenset((b"content-length", b"content-encoding"))
"""Headers that say nothing of what is handed on: it is decoded, and may be another text."""

_LONGEST = 2_000
"""Characters of a provider's error that a client gets within a stream."""


async def answered_with_recall(
    response: httpx.Response, exchange: Exchange, rounds: RecallRounds, send: Send, report: Report
) -> bytes | None:
    """Hand on an answer without our tool. Returns the request to send next, if the model called it.

    Args:
        response: The answer, which was accepted.
        exchange: The request.
        rounds: Its round trips.
        send: Of ASGI.
        report: The report.

    Raises:
        RefusedHereError: The answer cannot be read, or no view could be made of what followed.
        httpx.TransportError: The answer broke off.
    """
    handed_on = _streamed if "text/event-stream" in response.headers.get("content-type", "") else _whole
    try:
        return await handed_on(response, exchange, rounds, send, report)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # of a shape that no API has
        raise RefusedHereError(502, f"the provider's answer cannot be read: {type(error).__name__}") from error
    except BackscrollError as error:
        raise no_view(error) from error


async def broken_off(rounds: RecallRounds, text: str, send: Send) -> None:
    """End a stream with an error: the provider failed in a later round trip."""
    await send({"type": "http.response.body", "body": rounds.stream.error(text[:_LONGEST])})


async def _whole(
    response: httpx.Response, exchange: Exchange, rounds: RecallRounds, send: Send, report: Report
) -> bytes | None:
    """Hand on an answer that is no stream. One that is too large to be read goes on as it comes."""
    async with aclosing(Pieces(response.aiter_raw())) as pieces:
        data = b"".join(await pieces.beginning(MOST + 1, None))
        said = _parsed(data, response.headers.get("content-encoding", ""))
        observe(exchange, said, None, report)
        is_asked_again = said is not None and await rounds.take(said)
        report.lookups = rounds.lookups
        if is_asked_again:
            return exchange.content
        if said is not None and rounds.is_changed:
            data = written(rounds.merged()).encode()
            await _start(response, send, report, (b"content-length", str(len(data)).encode()))
        else:
            await _start(response, send, report, is_as_it_came=True)
        await send({"type": "http.response.body", "body": data, "more_body": True})
        async for chunk in pieces.rest():
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
    return None


def _parsed(data: bytes, encoding: str) -> dict[str, Any] | None:
    """Return the JSON object that an answer is; `None` if it is none, or too large."""
    try:
        return parsed(unpacked(data, encoding, MOST)) if len(data) <= MOST else None
    except (MessageError, UnpackedTooLargeError):
        return None


async def _streamed(
    response: httpx.Response, exchange: Exchange, rounds: RecallRounds, send: Send, report: Report
) -> bytes | None:
    stream, events, collected = rounds.stream, ServerEvents(), Collected()
    rejection, is_shown, is_readable, size = None, False, True, 0
    stream.begin()
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        is_readable = is_readable and size <= MOST
        found = bytearray()
        for event in events.feed(chunk):
            if isinstance(event.data, dict):
                rejection = rejection or rejection_in(event.data)
                if rejection is not None and not is_shown and await shortened(exchange, str(rejection)):
                    return exchange.content
                is_readable = is_readable and _is_added(collected, event.data)
            found += stream.shown(event)
        if found:
            is_shown = True
            if not report.status:
                await _start(response, send, report)
            await send({"type": "http.response.body", "body": bytes(found), "more_body": True})
    said = _response_of(collected) if is_readable else None
    observe(exchange, said, rejection, report)
    is_asked_again = said is not None and await rounds.take(said)
    report.lookups = rounds.lookups
    if is_asked_again:
        return exchange.content
    last = stream.end(rounds.merged() if said is not None and rounds.is_changed else None) + events.rest()
    if not report.status:
        await _start(response, send, report)
    await send({"type": "http.response.body", "body": last})
    return None


async def _start(
    response: httpx.Response, send: Send, report: Report, *more: tuple[bytes, bytes], is_as_it_came: bool = False
) -> None:
    report.status = response.status_code
    dropped = frozenset[bytes]() if is_as_it_came else _REWRITTEN
    headers = [pair for pair in of_answer(response.headers.raw) if pair[0] not in dropped]
    await send({"type": "http.response.start", "status": response.status_code, "headers": [*headers, *more]})


def _is_added(collected: Collected, event: dict[str, Any]) -> bool:
    """Add an event. Returns whether that is possible: a provider may send what no API has."""
    try:
        collected.add(event)
    except Exception as error:
        warn(f"an answer is handed on as it came, because an event of it cannot be read: {type(error).__name__}")
        return False
    return True


def _response_of(collected: Collected) -> dict[str, Any] | None:
    """Return the answer of a stream; `None` if it did not end, or within the arguments of a call."""
    collected.end()
    try:
        found = collected.response()
    except MessageError:
        return None
    return found if isinstance(found, dict) else None
