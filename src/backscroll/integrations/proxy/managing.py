"""The conversations of a proxy: finds the one of a request and makes its view."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

from backscroll.errors import StoreError
from backscroll.integrations.conversations import OF_STORES, Conversations
from backscroll.integrations.proxy.anthropic import Anthropic
from backscroll.integrations.proxy.conversation import NewestRequest, ProxiedConversation
from backscroll.integrations.proxy.exchange import Exchange
from backscroll.integrations.proxy.incoming import LARGEST
from backscroll.integrations.proxy.lines import Lines
from backscroll.integrations.proxy.managed_request import ManagedRequest
from backscroll.integrations.proxy.openai import Chat, Responses
from backscroll.integrations.proxy.protocol import Headers, Protocol
from backscroll.integrations.proxy.recall_turns import RecallTurns
from backscroll.integrations.proxy.request_body import RequestBody, text_of
from backscroll.integrations.proxy.seen import SeenMessages
from backscroll.integrations.proxy.settings import ProxySettings
from backscroll.integrations.proxy.store_rest import StoreRest
from backscroll.integrations.proxy.unpacking import unpacked
from backscroll.messages.cache_marks import without_marks
from backscroll.notices import warn

T = TypeVar("T")
_LARGE = 1_000_000
"""Bytes of a body from which it is read in a thread: reading takes 5 ms a megabyte, and all others would wait."""


class Place(NamedTuple):
    """Where the conversations of one API are."""

    conversations: Conversations[ProxiedConversation]
    lines: Lines


class Managing:
    """The conversations of a proxy.

    Args:
        settings: Its settings.

    Raises:
        ConfigurationError: An option can never work.
    """

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._protocols: tuple[Protocol, ...] = (Anthropic(), Chat(), Responses())
        options = {"clear_at_least_tokens": None, **settings.options}  # below the threshold requests stay as they came
        in_memory = {name: value for name, value in options.items() if name not in OF_STORES}
        self._in_memory = {each.name: _place(each, in_memory, None) for each in self._protocols}
        self._stored: dict[str, Place] = {}
        if settings.store is not None:
            stored = {**options, "store": settings.store}
            self._stored = {each.name: _place(each, stored, settings.store) for each in self._protocols}
        self._seen = SeenMessages()
        self.turns: dict[str, RecallTurns] = {each.name: RecallTurns(each.recall) for each in self._protocols}
        """The turns in which our recall tool was called, by API."""
        self._rest = StoreRest(settings.store_rest)

    def protocol_of(self, path: str) -> Protocol | None:
        """Return the API of a request that holds a conversation."""
        return next((each for each in self._protocols if each.path.fullmatch(path)), None)

    async def read(self, protocol: Protocol, raw: bytes, encoding: str) -> RequestBody:
        """Read a body.

        Args:
            protocol: Its API.
            raw: The body as it came.
            encoding: Its `content-encoding`.

        Raises:
            MessageError: It holds no conversation.
            UnpackedTooLargeError: It is too large when it is unpacked.
        """
        if encoding:
            raw = await asyncio.to_thread(unpacked, raw, encoding, LARGEST)
        if len(raw) < _LARGE:
            return RequestBody(raw, protocol.list_key, self._seen)
        return await asyncio.to_thread(RequestBody, raw, protocol.list_key, self._seen)

    @asynccontextmanager
    async def exchange(self, protocol: Protocol, headers: Headers, body: RequestBody) -> AsyncIterator[Exchange | None]:
        """Return the request with its view; `None` if it only looks back at an earlier part of a conversation
        and nothing is left out of it. Otherwise what a model thinks of it is bound to a view, and has a conversation of
        its own.

        Raises:
            BackscrollError: It cannot be managed.
        """
        request = ManagedRequest(protocol, headers, body, self._settings.budget)
        request.wants_recall = (
            self._settings.recall and not self._settings.shadow and body.fields.get("n", 1) in (1, None)
        )
        await self._restore(request)
        place, entered = await self._in_store(protocol, partial(_entered, request=request))
        if entered is None:
            yield None
            return
        try:
            yield entered
        finally:
            place.conversations.leave(entered.conversation)

    async def counted(self, protocol: Protocol, headers: Headers, body: RequestBody) -> bytes | None:
        """Return the body that asks for the length of a view instead of that of the whole conversation; `None` where
        nothing is left out.
        """
        request = ManagedRequest(protocol, headers, body)
        await self._restore(request)
        _, newest = await self._in_store(protocol, partial(_newest, request=request))
        if newest is None or newest.texts is None:
            return None
        more = protocol.items(request.natives[newest.messages :])  # the view has all marks that there may be
        return body.with_items([*newest.texts, *(text_of(without_marks(item), item) for item in more)])

    async def _restore(self, request: ManagedRequest) -> None:
        """Put back what the client did not see."""
        if not self._settings.recall:
            return
        items, protocol, prompts = request.body.items, request.protocol, len(request.prompts)
        turns, own = self.turns[request.protocol.name], items[prompts:]
        if not turns.knows(request.group):
            _, stored = await self._in_store(protocol, partial(_with_recall, request=request))
            turns.recollect(request.group, stored, protocol.says)
        request.place = turns.place(own, protocol.says)
        found = turns.restored(request.group, own, protocol.says)
        if found is not None:
            request.body.items = [*items[:prompts], *found]
            request.take(request.body.items)
            request.is_restored = True

    async def warm(self) -> None:
        """Load what the first view needs, so that no request waits for it."""
        await self._in_memory[self._protocols[0].name].conversations.unnamed().warm()

    async def close(self) -> None:
        """Store what is buffered.

        Raises:
            StoreError: The store failed.
        """
        for place in self._stored.values():
            await asyncio.to_thread(place.conversations.close)

    async def _in_store(self, protocol: Protocol, work: Callable[[Place], Awaitable[T]]) -> tuple[Place, T]:
        """Return what `work` returns, and where the conversations were that it got: in memory while the store rests."""
        in_memory = self._in_memory[protocol.name]
        if protocol.name not in self._stored or not self._rest.begin(time.monotonic()):
            return in_memory, await work(in_memory)
        place, has_answered = self._stored[protocol.name], False
        try:
            async with asyncio.timeout(self._settings.store_timeout):
                found = await work(place)
            has_answered = True
        except (StoreError, TimeoutError) as error:
            rest, why = self._rest.fail(time.monotonic()), str(error) or "it does not answer"
            warn(f"conversations go on in memory for {rest:.0f} seconds, because the store failed: {why}")
        finally:
            self._rest.end(has_answered=has_answered)
        return (place, found) if has_answered else (in_memory, await work(in_memory))


def _place(protocol: Protocol, options: dict[str, Any], store: Any) -> Place:
    conversations = Conversations(partial(ProxiedConversation, protocol.translation), options)
    return Place(conversations, Lines(conversations, store))


async def _entered(place: Place, request: ManagedRequest) -> Exchange | None:
    """Return the prepared exchange, whose conversation is in use from now on; `None` for an unchanged look back."""
    async with place.lines.name_of(request.group, request.natives, request.agent) as (found, looks_back):
        if looks_back and not await _leaves_out(place, request, found):
            return None
        name = await place.lines.branch(request.group, found) if looks_back else found
        exchange = Exchange(place.conversations.get(name, in_use=True), request, name)
        try:
            await exchange.prepare()
        except BaseException:
            place.conversations.leave(exchange.conversation)
            raise
        return exchange


async def _newest(place: Place, request: ManagedRequest) -> NewestRequest | None:
    """Return what was sent last of the conversation that a request goes on from, also by another process; `None` if it
    goes on from none.
    """
    async with place.lines.known_or_stored(request.group, request.natives) as (name, length):
        if not name:
            return None
        conversation = place.conversations.get(name, in_use=True)
        try:
            if conversation.newest is None:
                await Exchange(conversation, request, name).recollect(length)
            return conversation.newest
        finally:
            place.conversations.leave(conversation)


async def _with_recall(place: Place, request: ManagedRequest) -> list[list[dict[str, Any]]]:
    """Return all that was sent of the stored conversations with our tool that a request may belong to."""
    found = []
    for each in await place.lines.stored(request.group):
        if await each.began_with_recall():
            messages = await each.get_messages()
            found.append([item for message in messages for item in request.protocol.stored_items(message)])
    return found


async def _leaves_out(place: Place, request: ManagedRequest, name: str) -> bool:
    """Return whether a request is not sent as it came, as a branch of this conversation: a view leaves something out,
    or it has our recall tool.
    """
    exchange = Exchange(place.conversations.unnamed(), request, "")
    known = place.conversations.get(name)
    await exchange.conversation.branches_from(known, is_edited=await known.is_edited())
    await exchange.prepare()
    return exchange.is_rewritten or exchange.offers_recall
