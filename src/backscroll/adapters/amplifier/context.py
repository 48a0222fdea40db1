"""The context managers that are mounted: `AmplifierContext` for the contract 2.1.0, `OldContext` for 1.x.

They are `backscroll.ContextManager` with the protocol's ways: the provider's model is the lane, a host that restores
its own filtered transcript changes nothing, and the transcript is kept in a file where that was asked for.
"""

import asyncio
import inspect
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from backscroll import events
from backscroll.adapters.amplifier import signals
from backscroll.adapters.amplifier.files import TranscriptFile, memory_message
from backscroll.adapters.amplifier.providers import MAIN, ProviderSummarizer, make_sendable, model_of
from backscroll.adapters.amplifier.signals import Signals
from backscroll.adding import passing
from backscroll.base import SystemPrompt
from backscroll.driving import drive_async, drive_held
from backscroll.errors import MessageError
from backscroll.manager import ContextManager
from backscroll.messages import accept, read_message
from backscroll.ports import Operation
from backscroll.reporting import Compaction
from backscroll.turnstile import Turnstile

Message = dict[str, Any]


class AmplifierContext(ContextManager):
    """One session. Made in `mount()`; opens no file before its first use, so that it may be made in vain."""

    def __init__(
        self,
        signals: Signals,
        options: Mapping[str, Any],
        transcript: TranscriptFile | None = None,
        memory_files: Sequence[str] = (),
        summarizer: ProviderSummarizer | None = None,
    ) -> None:
        super().__init__(**options, summarizer=summarizer, on_event=signals.emit)
        self._summarizer = summarizer
        self._signals = signals
        self._file = transcript
        self._memory_files = tuple(memory_files)
        self._opening = Turnstile()
        """One task at a time begins the conversation, from its files. Nothing is told to the host meanwhile."""
        self._writing = Lock()
        self._loaded = transcript is None and "store" not in options
        self._unread = False
        """Whether the transcript could not be read: then it is added to, and never replaced."""
        self._saved = 0
        self._saved_epoch = 0
        self._sent = MAIN
        """The lane that was asked last."""
        self._unreported = False
        """Whether nobody told yet what became of the request that was handed out last."""
        signals.listen(self._heard_usage, self._heard_error)

    # -- the protocol --

    async def add_message(self, message: Any) -> None:
        """Adds one message, as the host gives it. Raises `MessageError` for what is no message; then nothing was
        added.
        """
        await self.append(message)

    async def append(self, *messages: Any, id: str | None = None) -> int:
        """Adds several messages in one step and answers the last `seq`; see `ContextManager.append`."""
        await self._load()
        await self._remember()
        last = await super().append(*messages, id=id)
        await self._save()
        return last

    async def get_messages_for_request(
        self,
        token_budget: int | None = None,
        provider: Any = None,
        *,
        lane: str | None = None,
        outside_tokens: int = 0,
    ) -> list[Message]:
        """The view to send; see `ContextManager.get_messages_for_request`.

        A budget of 0 is none. The lane is the provider's model, and without a provider the one that was asked last.
        Contents are never None, and keys that begin with an underscore, other managers' bookkeeping, are left out.
        """
        await self._load()
        if self._summarizer is not None and provider is not None:
            self._summarizer.serving = provider
        lane = lane or (self._sent if provider is None else await model_of(provider))
        view = await super().get_messages_for_request(
            token_budget or None, provider, lane=lane, outside_tokens=outside_tokens
        )
        self._sent, self._unreported = lane, True
        for message in view:
            make_sendable(message)
        return view

    async def get_messages(self) -> list[Message]:
        """Everything that was added and not cleared, as it came; never compacted, nothing synthetic in it."""
        return await self._everything()

    async def _everything(self) -> list[Message]:
        await self._load()
        return await super().get_messages()

    async def set_messages(self, messages: Sequence[Any]) -> None:
        """Makes the conversation these messages, unless they are only the host's filtered copy of what is held.

        Hosts write transcripts without system and developer messages and without empty values. When they restore one,
        what is held already is the better copy and stays, with an event. Everything else is taken as it is, behind
        memory files and without what was ephemeral: that was for its own session.
        """
        accepted = [accept(message) for message in messages]
        given = [message for message in accepted if not passing(read_message(message))]
        await self._load()
        await self._remember()
        held = await self._everything()
        if held and _as_hosts_keep([entry for entry in held if not _is_system(entry)]) == _as_hosts_keep(given):
            await self.tell(signals.RESTORE_IGNORED, {"messages": len(given), "kept": len(held)})
            return
        remembered = [message for message in held if _is_memory(message) and message not in given]
        await super().set_messages([*remembered, *given])
        await self._save()

    async def clear(self) -> None:
        """Empties the conversation and its transcript."""
        await self._load()
        await super().clear()
        await self._save()

    async def compact(self, focus: str | None = None, *, lane: str | None = None) -> Compaction | None:
        """Compacts the lane down to the target, by default the one that was asked last."""
        await self._load()
        return await super().compact(focus, lane=lane or self._sent)

    async def aclose(self) -> None:
        """Hears nothing more of the session and frees what it holds open."""
        self._signals.close()
        await super().aclose()

    def set_system_prompt_factory(self, factory: SystemPrompt | None) -> None:
        """As `ContextManager.set_system_prompt_factory`. Where the factory fails, its last text is sent once more, with
        a warning and an event; before its first, its error ends the request.
        """
        super().set_system_prompt_factory(None if factory is None else self._careful(factory))

    def _careful(self, factory: Callable[[], Any]) -> Callable[[], Awaitable[str]]:
        last: str | None = None

        async def ask() -> str:
            nonlocal last
            try:
                text = factory()
                last = await text if inspect.isawaitable(text) else text
            except Exception as error:
                if last is None:
                    raise
                await self._warn(signals.PROMPT_FAILED, {"error": f"{error!r:.200}"})
            return last or ""

        return ask

    # -- files --

    async def _load(self) -> None:
        """Takes in what is kept, once: the conversation goes on there."""
        if self._loaded:
            return
        if self._file is None:
            await drive_async(self._opened, self._session.enter())
            self._loaded = True
            return
        problem: dict[str, Any] = {}
        await self._opening.acquire_async()
        try:
            if not self._loaded:
                problem = await self._read(self._file)
        finally:
            self._opening.release()
        if problem:
            await self._warn(signals.FILE_FAILED, problem)

    async def _read(self, file: TranscriptFile) -> dict[str, Any]:
        """Takes in what the file holds, all of it or nothing; answers what was wrong with it."""
        try:
            found = await asyncio.to_thread(file.load)
        except OSError as error:
            self._loaded = self._unread = True
            return {"path": str(file.path), "error": str(error)}
        messages: list[Message] = []
        damaged = list(found.damaged)
        for number, message in found.messages:
            try:
                messages.append(accept(message))
            except MessageError:
                damaged.append(number)
        kept = [message for message in messages if not passing(read_message(message))]
        await drive_async(self._opened, self._restored(kept))
        return {"path": str(file.path), "damaged_lines": sorted(damaged)} if damaged else {}

    def _restored(self, messages: Sequence[Message]) -> Operation[None]:
        """The conversation goes on from here before anybody hears of it: a listener may use it at once."""
        yield from self._session.append(messages)
        self._saved, self._saved_epoch = len(self._session.history.branch), self._session.history.epoch
        self._loaded = True

    async def _remember(self) -> None:
        """Memory files open a conversation that is still empty."""
        if not self._memory_files or self._session.history.branch:
            return
        failed: list[tuple[str, str]] = []
        found: list[Message] = []
        await self._opening.acquire_async()
        try:
            for path in () if self._session.history.branch else self._memory_files:
                try:
                    found.append(await asyncio.to_thread(memory_message, path))
                except OSError as error:
                    failed.append((path, str(error)))
                    self._memory_files = tuple(known for known in self._memory_files if known != path)
            await drive_async(self._opened, self._session.append(found))
        finally:
            self._opening.release()
        for path, why in failed:
            await self._warn(signals.FILE_FAILED, {"path": path, "error": why})
        for message in found:
            told = {"source": message["metadata"]["path"], "content": message["content"]}
            await self.tell(events.INCLUDE, told)

    async def _save(self) -> None:
        """Brings the transcript up to date, all of it where writing failed before."""
        if self._file is None:
            return
        failed = await asyncio.to_thread(self._write, self._file)
        if failed:
            await self._warn(signals.FILE_FAILED, {"path": str(self._file.path), "error": failed})

    def _write(self, file: TranscriptFile) -> str:
        """Runs in a thread, to its end even if nobody waits for it any more: nothing is written twice."""
        with self._writing:
            self._opened.turnstile.acquire()
            try:
                history = self._session.history
                epoch, held = history.epoch, len(history.branch)
                anew = epoch != self._saved_epoch or held < self._saved
                new = drive_held(self._session.stored(0 if anew else self._saved))
            finally:
                self._opened.turnstile.release()
            if anew and self._unread:
                return "it is not written anew, as what it holds could not be read"
            try:
                if anew:
                    file.replace(new)
                elif new:
                    file.append(new)
            except OSError as error:
                return str(error)
            self._saved, self._saved_epoch = held, epoch
            return ""

    # -- what is heard and told --

    def _heard_usage(self, payload: Mapping[str, Any]) -> None:
        """The first report after a request is about it; loops and providers both tell of the same call."""
        counted = signals.usage_in(payload) if self._unreported else None
        estimate = self._session.sent(self._sent)
        if counted is not None and estimate is not None:
            self._unreported = False
            fresh, read, written = signals.prompt_parts(counted, estimate)
            self.observe_usage(
                input_tokens=fresh, output_tokens=counted.output, cache_read_tokens=read, cache_write_tokens=written,
                lane=self._sent,
            )  # fmt: skip  # one thought

    def _heard_error(self, payload: Mapping[str, Any]) -> None:
        if self._unreported and signals.says_too_long(payload):
            self._unreported = False
            requested, limit = signals.sizes_in(payload)
            self.observe_overflow(requested_tokens=requested, limit_tokens=limit, lane=self._sent)

    async def _warn(self, name: str, payload: dict[str, Any]) -> None:
        """Something works less well than asked for."""
        warnings.warn(f"{name}: {payload}", RuntimeWarning, stacklevel=2)
        await self.tell(name, payload)

    async def tell(self, name: str, payload: dict[str, Any]) -> None:
        """Emits an event to the host."""
        try:
            await self._signals.emit(name, payload)
        except Exception as error:  # a host's listener must not fail the conversation
            warnings.warn(f"the host's hooks raised {error!r} for {name}", RuntimeWarning, stacklevel=2)


class OldContext(AmplifierContext):
    """The contract 1.x over the same core: the host asks whether to compact, has it done, and sends what
    `get_messages` returns.
    """

    async def get_messages(self) -> list[Message]:
        """What is to be sent."""
        return await self.get_messages_for_request()

    async def get_history(self) -> list[Message]:
        """Everything that was added and not cleared, which the old contract has no method for."""
        return await self._everything()

    async def should_compact(self) -> bool:
        """Whether the request is over the threshold."""
        await self._load()
        return await drive_async(self._opened, self._session.is_due(self._sent))


def _is_system(message: Message) -> bool:
    return message["role"] in ("system", "developer")


def _is_memory(message: Message) -> bool:
    metadata = message.get("metadata")
    return type(metadata) is dict and metadata.get("hook_name") == "memory_files" and _is_system(message)


def _as_hosts_keep(value: Any) -> Any:
    """Without empty values, at any depth."""
    if type(value) is dict:
        return {key: _as_hosts_keep(item) for key, item in value.items() if item is not None}
    return [_as_hosts_keep(item) for item in value] if type(value) is list else value
