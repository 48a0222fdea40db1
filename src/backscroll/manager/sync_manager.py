"""`ContextManager`, for callers without an event loop. Generated: `docs/write_sync_manager.py` writes this file.

Change `async_manager.py` and run the program again.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

from backscroll.compaction.result import CompactionResult
from backscroll.compaction.trim import TrimRequest
from backscroll.manager.background import Thread
from backscroll.manager.driver import run_sync, run_sync_each
from backscroll.manager.sync_reading import Reading
from backscroll.ports import BackgroundTask
from backscroll.recall.pages import RecallResult
from backscroll.recall.tool import answer, tool_definition
from backscroll.session.append import append
from backscroll.session.branching import clear, delete, fork, pin, replace, rewind
from backscroll.session.compact_tool import compact_definition
from backscroll.session.request import request, undo_compaction
from backscroll.session.store_sync import flush


class ContextManager(Reading):
    """Keep a whole conversation and return, before each request, the best view of it that fits the budget.

    Safe for concurrent threads. `with` closes it at the end. Pass options by name.
    `AsyncContextManager` has the same methods for asyncio. Async callables (`on_event`, a system prompt factory, a
    summarizer) run in an event loop of their own.

    Args:
        store: Where the session is kept: an address (`"sqlite:///agent.db"`), the path of an SQLite file or a `Store`.
            `None`: in memory only.
        session: The session's name in the store. `None`: a new name, which `session_id` returns.
        lease: Exclusive-writer lease in seconds, above 0 and up to 86,400; every change renews it, and other writers
            get a `ConflictError`. `None`: optimistic concurrency.
        budget: Input tokens of a request if neither the call nor the provider names a budget; or a `BudgetOptions`,
            which also sets what is kept free of a window, and windows of models. By default the window of `model`
            decides; 200,000 tokens without one.
        mode: `"standard"`: show a hand-over (a chronicle of turns, the state, the files) and the newest messages whole.
            `"lean"`: cost least per request. `"facts"`: keep most single facts per token. A mode sets
            `compact_threshold`, `target_usage`, `protect`, `tool_result_preview`, what `"auto"` runs and the room of
            the digest; options that you give win.
        compact_threshold: Share of the budget at which a compaction starts; above 0, at most 1. `None`: by the mode,
            0.92, or 0.75 in `"lean"`.
        target_usage: Share of the budget at which a compaction ends; above 0, below `compact_threshold`. `None`: by the
            mode, 0.7, 0.35 or 0.55.
        compact_at: Tokens of a request at which a compaction starts even if the budget is larger; at least 1, below a
            `budget` that is given. `None`: by `compact_threshold` alone.
        compact_to: Tokens of a request at which a compaction ends; below `compact_at`. `None`: by `target_usage`.
        strategies: `"auto"` (those of the mode, least harmful first), or a list of names (`"deduplicate"`,
            `"shorten"`, `"excerpt"`, `"clear"`, `"digest"`, `"importance"`, `"truncate"`) and strategy objects, which
            run in that order; `"native"` runs first. `None`: only the last resort, which runs when the view would not
            fit otherwise.
        protect: `Protection(recent, results, first, last, working_set)`: the messages that compaction spares. `None`:
            by the mode.
        tool_result_preview: `ToolResultPreview(threshold_tokens, preview_tokens, when)`: show only the lines
            of long tool results that matter most. `None`: by the mode; in most only when a compaction needs it.
        max_messages: Maximum messages per view, at least 8; older ones are summarized. `None`: no limit.
        clear_at_least_tokens: Clear old tool results early only if this frees at least this many tokens. `None`: never
            clear early.
        plan_ahead: Prepare a compaction that will soon be due in a thread, so that no request waits for it. It uses
            the tokenizer and the strategies while other calls may use them, too.
        overhead_tokens: Tokens of a request outside the messages, such as tool definitions. `None`: learned from
            `observe_response` and `observe_usage`.
        tokenizer: `"auto"` (exact o200k, offline), the name of another tokenizer, or a function that returns the number
            of tokens of a text.
        model: The model's name, for its window, token factor and image rules; or a `ModelProfile`, which replaces the
            built-in one and has no window. `None`: each lane's name is used.
        cache_marks: `"auto"`: where the lane's model is a Claude, views bear up to four marks (`cache_control`) for its
            prompt cache, and every text content is one block. `CacheMarks("anthropic")`, or that name alone: every
            lane. A `CacheMarks` also sets how long the provider keeps its cache. `None`: no marks.
        cache_pricing: `CachePricing(read, write, ttl_seconds)` of the provider's prompt cache. `None`: 0.1, 1.25 and
            300 seconds.
        summarizer: A function, plain or async, that returns a summary for a `SummaryRequest`; or a `Summarizer`, which
            also sets how it is called. `None`: no model is called, and code writes the digest.
        native: `NativeCompaction(fn, model)`: a function, plain or async, that asks the provider for its own
            compaction, which keeps the reasoning behind it valid. With `"auto"` it is asked where that pays, with
            `"native"` in `strategies` always. `None`: views hold our own digest only.
        storage: `StorageOptions(blob_store, blob_threshold_bytes, encryption_key)`: where large messages are stored,
            and encryption.
        redact: A plain function that returns the message to keep for a message. It runs before anything is counted,
            stored or shown; if it raises, the message is rejected. Applying it to its own result must change nothing.
        on_event: A function, plain or async, called with the name and payload of each event. `backscroll.events` lists
            the names.
        telemetry: Whether to send spans and metrics to OpenTelemetry (extra `otel`): names, numbers and types of
            errors, never text of a conversation.

    Raises:
        ConfigurationError: A value can never work, or an option does not exist.
    """

    def _make_background(self) -> BackgroundTask:
        return Thread()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def warm(self) -> None:
        """Load what is not loaded yet: the tokenizer's vocabulary (about 0.4 s; the first `append` would load it), and
        the modules that the first compaction and the first `recall` would load (less than 0.1 s).

        Call it while a program starts. With an event loop, all this happens in a thread.
        """
        run_sync(self._opened, self._warm())

    def append(self, *messages: Any, idempotency_key: str | None = None) -> int:
        """Add messages in one step, all or none. With a store they are on disk when this returns.

        Args:
            messages: Each a mapping with a role, or what a provider's client returned: an object with `model_dump()`,
                or a whole response that holds one message. Views leave out the fields that only responses have.
            idempotency_key: Name of this call. Repeating the key with the same messages adds nothing and returns the
                same result. `None`: every call adds.

        Returns:
            The number (`seq`) of the last message; the first message of a session is 0.

        Raises:
            MessageError: One of them is not a message, or holds what its dialect cannot send; nothing was added.
            ConflictError: The key was used for other messages, or another writer stored messages that these do not
                follow; nothing was added.
            StoreError: The store failed.
        """
        return run_sync(self._opened, append(self._session, messages, idempotency_key, strict=self._strict))

    def get_messages_for_request(
        self,
        token_budget: int | None = None,
        provider: Any = None,
        *,
        lane: str = "main",
        model: str | None = None,
        overhead_tokens: int = 0,
        tools: Any = None,
    ) -> list[dict[str, Any]]:
        """Return the view to send to the model.

        The view fits the budget, breaks no tool pair, and extends the lane's previous view wherever it can, so that the
        provider's prompt cache is reused.

        Args:
            token_budget: Input tokens of the whole request. `None`: the provider's window less its output reserve,
                else the `budget` of the manager or the window of its `model`.
            provider: The object whose model will answer; its window sets the budget.
            lane: The lane: a sequence of requests that share one plan and one prompt cache, usually one per model.
            model: The name of the model that will answer, which gives the window and says how its provider treats
                reasoning. Another model than the manager's has a lane of its own, named after it (`lane/model` for
                another `lane` than "main"). `None`: the manager's.
            overhead_tokens: Tokens outside the messages and `tools`, as far as known. Reported usage replaces it.
            tools: The tool definitions of the request, as its client takes them: a list in the shape of Anthropic,
                OpenAI (chat or Responses), Gemini or Bedrock, or Bedrock's `toolConfig`. `window_report` lists them. A
                change of them emits `context:tools_changed` and removes bound reasoning. `None`: no tools.

        Returns:
            A copy of the messages; changing it does not change the session.

        Raises:
            BudgetError: The messages that must stay do not fit the budget.
            ConfigurationError: The budget is out of its range, the tools are in no known shape, or `model` is no text.
            StoreError: The store failed.
        """
        lane = lane if model is None else self._lane_of(lane, model)
        return run_sync(
            self._opened, request(self._session, token_budget, provider, lane, outside=overhead_tokens, tools=tools)
        )

    def set_messages(self, messages: Sequence[Any]) -> None:
        """Make the conversation hold these messages: rewind to the common beginning and append the rest.

        Args:
            messages: The whole conversation, oldest first.

        Raises:
            MessageError: One of them is not a message; nothing was changed.
            StoreError: The store failed.
        """
        run_sync(self._opened, replace(self._session, messages))

    def clear(self) -> None:
        """Empty the conversation. The log keeps all messages, and `recall` by reference still finds them.

        Raises:
            StoreError: The store failed.
        """
        run_sync(self._opened, clear(self._session))

    def pin(self, seq: int) -> None:
        """Keep a message and its whole tool pair in every view from now on.

        Args:
            seq: The number of the message.

        Raises:
            ReferenceNotFoundError: The session has no message of this number.
        """
        run_sync(self._opened, pin(self._session, seq, True))

    def unpin(self, seq: int) -> None:
        """Remove a pin. Messages marked `critical` stay protected.

        Args:
            seq: The number of the message.

        Raises:
            ReferenceNotFoundError: The session has no message of this number.
        """
        run_sync(self._opened, pin(self._session, seq, False))

    def compact(self, focus: str | None = None, *, lane: str = "main") -> CompactionResult | None:
        """Compact the lane now, down to `target_usage` of its last budget.

        Args:
            focus: What matters most, for the summarizer; a summary is then made first. `None`: no new summary.
            lane: The lane to compact.

        Returns:
            What was done; `None` if compaction would save nothing.

        Raises:
            ConfigurationError: `focus` was given without a summarizer.
        """
        return run_sync_each(self._opened, self._compaction(lane, focus))

    def trim(
        self, *, keep_last: int, fraction: float = 1.0, only: str = "all", summarize: bool = False, lane: str = "main"
    ) -> CompactionResult | None:
        """Drop the oldest messages from the lane's view now and summarize them in the digest.

        Messages that must stay in every view stay.

        Args:
            keep_last: Newest messages that stay; 0 or more.
            fraction: Share of the view's messages that may go, counted from the oldest; above 0, at most 1.
            only: `"all"`, `"tools"` (calls and their results) or `"messages"` (all others).
            summarize: Whether to make a summary first, if there is a summarizer and `only` is `"all"`.
            lane: The lane whose view is trimmed.

        Returns:
            What was done; `None` if there was nothing to drop.

        Raises:
            ConfigurationError: A value is out of its range.
        """
        return run_sync_each(self._opened, self._trimming(lane, TrimRequest(keep_last, fraction, only), summarize))

    def undo_compaction(self, *, lane: str = "main") -> bool:
        """Restore the plan before the lane's newest compaction.

        If the restored view is over its budget, the next request compacts again: raise the budget first.

        Args:
            lane: The lane whose plan is restored.

        Returns:
            Whether there was a compaction to undo.
        """
        return run_sync(self._opened, undo_compaction(self._session, lane))

    def rewind(self, to: int) -> None:
        """End the conversation after a message. The log keeps later messages; `recall` by reference finds them.

        Args:
            to: Number of the message that becomes the last; -1 empties the conversation.

        Raises:
            ReferenceNotFoundError: The message is not on the current branch.
        """
        run_sync(self._opened, rewind(self._session, to))

    def fork(self, session: str | None = None, at: int | None = None) -> "ContextManager":
        """Start a new session that shares this one's past. Nothing is copied; afterwards both grow independently.

        Args:
            session: Its name. `None`: a new name.
            at: Number of the last message that both share. `None`: all messages.

        Returns:
            A manager of the new session with the same options.

        Raises:
            ConflictError: A session of this name exists already.
            ReferenceNotFoundError: The session has no message `at`.
            ConfigurationError: There is no store, or the store cannot fork.
        """
        name = self._fork_name(session)
        run_sync(self._opened, fork(self._session, name, at))
        return ContextManager(**self._options.as_arguments() | {"session": name, "store": self._opened.inner})

    def delete(self, *, cascade: bool = False) -> None:
        """Delete the session and all its data. The name can be reused.

        Args:
            cascade: Whether to delete the sessions that were forked from it as well.

        Raises:
            ConflictError: Forks share its past and `cascade` is false; the message names them.
            StoreError: The store failed.
        """
        run_sync(self._opened, delete(self._session, cascade))
        self._forget_search()

    def recall(
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
        outline: bool = False,
    ) -> RecallResult:
        """Return what a view left out, verbatim, or search for it.

        Args:
            ref: A reference: `12`, `12-40`, `12.1`, or the form in a view, `[ref:12]`; or several messages and ranges,
                `12,15,20-31`. A single part is returned byte for byte.
            query: Words, names or paths to search for in every message ever added. Returns the best passages, each
                under its reference: first those that the newest view left out, best first, then those that it shows.
            pattern: A regular expression in the syntax of Python's `re` or the package `regex`, without recursion.
                Returns the lines that match, in `ref` or in the whole conversation.
            lines: First and last line of `ref`, counted from 1. With `pattern`, the lines to search.
            offset: Characters to skip: `next_offset` of the previous page.
            limit: Tokens of a page, at least 1. `None`: 4,000 (a query: 3,400), at most a quarter of the budget.
            around: Lines before and after each match of `pattern`, 0 to 50.
            everywhere: Whether `query` searches every session of the store. Each hit names its `session`; recall more
                of it with a manager of that session. The tool for models never searches other sessions.
            outline: Whether several messages that are too long for a page are described instead: each in a line or, as
                far as there is room, in full. `next_ref` goes on. The tool for models asks for it.

        Returns:
            A page of text, with `next_offset` if there is more, `hits` of a search and `media` of a message.

        Raises:
            ReferenceNotFoundError: The reference names nothing.
            ConfigurationError: The arguments cannot be combined, or the search takes 2 seconds.
        """
        return run_sync(
            self._opened, self._recall(ref, query, pattern, lines, offset, limit, around, everywhere, outline)
        )

    def recall_tool(self, format: str = "openai") -> tuple[dict[str, Any], Callable[..., str]]:
        """Return the `recall` tool for a model: its definition and the function that handles calls.

        Args:
            format: `"openai"`, `"responses"`, `"anthropic"`, `"gemini"`, `"interactions"`, `"strands"` or `"mcp"`.

        Returns:
            The definition and the handler. The handler takes the model's arguments by name and returns text; if the
            model makes a mistake, the text explains what to do instead.

        Raises:
            ConfigurationError: There is no such dialect.
        """

        def handler(**arguments: Any) -> str:
            return run_sync(self._opened, answer(self._recall, arguments))

        return tool_definition(format), handler

    def compact_tool(self, format: str = "openai", *, lane: str = "main") -> tuple[dict[str, Any], Callable[..., str]]:
        """Return the `compact` tool for a model: its definition and the function that handles calls.

        With it the model asks for a compaction when a piece of work is done. Its reason is in the event
        `context:compaction` and in `explain`. The request is refused while the view is below its target, until the view
        has grown by a tenth of the budget since the last compaction, and where a tenth of the view could not be freed.

        Args:
            format: `"openai"`, `"responses"`, `"anthropic"`, `"gemini"`, `"interactions"`, `"strands"` or `"mcp"`.
            lane: The lane of the model's requests.

        Returns:
            The definition and the handler. The handler takes the model's arguments by name and returns text: what was
            done, or why nothing was.

        Raises:
            ConfigurationError: There is no such dialect.
        """

        def handler(**arguments: Any) -> str:
            return run_sync(self._opened, self._compact_for_model(lane, arguments))

        return compact_definition(format), handler

    def close(self) -> None:
        """Store what is buffered, discard a running summary and close what the session holds open.

        The manager remains usable: it reopens what it needs.

        Raises:
            StoreError: The store failed.
        """
        run_sync(self._opened, flush(self._session))
        self._background.cancel()
        self._native_background.cancel()
        self._close_search()
