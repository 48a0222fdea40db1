"""`ContextManager`, for callers without an event loop. Thin on purpose: its operations are those of the async one."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from backscroll.compaction.report import CompactionResult
from backscroll.compaction.trim import TrimRequest
from backscroll.errors import ConfigurationError
from backscroll.manager.background import Thread
from backscroll.manager.base import ManagerBase
from backscroll.manager.driver import run_each, run_sync
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

__all__ = ["ContextManager"]


class ContextManager(ManagerBase):
    """`backscroll.AsyncContextManager` with plain methods; arguments, answers and errors are those described there.

    `with` closes it at the end. Async callables given to it (`on_event`, a system prompt factory, a provider) run in an
    event loop of their own.
    """

    def _make_background(self) -> BackgroundTask:
        self._background: BackgroundTask = Thread()
        return self._background

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if not TYPE_CHECKING:  # a checker is to say the same

        async def __aenter__(self) -> NoReturn:
            raise ConfigurationError(
                "this manager is synchronous: write `with`, or use `backscroll.AsyncContextManager`"
            )

        async def __aexit__(self, *_: object) -> None:
            """Never reached."""

    # -- Amplifier's protocol --

    def add_message(self, message: Any) -> None:
        """Adds one message: a mapping, or what a client answered (an object with `model_dump()`, or a whole answer
        with one message in it). Views leave out what only answers hold. Raises `MessageError`; then nothing was added.
        """
        run_sync(self._opened, append(self._session, (message,)))

    def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None, *, lane: str = "main", overhead_tokens: int = 0
    ) -> list[dict[str, Any]]:
        """The view to send: fits the budget, breaks no tool pair, extends the view before it wherever it can."""
        return run_sync(self._opened, request(self._session, token_budget, provider, lane, outside=overhead_tokens))

    def get_messages(self) -> list[dict[str, Any]]:
        """Everything stored on the current branch, as it came. Compaction never changes it."""
        return run_sync(self._opened, get_messages(self._session))

    def set_messages(self, messages: Sequence[Any]) -> None:
        """Makes the conversation these messages: rewinds to what both begin with and appends the rest."""
        run_sync(self._opened, replace(self._session, messages))

    def clear(self) -> None:
        """Empties the conversation. The log keeps what was said, and recall by reference still finds it."""
        run_sync(self._opened, clear(self._session))

    # -- more --

    def append(self, *messages: Any, idempotency_key: str | None = None) -> int:
        """Adds several messages in one step and answers the last `seq`."""
        return run_sync(self._opened, append(self._session, messages, idempotency_key))

    def pin(self, seq: int) -> None:
        """Keeps message `seq`, and its whole tool pair, in every view from now on. Raises `ReferenceNotFoundError`."""
        run_sync(self._opened, pin(self._session, seq, True))

    def unpin(self, seq: int) -> None:
        """Takes a pin back; `critical` messages stay protected. Raises `ReferenceNotFoundError`."""
        run_sync(self._opened, pin(self._session, seq, False))

    def compact(self, focus: str | None = None, *, lane: str = "main") -> CompactionResult | None:
        """Compacts the lane now, down to `target_usage` of its last budget; None if there was nothing to win.

        `focus`: what matters most, for the summarizer; then a summary is made first, and waited for. Raises
        `ConfigurationError` where there is no summarizer.
        """
        return run_each(self._opened, self._compaction(lane, focus))

    def trim(
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
        return run_each(self._opened, self._trimming(lane, TrimRequest(keep_last, fraction, only), summarize))

    def undo_compaction(self, *, lane: str = "main") -> bool:
        """Brings back the plan before the lane's newest compaction; False if there is none."""
        return run_sync(self._opened, undo_compaction(self._session, lane))

    def history(self, at: int | None = None) -> list[dict[str, Any]]:
        """The messages of the branch: now, or as they were when message `at` had just been added.

        Raises `ReferenceNotFoundError`.
        """
        operation = get_messages(self._session) if at is None else messages_at(self._session, at)
        return run_sync(self._opened, operation)

    def view(self, at: int | None = None, *, lane: str = "main") -> list[dict[str, Any]]:
        """The view without a new compaction: now, or the last that was sent, or would have been, before a message came
        behind `at`. Without ephemeral messages, which are never stored. Raises `ReferenceNotFoundError`.
        """
        return run_sync(self._opened, view_at(self._session, at, lane))

    def rewind(self, to: int) -> None:
        """Ends the conversation behind message `to`; -1 empties it. The log keeps what came later, and recall by
        reference still finds it. Raises `ReferenceNotFoundError` for what is not on the current branch.
        """
        run_sync(self._opened, rewind(self._session, to))

    def fork(self, session: str | None = None, at: int | None = None) -> "ContextManager":
        """A manager of a new session that shares this one's past up to message `at`, or all of it; both go on by
        themselves. Nothing is copied.

        `session`: its name; None = one of its own. Raises `ConflictError` where it has begun already,
        `ReferenceNotFoundError` for an `at` that is not there, `ConfigurationError` without a store that can fork.
        """
        name = self._fork_name(session)
        run_sync(self._opened, fork(self._session, name, at))
        return ContextManager(**self._options.as_arguments() | {"session": name, "store": self._opened.inner})

    def delete(self, *, cascade: bool = False) -> None:
        """Leaves nothing of the session, in its store or here. It can begin anew.

        Raises `ConflictError` while forks share its past, and names them, unless they go as well: `cascade`.
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
    ) -> RecallResult:
        """What a view left out, word for word."""
        return run_sync(self._opened, self._recall(ref, query, pattern, lines, offset, limit, around, everywhere))

    def recall_tool(self, format: str = "openai") -> tuple[dict[str, Any], Callable[..., str]]:
        """The `recall` tool for a model: its definition (`openai`, `anthropic` or `strands`) and the function behind
        it.
        """

        def handler(**arguments: Any) -> str:
            return run_sync(self._opened, answer(self._recall, arguments))

        return tool_definition(format), handler

    def explain(self, lane: str = "main") -> list[MessageStatus]:
        """What became of each message in the lane's newest view, and why."""
        return run_sync(self._opened, explain(self._session, lane))

    def list_requests(self, start: int = 0, stop: int | None = None) -> list[RequestRecord]:
        """The requests that were made, oldest first, each with its place in the log, by which `get_request` finds it.

        `start`, `stop`: places between which to look; one behind the last that is known finds what came since. A
        request is stored with the next change of the session or by `close`: one that was made directly before a kill
        is not among them.
        """
        return run_sync(self._opened, list_requests(self._session, start, stop))

    def get_request(self, request: int) -> RequestSnapshot:
        """What `get_messages_for_request` returned for the request at that place, and why each message stood there.

        Ephemeral messages, which are never stored, stand as `{"role": ..., "ephemeral": SHA-256}`. Costs as much as
        the view is long, from the nearest checkpoint on. Raises `ReferenceNotFoundError`.
        """
        return run_sync(self._opened, get_request(self._session, request))

    def window_report(self, lane: str = "main") -> WindowReport:
        """What the lane's window is made of, what takes the most of it, and what a compaction now would do."""
        return run_sync(self._opened, window_report(self._session, lane))

    def close(self) -> None:
        """Stores what is not stored yet and frees what the session holds open. It can still be used: it opens anew what
        it needs.
        """
        run_sync(self._opened, flush(self._session))
        self._background.cancel()
        self._opened.search.close()
