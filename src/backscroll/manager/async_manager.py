"""`AsyncContextManager`: what users call. It runs operations; every decision is made in the core."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from backscroll.compaction.report import CompactionResult
from backscroll.compaction.trim import TrimRequest
from backscroll.errors import ConfigurationError
from backscroll.manager.background import Task
from backscroll.manager.base import ManagerBase
from backscroll.manager.driver import run_async, run_each_async
from backscroll.ports import BackgroundTask
from backscroll.recall.pages import RecallResult
from backscroll.recall.tool import answer, tool_definition
from backscroll.session.append import append
from backscroll.session.branching import clear, delete, fork, pin, replace, rewind
from backscroll.session.explain import MessageStatus, explain
from backscroll.session.past import get_messages, messages_at, view_at
from backscroll.session.request import request, undo_compaction
from backscroll.session.request_log import RequestRecord, RequestSnapshot, get_request, list_requests
from backscroll.session.store_sync import flush
from backscroll.session.window_report import WindowReport, window_report


class AsyncContextManager(ManagerBase):
    """Keeps a conversation whole and hands out, before each request, the best view of it that fits.

    Safe for concurrent tasks and threads. `async with` closes it at the end. `ContextManager` is the same for callers
    without an event loop. Options are given by name.

    Args:
        store: Where the session is kept: an address (`"sqlite:///agent.db"`), the path of an SQLite file or a `Store`.
            `None`: in memory only.
        session: The session's name in the store. `None`: a new name, which `session_id` returns.
        lease: Exclusive-writer lease in seconds, renewed by every change; another writer gets a `ConflictError` at
            once. `None`: several writers, each of which takes in what the others wrote.
        budget: Input tokens of a request where neither the call nor the provider names a budget; or a `BudgetOptions`,
            which also says what is kept free of a provider's window.
        compact_threshold: Share of the budget at which a compaction starts; above 0, at most 1.
        target_usage: Share of the budget at which a compaction ends; above 0, below `compact_threshold`.
        strategies: `"auto"` (everything, least harm first); or a list of names (`"deduplicate"`, `"excerpt"`,
            `"clear"`, `"digest"`, `"importance"`, `"truncate"`) and strategy objects, which run in that order. `None`:
            nothing but the last resort. protect: `Protection(recent, results, first, last)`: what compaction spares.
            tool_result_preview: `ToolResultPreview(threshold_tokens, preview_tokens, when)`: long tool results stand in
            views as head and tail. `None`: only as a compaction needs it. max_messages: Maximum messages of a view, at
            least 8; older ones are digested. `None`: no limit. clear_at_least_tokens: Clear old tool results early only
            if this frees at least this many tokens. `None`: never. overhead_tokens: Tokens of a request outside the
            messages, such as tool definitions. `None`: learned from `observe_response` and `observe_usage`. tokenizer:
            `"auto"` (exact o200k, offline), the name of another one, or a function from a text to its tokens. model:
            The model's name, for its token factor and image rules; or a `ModelProfile`, which replaces the table's.
            cache_pricing: `CachePricing(read, write, ttl_seconds)` of the provider's prompt cache. `None`: 0.1, 1.25
            and 300 seconds. summarizer: A function, plain or async, from a `SummaryRequest` to a text; or a
            `Summarizer`, which also says how it is called. `None`: the digest is written by code alone. storage:
            `StorageOptions(blob_store, blob_threshold_bytes, encryption_key)`: where a store keeps large messages, and
            whether it is encrypted. redact: A plain function of a message that returns what may be kept of it. Runs
            before anything is counted, stored or shown; what it raises refuses the message. Run over its own result it
            must change nothing. on_event: Called with the name and the payload of each event; may be async.
            `backscroll.events` has the names. telemetry: Whether spans and metrics go to OpenTelemetry (extra `otel`):
            names, numbers and types of errors, no word of a conversation.

    Raises:
        ConfigurationError: A value can never work, or an option does not exist.
    """

    def _make_background(self) -> BackgroundTask:
        self._background = Task()
        return self._background

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    if not TYPE_CHECKING:  # a checker is to say the same

        def __enter__(self) -> NoReturn:
            raise ConfigurationError(
                "this manager is asynchronous: write `async with`, or use `backscroll.ContextManager`"
            )

        def __exit__(self, *_: object) -> None:
            """Never reached."""

    # -- Amplifier's protocol --

    async def add_message(self, message: Any) -> None:
        """Adds one message: a mapping, or what a client answered (an object with `model_dump()`, or a whole answer
        with one message in it). Views leave out what only answers hold. Raises `MessageError`; then nothing was added.
        """
        await run_async(self._opened, append(self._session, (message,)))

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None, *, lane: str = "main", overhead_tokens: int = 0
    ) -> list[dict[str, Any]]:
        """The view to send: fits the budget, breaks no tool pair, extends the view before it wherever it can.

        `token_budget`: input tokens of the whole request; else the provider's window less its output; else
        `max_tokens`. `lane`: requests of one line share a plan; name lanes after models. `overhead_tokens`: what stands
        outside the messages (system prompt, tool definitions), as far as the caller can tell; it counts until
        reported usage says better. Raises `BudgetError` if the messages that must stay do not fit. What is returned is
        a copy: changing it changes nothing here.
        """
        return await run_async(
            self._opened, request(self._session, token_budget, provider, lane, outside=overhead_tokens)
        )

    async def get_messages(self) -> list[dict[str, Any]]:
        """Everything stored on the current branch, as it came. Compaction never changes it."""
        return await run_async(self._opened, get_messages(self._session))

    async def set_messages(self, messages: Sequence[Any]) -> None:
        """Makes the conversation these messages: rewinds to what both begin with and appends the rest."""
        await run_async(self._opened, replace(self._session, messages))

    async def clear(self) -> None:
        """Empties the conversation. The log keeps what was said, and recall by reference still finds it."""
        await run_async(self._opened, clear(self._session))

    # -- more --

    async def append(self, *messages: Any, idempotency_key: str | None = None) -> int:
        """Adds several messages in one step and answers the last `seq`.

        `idempotency_key`; the same key with the same messages adds nothing and answers the same. Raises
        `ConflictError` if it was used for other messages.
        """
        return await run_async(self._opened, append(self._session, messages, idempotency_key))

    async def pin(self, seq: int) -> None:
        """Keeps message `seq`, and its whole tool pair, in every view from now on. Raises `ReferenceNotFoundError`."""
        await run_async(self._opened, pin(self._session, seq, True))

    async def unpin(self, seq: int) -> None:
        """Takes a pin back; `critical` messages stay protected. Raises `ReferenceNotFoundError`."""
        await run_async(self._opened, pin(self._session, seq, False))

    async def compact(self, focus: str | None = None, *, lane: str = "main") -> CompactionResult | None:
        """Compacts the lane now, down to `target_usage` of its last budget; None if there was nothing to win.

        `focus`: what matters most, for the summarizer; then a summary is made first, and waited for. Raises
        `ConfigurationError` where there is no summarizer.
        """
        return await run_each_async(self._opened, self._compaction(lane, focus))

    async def trim(
        self, *, keep_last: int, fraction: float = 1.0, only: str = "all", summarize: bool = False, lane: str = "main"
    ) -> CompactionResult | None:
        """Drop the oldest messages from the lane's view now and summarize them in the digest.

        What must stay in every view stays.

        Args:
            keep_last: Newest messages that stay; 0 or more.
            fraction: Share of the view's messages that may go, counted from the oldest; above 0, at most 1.
            only: `"all"`, `"tools"` (calls and their results) or `"messages"` (what was said).
            summarize: Whether a summary is made first, where there is a summarizer.
            lane: The lane whose view is trimmed.

        Returns:
            What was done; `None` if there was nothing to drop.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        return await run_each_async(
            self._opened, self._trimming(lane, TrimRequest(keep_last, fraction, only), summarize)
        )

    async def undo_compaction(self, *, lane: str = "main") -> bool:
        """Brings back the plan before the lane's newest compaction; False if there is none.

        If the view is over its budget then, the next request compacts again: raise the budget first.
        """
        return await run_async(self._opened, undo_compaction(self._session, lane))

    async def history(self, at: int | None = None) -> list[dict[str, Any]]:
        """The messages of the branch: now, or as they were when message `at` had just been added.

        Raises `ReferenceNotFoundError`.
        """
        operation = get_messages(self._session) if at is None else messages_at(self._session, at)
        return await run_async(self._opened, operation)

    async def view(self, at: int | None = None, *, lane: str = "main") -> list[dict[str, Any]]:
        """The view without a new compaction: now, or the last that was sent, or would have been, before a message came
        behind `at`. Without ephemeral messages, which are never stored. Raises `ReferenceNotFoundError`.
        """
        return await run_async(self._opened, view_at(self._session, at, lane))

    async def rewind(self, to: int) -> None:
        """Ends the conversation behind message `to`; -1 empties it. The log keeps what came later, and recall by
        reference still finds it. Raises `ReferenceNotFoundError` for what is not on the current branch.
        """
        await run_async(self._opened, rewind(self._session, to))

    async def fork(self, session: str | None = None, at: int | None = None) -> "AsyncContextManager":
        """A manager of a new session that shares this one's past up to message `at`, or all of it; both go on by
        themselves. Nothing is copied.

        `session`: its name; None = one of its own. Raises `ConflictError` where it has begun already,
        `ReferenceNotFoundError` for an `at` that is not there, `ConfigurationError` without a store that can fork.
        """
        name = self._fork_name(session)
        await run_async(self._opened, fork(self._session, name, at))
        return AsyncContextManager(**self._options.as_arguments() | {"session": name, "store": self._opened.inner})

    async def delete(self, *, cascade: bool = False) -> None:
        """Leaves nothing of the session, in its store or here. It can begin anew.

        Raises `ConflictError` while forks share its past, and names them, unless they go as well: `cascade`.
        """
        await run_async(self._opened, delete(self._session, cascade))
        self._forget_search()

    async def recall(
        self,
        ref: str | int | None = None,
        *,
        query: str | None = None,
        pattern: str | None = None,
        lines: tuple[int, int] | None = None,
        offset: int = 0,
        limit: int | None = None,
        around: int = 0,
        everywhere: bool = False,
    ) -> RecallResult:
        """What a view left out, word for word.

        - `ref`: `12`, `12-40`, `12.1` or as it stands in a view, `[ref:12]`. One part alone comes back byte for byte.
        - `query`: words, names or paths; the best passages of everything ever added, each under its reference: first
          those that the newest view left out, best first, then those that it shows.
        - `pattern`: a regular expression in Python's syntax, or in that of the package `regex`; the lines it finds, in
          `ref` or in the whole conversation.
        - `lines`: first and last line of `ref`, counted from 1; with a pattern, where it looks.
        - `around`: lines before and behind each that the pattern finds, 0 to 50.
        - `offset`: characters to skip, as `.next_offset` of the page before said.
        - `limit`: tokens of a page; by default 4,000, at most a quarter of the budget.
        - `everywhere`: whether a `query` searches every session of the store. Each hit tells its `session`, whose own
          manager recalls more of it. The tool that a model gets never does that.

        Raises `ReferenceNotFoundError` for a reference that names nothing, `ConfigurationError` for arguments that do
        not go together and for a pattern that takes longer than about two seconds.
        """
        return await run_async(
            self._opened, self._recall(ref, query, pattern, lines, offset, limit, around, everywhere)
        )

    def recall_tool(self, format: str = "openai") -> tuple[dict[str, Any], Callable[..., Awaitable[str]]]:
        """The `recall` tool for a model: its definition (`openai`, `anthropic` or `strands`) and the function behind
        it.

        The function never raises for what a model may get wrong; it answers what to do instead.
        """

        async def handler(**arguments: Any) -> str:
            return await run_async(self._opened, answer(self._recall, arguments))

        return tool_definition(format), handler

    async def explain(self, lane: str = "main") -> list[MessageStatus]:
        """What became of each message in the lane's newest view, and why."""
        return await run_async(self._opened, explain(self._session, lane))

    async def list_requests(self, start: int = 0, stop: int | None = None) -> list[RequestRecord]:
        """The requests that were made, oldest first, each with its place in the log, by which `get_request` finds it.

        `start`, `stop`: places between which to look; one behind the last that is known finds what came since. A
        request is stored with the next change of the session or by `aclose`: one that was made directly before a kill
        is not among them.
        """
        return await run_async(self._opened, list_requests(self._session, start, stop))

    async def get_request(self, request: int) -> RequestSnapshot:
        """What `get_messages_for_request` returned for the request at that place, and why each message stood there.

        Ephemeral messages, which are never stored, stand as `{"role": ..., "ephemeral": SHA-256}`. Costs as much as
        the view is long, from the nearest checkpoint on. Raises `ReferenceNotFoundError`.
        """
        return await run_async(self._opened, get_request(self._session, request))

    async def window_report(self, lane: str = "main") -> WindowReport:
        """What the lane's window is made of, what takes the most of it, and what a compaction now would do."""
        return await run_async(self._opened, window_report(self._session, lane))

    async def aclose(self) -> None:
        """Stores what is not stored yet and frees what the session holds open. It can still be used: it opens anew what
        it needs.
        """
        await run_async(self._opened, flush(self._session))
        await self._background.cancel()
        self._opened.search.close()
