"""The context manager that is mounted for the contract 2.1.0.

It is `backscroll.AsyncContextManager` adapted to the protocol: the provider's model is the lane, a host that
restores its own filtered transcript changes nothing, and a transcript file is kept if the configuration asks for it.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any

from backscroll import events
from backscroll.compaction.result import CompactionResult
from backscroll.errors import BudgetError, MessageError
from backscroll.integrations.amplifier import hooks as signals
from backscroll.integrations.amplifier.errors import no_room
from backscroll.integrations.amplifier.hooks import ERROR_EVENTS, PROMPT_EVENTS, USAGE_EVENTS, Signals
from backscroll.integrations.amplifier.providers import MAIN, MountedProviders, ProviderSummarizer
from backscroll.integrations.amplifier.restoration import SYSTEM, Restoration, kept_of, without_none
from backscroll.integrations.amplifier.transcript import TranscriptFile, memory_message
from backscroll.integrations.amplifier.wire import as_sent, is_reminder, loop_tokens
from backscroll.manager.async_manager import AsyncContextManager
from backscroll.manager.base import SystemPrompt
from backscroll.manager.driver import run_async, run_unlocked
from backscroll.manager.lock import FairLock
from backscroll.messages import read_message, read_new, validated
from backscroll.notices import warn
from backscroll.ports import Operation
from backscroll.session.append import append, passing
from backscroll.session.branching import replace
from backscroll.session.past import estimated_tokens, stored_messages
from backscroll.session.request import request
from backscroll.session.restoring import following, newest
from backscroll.session.store_sync import enter
from backscroll.tokens.budget import NO_LIMITS, Limits

Message = dict[str, Any]


class AmplifierContext(AsyncContextManager):
    """The context manager of one session. It opens no file before its first use: the kernel may create it only to
    validate the module.
    """

    _strict = False
    _write_view = staticmethod(as_sent)
    _shows_users = True  # loops put reminders in front of the user's last message

    def __init__(
        self,
        signals: Signals,
        options: Mapping[str, Any],
        transcript: TranscriptFile | None = None,
        memory_files: Sequence[str] = (),
        *,
        summarizer: ProviderSummarizer | None = None,
        providers: MountedProviders | None = None,
    ) -> None:
        super().__init__(**options, on_event=signals.emit)
        self._summarizer = summarizer
        self._providers = providers or MountedProviders(None)
        self._signals = signals
        self._file = transcript
        self._memory_files = tuple(memory_files)
        self._opening = FairLock()
        """Held by the one task that loads the conversation from its files. No event is emitted meanwhile."""
        self._writing = Lock()
        self._loaded = transcript is None and "store" not in options
        self._unread = False
        """Whether the transcript could not be read: then messages are appended to it, and it is never replaced."""
        self._saved = 0
        self._saved_epoch = 0
        self._system_prompt_factory: SystemPrompt | None = None
        """The object that was set last: hooks compare it by identity, call it, and set a wrapper around it."""
        self._prompt_text: str | None = None
        """Its last text."""
        self._sent = MAIN
        """The lane of the newest request."""
        self._unreported = False
        """Whether the newest request has no reported outcome yet."""
        self._claimed = False
        """Whether a loop reports usage itself, with `foreground_usage`."""
        self._restoration = Restoration()
        signals.hear(USAGE_EVENTS, "usage", self._heard_usage)
        signals.hear(ERROR_EVENTS, "error", self._heard_error)
        signals.hear(PROMPT_EVENTS, "prompt", self._heard_prompt)

    # -- methods of the context contract --

    async def add_message(self, message: Any) -> None:
        """Add one message as the host gives it.

        When a host resumes a session by adding its messages again, those already loaded are skipped, up to the first
        that differs or the next prompt.

        Args:
            message: The message.

        Raises:
            MessageError: It is not a message; nothing was added.
        """
        await self._load()
        cursor = self._restoration.cursor
        if cursor is None or not await self._is_replay(message, cursor):
            await self.append(message)

    async def append(self, *messages: Any, idempotency_key: str | None = None) -> int:
        """Add several messages in one step and return the last `seq`; see `AsyncContextManager.append`."""
        await self._load()
        await self._remember()
        await self._end_restoration()
        last = await super().append(*messages, idempotency_key=idempotency_key)
        await self._save()
        return last

    async def get_messages_for_request(
        self,
        token_budget: int | None = None,
        provider: Any = None,
        *,
        lane: str | None = None,
        model: str | None = None,
        overhead_tokens: int = 0,
        tools: Any = None,
    ) -> list[Message]:
        """Return the view to send; see `AsyncContextManager.get_messages_for_request`.

        Contents are never None, and keys that begin with an underscore (bookkeeping of other managers) are removed.

        Args:
            token_budget: Input tokens of the request. It limits both our own count and that of loops,
                `wire.loop_tokens`, as far as a valid view can be made that small. 0 or `None`: the provider's window.
            provider: The provider that will be called.
            lane: The lane. `None`: named after the provider and its model; without a provider, the lane of the newest
                request.
            model: The model that will answer, for callers without a provider; it names the lane.
            overhead_tokens: Tokens of the request outside the messages and `tools`.
            tools: The request's tool definitions. `None`: none.

        Raises:
            BudgetError: The messages that must stay do not fit. It is the kernel's `ContextLengthError` as well.
        """
        limits = Limits(measure=loop_tokens) if token_budget else NO_LIMITS
        lane = lane if model is None else self._lane_of(lane or MAIN, model)
        return await self._request(token_budget, provider, limits, lane, outside=overhead_tokens, tools=tools)

    async def _request(
        self, token_budget: int | None, provider: Any, limits: Limits, lane: str | None = None, **more: Any
    ) -> list[Message]:
        await self._load()
        if self._summarizer is not None and provider is not None:
            self._summarizer.serving = provider
        lane = lane or (self._sent if provider is None else await self._providers.lane(provider))
        asked = request(self._session, token_budget or None, provider, lane, limits=limits, **more)
        try:
            view = await run_async(self._opened, asked)
        except BudgetError as error:
            raise no_room(error, provider) from error
        self._sent, self._unreported = lane, True
        return view

    async def request_retention(
        self,
        *,
        retain_contents: Sequence[str],
        provider: Any = None,
        token_budget: int | None = None,
        hard_fit: bool = False,
    ) -> list[Message]:
        """Provide the capability `context.request_retention`: return the view with certain reminders in it, verbatim.

        Args:
            retain_contents: Contents of user messages whose metadata says `ephemeral` and `persisted`. The newest
                message of each content stays in this request.
            provider: The provider that will be called.
            token_budget: Input tokens of the request.
            hard_fit: Whether the view may use all of `token_budget`, with no margin.

        Raises:
            BudgetError: A content is not in the session, or the view cannot be made to fit; nothing changed. It is the
                kernel's `ContextLengthError` as well.
        """
        await self._load()
        retained = set()
        for content in retain_contents:
            wanted = partial(is_reminder, content=content)
            seq = await run_async(self._opened, newest(self._session, wanted))
            if seq is None:
                raise no_room(BudgetError(f"no reminder with the content {content!r:.80} is held"), provider)
            retained.add(seq)
        measure = loop_tokens if token_budget else None
        return await self._request(token_budget, provider, Limits(measure, hard_fit, frozenset(retained)))

    def foreground_usage(self) -> Callable[..., None]:
        """Provide the capability `context.foreground_usage`: return the function that a loop calls after each response.

        From then on usage reported by events is ignored, since it may come from calls of hooks.
        """
        self._claimed = True

        def record(*, input_tokens: int | None, cache_write_tokens: int = 0) -> None:
            if input_tokens is not None:
                usage = {"input_tokens": input_tokens, "cache_write_tokens": cache_write_tokens}
                self._take_usage({"usage": usage})
            self._unreported = False

        return record

    async def get_messages(self) -> list[Message]:
        """Return every message that was added and not cleared, as it was added."""
        return await self._everything()

    async def _everything(self) -> list[Message]:
        await self._load()
        return await super().get_messages()

    async def set_messages(self, messages: Sequence[Any]) -> None:
        """Make the conversation hold these messages, unless they are the host's filtered copy of it.

        Hosts write transcripts of their own, without system messages, empty values, thinking or tool results. The first
        list set after a session was loaded is compared without what such a copy lacks. Messages that match stay as they
        are in the session, with an event, because the session's copy is better. If the list ends before a user's
        message, or continues differently, so does the conversation.

        Later, only a list that lacks nothing but system messages and empty values is ignored. Any other list replaces
        the conversation, after the memory files and without ephemeral messages, which belonged to an earlier session.
        An empty list empties it.

        Args:
            messages: The conversation, oldest first.

        Raises:
            MessageError: One of them is not a message; nothing was changed.
        """
        accepted = [validated(message) for message in messages]
        await self._load()
        if not accepted:
            await self.clear()
            return
        given = [message for message in accepted if not passing(read_message(message))]
        await self._remember()
        held = await self._everything()
        remembered = [message for message in held if _is_memory(message) and message not in given]
        if await self._take([*remembered, *given], held, given):
            await self._save()
        else:
            await self._emit(signals.RESTORE_IGNORED, {"messages": len(given), "kept": len(held)})

    async def _take(self, messages: list[Message], held: list[Message], given: list[Message]) -> bool:
        """Make the conversation hold these messages; return whether that changed anything."""
        kept = self._restoration.copied_by(given)
        if kept is not None:
            return await run_async(self._opened, replace(self._session, messages, kept))
        if held and without_none([entry for entry in held if entry["role"] not in SYSTEM]) == without_none(given):
            return False
        await super().set_messages(messages)
        return True

    async def clear(self) -> None:
        """Empty the conversation and its transcript."""
        await self._load()
        self._restoration.end()
        await super().clear()
        await self._save()

    async def compact(self, focus: str | None = None, *, lane: str | None = None) -> CompactionResult | None:
        """Compact the lane (default: that of the newest request) to the target. Without a summarizer, `focus` is
        ignored with an event.
        """
        await self._load()
        if focus is not None and self._summarizer is None:
            reason = "no model writes summaries: set the option `summarizer`"
            await self.warn(signals.OPTION_IGNORED, {"option": "focus", "reason": reason})
            focus = None
        try:
            return await super().compact(focus, lane=lane or self._sent)
        except BudgetError as error:
            raise no_room(error, None) from error

    @property
    def newest_lane(self) -> str:
        """The lane of the newest request."""
        return self._sent

    async def aclose(self) -> None:
        """Unregister all hooks and close what the session holds open."""
        self._signals.close()
        await super().aclose()

    async def set_system_prompt_factory(  # type: ignore[override]  # async in the contract, plain in the manager
        self, factory: SystemPrompt | None
    ) -> None:
        """Set the system prompt factory; see `AsyncContextManager.set_system_prompt_factory`.

        Async, because every host awaits it. Takes no lock: hooks call it while a turn runs. If the factory fails, its
        last text is sent again, with a warning and an event; before its first text, its error ends the request.
        """
        self._system_prompt_factory, self._prompt_text = factory, None
        super().set_system_prompt_factory(None if factory is None else self._ask_prompt)

    async def _ask_prompt(self) -> str:
        """Return the text of the newest factory. It is called once: a hook's wrapper calls older ones itself."""
        factory = self._system_prompt_factory
        if factory is None:
            return ""
        try:
            text = factory()
            text = await text if inspect.isawaitable(text) else text
        except Exception as error:
            if self._prompt_text is None:
                if isinstance(error, TypeError):  # loops take one for a missing parameter `token_budget`
                    raise RuntimeError(f"the system prompt factory failed ({error!r}): fix the factory") from error
                raise
            await self.warn(signals.PROMPT_FAILED, {"error": f"{error!r:.200}"})
            return self._prompt_text
        self._prompt_text = text
        return text

    # -- restoring --

    async def _is_replay(self, message: Any, cursor: int) -> bool:
        """Return whether a message is the next of those that were loaded."""
        found = await run_async(self._opened, following(self._session, cursor, validated(message), kept_of))
        return self._restoration.went_on(found)

    async def _end_restoration(self) -> None:
        """Treat all further messages as new."""
        replayed = self._restoration.end()
        if replayed:
            await self._emit(signals.REPLAY_IGNORED, {"messages": replayed})

    def _was_loaded(self) -> None:
        self._loaded = True
        if self._session.history.branch:
            self._restoration.loaded()

    # -- files --

    async def _load(self) -> None:
        """Load the stored conversation, once."""
        if self._loaded:
            return
        if self._file is None:
            await run_async(self._opened, enter(self._session))
            if not self._loaded:  # another task may have loaded it meanwhile
                self._was_loaded()
            return
        problem: dict[str, Any] = {}
        await self._opening.acquire_async()
        try:
            if not self._loaded:
                problem = await self._read(self._file)
        finally:
            self._opening.release()
        if problem:
            await self.warn(signals.FILE_FAILED, problem)

    async def _read(self, file: TranscriptFile) -> dict[str, Any]:
        """Load the messages of the file, all or none; return what was wrong with it."""
        try:
            found = await asyncio.to_thread(file.load)
        except OSError as error:
            self._loaded = self._unread = True
            return {"path": str(file.path), "error": str(error)}
        messages: list[Message] = []
        damaged = list(found.damaged)
        for number, message in found.messages:
            try:
                read_new(accepted := validated(message))
                messages.append(accepted)
            except MessageError:
                damaged.append(number)
        kept = [message for message in messages if not passing(read_message(message))]
        await run_async(self._opened, self._restored(kept))
        return {"path": str(file.path), "damaged_lines": sorted(damaged)} if damaged else {}

    def _restored(self, messages: Sequence[Message]) -> Operation[None]:
        """Add the loaded messages before any event is emitted: a listener may use the session at once."""
        yield from append(self._session, messages)
        self._saved, self._saved_epoch = len(self._session.history.branch), self._session.history.epoch
        self._was_loaded()

    async def _remember(self) -> None:
        """Put the memory files at the beginning of an empty conversation."""
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
            await run_async(self._opened, append(self._session, found))
        finally:
            self._opening.release()
        for path, why in failed:
            await self.warn(signals.FILE_FAILED, {"path": path, "error": why})
        for message in found:
            path = message["metadata"]["path"]
            await self._emit(events.INCLUDE, {"source": path, "path": path, "content": message["content"]})

    async def _save(self) -> None:
        """Bring the transcript up to date; rewrite it if an earlier write failed."""
        if self._file is None:
            return
        failed = await asyncio.to_thread(self._write, self._file)
        if failed:
            await self.warn(signals.FILE_FAILED, {"path": str(self._file.path), "error": failed})

    def _write(self, file: TranscriptFile) -> str:
        """Write new messages. Runs in a thread to its end even if its task is cancelled, so that nothing is written
        twice.
        """
        with self._writing:
            self._opened.turnstile.acquire()
            try:
                history = self._session.history
                epoch, held = history.epoch, len(history.branch)
                rewrite = epoch != self._saved_epoch or held < self._saved
                new = run_unlocked(stored_messages(self._session, 0 if rewrite else self._saved))
            finally:
                self._opened.turnstile.release()
            if rewrite and self._unread:
                return "it was not rewritten, because its content could not be read"
            try:
                if rewrite:
                    file.replace(new)
                elif new:
                    file.append(new)
            except OSError as error:
                return str(error)
            self._saved, self._saved_epoch = held, epoch
            return ""

    # -- hooks --

    async def _heard_prompt(self, _: Mapping[str, Any]) -> None:
        self._restoration.prompted()

    async def _heard_usage(self, payload: Mapping[str, Any]) -> None:
        if not self._claimed:
            self._take_usage(payload)

    def _take_usage(self, payload: Mapping[str, Any]) -> None:
        """Record the first report after a request: loops and providers both report the same call."""
        counted = signals.usage_in(payload) if self._unreported else None
        estimate = estimated_tokens(self._session, self._sent)
        if counted is not None and estimate is not None:
            self._unreported = False
            fresh, read, written = signals.prompt_parts(counted, estimate)
            self.observe_usage(
                input_tokens=fresh, output_tokens=counted.output, cache_read_tokens=read, cache_write_tokens=written,
                lane=self._sent,
            )  # fmt: skip  # an argument a line would hide the call

    async def _heard_error(self, payload: Mapping[str, Any]) -> None:
        if self._unreported and signals.says_too_long(payload):
            self._unreported = False
            requested, limit = signals.sizes_in(payload)
            self.observe_overflow(requested_tokens=requested, limit_tokens=limit, lane=self._sent)

    async def warn(self, name: str, payload: dict[str, Any]) -> None:
        """Warn of degraded behavior and emit its event."""
        warn(signals.sentence(name, payload))
        await self._emit(name, payload)

    async def _emit(self, name: str, payload: dict[str, Any]) -> None:
        """Emit an event to the host."""
        try:
            await self._signals.emit(name, payload)
        except Exception as error:  # a host's listener must not fail the conversation
            warn(f"a hook of the host raised {error!r} for the event {name}; the session continues: fix that hook")


def _is_memory(message: Message) -> bool:
    metadata = message.get("metadata")
    return message["role"] in SYSTEM and type(metadata) is dict and metadata.get("hook_name") == "memory_files"
