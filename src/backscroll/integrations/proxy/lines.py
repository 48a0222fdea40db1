"""Which conversation a request belongs to.

A client's own id covers a session with all its sub-agents and side requests, and some clients send none. Requests of
one id that begin with the same message are separated by their prefix: a request belongs to the conversation that it
goes on from, also with a changed prompt or other tools. If it goes on from none, it is an edit of the one that it has
most in common with, another agent's, or a new task behind the same opening.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from backscroll.integrations.conversations import Conversations
from backscroll.integrations.proxy.agent import Agent
from backscroll.integrations.proxy.conversation import NUMBER, ProxiedConversation
from backscroll.ports import Store

_MOST_READ = 16
"""Stored conversations that are compared with a request that goes on from no open one: the newest."""
_OPENING = 1
"""Answers in what a client says before each task. Some clients describe the folder to the model, and answer for it.
With none, their next task would rewind the one before; with more, an early edit would leave its conversation.
"""


class Lines:
    """The conversations of one API.

    Args:
        conversations: The table that they are in.
        store: Where they are stored. `None`: nowhere.
    """

    def __init__(self, conversations: Conversations[ProxiedConversation], store: Store | None) -> None:
        self._conversations = conversations
        self._store = store
        self._names: dict[str, list[str]] = {}
        """Names by what the conversations have in common: the client's id and the first message. The newest is last."""
        self._apart: set[tuple[str, str]] = set()
        """Open conversations, each with a stored one that differs from it before its end."""
        self._is_read = store is None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._reading = asyncio.Lock()

    @asynccontextmanager
    async def name_of(
        self, group: str, history: Sequence[Any], agent: Callable[[], Agent]
    ) -> AsyncIterator[tuple[str, bool]]:
        """Return the name of the conversation of a request, and whether the request only looks back at it.

        The caller loads the messages within the block: requests of the same group wait, to be compared with them.

        Args:
            group: The client's id and the first message.
            history: The messages of the request.
            agent: Returns which agent sends it; called only where that matters.

        Raises:
            StoreError: The store failed.
        """
        lock = self._locks.setdefault(group, asyncio.Lock())
        async with lock:
            name, looks_back = await self._name_of(group, history, agent)
            if not looks_back and await self._mixes(group, name, history):
                name = await self.branch(group, name, is_bound=True)
            yield name, looks_back

    async def stored(self, group: str) -> list[ProxiedConversation]:
        """Return the stored conversations of a group that are not loaded, the newest first.

        Raises:
            StoreError: The store failed.
        """
        await self._read_names()
        return list(map(self._conversations.get, self._closed(group)))

    @asynccontextmanager
    async def known_or_stored(self, group: str, history: Sequence[Any]) -> AsyncIterator[tuple[str, int]]:
        """Return the name of the conversation that a request goes on from, without a change, and how many of its
        messages that has; an empty name if there is none. No request of the same group begins within the block.

        Raises:
            StoreError: The store failed.
        """
        async with self._locks.setdefault(group, asyncio.Lock()):
            await self._read_names()
            found = [(each.messages, name) for name, each in self._open(group) if each.continued_by(history)]
            if not found:
                stored = await self._alike(group, history)
                found = [(same, name) for same, length, name in stored if same == length]
            length, name = max(found, default=(0, ""))
            yield name, length

    async def branch(self, group: str, name: str, *, is_bound: bool = False) -> str:
        """Return the name of a new conversation that begins as this one does. Only within `name_of`.

        Args:
            group: The client's id and the first message.
            name: The name of the conversation.
            is_bound: Whether reasoning of the request is bound to a view, also if none was made of this conversation.
        """
        known = self._conversations.get(name)
        is_edited = is_bound or await known.is_edited()
        branch = self._new(group, is_edited=is_edited)
        await self._conversations.get(branch).branches_from(known, is_edited=is_edited)
        return branch

    async def _mixes(self, group: str, name: str, history: Sequence[Any]) -> bool:
        """Return whether what is new in a request holds reasoning that another conversation has, and a view was made of
        one of the two: then it is no answer to this one, and bound to something else than what will be sent.
        """
        conversation = self._conversations.get(name)  # first: in memory a name without one is dropped
        others = [each for each in {*dict(self._open(group)), *self._closed(group)} if each != name]
        new = set(await conversation.new_seals(history)) if others else ()
        for other in map(self._conversations.get, others if new else ()):
            if not (await other.seals()).isdisjoint(new) and (
                await other.is_edited() or await conversation.is_edited()
            ):
                return True
        return False

    async def _name_of(self, group: str, history: Sequence[Any], agent: Callable[[], Agent]) -> tuple[str, bool]:
        await self._read_names()
        fits = [(each.messages, name) for name, each in self._open(group) if each.continued_by(history)]
        if fits and not await self._has_rival(group, history, *max(fits)):
            return max(fits)[1], False
        found = await self._alike(group, history)
        name, looks_back = await self._chosen(group, history, agent, max(found, key=_rank, default=None))
        closed = {each for each in self._closed(group) if each != name}
        differ = {other for same, _, other in found if same < len(history)}
        self._apart = {each for each in self._apart if each[0] != name} | {(name, each) for each in closed & differ}
        return name, looks_back

    async def _chosen(
        self, group: str, history: Sequence[Any], agent: Callable[[], Agent], found: tuple[int, int, str] | None
    ) -> tuple[str, bool]:
        """Return what `name_of` does, for the conversation that begins most like a request."""
        if found is None or not found[0]:
            return self._new(group), False
        same, length, name = found
        if same == length:
            return name, False
        if same == len(history):
            return name, True
        conversation = self._conversations.get(name)
        if conversation.calls or await conversation.was_left(history, same):
            return await self.branch(group, name), False
        if await _is_apart(conversation, history, agent, same, has_gone_on=length - same > 1):
            return await self.branch(group, name), False
        return name, False

    async def _has_rival(self, group: str, history: Sequence[Any], length: int, name: str) -> bool:
        """Return whether a request has more in common with another conversation than all of the one that it goes on
        from: its answers come from that one.
        """
        if any(each.messages > length and each.in_common(history) > length for _, each in self._open(group)):
            return True
        for other in self._closed(group):
            if (name, other) in self._apart:
                continue
            same, _ = await self._conversations.get(other).stored_in_common(history)
            if same > length:
                return True
            self._apart.add((name, other))
        return False

    def _closed(self, group: str) -> list[str]:
        """Return the names of stored conversations that are not loaded, the newest first."""
        if self._store is None:
            return []
        loaded = {name for name, each in self._open(group) if each.messages}
        return [name for name in reversed(self._names.get(group, ())) if name not in loaded][:_MOST_READ]

    async def _alike(self, group: str, history: Sequence[Any]) -> list[tuple[int, int, str]]:
        """Return how much of each conversation a request has: messages in common, its length, its name."""
        found = [(each.in_common(history), each.messages, name) for name, each in self._open(group) if each.messages]
        for name in self._closed(group):
            same, length = await self._conversations.get(name).stored_in_common(history)
            if length:
                found.append((same, length, name))
        return found

    def _open(self, group: str) -> list[tuple[str, ProxiedConversation]]:
        found = ((name, self._conversations.known(name)) for name in self._names.get(group, ()))
        known = [(name, each) for name, each in found if each is not None]
        if self._store is None and group in self._names:
            self._names[group] = [name for name, _ in known]  # a closed one is nowhere
        return known

    def _new(self, group: str, *, is_edited: bool = False) -> str:
        names = self._names.setdefault(group, [])
        taken = set(map(_number, names))
        number = next(number for number in count(1) if number not in taken)
        name = group if number == 1 else f"{group}{'~' if is_edited else '.'}{number}"
        names.append(name)
        return name

    async def _read_names(self) -> None:
        """Read once which conversations an earlier process stored."""
        if self._is_read:
            return
        async with self._reading:
            if self._is_read:
                return
            assert self._store is not None
            names = await asyncio.to_thread(self._store.sessions)
            for name in sorted(names, key=_number):
                self._names.setdefault(NUMBER.sub("", name), []).append(name)
            self._is_read = True


async def _is_apart(
    conversation: ProxiedConversation,
    history: Sequence[Any],
    agent: Callable[[], Agent],
    same: int,
    *,
    has_gone_on: bool,
) -> bool:
    """Return whether a request is no edit of the conversation with which it has the first `same` messages in common.

    An edit would rewind it, so another agent's request must not pass for one. Only where a single message would go that
    has no answer yet, and work stays, is that no loss: a client may ask for a title at the end of a conversation.
    """
    is_opening = not conversation.holds_answers(history[:same], _OPENING + 1)
    is_new_task = is_opening and has_gone_on and not conversation.holds_answers(history[same:])
    return is_new_task or ((is_opening or has_gone_on) and await conversation.is_of_another(agent()))


def _rank(found: tuple[int, int, str]) -> tuple[Any, ...]:
    """Return by which of these conversations a request is placed: the one it has most of, and all of if it can be."""
    same, length, _ = found
    return same, same == length, *found


def _number(name: str) -> int:
    found = NUMBER.search(name)
    return int(found[1]) if found else 1
